"""What HEAD of each work tree was when the worker last looked: to see commits that ran no hook."""

from __future__ import annotations

from pathlib import Path

from gitsession.git import inspect
from gitsession.git.plumbing import Plumbing
from gitsession.ids import Oid, is_oid
from gitsession.store import folder


def _path(common_dir: Path, git_dir: Path) -> Path:
    linked = git_dir.parent.name == "worktrees"
    return folder.home(common_dir) / "seen" / (f"worktree-{git_dir.name}" if linked else "main")


def find(common_dir: Path, git_dir: Path) -> Oid | None:
    """The commit last seen in a work tree."""
    try:
        text = _path(common_dir, git_dir).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return Oid(text) if is_oid(text) else None


def save(common_dir: Path, git_dir: Path, head: Oid) -> None:
    """Remember the commit of a work tree."""
    folder.write_atomic(_path(common_dir, git_dir), head.encode() + b"\n")


def see(repo: Plumbing, head: Oid) -> None:
    """Remember what HEAD was, unless a later HEAD was seen: events may have to wait."""
    seen = find(repo.common_dir, repo.git_dir)
    if seen == head:
        return
    order = [move.new for move in inspect.moves(repo)]
    if seen in order and head in order and order.index(seen) < order.index(head):
        return
    save(repo.common_dir, repo.git_dir, head)
