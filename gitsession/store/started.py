"""The sessions that were started with a branch of their own, and what is to be done on it.

Local: whoever loses it has a plain branch, whose turns are no longer committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Frozen
from gitsession.store import folder


class Started(Frozen, frozen=True, kw_only=True):
    """One session and its branch."""

    session: SessionId
    branch: str
    """Its short name."""
    autocommit: bool = False
    worktree: str = ""
    """The top of the work tree that it was started in."""
    base: Oid | None = None
    """Where the branch began."""
    origin: str = ""
    """The branch that it was begun from."""
    unpushed: Oid | None = None
    """The newest commit of a turn, until a push of it was tried."""


_decoder = msgspec.json.Decoder(Started)


def _folder(common_dir: Path) -> Path:
    return folder.home(common_dir) / "started"


def _path(common_dir: Path, session: SessionId) -> Path:
    return _folder(common_dir) / f"{session_slug(session)}.json"


def save(common_dir: Path, started: Started) -> None:
    """Keep what is known of a session."""
    folder.write_atomic(_path(common_dir, started.session), msgspec.json.encode(started))


def find(common_dir: Path, session: SessionId) -> Started | None:
    """A session, if it was started so."""
    return _read(_path(common_dir, session))


def drop(common_dir: Path, session: SessionId) -> None:
    """Forget a session."""
    _path(common_dir, session).unlink(missing_ok=True)


def all_started(common_dir: Path) -> Iterator[Started]:
    """Every one of them; what is damaged is passed over."""
    for path in sorted(_folder(common_dir).glob("*.json")):
        found = _read(path)
        if found is not None:
            yield found


def of_branch(common_dir: Path, branch: str) -> Started | None:
    """The session that a branch was made for."""
    return next((x for x in all_started(common_dir) if x.branch == branch), None)


def _read(path: Path) -> Started | None:
    try:
        return _decoder.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
