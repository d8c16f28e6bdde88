"""The string literals of JSON, so that what is replaced never breaks what is around it.

A span is cut to the literals it lies in, and widened to whole escape sequences.
Only lines that are about to change are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

_LITERAL = re.compile(rb'"((?:[^"\\]++|\\.)*+)"([ \t\r\n]*:)?', re.DOTALL)
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{64,}={0,2}")
_HIGH = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_LOW = re.compile(rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_KEPT = frozenset(
    {b"uuid", b"parentUuid", b"logicalParentUuid", b"leafUuid", b"messageId", b"sessionId",
     b"timestamp", b"requestId", b"id", b"tool_use_id", b"toolUseID", b"parentToolUseID",
     b"sourceToolAssistantUUID", b"signature", b"type", b"role", b"model", b"version",
     b"media_type", b"stop_reason", b"agentId"}
)  # fmt: skip
"""Fields that hold a transcript together: a user's rule never changes them."""


class Literal(NamedTuple):
    """The text of a string, without its quotes."""

    start: int
    end: int
    kept: bool
    """A name, or the value of a field that holds a transcript together."""


def is_json(data: bytes) -> bool:
    """Tell whether a text is one JSON value with strings in it."""
    if data.lstrip()[:1] not in (b"{", b"[", b'"'):
        return False
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (ValueError, RecursionError):
        pass
    else:
        return True
    import json

    try:
        # lone surrogates and the like: valid to many others
        json.loads(data.decode("latin-1"))
    except (ValueError, RecursionError):
        return False
    return True


def read_literals(data: bytes, *, upto: int) -> Iterator[Literal]:
    """The strings of a JSON text, in order, as far as a position."""
    name = b""
    for match in _LITERAL.finditer(data):
        start, end = match.span(1)
        if start >= upto:
            return
        if match[2]:
            name = data[start:end] if end - start <= 32 else b""
            yield Literal(start, end, True)
            continue
        kept = name in _KEPT or (
            name == b"data" and _BASE64.fullmatch(data, start, end) is not None
        )
        yield Literal(start, end, kept)


def widen(data: bytes, literal: Literal, start: int, end: int) -> tuple[int, int]:
    """Cut a span to a literal and stretch it over the escape sequences that it divides."""
    low = _edge(data, literal.start, max(start, literal.start), forward=False)
    high = _edge(data, literal.start, min(end, literal.end), forward=True)
    return low, min(high, literal.end)


def _edge(data: bytes, low: int, at: int, *, forward: bool) -> int:
    """Move a position out of an escape sequence, or out of a pair of surrogates."""
    for back in range(1, 6):
        begin = at - back
        if begin < low:
            break
        if data[begin] != 0x5C:
            continue
        run = begin
        while run > low and data[run - 1] == 0x5C:
            run -= 1
        if (begin - run) % 2 == 0:
            stop = begin + (6 if data[begin + 1] == 0x75 else 2)
            if stop > at:
                at = stop if forward else begin
        break
    if at - 6 >= low and _HIGH.match(data, at - 6) and _LOW.match(data, at):
        return at + 6 if forward else at - 6
    return at
