"""What each event means for the captures: one function for each kind of event."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from gitsession import agents
from gitsession.agents.base import Event
from gitsession.capture.commits import (
    Made,
    Waiting,
    capture_by_content,
    capture_made,
    find_cuts,
    keep,
)
from gitsession.capture.leftover import capture_leftover
from gitsession.capture.pipeline import Pipeline
from gitsession.capture.replaced import find_replaced
from gitsession.capture.scan import meet, scan
from gitsession.capture.snapshot import understand as understand
from gitsession.git import inspect, notes, refs
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Commit
from gitsession.ids import Oid, SessionId, is_oid
from gitsession.model import Evidence, Record
from gitsession.store import folder, heads, records, registry, spool
from gitsession.store.registry import Known
from gitsession.store.spool import Spooled

LAG = 1.0
"""Seconds that a line may be on its way to the transcript."""
_SILENCE = 86400.0
"""Seconds after which a session whose process isn't known is taken to be over."""
_SETTLE = 0.3
"""Seconds that a client may go on writing after it said that a session ends."""


def session_of(env: Mapping[str, str]) -> tuple[str, SessionId] | None:
    """The agent and the session in whose shell something happened."""
    for name in agents.NAMES:
        session = agents.get(name).detect(env)
        if session is not None:
            return name, session
    return None


def know(repo: Plumbing, agent: str, session: SessionId, env: Mapping[str, str]) -> Known | None:
    """A session as this machine knows it, found by its id when no event told of it."""
    known = registry.find(repo.common_dir, session)
    if known is not None and Path(known.source).is_file():
        return known
    source = agents.get(agent).find_source(session, env)
    if source is None:
        return known
    pid = env.get("CLAUDE_PID", "")
    return msgspec.structs.replace(
        known or meet(repo, agent, session, source, time.time()),
        source=source,
        pid=int(pid) if pid.isdigit() else 0,
        seen_at=time.time(),
    )


