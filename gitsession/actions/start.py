"""Begins a session with a branch of its own, here or in a new work tree."""

from __future__ import annotations

import os
import re
import unicodedata
import uuid
from collections.abc import Mapping
from pathlib import Path

from gitsession import agents, config
from gitsession.actions import launching
from gitsession.actions.fork_plan import BRANCHES, place_worktree, short_id
from gitsession.agents.base import Launch
from gitsession.capture import autocommit as turns
from gitsession.capture.events import is_running
from gitsession.config import Settings
from gitsession.errors import SessionError, Usage
from gitsession.git import branches, refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.run import run
from gitsession.ids import Oid, SessionId
from gitsession.model import Frozen
from gitsession.store import registry, started
from gitsession.store.started import Started

_LONGEST = 80


class Wish(Frozen, frozen=True, kw_only=True):
    """What kind of session is to begin."""

    name: str = ""
    """What the branch is called; the session's own short id if empty."""
    worktree: bool = False
    autocommit: bool | None = None
    """None for what `session.autoCommit` says."""
    prompt: str = ""
    """To run with this prompt alone, without a terminal."""
    launches: bool = True
    """The agent is started at the end, so it has to be there."""


class Begun(Frozen, frozen=True, kw_only=True):
    """A session that can be launched; nothing has a default, so that `--json` says everything."""

    session: SessionId
    branch: str
    base: Oid
    worktree: str
    transcript: str
    """Where the agent will keep it."""
    autocommit: bool
    command: tuple[str, ...]
    """To be run in the work tree."""
    remarks: tuple[str, ...]


def start(path: Path, wish: Wish, env: Mapping[str, str] | None = None) -> tuple[Begun, Launch]:
    """Make a session's branch, and its work tree if it is to have one; nothing is launched."""
    env = os.environ if env is None else env
    with discover(path) as repo:
        settings = config.load(repo.common_dir)
        plan, launch = _plan(repo, settings, wish, env)
        if wish.launches:
            launching.find_program(launch)
        _forget_gone(repo)
        # First, so that the branch is never there without what is to be done on it.
        made = Started(
            session=plan.session, branch=plan.branch, autocommit=plan.autocommit,
            worktree=plan.worktree, base=plan.base, origin=_branch(repo),
        )  # fmt: skip
        started.save(repo.common_dir, made)
        try:
            if wish.worktree:
                words = ["--no-track", "-b", plan.branch, plan.worktree, plan.base]
                run(["worktree", "add", "-q", *words], cwd=repo.work_tree)
            else:
                run(["switch", "-q", "--no-track", "-c", plan.branch], cwd=repo.work_tree)
        except SessionError:
            started.drop(repo.common_dir, plan.session)
            if wish.worktree:
                branches.remove_branch(repo, plan.branch, plan.base)
            raise
        # Another `start` may have taken it for one whose branch was deleted.
        started.save(repo.common_dir, made)
        return plan, launch


def _plan(
    repo: Plumbing, settings: Settings, wish: Wish, env: Mapping[str, str]
) -> tuple[Begun, Launch]:
    """All that is decided beforehand; raises when it would cost something, or can't be."""
    if repo.work_tree is None:
        raise SessionError("there is no work tree here", hint="go to one, or make one")
    session = SessionId(str(uuid.uuid4()))
    branch = BRANCHES + (make_safe(wish.name) if wish.name else short_id(session))
    base = repo.resolve("HEAD^{commit}")
    if base is None:
        raise SessionError(
            "there is no commit here yet", hint="make a first one, so that there is a way back"
        )
    branches.check_name(repo, branch)
    remarks = []
    if wish.worktree:
        main = branches.worktrees(repo)[0]
        top = place_worktree(main, repo.work_tree, session, settings.worktrees)
        if turns.look(repo) != turns.Pending():
            remarks.append("what isn't committed stays in this work tree")
    else:
        top = repo.work_tree
        _check_free(repo, repo.work_tree)
    commits = settings.auto_commit if wish.autocommit is None else wish.autocommit
    if commits and not (settings.installed and settings.enabled):
        raise SessionError(
            "without hooks nobody knows when a turn is over", hint="`git session init` sets them up"
        )
    adapter = agents.get(agents.NAMES[0])
    launch = adapter.launch(top, session, env, prompt=wish.prompt, headless=bool(wish.prompt))
    begun = Begun(
        session=session,
        branch=branch,
        base=base,
        worktree=str(top),
        transcript=str(adapter.place_of(top, session, env)),
        autocommit=commits,
        command=launch.argv,
        remarks=tuple(remarks),
    )
    return begun, launch


def make_safe(name: str) -> str:
    """A name as the last part of a branch's; raises when nothing is left of it."""
    words = re.sub(r"[^\w.+-]+", "-", unicodedata.normalize("NFC", name))
    words = re.sub(r"\.{2,}", ".", words)[:_LONGEST].strip("-.")
    while words.lower().endswith(".lock"):
        words = words[: -len(".lock")].strip("-.")
    if not words:
        raise Usage(f"'{name}' can't be the name of a branch", hint="use letters and digits")
    return words


def _check_free(repo: Plumbing, top: Path) -> None:
    """Refuse to take the branch away from under somebody who works here."""
    busy = turns.in_progress(repo.git_dir)
    if busy:
        raise SessionError(
            f"{busy} is in progress here", hint="finish it first, or take a work tree: --worktree"
        )
    for known in registry.all_known(repo.common_dir):
        at_work = known.state == "active" and known.pid and is_running(known)
        if at_work and known.cwd and _is_in(known.cwd, top):
            raise SessionError(
                f"session {known.session} is at work in this work tree",
                hint="--worktree gives the new one its own",
            )


def _is_in(folder: str, top: Path) -> bool:
    """Whether a folder belongs to this work tree, and to none inside it."""
    try:
        found = discover(Path(folder)).work_tree
    except SessionError:
        return False
    return found is not None and os.path.realpath(found) == os.path.realpath(top)


def _forget_gone(repo: Plumbing) -> None:
    """Forget the sessions whose branches were deleted."""
    there = repo.refs("refs/heads/")
    for one in started.all_started(repo.common_dir):
        if f"refs/heads/{one.branch}" not in there:
            started.drop(repo.common_dir, one.session)


def _branch(repo: Plumbing) -> str:
    ref = repo.git("symbolic-ref", "-q", "HEAD", ok=(0, 1)).decode().strip()
    return refs.branch_of(ref) or ""
