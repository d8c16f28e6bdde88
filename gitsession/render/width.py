"""How wide text is on a terminal, and cutting and wrapping it by that."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"


def width_of(text: str) -> int:
    """The columns a text takes."""
    return len(text) if text.isascii() else sum(_widths(text))


def _widths(text: str) -> Iterator[int]:
    """The columns of each character: joined emoji take those of the first."""
    before = ""
    last = 0
    for char in text:
        columns = _columns(char)
        if before == _JOINER or (columns == 2 and "\U0001f3fb" <= char <= "\U0001f3ff" and last):
            columns = 0
        elif char == _EMOJI_STYLE and last == 1 and not before.isdigit():
            columns = 1
        yield columns
        last = columns or last
        before = char


def _columns(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def clip(text: str, columns: int, more: str = "…") -> str:
    """Cut a line to some columns, with a mark where something is missing."""
    if width_of(text) <= columns:
        return text
    if columns <= len(more):
        return more[: max(columns, 0)]
    return _take(text, columns - len(more)).rstrip() + more


def _take(text: str, columns: int) -> str:
    """The longest beginning that fits."""
    if text.isascii():
        return text[: max(columns, 0)]
    used = 0
    for index, wide in enumerate(_widths(text)):
        used += wide
        if used > columns:
            return text[:index]
    return text


def pad(text: str, columns: int) -> str:
    """Fill a line up with spaces."""
    return text + " " * (columns - width_of(text))


def wrap(text: str, columns: int) -> list[str]:
    """Break prose into lines of some columns; words and indentation stay whole.

    Code between fences is left as it is, as are words that are too long: a
    broken address can't be copied.
    """
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
        mark = line.lstrip().startswith("```")
        if mark or fenced:
            lines.append(line.rstrip())
            fenced = fenced != mark
        else:
            lines += _wrap_line(line.rstrip(), columns)
    return lines


def _wrap_line(line: str, columns: int) -> list[str]:
    if width_of(line) <= columns:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    indent = indent if len(indent) < columns // 2 else ""
    hanging = indent + " " * _bullet(line.lstrip())
    lines: list[str] = []
    current, room = indent, columns - len(indent)
    empty = True
    for word in line.split():
        for piece in _pieces(word, columns - len(hanging)):
            wide = width_of(piece) + (0 if empty else 1)
            if not empty and wide > room:
                lines.append(current)
                current, room, empty = hanging, columns - len(hanging), True
                wide = width_of(piece)
            current += piece if empty else " " + piece
            room -= wide
            empty = False
    return [*lines, current]


def _bullet(text: str) -> int:
    """The width of a list's mark, under which its next lines are put."""
    mark, _, rest = text.partition(" ")
    is_mark = mark in ("-", "*", "+", "•") or (mark[:-1].isdigit() and mark[-1:] in ".)")
    return len(mark) + 1 if rest and is_mark else 0


def _pieces(word: str, columns: int) -> Iterator[str]:
    """A word whole, unless it is long and in a script that has no spaces."""
    if word.isascii() or width_of(word) <= columns:
        yield word
        return
    while word:
        piece = _take(word, max(columns, 2)) or word[:1]
        yield piece
        word = word[len(piece) :]