def is_running(known: Known) -> bool:
    """Whether the program that holds a session is alive, as far as can be told."""
    if not known.pid:
        return time.time() - known.seen_at < _SILENCE
    try:
        os.kill(known.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _age(event: Spooled) -> float:
    """Seconds since an event; one from the future, after the clock was set, is as far away."""
    return abs(time.time() - event.at)


# -- commits ----------------------------------------------------------------------------------


def on_commit(
    pipeline: Pipeline,
    repo: Plumbing,
    event: Spooled,
    *,
    final: bool,
    at_once: bool,
    behind: Collection[str] = (),
) -> None:
    """A hook of git told of a commit, or of a merge; those that it comes `behind` still wait."""
    if not is_oid(event.head) or repo.resolve(event.head) is None:
        return
    head = Oid(event.head)
    moves = inspect.moves(repo)
    action, before = inspect.made_by(moves, head)
    commit = repo.get_commit(head)
    if action is None or (event.event == "post-merge" and len(commit.parents) < 2):
        return
    old = before if inspect.is_amend(action) else None
    base = old or (commit.parents[0] if commit.parents else None)
    replaced = find_replaced(repo, commit, base, moves, event.at)
    if not at_once and not set(behind).isdisjoint(replaced):
        raise Waiting
    sources = [*replaced, *([old] if old else []), *map(Oid, filter(is_oid, [event.picked]))]
    pipeline.ledger.carry([(source, head) for source in dict.fromkeys(sources)])
    if inspect.changes_nothing(repo, commit):
        return
    made = Made(
        commit=commit,
        base=base,
        branch=refs.branch_of(event.ref),
        since=event.at,
        until=event.at,
    )
    _capture_for_shell(pipeline, repo, event, made, final=final, at_once=at_once)
    if len(commit.parents) < 2:
        capture_by_content(pipeline, made)


def _capture_for_shell(
    pipeline: Pipeline,
    repo: Plumbing,
    event: Spooled,
    made: Made,
    *,
    final: bool,
    at_once: bool,
) -> None:
    """Capture the session in whose shell the commit was made, if it was in one."""
    found = session_of(event.env)
    if found is None:
        return
    lag = not at_once and _age(event) < LAG
    known = know(repo, *found, event.env)
    if known is None or not Path(known.source).is_file():
        if lag:
            raise Waiting
        return
    registry.save(repo.common_dir, known)
    if not _has(pipeline, made.commit.oid, known.session):
        evidence = Evidence(by="environment")
        capture_made(pipeline, known, made, evidence, final=final, lag=lag)


def _has(pipeline: Pipeline, commit: Oid, session: SessionId) -> bool:
    """Whether the index has a session for a commit that isn't carried from another one."""
    lines = records.decode_note(notes.read(pipeline.repo, commit))
    return any(
        isinstance(line, Record)
        and line.session == session
        and line.commit == commit
        and line.rewritten_from is None
        for line in lines
    )


def on_rewrite(pipeline: Pipeline, event: Spooled) -> None:
    """Commits took the place of others."""
    words = (line.split() for line in event.body.decode("ascii", "replace").splitlines())
    pairs = [(Oid(w[0]), Oid(w[1])) for w in words if len(w) >= 2 and is_oid(w[0]) and is_oid(w[1])]
    if pairs:
        pipeline.ledger.carry(pairs)


def rewritten(event: Spooled) -> set[str]:
    """The commits that a rewrite replaced: what waits for them comes first."""
    return {line.split()[0] for line in event.body.decode("ascii", "replace").splitlines() if line}


# -- the agent --------------------------------------------------------------------------------


def on_agent(pipeline: Pipeline, repo: Plumbing, event: Spooled, *, final: bool) -> None:
    """A hook of an agent told of something."""
    told = understand(event)
    if told is None:
        return
    early = _SETTLE - _age(event)
    if told.name == "session-end" and early > 0:
        if not final:
            raise Waiting
        time.sleep(early)
    known = _meet(repo, event, told)
    match told.name:
        case "session-start":
            _remember_head(repo, event)
            registry.save(repo.common_dir, known)
            sweep(pipeline, repo)
        case "turn-ended" | "tool-used":
            known = on_turn(pipeline, repo, event, known)
        case "compacting":
            capture_leftover(pipeline, known, reason="compact", closed=False, base=_base(event))
        case "session-end":
            try:
                known = on_turn(pipeline, repo, event, known)
            finally:
                # What another session's work can't be tied for is no reason to lose this one's.
                _end(pipeline, repo, event, known, told)
        case _:
            registry.save(repo.common_dir, known)


def _meet(repo: Plumbing, event: Spooled, told: Event) -> Known:
    known = registry.find(repo.common_dir, told.session)
    if known is None:
        known = meet(repo, event.agent, told.session, told.source, event.at)
    pid = event.env.get("CLAUDE_PID", "")
    return msgspec.structs.replace(
        known,
        source=told.source or known.source,
        cwd=told.cwd or known.cwd,
        pid=int(pid) if pid.isdigit() else known.pid,
        state="active",
        seen_at=event.at,
    )


def _remember_head(repo: Plumbing, event: Spooled) -> None:
    if is_oid(event.head) and heads.find(repo.common_dir, repo.git_dir) is None:
        heads.save(repo.common_dir, repo.git_dir, Oid(event.head))


def _base(event: Spooled) -> Oid | None:
    return Oid(event.head) if is_oid(event.head) else None


def _end(pipeline: Pipeline, repo: Plumbing, event: Spooled, known: Known, told: Event) -> None:
    capture_leftover(
        pipeline,
        known,
        reason="clear" if told.reason == "clear" else "end",
        branch=refs.branch_of(event.ref),
        base=_base(event),
    )
    known = registry.find(repo.common_dir, known.session) or known
    leave(pipeline, msgspec.structs.replace(known, state="ended", pid=0))


def leave(pipeline: Pipeline, known: Known) -> None:
    """Read an ended session to its end, and keep it if a commit may still hold its work."""
    keep(pipeline, scan(agents.get(known.agent), known, pipeline.places.relative))


def sweep(pipeline: Pipeline, repo: Plumbing) -> None:
    """Take what is left of sessions whose program died without a word."""
    for known in registry.all_known(repo.common_dir):
        if known.state == "active" and is_running(known):
            continue
        capture_leftover(pipeline, known, reason="end", base=repo.resolve("HEAD"))
        known = registry.find(repo.common_dir, known.session) or known
        leave(pipeline, msgspec.structs.replace(known, state="ended", pid=0))


def on_turn(pipeline: Pipeline, repo: Plumbing, event: Spooled, known: Known) -> Known:
    """A turn ended: find the commits of it that ran no hook, and keep up with its edits."""
    registry.save(repo.common_dir, known)
    missed = _missed(repo, event)
    if missed:
        # What tells of them may still be on its way to the transcript.
        time.sleep(max(0.0, _SETTLE - _age(event)))
    for commit, action in missed:
        made = Made(
            commit=commit,
            base=commit.parents[0] if commit.parents else None,
            branch=refs.branch_of(event.ref),
            since=float(commit.committer.at),
            until=float(commit.committer.at) + 1,
        )
        _capture_missed(pipeline, known, made, action)
    if is_oid(event.head):
        heads.see(repo, Oid(event.head))
    known = registry.find(repo.common_dir, known.session) or known
    known = scan(agents.get(known.agent), known, pipeline.places.relative)
    registry.save(repo.common_dir, known)
    return known


def _capture_missed(pipeline: Pipeline, known: Known, made: Made, action: str) -> None:
    if inspect.changes_nothing(pipeline.repo, made.commit):
        return
    if Path(known.source).is_file() and not _has(pipeline, made.commit.oid, known.session):
        main, sides = find_cuts(pipeline, known, made)
        cuts = [main, *sides.values()]
        if any(cut.named or cut.made_here for cut in cuts):
            evidence = Evidence(by="named" if any(cut.named for cut in cuts) else "turn")
            capture_made(pipeline, known, made, evidence, final=True, lag=False)
    if len(made.commit.parents) < 2:
        capture_by_content(pipeline, made)


def _missed(repo: Plumbing, event: Spooled) -> list[tuple[Commit, str]]:
    """The commits made in a work tree since the worker last looked, oldest first."""
    seen = heads.find(repo.common_dir, repo.git_dir)
    if not is_oid(event.head) or seen is None or seen == event.head:
        return []
    moves = inspect.moves(repo)
    if any(move.new == seen for move in moves):
        new = moves[: next(i for i, move in enumerate(moves) if move.new == seen)]
    else:
        new = inspect.between(repo, seen, Oid(event.head))
    # A commit whose own event still waits (for its call to end) is no commit without a hook.
    told = {other.head for other in spool.read(folder.spool(repo.common_dir)) if not other.agent}
    found = {}
    for move in reversed(new):
        if inspect.creates(move.action) and move.new not in found and move.new not in told:
            found[move.new] = (repo.get_commit(move.new), move.action)
    return list(found.values())
