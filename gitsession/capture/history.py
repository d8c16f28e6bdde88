"""Captures of sessions that were over before git session was there, commit by commit."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from gitsession import agents
from gitsession.agents.base import Adapter, Call
from gitsession.capture import reader
from gitsession.capture.cut import seconds
from gitsession.capture.delta import find_delta
from gitsession.capture.ledger import Tie
from gitsession.capture.leftover import capture_leftover, end_of
from gitsession.capture.pipeline import Order, Pipeline
from gitsession.errors import NotFound
from gitsession.git import inspect
from gitsession.git.repository import Commit
from gitsession.ids import Oid
from gitsession.model import Evidence, Frozen, Record
from gitsession.store import sessions
from gitsession.store.registry import Known

_TAIL_LINES = 2000


class Point(Frozen, frozen=True, kw_only=True):
    """A place in a source where a result named a commit that exists."""

    end: int
    at: float | None
    commit: Commit


def find_points(pipeline: Pipeline, adapter: Adapter, source: Path, start: int) -> list[Point]:
    """The commits that the results in a source name, each where its call has ended."""
    points: list[Point] = []
    named: list[tuple[Commit, float | None]] = []
    running: dict[str, Call] = {}
    done: set[Oid] = set()
    for end, raw in reader.lines(source, start):
        line = adapter.parse_line(raw)
        running.update((call.id, call) for call in line.calls if not call.delegates)
        for outcome in line.outcomes:
            running.pop(outcome.id, None)
            for name in outcome.commits:
                commit = _commit(pipeline, name)
                if commit is not None and commit.oid not in done:
                    done.add(commit.oid)
                    named.append((commit, seconds(line.at)))
        if not running:
            points += [Point(end=end, at=at, commit=commit) for commit, at in named]
            named = []
    return points


def _commit(pipeline: Pipeline, name: str) -> Commit | None:
    """The commit that a result names, if this repository has it and it changed something."""
    try:
        commit = pipeline.repo.get_commit(name)
    except NotFound:
        return None
    return None if inspect.changes_nothing(pipeline.repo, commit) else commit


def capture_history(pipeline: Pipeline, known: Known) -> list[Record]:
    """Capture a whole session, cut at each commit that it names, and what is left over."""
    adapter = agents.get(known.agent)
    source = Path(known.source)
    stored = sessions.open_session(pipeline.repo, known.session)
    start = find_delta(pipeline.repo, adapter, stored, source).start
    if start >= end_of(source):
        return []
    taken = []
    for point in find_points(pipeline, adapter, source, start):
        record = _capture_point(pipeline, adapter, known, point)
        taken += [record] if record else []
    moment = _ended_at(adapter, source)
    base = inspect.commit_before(pipeline.repo, moment) or pipeline.repo.resolve("HEAD")
    rest = capture_leftover(pipeline, known, base=base, remember=False)
    return [*taken, rest] if rest else taken


def _ended_at(adapter: Adapter, source: Path) -> str:
    """The last moment that a source tells of."""
    lines = islice(reader.lines_before(source, source.stat().st_size), _TAIL_LINES)
    return next((at for raw in lines if (at := adapter.parse_line(raw).at)), "")


def _capture_point(
    pipeline: Pipeline, adapter: Adapter, known: Known, point: Point
) -> Record | None:
    parents = point.commit.parents
    tie = Tie(
        commit=point.commit.oid,
        base=parents[0] if parents else None,
        evidence=Evidence(by="named"),
    )
    order = Order(
        session=known.session,
        agent=known.agent,
        source=known.source,
        kind="commit",
        end=point.end,
        side_ends=_side_ends(adapter, known, point),
        tie=tie,
    )
    record = pipeline.take(order)
    if record is not None:
        return record
    stored = sessions.open_session(pipeline.repo, known.session)
    if not stored.seqs:
        return None
    return pipeline.ledger.tie(known.session, stored.seqs[-1], tie)


def _side_ends(adapter: Adapter, known: Known, point: Point) -> dict[str, int]:
    """What subagents had said by then."""
    ends: dict[str, int] = {}
    if point.at is None:
        return ends
    for side in adapter.side_sources(known.source):
        if side.kind != "subagent":
            continue
        ends[side.name] = 0
        for end, raw in reader.lines(Path(side.path)):
            at = seconds(adapter.parse_line(raw).at)
            if at is not None and at > point.at:
                break
            ends[side.name] = end
    return ends
