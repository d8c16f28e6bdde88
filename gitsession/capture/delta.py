"""Where the new lines of a source begin, worked out from what is stored and from nothing else.

The end of the last capture is in its record, so there is no state to lose. When
the file isn't the one that was captured (cut, replaced, rewritten), it is read
again and the lines that are stored already are told by their uuid.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from pathlib import Path

from gitsession.agents.base import Adapter
from gitsession.capture import reader
from gitsession.git import refs
from gitsession.git.repository import Repository
from gitsession.ids import SessionId
from gitsession.model import Frozen, Parent, Record
from gitsession.store import contents, forks, registry, sessions, tombstones
from gitsession.store.tombstones import Forgotten

_HEAD_LINES = 400
_TAIL_LINES = 2000
_MOST_PARENTS = 50


class Delta(Frozen, frozen=True, kw_only=True):
    """Which lines of a source are new."""

    start: int = 0
    skip: frozenset[str] = frozenset()
    """Lines after `start` that are stored already, by uuid."""
    plain_from: int = 0
    """Lines without a uuid are new from here on."""
    parent: Parent | None = None


def find_delta(repo: Repository, adapter: Adapter, stored: sessions.Stored, source: Path) -> Delta:
    """Which lines of a session's main source no capture holds yet."""
    last = sessions.last_record(repo, stored)
    if last is None:
        return _inherited(repo, adapter, stored, source)
    if _continues(adapter, source, last):
        return Delta(start=last.offset)
    kept = stored_uuids(repo, adapter, stored)
    kept |= _forgotten_uuids(repo, adapter, stored, source, kept)
    if stored.head is not None and stored.head.parent is not None:
        # A fork that was put together here has its parent's lines in front, as if they were its.
        kept |= _lines_before(repo, adapter, stored.head.parent.session)
    return _again(adapter, source, kept)


def _continues(adapter: Adapter, source: Path, last: Record) -> bool:
    """Whether the file still is what it was up to the end of the last capture."""
    if source.stat().st_size < last.offset or not reader.is_boundary(source, last.offset):
        return False
    if not last.offset or last.last is None:
        return True
    for raw in islice(reader.lines_before(source, last.offset), _TAIL_LINES):
        uuid = adapter.parse_line(raw).uuid
        if uuid:
            return uuid == last.last
    return False


def _again(adapter: Adapter, source: Path, known: set[str]) -> Delta:
    """All of a file that isn't the one we knew, without the lines we have."""
    plain_from = 0
    for end, raw in reader.lines(source, 0, reader.last_newline(source)):
        if adapter.parse_line(raw).uuid in known:
            plain_from = end
    return Delta(skip=frozenset(known), plain_from=plain_from)


def _forgotten_uuids(
    repo: Repository, adapter: Adapter, stored: sessions.Stored, source: Path, kept: set[str]
) -> set[str]:
    """The lines in a file that were captured and forgotten: of their uuids two are kept."""
    if stored.head is None or tombstones.of_session(repo, stored.head.session) == Forgotten():
        return set()
    found = (sessions.find_record(repo, stored, seq) for seq in stored.seqs)
    gone = [(r.first, r.last) for r in found if r and contents.FORGOTTEN in r.redactions]
    end = reader.last_newline(source)
    every = [adapter.parse_line(raw).uuid or "" for _, raw in reader.lines(source, 0, end)]
    known: set[str] = set()
    for first, last in gone:
        if last in every:
            # Captures follow each other: what comes before was captured too.
            known.update(every[: every.index(last) + 1])
        elif first in every:
            known.update(takewhile(lambda uuid: uuid not in kept, every[every.index(first) :]))
    return known - {""}


def _inherited(repo: Repository, adapter: Adapter, stored: sessions.Stored, source: Path) -> Delta:
    """A new session from its first line; a fork's after what it has from its parent."""
    end = reader.last_newline(source)
    made = forks.find(repo.common_dir, refs.slug_of(stored.ref))
    parent = made.parent if made else None
    if parent is None:
        head = [raw for _, raw in islice(reader.lines(source, 0, end), _HEAD_LINES)]
        parent = adapter.parent_of(head)
    if parent is None:
        return Delta()
    known = _lines_before(repo, adapter, parent.session)
    # What was forgotten there isn't kept here instead: the line says where it is from.
    partly = tombstones.of_session(repo, parent.session) != Forgotten()
    start, turn = 0, 0
    prompts = 0
    for offset, raw in reader.lines(source, 0, end):
        line = adapter.parse_line(raw)
        prompts += line.prompt is not None
        if line.uuid and (line.uuid in known or (partly and line.inherits == parent.session)):
            start, turn = offset, prompts
        elif line.uuid:
            break
    if made is None:
        # The copy of a compacted session lacks the turns that were summarised.
        parent = Parent(session=parent.session, turn=turn or parent.turn)
    return Delta(start=start, parent=parent)


def _lines_before(repo: Repository, adapter: Adapter, session: SessionId) -> set[str]:
    """The lines of a parent, and of those that it is a fork of itself."""
    uuids: set[str] = set()
    seen: set[SessionId] = set()
    following: SessionId | None = session
    while following is not None and following not in seen and len(seen) < _MOST_PARENTS:
        seen.add(following)
        uuids |= _lines_of(repo, adapter, following)
        stored = sessions.open_session(repo, following)
        made = forks.find(repo.common_dir, refs.slug_of(stored.ref))
        parent = stored.head.parent if stored.head else made.parent if made else None
        following = parent.session if parent else None
    return uuids


def _lines_of(repo: Repository, adapter: Adapter, session: SessionId) -> set[str]:
    """The lines of a parent that are stored, or will be because this machine knows the session."""
    stored = sessions.open_session(repo, session)
    uuids = stored_uuids(repo, adapter, stored) if stored.tip else set()
    known = registry.find(repo.common_dir, session)
    if known is not None and Path(known.source).is_file():
        for _, raw in reader.lines(Path(known.source)):
            uuid = adapter.parse_line(raw).uuid
            if uuid:
                uuids.add(uuid)
    return uuids


def stored_uuids(repo: Repository, adapter: Adapter, stored: sessions.Stored) -> set[str]:
    """The uuids of all lines that a session's captures hold."""
    lines = (raw for seq in stored.seqs for raw in sessions.segment_lines(repo, stored, seq))
    return {uuid for raw in lines if (uuid := adapter.parse_line(raw).uuid)}


def new_blocks(adapter: Adapter, source: Path, delta: Delta, end: int) -> Iterator[bytes]:
    """The new lines up to an offset, in blocks."""
    if not delta.skip:
        yield from reader.blocks(source, delta.start, end)
        return
    kept: list[bytes] = []
    size = 0
    for offset, raw in reader.lines(source, delta.start, end):
        uuid = adapter.parse_line(raw).uuid
        if (uuid and uuid in delta.skip) or (not uuid and offset <= delta.plain_from):
            continue
        kept.append(raw + b"\n")
        size += len(raw)
        if size >= reader.BLOCK:
            yield b"".join(kept)
            kept, size = [], 0
    if kept:
        yield b"".join(kept)
