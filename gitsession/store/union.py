"""One session from two that grew apart: every capture that anybody has, once. Pure.

A session has one writer, but it may be continued on two machines, or be
forgotten in part on one of them. Whoever joins what the clones hold, and in
whatever order and grouping, gets the same session.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gitsession.ids import CaptureId, Oid
from gitsession.model import Foreign, Record
from gitsession.store import contents, records, sessions
from gitsession.store.contents import Contents, Piece
from gitsession.store.tombstones import Forgotten


def join(one: Contents, other: Contents, gone: Forgotten) -> Contents:
    """All captures that either holds, without those that were forgotten."""
    by_id: dict[CaptureId, Piece] = {}
    for piece in (*one.pieces, *other.pieces):
        same = by_id.get(piece.own.id)
        by_id[piece.own.id] = piece if same is None else _meet(piece, same)
    kept = [piece for piece in by_id.values() if not gone.covers(piece.own)]
    return Contents(
        head=max(one.head, other.head, key=sessions.encode_head),
        pieces=_number(_without_needless_stubs(kept)),
        others=_highest(contents.without(one.others, gone), contents.without(other.others, gone)),
    )


def _without_needless_stubs(pieces: Iterable[Piece]) -> list[Piece]:
    """Of a capture emptied by one and only cleaned of a secret by another, the latter stays."""
    every = list(pieces)
    stubs: dict[tuple[str, int], int] = {}
    for piece in (piece for piece in every if piece.is_stub):
        stubs[_moment(piece)] = max(piece.own.seq, stubs.get(_moment(piece), 0))
    whole = {_moment(piece) for piece in every if not piece.is_stub}
    return [
        # It takes the stub's place, and thereby its number.
        piece if piece.is_stub else _numbered(piece, max(_top(piece), stubs.get(_moment(piece), 0)))
        for piece in every
        if not (piece.is_stub and _moment(piece) in whole)
    ]


def _moment(piece: Piece) -> tuple[str, int]:
    """What a capture has in common with what is left of it, and with no other capture."""
    return piece.own.captured_at, piece.own.offset


def _top(piece: Piece) -> int:
    return max(x.seq for x in piece.lines if isinstance(x, Record))


def _meet(one: Piece, other: Piece) -> Piece:
    """The same capture as two clones hold it: perhaps tied to other commits."""
    same = records.join([one.own, other.own])
    own = same[0] if len(same) == 1 else min(one.own, other.own, key=_unnumbered)
    assert isinstance(own, Record)
    rest = [x for x in (*one.lines, *other.lines) if isinstance(x, Foreign) or _is_tie(x, own)]
    return Piece(own=own, ties=_ordered(rest), files=_highest(one.files, other.files))


def _unnumbered(record: Record) -> bytes:
    return records.encode(msgspec.structs.replace(record, seq=0))


def _is_tie(line: Record, own: Record) -> bool:
    return (line.id, line.commit) != (own.id, own.commit)


def _ordered(lines: Iterable[Record | Foreign]) -> tuple[Record | Foreign, ...]:
    return tuple(sorted(records.join(lines), key=records.encode_line))


def _highest(one: dict[str, Oid], other: dict[str, Oid]) -> dict[str, Oid]:
    """Files by name; what is different in both (a secret was cleaned out elsewhere) by any rule."""
    return {name: max(one.get(name, Oid("")), other.get(name, Oid(""))) for name in one | other}


def _number(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Number captures in order of time, each no lower than anybody has it already."""
    numbered: list[Piece] = []
    for piece in sorted(pieces, key=lambda p: (p.own.captured_at, p.own.id)):
        least = numbered[-1].own.seq + 1 if numbered else 1
        numbered.append(_numbered(piece, max(_top(piece), least)))
    return tuple(numbered)


def _numbered(piece: Piece, seq: int) -> Piece:
    own = msgspec.structs.replace(piece.own, seq=seq)
    ties = [
        x if isinstance(x, Foreign) else msgspec.structs.replace(x, seq=seq) for x in piece.ties
    ]
    return msgspec.structs.replace(piece, own=own, ties=_ordered(ties))
