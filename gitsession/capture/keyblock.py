"""Private keys, as blocks of text: whole ones, and ones that something cut off.

In a transcript a block may stand behind line numbers or diff signs, with its
line breaks escaped once or several times, or as a list of string literals. A
block with an end goes as a whole. Without one only what looks like its lines
goes, so that the text after it stays.
"""

from __future__ import annotations

import re

Span = tuple[int, int]

_LARGEST = 256 << 10
_END = re.compile(rb"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_OPEN_QUOTE = re.compile(rb'(?<!\\)(?:\\\\)*"')
_SOME = re.compile(rb"[A-Za-z0-9+/=]{8}")
_BREAK = rb"(?:[ \t\r\n>|*#+-]|\\+[nrt]|\\+u000[aAdD9]|[0-9]{1,6}(?:\xe2\x86\x92|[:|\t]|\\+t))*+"
_RUN = (
    rb"(?:(?:[A-Za-z0-9+/=]|\\+/|\\+u00(?:2[bBfF]|3[dD])){16,}+"
    rb"|[A-Za-z0-9+/]{1,15}(?:==?|\\+u003[dD])(?![A-Za-z0-9]))"
)
_HEADER = re.compile(
    _BREAK + rb"(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID):[^\"\\\n]*+"
)
_LINE = re.compile(_BREAK + _RUN)
_REST = re.compile(_BREAK + rb"[A-Za-z0-9+/]{1,15}(?=\\*[\"'`]|\s*\Z|\.\.\.)")
_NEXT_LITERAL = re.compile(
    rb"(?:\\+[nr])*+\\*[\"'`](?:[ \t\r\n+,.]|\\+[nrt])*+\\*[\"'`](" + _RUN + rb")"
)


def read_block(data: bytes, start: int, end: int) -> list[Span]:
    """The spans of a private key whose first line, or what stands for it, is given."""
    stop = _end_of_block(data, end)
    if stop is not None:
        return [(start, stop)] if _SOME.search(data, end, stop - 20) else []
    at = end
    while header := _HEADER.match(data, at):
        at = header.end()
    body = at
    while line := _LINE.match(data, at):
        at = line.end()
    spans: list[Span] = []
    if at > body:
        rest = _REST.match(data, at)
        at = rest.end() if rest else at
        spans.append((start, at))
    while literal := _NEXT_LITERAL.match(data, at):
        spans.append(literal.span(1))
        at = literal.end()
    return spans


def _end_of_block(data: bytes, begin: int) -> int | None:
    dashes = data.find(b"-----", begin, begin + _LARGEST)
    end = _END.match(data, dashes) if dashes >= 0 else None
    if end is None:
        return None
    if _OPEN_QUOTE.search(data, begin, end.start()):
        return None
    return end.end()
