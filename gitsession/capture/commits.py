"""Captures for a commit: of the session that made it, and of those whose work it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from gitsession import agents
from gitsession.agents.base import Adapter, Line
from gitsession.capture import match, reader
from gitsession.capture.cut import Cut, find_cut
from gitsession.capture.delta import find_delta
from gitsession.capture.ledger import Tie
from gitsession.capture.pipeline import Order, Pipeline
from gitsession.capture.scan import is_done, scan, settle
from gitsession.git.inspect import changes
from gitsession.git.repository import Commit, FileChange
from gitsession.ids import Oid
from gitsession.model import Evidence, Frozen, Record
from gitsession.store import registry, sessions
from gitsession.store.registry import Known


class Made(Frozen, frozen=True, kw_only=True):
    """A commit that was made: which, where, and when."""

    commit: Commit
    base: Oid | None
    """What its content is compared with: its parent, or what it amends."""
    branch: str | None
    since: float
    until: float


class Waiting(Exception):
    """The call that made a commit hasn't ended: try again later."""


def parse_lines(adapter: Adapter, source: Path, start: int) -> Iterator[tuple[int, Line]]:
    """The lines of a source from an offset, understood."""
    for end, raw in reader.lines(source, start):
        yield end, adapter.parse_line(raw)


def find_cuts(pipeline: Pipeline, known: Known, made: Made) -> tuple[Cut, dict[str, Cut]]:
    """Where to cut a session's sources for a commit."""
    adapter = agents.get(known.agent)
    stored = sessions.open_session(pipeline.repo, known.session)
    source = Path(known.source)
    start = _last_start(pipeline, stored, find_delta(pipeline.repo, adapter, stored, source).start)

    def cut(path: Path, begin: int) -> Cut:
        lines = parse_lines(adapter, path, begin)
        moment = {"since": made.since, "until": made.until}
        return find_cut(lines, start=begin, commit=made.commit.oid, **moment)

    main = cut(source, start)
    sides = {
        side.name: cut(Path(side.path), 0)
        for side in adapter.side_sources(known.source)
        if side.kind == "subagent"
    }
    return main, sides


def _last_start(pipeline: Pipeline, stored: sessions.Stored, start: int) -> int:
    """Where the newest capture begins, for the call that made a commit may be in it.

    A call can make several commits: the first one's capture holds it, and without
    it the next call would seem to have made the others.
    """
    if len(stored.seqs) < 2:
        return 0
    earlier = sessions.find_record(pipeline.repo, stored, stored.seqs[-2])
    return min(earlier.offset, start) if earlier else start


def capture_made(
    pipeline: Pipeline, known: Known, made: Made, evidence: Evidence, *, final: bool, lag: bool
) -> Record | None:
    """Capture the session that made a commit, up to the call that made it.

    Raises Waiting while that call runs, unless this is `final`, and with `lag`
    while its lines may be on their way: they lag behind the turn's end as well.
    """
    main, sides = find_cuts(pipeline, known, made)
    every = [main, *sides.values()]
    if not final and (any(cut.running for cut in every)):
        raise Waiting
    if lag and not any(cut.made_here or cut.reached for cut in every):
        raise Waiting
    side_ends = {name: cut.end for name, cut in sides.items()}
    order = Order(
        session=known.session,
        agent=known.agent,
        source=known.source,
        kind="commit",
        end=main.end,
        side_ends=side_ends,
        tie=_tie(made, evidence),
    )
    record = pipeline.take(order)
    if record is None:
        return tie_last(pipeline, known, made, evidence)
    settle_and_save(pipeline, known, record.seq, main.end, side_ends)
    return record


def tie_last(pipeline: Pipeline, known: Known, made: Made, evidence: Evidence) -> Record | None:
    """Tie the newest capture of a session to a commit that brought nothing new."""
    stored = sessions.open_session(pipeline.repo, known.session)
    if not stored.seqs:
        return None
    return pipeline.ledger.tie(known.session, stored.seqs[-1], _tie(made, evidence))


