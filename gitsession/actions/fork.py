"""Branches off from a turn of a session: its conversation and its code, in a place of their own.

First everything is looked at (`find`, `plan`), then it is made (`make`), and taken
back as a whole when a step fails. The session, its branch, its work tree and its
transcript are only read.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gitsession import agents, config
from gitsession.actions import fork_plan, launching, placing, transcripts
from gitsession.actions.fork_plan import Code, Reached
from gitsession.actions.fork_source import Origin
from gitsession.actions.undo import Undo
from gitsession.agents.base import Cut, Launch
from gitsession.errors import SessionError
from gitsession.git import branches
from gitsession.git.inspect import is_commit
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.restore import apply, check, plan_restore, recover
from gitsession.ids import Oid, SessionId, is_oid
from gitsession.model import Frozen
from gitsession.store import forks, snapshots


class Wish(Frozen, frozen=True, kw_only=True):
    """How a fork is to be made."""

    here: bool = False
    """Switch this work tree instead of making another."""
    branch: str = ""
    """The name of its branch."""
    prompt: str = ""
    """What to say in it at once, without a terminal."""
    launch: bool = True


class Plan(Frozen, frozen=True, kw_only=True):
    """A fork that can be made."""

    origin: Origin
    turn: int
    cut: Cut
    code: Code


class Made(Frozen, frozen=True, kw_only=True):
    """A fork that was made; nothing has a default, so that `--json` always says everything."""

    session: SessionId
    """The new one."""
    parent: SessionId
    turn: int
    branch: str
    worktree: str
    commit: Oid
    transcript: str
    """What was put where the agent looks for it; empty for a fresh start."""
    command: tuple[str, ...]
    """To be run in the work tree."""
    remarks: tuple[str, ...]


def plan(path: Path, origin: Origin, turn: int) -> Plan:
    """What a fork at a turn will be; raises with the reason where it can't be exact."""
    if origin.before:
        cut = transcripts.cut(origin.found, before=origin.before)
    else:
        cut = transcripts.cut(origin.found, turn=turn)
    if origin.found.forgotten:
        raise SessionError(
            "a part of this session was forgotten, so that nothing can go on from it",
            hint="`git session start` begins a new one",
        )
    with discover(path) as repo:
        _get_top(repo)
        state = snapshots.snapshot_at(origin.snapshots, origin.turns, turn)
        if state is not None and not (state.head and _is_here(repo, state.head)):
            state = None
        code = fork_plan.choose_code(
            turn,
            state,
            _made_in_time(repo, origin, turn),
            base=origin.base if origin.base and _is_here(repo, origin.base) else None,
            head=origin.head,
        )
    if code is None:
        raise SessionError(
            "there is no commit yet that a branch could begin at",
            hint="commit something first: `git commit --allow-empty` will do",
        )
    return Plan(origin=origin, turn=turn, cut=cut, code=code)


def make(
    path: Path, wanted: Plan, wish: Wish, env: Mapping[str, str] | None = None
) -> tuple[Made, Launch]:
    """Make the branch, the work tree and the transcript; all of it, or nothing."""
    env = os.environ if env is None else env
    with discover(path) as repo:
        top = _get_top(repo)
        adapter = agents.get(wanted.origin.found.agent)
        session, branch, place = _name(repo, wish)
        if wish.launch:
            launching.find_program(adapter.launch(top, session, env))
        for tree in branches.worktrees(repo):
            adapter.sweep(tree, env)
        broken = forks.sweep(repo)
        note = _lineage(wanted, branch, place)
        # Keys end git's reader as well.
        with Undo(repo.close) as undo:
            undo.on_failure(
                lambda: forks.drop(repo.common_dir, session), f"the note of session {session}"
            )
            forks.save(repo.common_dir, session, msgspec.structs.replace(note, maker=os.getpid()))
            (_switch if wish.here else _add)(repo, wanted.code, branch, place, undo)
            transcript, resume = _put(repo, wanted, session, place, env, undo)
            forks.save(repo.common_dir, session, note)
        launch = adapter.launch(
            place,
            session,
            env,
            resume=resume,
            prompt=wish.prompt or (wanted.cut.prompt if wanted.cut.fresh else ""),
            headless=bool(wish.prompt),
        )
        made = Made(
            session=session,
            parent=wanted.origin.found.session,
            turn=wanted.turn,
            branch=branch,
            worktree=str(place),
            commit=wanted.code.commit,
            transcript=transcript,
            command=launch.argv,
            remarks=(*_remarks(place, broken), *wanted.code.remarks),
        )
        return made, launch


def run(wanted: Plan, launch: Launch) -> int:
    """Start the agent in the fork, wait for it, and tidy up; gives back its exit code."""
    try:
        return launching.run(launch)
    finally:
        agents.get(wanted.origin.found.agent).sweep(Path(launch.cwd), launch.env)


# -- steps --------------------------------------------------------------------------------


def _get_top(repo: Plumbing) -> Path:
    if repo.work_tree is None:
        raise SessionError(
            f"no work tree at {repo.git_dir}", hint="go to a work tree of the repository"
        )
    return repo.work_tree


