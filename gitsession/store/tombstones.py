"""What was forgotten, and must not come back: tombstones travel in the index, beside its notes.

A tombstone names a session or one of its captures, and nothing of what they
held. It stands under a path that is no note's, so that git keeps it whatever
it does with notes.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Repository
from gitsession.ids import CaptureId, Oid, SessionId, session_slug
from gitsession.model import Author, Foreign, Frozen, Record

FOLDER = "forgotten"
VERSION = 1
_MAX = 16 << 20


class Tombstone(Frozen, frozen=True, kw_only=True):
    """One thing that was forgotten."""

    v: int
    session: SessionId
    capture: CaptureId | None = None
    """The one capture; the whole session when there is none, and no blobs either."""
    blobs: tuple[Oid, ...] = ()
    """Large outputs of the session, by what git calls them."""
    at: str = ""
    author: Author | None = None


class Forgotten(Frozen, frozen=True, kw_only=True):
    """All that was."""

    sessions: frozenset[SessionId] = frozenset()
    captures: frozenset[CaptureId] = frozenset()
    blobs: frozenset[Oid] = frozenset()
    partly: frozenset[SessionId] = frozenset()
    """The sessions that those captures and blobs are of."""

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
    return named_by(x for data in files for x in decode(data) if isinstance(x, Tombstone))


def named_by(stones: Iterable[Tombstone]) -> Forgotten:
    """What tombstones say."""
    every = list(stones)
    parts = [stone for stone in every if stone.capture is not None or stone.blobs]
    return Forgotten(
        sessions=frozenset(x.session for x in every if x.capture is None and not x.blobs),
        captures=frozenset(x.capture for x in parts if x.capture is not None),
        blobs=frozenset(blob for x in parts for blob in x.blobs),
        partly=frozenset(x.session for x in parts),
    )


def read(repo: Plumbing, index: Oid | None) -> Forgotten:
    """All that an index says was forgotten."""
    if index is None:
        return Forgotten()
    files = [x.oid for x in repo.tree(f"{index}:{FOLDER}") if x.mode == "100644"]
    # Others' may be of any size.
    sizes = repo.sizes(files)
    kept = [oid for oid in files if sizes.get(oid, 0) <= _MAX]
    return forgotten(data or b"" for data in repo.read_many(kept))


def of_session(repo: Repository, session: SessionId) -> Forgotten:
    """What was forgotten of one session."""
    found = forgotten([repo.read(f"{refs.INDEX}:{path_of(session)}") or b""])
    # Two ids may share a file's name.
    return Forgotten(
        sessions=found.sessions & {session},
        captures=found.captures,
        blobs=found.blobs,
        partly=found.partly & {session},
    )


def union(*every: Forgotten) -> Forgotten:
    """All that any of these says."""
    return Forgotten(
        sessions=frozenset().union(*(one.sessions for one in every)),
        captures=frozenset().union(*(one.captures for one in every)),
        blobs=frozenset().union(*(one.blobs for one in every)),
        partly=frozenset().union(*(one.partly for one in every)),
    )


def beyond(known: Forgotten, all_of_it: Forgotten) -> Forgotten:
    """What isn't known yet of all that was forgotten."""
    captures, blobs = all_of_it.captures - known.captures, all_of_it.blobs - known.blobs
    return Forgotten(
        sessions=all_of_it.sessions - known.sessions,
        captures=captures,
        blobs=blobs,
        partly=all_of_it.partly if captures or blobs else frozenset(),
    )


def without(lines: Iterable[Record | Foreign], gone: Forgotten) -> list[Record | Foreign]:
    """A note's lines less those of what was forgotten."""
    return [x for x in lines if not _is_of(x, gone)]


class _Named(Frozen, frozen=True, kw_only=True):
    """As much of a later version's record as says what it is of."""

    session: SessionId = SessionId("")
    id: CaptureId = CaptureId("")


_named = msgspec.json.Decoder(_Named)


def _is_of(line: Record | Foreign, gone: Forgotten) -> bool:
    if isinstance(line, Record):
        return gone.covers(line)
    try:
        named = _named.decode(line.raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return named.session in gone.sessions or named.id in gone.captures
