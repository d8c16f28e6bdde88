"""Makes branches and work trees, and takes them away again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from gitsession.errors import GitFailed, SessionError
from gitsession.git.plumbing import Plumbing
from gitsession.git.run import run
from gitsession.ids import Oid

HEADS = "refs/heads/"
_MAX_NAMED = 3


class Spot:
    """Where HEAD is, so that one can go back to it."""

    def __init__(self, repo: Plumbing) -> None:
        name = repo.git("symbolic-ref", "--quiet", "HEAD", ok=(0, 1)).decode().strip()
        self.branch = name.removeprefix(HEADS)
        self.commit = repo.resolve("HEAD")

    @property
    def words(self) -> tuple[str, ...]:
        """What `git switch` is to be told."""
        return (self.branch,) if self.branch else ("--detach", str(self.commit))


def exists(repo: Plumbing, name: str) -> bool:
    """Whether there is a branch by a name."""
    return repo.resolve(HEADS + name) is not None


def check_name(repo: Plumbing, name: str) -> None:
    """Raise unless a new branch can have this name."""
    try:
        repo.git("check-ref-format", HEADS + name)
    except GitFailed:
        raise SessionError(f"'{name}' can't be the name of a branch") from None
    if name.startswith("-") or name == "HEAD":
        raise SessionError(f"'{name}' can't be the name of a branch")
    if exists(repo, name):
        raise SessionError(f"there is a branch '{name}' already", hint="choose another --branch")


def worktrees(repo: Plumbing) -> list[Path]:
    """The tops of all work trees of the repository."""
    out = repo.git("worktree", "list", "--porcelain")
    lines = out.decode("utf-8", "surrogateescape").splitlines()
    return [Path(x.removeprefix("worktree ")) for x in lines if x.startswith("worktree ")]


def create(repo: Plumbing, name: str, commit: Oid) -> None:
    """A new branch at a commit; raises when there is one by that name."""
    try:
        run(["branch", "-q", "--no-track", "--", name, commit], cwd=repo.work_tree)
    except GitFailed as error:
        raise SessionError(
            f"the branch '{name}' can't be made: {error.message.removeprefix('git branch: ')}",
            hint="choose another name with --branch",
        ) from None


def add_worktree(repo: Plumbing, place: Path, branch: str) -> None:
    """Check out a branch in a new work tree, in an empty folder."""
    run(["worktree", "add", "-q", os.fspath(place), branch], cwd=repo.work_tree)


def empty_worktree(repo: Plumbing, place: Path) -> None:
    """Take away a work tree that was made just now, with all that is in its folder."""
    # Twice: it may be locked, for git was still making it.
    words = ["worktree", "remove", "--force", "--force", os.fspath(place)]
    run(words, cwd=repo.work_tree, check=False)
    if place.is_dir():
        shutil.rmtree(place)
        run(words, cwd=repo.work_tree, check=False)
    place.mkdir()


def remove_branch(repo: Plumbing, name: str, commit: Oid) -> None:
    """Take away a branch that was made just now; raises when somebody moved it."""
    run(["update-ref", "-d", HEADS + name, commit], cwd=repo.work_tree)


def switch(repo: Plumbing, *words: str) -> None:
    """Put this work tree on a branch (or `--detach` on a commit); what is ignored there stays."""
    run(["switch", "-q", "--no-overwrite-ignore", *words], cwd=repo.work_tree)


def find_changes(repo: Plumbing) -> list[str]:
    """The paths in the work tree that aren't as HEAD has them, and are not ignored."""
    out = repo.git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal")
    return [entry[3:] for entry in out.decode("utf-8", "surrogateescape").split("\0")[:-1]]


def check_clean(repo: Plumbing) -> None:
    """Raise unless the work tree is as HEAD has it."""
    changed = find_changes(repo)
    if changed:
        more = f" and {len(changed) - _MAX_NAMED} more" if len(changed) > _MAX_NAMED else ""
        raise SessionError(
            f"this work tree has changes: {', '.join(changed[:_MAX_NAMED])}{more}",
            hint="commit or stash them, or leave --here away: a work tree of its own is made",
        )
