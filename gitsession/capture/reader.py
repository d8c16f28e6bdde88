"""Reads a growing file of lines in blocks of whole lines, however large it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

BLOCK = 1 << 20


def blocks(
    path: Path, start: int = 0, end: int | None = None, *, size: int = BLOCK
) -> Iterator[bytes]:
    """The whole lines between two offsets, about a megabyte at a time unless told otherwise."""
    with path.open("rb") as file:
        file.seek(start)
        left = end - start if end is not None else None
        rest: list[bytes] = []
        while left is None or left > 0:
            piece = file.read(size if left is None else min(size, left))
            if not piece:
                break
            left = None if left is None else left - len(piece)
            cut = piece.rfind(b"\n") + 1
            if not cut:
                rest.append(piece)
                continue
            yield b"".join([*rest, piece[:cut]])
            rest = [piece[cut:]] if cut < len(piece) else []
        if rest and end is not None:
            # The caller measured the end: what is there belongs to it, newline or not.
            yield b"".join(rest)


def lines(path: Path, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Whole lines without their newline, each with the offset where it ends."""
    at = start
    for block in blocks(path, start, end):
        begin = 0
        while begin < len(block):
            stop = block.find(b"\n", begin)
            line = block[begin:] if stop < 0 else block[begin:stop]
            begin = len(block) if stop < 0 else stop + 1
            yield at + begin, line
        at += len(block)


def last_newline(path: Path) -> int:
    """The offset after the last complete line."""
    with path.open("rb") as file:
        at = file.seek(0, 2)
        while at:
            step = min(BLOCK, at)
            file.seek(at - step)
            cut = file.read(step).rfind(b"\n")
            if cut >= 0:
                return at - step + cut + 1
            at -= step
    return 0


def is_boundary(path: Path, at: int) -> bool:
    """Whether no line goes on across an offset."""
    with path.open("rb") as file:
        file.seek(max(0, at - 1))
        around = file.read(2 if at else 0)
    return b"\n" in around or len(around) < 2


def lines_before(path: Path, end: int) -> Iterator[bytes]:
    """Lines from an offset backwards, nearest first, reading no more than is asked for."""
    with path.open("rb") as file:
        rest = b""
        at = end
        while at > 0:
            step = min(1 << 16, at)
            at -= step
            file.seek(at)
            pieces = (file.read(step) + rest).split(b"\n")
            rest = pieces[0]
            yield from reversed(pieces[1:])
        yield rest
