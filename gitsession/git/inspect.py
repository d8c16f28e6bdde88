"""What git can tell of a commit beyond its object: its diff, how it came about, its work tree."""

from __future__ import annotations

from collections.abc import Sequence

from gitsession.errors import GitFailed
from gitsession.git.parse import parse_patch
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Commit, FileChange, Move
from gitsession.ids import Oid

_MAX_PATHS = 500
_CREATES = ("commit", "cherry-pick", "revert", "merge", "am", "pull")


def changes(
    repo: Plumbing, old: Oid | None, new: Oid, paths: Sequence[str] = ()
) -> list[FileChange]:
    """The lines that lead from one commit (or from nothing) to another, in some files."""
    options = ["-r", "-p", "-U0", "--no-prefix", "--no-color", "--no-ext-diff", "--no-textconv",
               "--no-renames", "--no-commit-id", "--ignore-submodules=all"]  # fmt: skip
    ends = [old, new] if old else ["--root", new]
    limit = [f":(top,literal){path}" for path in paths] if len(paths) <= _MAX_PATHS else []
    return parse_patch(repo.git("diff-tree", *options, *ends, "--", *limit))


def moves(repo: Plumbing, limit: int = 100) -> list[Move]:
    """HEAD's latest moves, newest first; none where no reflog is kept."""
    try:
        out = repo.git(
            "log",
            "--walk-reflogs",
            f"-{limit}",
            "--no-show-signature",
            "--format=%H%x00%gs",
            "HEAD",
        )
    except GitFailed:
        return []
    lines = out.decode("utf-8", "replace").splitlines()
    parts = (line.partition("\0") for line in lines)
    return [Move(new=Oid(oid), action=words) for oid, _, words in parts]


def verb(action: str) -> str:
    """The first word of a reflog's message: `commit`, `rebase`, `merge` …"""
    return action.replace(":", " ").split(" ", 1)[0]


def creates(action: str) -> bool:
    """Whether a move made a commit of its own (a rebase makes others' anew)."""
    return not action or (verb(action) in _CREATES and "Fast-forward" not in action)


def is_amend(action: str) -> bool:
    """Whether a commit took the place of another."""
    return action.startswith("commit (amend)")


def made_by(known: Sequence[Move], commit: Oid) -> tuple[str | None, Oid | None]:
    """The move that made a commit, in git's words, and what HEAD was before it.

    HEAD may have come back to a commit since it was made. No words at all when
    the commit came here otherwise; empty ones when no reflog tells of it.
    """
    action: str | None = ""
    for at, move in enumerate(known):
        if move.new == commit:
            if creates(move.action):
                return move.action, known[at + 1].new if at + 1 < len(known) else None
            action = None
    return action, None


def commit_before(repo: Plumbing, at: str) -> Oid | None:
    """The newest commit below HEAD that was there at a moment; None when none was."""
    if not at:
        return None
    try:
        out = repo.git("rev-list", "--max-count=1", f"--before={at}", "HEAD", "--")
    except GitFailed:
        return None
    return Oid(out.decode().strip()) if out.strip() else None


def changes_nothing(repo: Plumbing, commit: Commit) -> bool:
    """Whether a commit holds just what its only parent holds."""
    if len(commit.parents) != 1:
        return False
    return repo.get_commit(commit.parents[0]).tree == commit.tree


def between(repo: Plumbing, old: Oid, new: Oid) -> list[Move]:
    """The commits that lead from one to another, newest first, where no reflog tells of them."""
    try:
        repo.git("merge-base", "--is-ancestor", old, new)
        out = repo.git("rev-list", "--first-parent", "--max-count=100", new, f"^{old}")
    except GitFailed:
        return []
    return [Move(new=Oid(line), action="") for line in out.decode().split()]
