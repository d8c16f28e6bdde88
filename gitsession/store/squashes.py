"""The commits that a squash merge brought to a work tree, until its next commit is made.

Local: git itself has forgotten them when that commit's hook runs. `hooks/post-commit`
looks for the file, so that the commit is told of though no session is known any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from gitsession.ids import Oid
from gitsession.model import Frozen
from gitsession.store import folder


class Squash(Frozen, frozen=True, kw_only=True):
    """One `git merge --squash`."""

    head: Oid
    """Where its commit is to be made."""
    commits: tuple[Oid, ...]
    """What it put together, newest first."""
    at: float
    """Seconds since the epoch."""


_decoder = msgspec.json.Decoder(tuple[Squash, ...])


def _path(common_dir: Path, git_dir: Path) -> Path:
    return folder.home(common_dir) / "squash" / git_dir.name


def find(common_dir: Path, git_dir: Path) -> tuple[Squash, ...]:
    """The squashes that wait for the next commit of a work tree."""
    try:
        return _decoder.decode(_path(common_dir, git_dir).read_bytes())
    except (OSError, msgspec.DecodeError):
        return ()


def save(common_dir: Path, git_dir: Path, found: Sequence[Squash]) -> None:
    """Remember the squashes of a work tree; without any, nothing tells of a commit any more."""
    path = _path(common_dir, git_dir)
    if found:
        folder.write_atomic(path, msgspec.json.encode(found))
    else:
        path.unlink(missing_ok=True)
