"""Goes back to a moment of a session: the files of a work tree, the conversation, or both.

First everything is looked at (`plan`), then it is done (`carry_out`). What lies in
the work tree is kept before, so that going back can be undone. The session and its
transcript are only read: a conversation goes on from a copy that ends at the moment.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gitsession import agents, config
from gitsession.actions import placing, rewind_target, transcripts
from gitsession.actions import snapshots as keeping
from gitsession.actions.fork_source import Origin
from gitsession.actions.rewind_plan import (
    Code,
    Done,
    Plan,
    Request,
    Talk,
    changes_of,
    check,
    name_some,
    say_busy,
)
from gitsession.actions.undo import Undo
from gitsession.agents.base import Launch
from gitsession.capture import autocommit, snapshot
from gitsession.errors import SessionError
from gitsession.git import branches
from gitsession.git.inspect import line_counts, listing
from gitsession.git.plumbing import Plumbing, discover
from gitsession.ids import Oid, SessionId
from gitsession.store import forks
from gitsession.store.states import Snapshot

# -- looking ------------------------------------------------------------------------------


def plan(path: Path, request: Request, env: Mapping[str, str] | None = None) -> Plan:
    """Look at everything; raises with the reason where it can't be done, and changes nothing.

    Only what was broken off before is finished first.
    """
    env = os.environ if env is None else env
    check(request)
    with discover(path) as repo:
        rewind_target.get_top(repo)
        snapshot.recover_all(repo.common_dir)
        # What is still to be kept is kept of what lies here now.
        keeping.take_due(repo.common_dir)
        if request.undo:
            last = rewind_target.get_last_rewind(repo, request.session)
            return _finish(path, repo, request, SessionId(last.session), last, None)
        origin = rewind_target.find(path, repo, request.moment, request.session, env)
        wants_code = request.part != "conversation"
        state = rewind_target.get_state(repo, origin) if wants_code else None
        return _finish(path, repo, request, origin.found.session, state, origin)


def _finish(
    path: Path,
    repo: Plumbing,
    request: Request,
    session: SessionId,
    state: Snapshot | None,
    origin: Origin | None,
) -> Plan:
    remarks: list[str] = []
    code = _plan_code(path, repo, request, state, remarks) if state else None
    talk = _plan_talk(repo, origin, remarks) if origin and request.part != "code" else None
    return Plan(
        session=session,
        moment=rewind_target.moment_of(origin)
        if origin
        else "what lay here before the last rewind",
        turn=origin.turn if origin else None,
        code=code,
        talk=talk,
        busy=rewind_target.find_busy(repo) if code and code.changes else "",
        remarks=tuple(remarks),
    )


def _plan_code(
    path: Path, repo: Plumbing, request: Request, state: Snapshot, remarks: list[str]
) -> Code:
    _check_ready(repo)
    top = rewind_target.get_top(repo)
    paths = rewind_target.relative(top, path, request.paths)
    seen = _put_back(repo, state, paths, dry_run=True)
    _check_paths(repo, (state.tree, seen.before.tree), paths)
    remarks += [
        words
        for words in (
            rewind_target.count_since(repo, state.head),
            name_some("other repositories in here are left as they are", seen.plan.links),
            name_some("the snapshot lacks what was too large or couldn't be read", state.left_out),
        )
        if words
    ]
    counts = line_counts(repo, seen.before.tree, state.tree)
    return Code(
        state=state,
        now=seen.before.tree,
        paths=paths,
        changes=tuple(sorted(changes_of(seen, counts), key=lambda change: change.path)),
    )


def _check_ready(repo: Plumbing) -> None:
    """Raise while git is half-way through something: its files would be taken away."""
    what = autocommit.in_progress(repo.git_dir)
    # Where refs are no files, these aren't either.
    names = {"CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert"}
    what = what or next((names[name] for name in names if repo.resolve(name)), "")
    if what:
        raise SessionError(
            f"{what} is in progress here", hint="finish it, or abort it; `git status` tells how"
        )
    if repo.git("ls-files", "--unmerged", "-z"):
        raise SessionError("there are conflicts here", hint="settle them: `git status` lists them")


def _check_paths(repo: Plumbing, trees: Sequence[Oid], paths: Sequence[str]) -> None:
    """Raise when a path names no file at all: it was meant otherwise."""
    known = {entry.path for tree in trees for entry in listing(repo, tree)} if paths else set()
    for path in paths:
        if path not in known and not any(name.startswith(f"{path}/") for name in known):
            raise SessionError(
                f"'{path}' is neither here nor there", hint="what is ignored is in no snapshot"
            )


def _plan_talk(repo: Plumbing, origin: Origin, remarks: list[str]) -> Talk:
    if origin.found.forgotten:
        raise SessionError(
            "a part of this session was forgotten, so that nothing can go on from it",
            hint="--code goes back without the conversation",
        )
    if origin.before:
        cut = transcripts.cut(origin.found, before=origin.before)
    else:
        cut = transcripts.cut(origin.found, turn=origin.turn)
    if cut.remark:
        remarks.append(cut.remark)
    if origin.doubt is not None:
        remarks += origin.doubt.reasons
        said = name_some("its last prompts", origin.doubt.prompts)
        remarks.append(f"an agent that goes on with it is told what stands there; {said}")
    return Talk(origin=origin, cut=cut, folder=str(_folder(repo, origin)))


def _folder(repo: Plumbing, origin: Origin) -> Path:
    """Where the session was held, if that is in this work tree."""
    places, adapter = rewind_target.Places(repo), agents.get(origin.found.agent)
    told = (adapter.parse_line(raw).cwd for raw in origin.found.lines)
    first = next((folder for folder in told if folder), "")
    here = bool(first) and Path(first).is_dir() and places.is_here(first)
    return Path(first) if here else rewind_target.get_top(repo)


# -- doing --------------------------------------------------------------------------------


def carry_out(
    path: Path, wanted: Plan, *, sure: bool = False, env: Mapping[str, str] | None = None
) -> Done:
    """Do what was planned, all of it or nothing; `sure`: even while a session is at work here."""
    env = os.environ if env is None else env
    if wanted.busy and not sure:
        raise SessionError(say_busy(wanted.busy), hint="wait until it is done, or say --yes")
    with discover(path) as repo, Undo() as undo:
        fork, launch = _carry_on(repo, wanted.talk, env, undo) if wanted.talk else (None, None)
        kept = _go_back(repo, wanted.code) if wanted.code and wanted.changes else None
        return Done(kept=kept, fork=fork, launch=launch)


def undo(path: Path, *, session: str = "", paths: Sequence[str] = (), sure: bool = False) -> Done:
    """Bring back what lay here before somebody last went back; that can be undone as well."""
    request = Request(undo=True, session=session, paths=tuple(paths))
    return carry_out(path, plan(path, request), sure=sure)


def _go_back(repo: Plumbing, code: Code) -> Oid | None:
    _check_ready(repo)
    try:
        done = _put_back(repo, code.state, code.paths, seen=code.now)
    except BaseException:
        # Interrupted half-way it is finished now, and not by whoever comes next.
        snapshot.recover_all(repo.common_dir)
        raise
    if done.left:
        raise SessionError(
            name_some("somebody changed these files meanwhile, and they stay so", done.left),
            hint="all others went back; `git session rewind --undo` brings them back",
        )
    return done.snapshot


def _put_back(
    repo: Plumbing,
    state: Snapshot,
    paths: Sequence[str],
    *,
    seen: Oid | None = None,
    dry_run: bool = False,
) -> snapshot.PutBack:
    session, settings = SessionId(state.session), config.load(repo.common_dir)
    return snapshot.put_back(repo, session, state.tree, settings, paths, seen=seen, dry_run=dry_run)


def _carry_on(
    repo: Plumbing, talk: Talk, env: Mapping[str, str], undo: Undo
) -> tuple[SessionId, Launch]:
    """Put the conversation where the agent looks for it; gives back how to go on with it."""
    found, folder = talk.origin.found, Path(talk.folder)
    adapter = agents.get(found.agent)
    for tree in {folder, *branches.worktrees(repo)}:
        adapter.sweep(tree, env)
    forks.sweep(repo)
    fork, copy = SessionId(str(uuid.uuid4())), None
    undo.on_failure(lambda: forks.drop(repo.common_dir, fork), f"the note of session {fork}")
    forks.save(repo.common_dir, fork, _lineage(repo, talk))
    if not talk.cut.fresh:
        copy = SessionId(str(uuid.uuid4()))
        place = adapter.place_of(folder, copy, env)
        undo.on_failure(lambda: placing.take_away(adapter, place), "the transcript")
        top = rewind_target.get_top(repo)
        roots = {} if folder != top else transcripts.find_roots(found, str(top))
        placing.put(
            adapter, talk.cut.lines, found.sides, folder=folder, session=copy, env=env,
            parent=found.session, roots=roots, staged_for=fork,
        )  # fmt: skip
    return fork, adapter.launch(folder, fork, env, resume=copy)


def _lineage(repo: Plumbing, talk: Talk) -> forks.Fork:
    return forks.Fork(
        session=talk.origin.found.session,
        turn=talk.origin.turn or 0,
        commit=repo.resolve("HEAD^{commit}"),
        at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    )
