"""Keeps up with what a session writes, so that a commit made by hand can be told to be its work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gitsession import agents
from gitsession.agents.base import Adapter, Call, Edit, Line
from gitsession.capture import match, reader
from gitsession.capture.digest import Relative
from gitsession.git.repository import Repository
from gitsession.ids import SessionId
from gitsession.store import sessions
from gitsession.store.registry import Known, Trace

_MAX_TRACES = 5000


def meet(repo: Repository, agent: str, session: SessionId, source: str, at: float) -> Known:
    """A session that the registry doesn't have: what is captured of it is not read again."""
    known = Known(session=session, agent=agent, source=source, started_at=at, seen_at=at)
    stored = sessions.open_session(repo, session)
    last = sessions.last_record(repo, stored)
    if last is None:
        return known
    sides = agents.get(agent).side_sources(source)
    ends = {s.name: reader.last_newline(Path(s.path)) for s in sides if s.kind == "subagent"}
    return msgspec.structs.replace(known, scanned=last.offset, scanned_sides=ends)


def scan(adapter: Adapter, known: Known, relative: Relative) -> Known:
    """Read on in a session's sources and keep a trace of each edit."""
    source = Path(known.source)
    if not source.is_file():
        return known
    traces = {(t.side, t.offset, t.path): t for t in known.traces}
    scanned = _follow(adapter, source, known.scanned, "", relative, traces)
    sides = dict(known.scanned_sides)
    for side in adapter.side_sources(known.source):
        if side.kind == "subagent":
            start = sides.get(side.name, 0)
            path = Path(side.path)
            sides[side.name] = _follow(adapter, path, start, side.name, relative, traces)
    return msgspec.structs.replace(
        known,
        scanned=scanned,
        scanned_sides=sides,
        traces=tuple(traces.values())[-_MAX_TRACES:],
    )


def _follow(
    adapter: Adapter,
    source: Path,
    start: int,
    side: str,
    relative: Relative,
    traces: dict[tuple[str, int, str], Trace],
) -> int:
    """Add the traces of one source; gives back where to read on: never within a call."""
    size = source.stat().st_size
    if size < start:
        start = 0
    safe = start
    open_calls: dict[str, Call] = {}
    for end, raw in reader.lines(source, start):
        line = adapter.parse_line(raw)
        for edit in _edits(line, open_calls):
            path = relative(edit.path, line.cwd)
            if path is not None and (side, end, path) not in traces:
                traces[side, end, path] = _trace(edit, path, end, side)
        if not open_calls:
            safe = end
    return safe


def _edits(line: Line, open_calls: dict[str, Call]) -> Iterator[Edit]:
    for call in line.calls:
        if not call.delegates:
            open_calls[call.id] = call
    for outcome in line.outcomes:
        begun = open_calls.pop(outcome.id, None)
        if not outcome.failed:
            yield from outcome.edits or (begun.edits if begun else ())


def _trace(edit: Edit, path: str, end: int, side: str) -> Trace:
    added, removed = match.marks(edit.added), match.marks(edit.removed)
    kept = frozenset(added) & frozenset(removed)
    return Trace(
        path=path,
        offset=end,
        side=side,
        added=tuple(x for x in added if x not in kept),
        removed=tuple(x for x in removed if x not in kept),
    )


def settle(known: Known, seq: int, end: int, side_ends: dict[str, int]) -> Known:
    """Say of the traces that a capture took which capture that was."""

    def is_in(trace: Trace) -> bool:
        if trace.seq is not None:
            return False
        limit = end if not trace.side else side_ends.get(trace.side, trace.offset)
        return trace.offset <= limit

    return msgspec.structs.replace(
        known,
        traces=tuple(msgspec.structs.replace(t, seq=seq) if is_in(t) else t for t in known.traces),
    )


def is_done(known: Known, *, pending_days: int) -> bool:
    """Whether nothing more can come of a session that ended."""
    if known.state != "ended":
        return False
    return not known.traces or time.time() - known.seen_at > pending_days * 86400