def _name(repo: Plumbing, wish: Wish) -> tuple[SessionId, str, Path]:
    """An id, a branch and a place that nobody has yet; raises where the user's own are taken."""
    top = _get_top(repo)
    setting = config.load(top).worktrees
    main = branches.worktrees(repo)[0]
    if wish.branch:
        branches.check_name(repo, wish.branch)
    if wish.here:
        branches.check_clean(repo)
    while True:
        session = SessionId(str(uuid.uuid4()))
        branch = wish.branch or fork_plan.BRANCHES + fork_plan.short_id(session)
        place = fork_plan.place_worktree(main, top, session, setting)
        if not branches.exists(repo, branch) and not os.path.lexists(place):
            return session, branch, top if wish.here else place


def _add(repo: Plumbing, code: Code, branch: str, place: Path, undo: Undo) -> None:
    """A work tree of its own, with the code in it."""
    _begin(repo, code, branch, undo)
    for folder in (*reversed(place.parents), place):
        if not folder.is_dir() or folder == place:
            folder.mkdir()
            undo.on_failure(folder.rmdir, f"the folder {folder}")
    undo.on_failure(lambda: branches.empty_worktree(repo, place), f"the work tree {place}")
    branches.add_worktree(repo, place, branch)
    with discover(place) as there:
        _bring(there, code)


def _switch(repo: Plumbing, code: Code, branch: str, place: Path, undo: Undo) -> None:
    """This work tree, on a branch of its own, with the code in it."""
    spot = branches.Spot(repo)
    _begin(repo, code, branch, undo)
    undo.on_failure(lambda: branches.switch(repo, *spot.words), f"the branch of {place}")
    branches.switch(repo, branch)
    plain = repo.get_commit(code.commit).tree
    brought = False

    def take_back() -> None:
        # What was refused has changed nothing; what was broken off is finished first.
        if brought or snapshots.restore_folder(repo.common_dir, repo.git_dir).exists():
            _restore(repo, plain, code.tree or plain)

    undo.on_failure(take_back, "the files of the snapshot")
    _bring(repo, code)
    brought = True


def _begin(repo: Plumbing, code: Code, branch: str, undo: Undo) -> None:
    branches.create(repo, branch, code.commit)
    undo.on_failure(
        lambda: branches.remove_branch(repo, branch, code.commit), f"the branch {branch}"
    )


def _bring(repo: Plumbing, code: Code) -> None:
    """Put back what was not committed: in the work tree alone, the index stays as HEAD is."""
    plain = repo.get_commit(code.commit).tree
    if code.tree is not None and code.tree != plain:
        _restore(repo, code.tree, plain)


def _restore(repo: Plumbing, target: Oid, now: Oid) -> None:
    place = snapshots.restore_folder(repo.common_dir, repo.git_dir)
    with snapshots.locked(repo.common_dir, repo.git_dir):
        left = recover(place, _get_top(repo))
        checked = check(repo, plan_restore(repo, target, now), place)
        left += apply(repo, checked, place)
    if left:
        raise SessionError(f"files were changed meanwhile: {', '.join(left[:3])}")


def _made_in_time(repo: Plumbing, origin: Origin, turn: int) -> list[Reached]:
    """The session's commits that are here, without those that were made after a turn.

    A commit by hand may hold the work of a turn long after that.
    """
    end = fork_plan.begun_after(origin.turns, turn)
    return [
        one
        for one in origin.reached
        if _is_here(repo, one.commit)
        and (end is None or repo.get_commit(one.commit).committer.at <= end)
    ]


def _is_here(repo: Plumbing, oid: Oid) -> bool:
    return is_oid(oid) and is_commit(repo, oid)


def _lineage(wanted: Plan, branch: str, place: Path) -> forks.Fork:
    return forks.Fork(
        session=wanted.origin.found.session,
        turn=wanted.turn,
        commit=wanted.code.commit,
        at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        branch=branch,
        worktree=str(place),
    )


def _put(
    repo: Plumbing,
    wanted: Plan,
    session: SessionId,
    place: Path,
    env: Mapping[str, str],
    undo: Undo,
) -> tuple[str, SessionId | None]:
    """Put the conversation where the agent looks for it; gives back where, and under which id."""
    if wanted.cut.fresh:
        return "", None
    found, copy = wanted.origin.found, SessionId(str(uuid.uuid4()))
    adapter = agents.get(found.agent)
    undo.on_failure(
        lambda: placing.take_away(adapter, adapter.place_of(place, copy, env)), "the transcript"
    )
    told = transcripts.find_roots(found, str(place))
    done = placing.put(
        adapter,
        wanted.cut.lines,
        found.sides,
        folder=place,
        session=copy,
        env=env,
        parent=found.session,
        roots=fork_plan.find_roots(told, wanted.code, _get_top(repo), place),
        staged_for=session,
    )
    return str(done.place), copy


def _remarks(place: Path, broken: Sequence[forks.Fork]) -> Iterator[str]:
    if (place / ".gitmodules").is_file():
        yield "submodules are empty in a new work tree: `git submodule update --init` fills them"
    for fork in broken:
        yield (
            f"a fork was broken off earlier; what there is of it is on the branch {fork.branch}"
            f" and in {fork.worktree}"
        )
