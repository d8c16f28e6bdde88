"""Where the forks made here come from: what their own transcripts can't tell for certain.

Local, and needed only until the fork's first capture, which says it from then on.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from gitsession.git import refs
from gitsession.git.repository import Repository
from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Frozen, Parent
from gitsession.store import folder, sessions


class Fork(Frozen, frozen=True, kw_only=True):
    """What a fork was made of."""

    session: SessionId
    """The session that it goes on from."""
    turn: int
    commit: Oid | None = None
    at: str = ""
    branch: str = ""
    worktree: str = ""
    """The work tree that was made for it."""
    maker: int = 0
    """The process that is still making it."""

    @property
    def parent(self) -> Parent:
        """The same as a record has it."""
        return Parent(session=self.session, turn=self.turn, commit=self.commit)


_decoder = msgspec.json.Decoder(Fork)


def _path(common_dir: Path, slug: str) -> Path:
    return folder.home(common_dir) / "forks" / f"{slug}.json"


def save(common_dir: Path, session: SessionId, fork: Fork) -> None:
    """Keep where a session that is about to begin comes from."""
    folder.write_atomic(_path(common_dir, session_slug(session)), msgspec.json.encode(fork))


def find(common_dir: Path, slug: str) -> Fork | None:
    """Where a session comes from, if it was forked here."""
    try:
        return _decoder.decode(_path(common_dir, slug).read_bytes())
    except (OSError, msgspec.DecodeError):
        return None


def drop(common_dir: Path, session: SessionId) -> None:
    """Forget a fork."""
    _path(common_dir, session_slug(session)).unlink(missing_ok=True)


def sweep(repo: Repository) -> list[Fork]:
    """Forget those that captures tell of, and those that were broken off: gives back the latter."""
    broken = []
    for path in sorted((folder.home(repo.common_dir) / "forks").glob("*.json")):
        fork = find(repo.common_dir, path.stem)
        if fork is not None and fork.maker and not _is_alive(fork.maker):
            broken.append(fork)
            path.unlink(missing_ok=True)
            continue
        stored = sessions.open_ref(repo, refs.SESSIONS + path.stem)
        if stored.head is not None and stored.head.parent is not None:
            path.unlink(missing_ok=True)
    return broken


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
