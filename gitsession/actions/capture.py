"""Captures by hand: all that waits, or a transcript that somebody names."""

from __future__ import annotations

import time
from pathlib import Path

from gitsession import agents
from gitsession.actions.work import make_worker, pipeline_of
from gitsession.capture import events
from gitsession.capture.commits import Made, tie_last
from gitsession.capture.ledger import Tie
from gitsession.capture.leftover import end_of, has_prompt
from gitsession.capture.pipeline import Order, Pipeline, warning
from gitsession.errors import NotFound, SessionError, Usage
from gitsession.git.plumbing import discover
from gitsession.git.repository import Commit
from gitsession.ids import SessionId
from gitsession.model import Evidence, Frozen, Kind, Record, Status
from gitsession.store import folder, registry, spool
from gitsession.store.registry import Known


class Outcome(Frozen, frozen=True, kw_only=True):
    """What a capture by hand did."""

    record: Record | None = None
    handled: int = 0
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def capture_waiting(path: Path) -> Outcome:
    """Handle every event in the spool now, and take what dead sessions left."""
    with discover(path) as repo:
        pipeline = pipeline_of(repo)
        before = len(spool.read(folder.spool(repo.common_dir)))
        worker = make_worker(repo.common_dir, final=True)
        worker.run(wait=True)
        events.sweep(pipeline, repo)
        left = len(spool.read(folder.spool(repo.common_dir)))
        return Outcome(handled=max(0, before - left), failures=tuple(worker.failures))


def capture_transcript(
    path: Path,
    transcript: Path,
    *,
    agent: str = "claude-code",
    session: str | None = None,
    commit: str | None = None,
    task: str | None = None,
    status: Status = "complete",
) -> Outcome:
    """Capture the new lines of a transcript, for a commit, a task or neither."""
    with discover(path) as repo:
        pipeline = pipeline_of(repo)
        if not transcript.is_file():
            raise NotFound("transcript", str(transcript), hint="give the path of a .jsonl file")
        found = session or agents.get(agent).session_of(str(transcript))
        if not found:
            raise Usage("the transcript doesn't say which session it is", hint="add --session ID")
        known = registry.find(repo.common_dir, SessionId(found))
        source = str(transcript.resolve())
        if known is None or known.source != source:
            known = Known(
                session=SessionId(found), agent=agent, source=source, started_at=time.time()
            )
        target = repo.get_commit(commit) if commit else None
        record = _take(pipeline, known, target, task, status)
        return Outcome(
            record=record, handled=int(record is not None), warnings=_warn(pipeline, record)
        )


def _take(
    pipeline: Pipeline, known: Known, commit: Commit | None, task: str | None, status: Status
) -> Record | None:
    end = end_of(Path(known.source))
    if not has_prompt(pipeline, known, end):
        raise SessionError(
            "nobody has asked anything in this transcript yet",
            hint="capture it when the conversation has begun",
        )
    base = commit.parents[0] if commit and commit.parents else None
    tie = Tie(
        commit=commit.oid if commit else None,
        base=base if commit else pipeline.repo.resolve("HEAD"),
        evidence=Evidence(by="manual") if commit else None,
    )
    kind: Kind = "commit" if commit else "task" if task else "checkpoint"
    record = pipeline.take(
        Order(
            session=known.session,
            agent=known.agent,
            source=known.source,
            kind=kind,
            reason="manual" if kind == "checkpoint" else None,
            status=status,
            task=task,
            end=end,
            tie=tie,
        )
    )
    if record is None and commit is not None:
        made = Made(commit=commit, base=None, branch=None, since=0.0, until=0.0)
        return tie_last(pipeline, known, made, Evidence(by="manual"))
    return record


def _warn(pipeline: Pipeline, record: Record | None) -> tuple[str, ...]:
    if record is None or record.raw_size <= pipeline.settings.warn_size:
        return ()
    return (warning(record, pipeline.settings),)
