"""Captures without a commit: what is left of a session when it ends, is cleared or compacted."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gitsession import agents
from gitsession.capture import reader
from gitsession.capture.commits import settle_and_save
from gitsession.capture.delta import find_delta
from gitsession.capture.ledger import Tie
from gitsession.capture.pipeline import Order, Pipeline
from gitsession.ids import Oid
from gitsession.model import Kind, Reason, Record, Status
from gitsession.store import records, sessions
from gitsession.store.registry import Known


def end_of(source: Path) -> int:
    """The end of a source that nobody writes any more: a last line needs no newline to be whole."""
    end = reader.last_newline(source)
    with source.open("rb") as file:
        file.seek(end)
        tail = file.read(1 << 26)
    if not tail:
        return end
    try:
        msgspec.json.decode(tail)
    except msgspec.DecodeError:
        return end
    return end + len(tail)


def capture_leftover(
    pipeline: Pipeline,
    known: Known,
    *,
    kind: Kind = "checkpoint",
    reason: Reason | None = "end",
    status: Status = "complete",
    task: str | None = None,
    closed: bool = True,
    base: Oid | None = None,
    branch: str | None = None,
    remember: bool = True,
) -> Record | None:
    """Capture all that is new of a session; None when nothing is, or nobody has spoken yet."""
    source = Path(known.source)
    if not source.is_file():
        return None
    end = end_of(source) if closed else reader.last_newline(source)
    if not has_prompt(pipeline, known, end):
        return None
    record = pipeline.take(
        Order(
            session=known.session,
            agent=known.agent,
            source=known.source,
            kind=kind,
            reason=reason,
            status=status,
            task=task,
            end=end,
            tie=Tie(base=base, branch=branch),
        )
    )
    seq = record.seq if record else _mend_last(pipeline, known)
    if seq is not None and remember:
        settle_and_save(pipeline, known, seq, end, {})
    return record


def _mend_last(pipeline: Pipeline, known: Known) -> int | None:
    """Nothing is new: see that what follows from the newest capture was done, if we died then."""
    stored = sessions.open_session(pipeline.repo, known.session)
    if not stored.seqs:
        return None
    lines = sessions.record_lines(pipeline.repo, stored, stored.seqs[-1])
    pipeline.ledger.ensure_indexed(records.readable(lines))
    return stored.seqs[-1]


def has_prompt(pipeline: Pipeline, known: Known, end: int) -> bool:
    """Whether a session is one at all: somebody has asked for something, now or before."""
    adapter = agents.get(known.agent)
    stored = sessions.open_session(pipeline.repo, known.session)
    if stored.tip is not None:
        return True
    source = Path(known.source)
    start = find_delta(pipeline.repo, adapter, stored, source).start
    return any(
        adapter.parse_line(raw).prompt is not None for _, raw in reader.lines(source, start, end)
    )
