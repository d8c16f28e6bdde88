"""What HEAD of each work tree was when the worker last looked: to see commits that ran no hook."""

from __future__ import annotations

from pathlib import Path

from gitsession.ids import Oid, is_oid
from gitsession.store import folder


def _path(common_dir: Path, git_dir: Path) -> Path:
    return folder.home(common_dir) / "seen" / (git_dir.name.lstrip(".") or "main")


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
