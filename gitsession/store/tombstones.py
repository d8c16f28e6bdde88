"""What was forgotten, and must not come back: tombstones travel in the index, beside its notes.

A tombstone names a session or one of its captures, and nothing of what they
held. It stands under a path that is no note's, so that git keeps it whatever
it does with notes.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gitsession.ids import CaptureId, SessionId, session_slug
from gitsession.model import Author, Foreign, Frozen, Record

FOLDER = "forgotten"
VERSION = 1
_MAX = 16 << 20


class Tombstone(Frozen, frozen=True, kw_only=True):
    """One thing that was forgotten."""

    v: int
    session: SessionId
    capture: CaptureId | None = None
    """The one capture; the whole session when there is none."""
    at: str = ""
    author: Author | None = None


class Forgotten(Frozen, frozen=True, kw_only=True):
    """All that was."""

    sessions: frozenset[SessionId] = frozenset()
    captures: frozenset[CaptureId] = frozenset()
    partly: frozenset[SessionId] = frozenset()
    """The sessions that those captures are of."""

    def covers(self, record: Record) -> bool:
        """Whether a record is of something forgotten."""
        return record.session in self.sessions or record.id in self.captures


_decoder = msgspec.json.Decoder(Tombstone)
_encoder = msgspec.json.Encoder(order="sorted")


def path_of(session: SessionId) -> str:
    """Where the tombstones of a session stand in the index."""
    return f"{FOLDER}/{session_slug(session)}"


def encode(lines: Iterable[Tombstone | Foreign]) -> bytes:
    """A file of tombstones: one line each, in an order that depends on nothing but the lines."""
    raw = {x.raw if isinstance(x, Foreign) else _encoder.encode(x) for x in lines}
    return b"".join(line + b"\n" for line in sorted(raw))


def decode(data: bytes) -> list[Tombstone | Foreign]:
    """All lines of a file; what can't be understood is kept as it is."""
    return [_decode(line) for line in data[:_MAX].split(b"\n") if line.strip()]


def _decode(line: bytes) -> Tombstone | Foreign:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Foreign(raw=line)


def forgotten(files: Iterable[bytes]) -> Forgotten:
    """What all these files of tombstones say."""
    stones = [x for data in files for x in decode(data) if isinstance(x, Tombstone)]
    return Forgotten(
        sessions=frozenset(stone.session for stone in stones if stone.capture is None),
        captures=frozenset(stone.capture for stone in stones if stone.capture is not None),
        partly=frozenset(stone.session for stone in stones if stone.capture is not None),
    )


def union(*every: Forgotten) -> Forgotten:
    """All that any of these says."""
    return Forgotten(
        sessions=frozenset().union(*(one.sessions for one in every)),
        captures=frozenset().union(*(one.captures for one in every)),
        partly=frozenset().union(*(one.partly for one in every)),
    )


def beyond(known: Forgotten, all_of_it: Forgotten) -> Forgotten:
    """What isn't known yet of all that was forgotten."""
    stones = all_of_it.captures - known.captures
    return Forgotten(
        sessions=all_of_it.sessions - known.sessions,
        captures=stones,
        partly=all_of_it.partly if stones else frozenset(),
    )


def without(lines: Iterable[Record | Foreign], gone: Forgotten) -> list[Record | Foreign]:
    """A note's lines less those of what was forgotten."""
    return [x for x in lines if isinstance(x, Foreign) or not gone.covers(x)]