def settle_and_save(
    pipeline: Pipeline, known: Known, seq: int, end: int, side_ends: dict[str, int]
) -> Known:
    """Remember which traces a capture took."""
    known = scan(agents.get(known.agent), known, pipeline.places.relative)
    known = settle(known, seq, end, side_ends)
    registry.save(pipeline.repo.common_dir, known)
    return known


def capture_by_content(pipeline: Pipeline, made: Made) -> list[Record]:
    """Tie every session to a commit that holds what the session wrote, and no commit held yet."""
    common = pipeline.repo.common_dir
    every = [
        scan(agents.get(known.agent), known, pipeline.places.relative)
        for known in registry.all_known(common)
    ]
    paths = sorted({trace.path for known in every for trace in known.traces})
    found = changes(pipeline.repo, made.base, made.commit.oid, paths) if paths else []
    tied: list[Record] = []
    for known in every:
        matches = match.match(known.traces, found)
        if matches and Path(known.source).is_file():
            records, known = _tie_matches(pipeline, known, matches, made, found)
            tied += records
        keep(pipeline, known)
    return tied


def keep(pipeline: Pipeline, known: Known) -> None:
    """Keep a session for as long as a commit may still hold its work."""
    if is_done(known, pending_days=pipeline.settings.pending_days):
        registry.drop(pipeline.repo.common_dir, known.session)
    else:
        registry.save(pipeline.repo.common_dir, known)


def _tie_matches(
    pipeline: Pipeline,
    known: Known,
    matches: Sequence[match.Match],
    made: Made,
    found: Sequence[FileChange],
) -> tuple[list[Record], Known]:
    """Capture what isn't captured yet of the traces that matched, and tie them all."""
    tied = []
    fresh = [m for m in matches if known.traces[m.index].seq is None]
    if fresh:
        record, known = _capture_fresh(pipeline, known, fresh, made)
        tied += [record] if record else []
        # The same traces again, now that they have their capture.
        matches = match.match(known.traces, found)
    by_seq: dict[int, list[match.Match]] = {}
    for m in matches:
        seq = known.traces[m.index].seq
        if seq is not None:
            by_seq.setdefault(seq, []).append(m)
    for seq, group in sorted(by_seq.items()):
        if not any(record.seq == seq for record in tied):
            tie = _tie(made, _content(known, group))
            record = pipeline.ledger.tie(known.session, seq, tie)
            tied += [record] if record else []
    return tied, _spend(known, matches)


def _capture_fresh(
    pipeline: Pipeline, known: Known, fresh: Sequence[match.Match], made: Made
) -> tuple[Record | None, Known]:
    main, sides = find_cuts(pipeline, known, made)
    of_main = [known.traces[m.index].offset for m in fresh if not known.traces[m.index].side]
    side_ends = {name: cut.end for name, cut in sides.items()}
    for trace in (known.traces[m.index] for m in fresh):
        if trace.side:
            side_ends[trace.side] = max(side_ends.get(trace.side, 0), trace.offset)
    end = max([main.end, *of_main])
    record = pipeline.take(
        Order(
            session=known.session,
            agent=known.agent,
            source=known.source,
            kind="commit",
            end=end,
            side_ends=side_ends,
            tie=_tie(made, _content(known, fresh)),
        )
    )
    if record is None:
        stored = sessions.open_session(pipeline.repo, known.session)
        return None, settle(known, stored.seqs[-1], end, side_ends) if stored.seqs else known
    return record, settle(known, record.seq, end, side_ends)


def _content(known: Known, group: Sequence[match.Match]) -> Evidence:
    files = sorted({known.traces[m.index].path for m in group})
    return Evidence(by="content", lines=sum(m.lines for m in group), files=tuple(files[:20]))


def _spend(known: Known, matches: Sequence[match.Match]) -> Known:
    """Take from the traces what the commit holds."""
    rest = {m.index: m.rest for m in matches}
    traces = (rest.get(i, trace) for i, trace in enumerate(known.traces))
    return msgspec.structs.replace(known, traces=tuple(t for t in traces if not match.is_spent(t)))


def _tie(made: Made, evidence: Evidence) -> Tie:
    parents = made.commit.parents
    return Tie(
        commit=made.commit.oid,
        base=parents[0] if parents else None,
        branch=made.branch,
        evidence=evidence,
    )
