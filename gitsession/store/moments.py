"""The moments whose state is still to be kept: one empty file for each, made by the hook.

The hook makes the file before it leaves its event, under the event's name with the
moment before it, and whoever has kept the state removes it. A tool that changes
files waits while a `start` is there, and when that takes too long calls it `barrier`
(`hooks/wait.sh`).
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import get_args

from gitsession.ids import SessionId, session_slug
from gitsession.model import Frozen
from gitsession.store import folder, spool
from gitsession.store.spool import Spooled
from gitsession.store.states import Moment

STALE = 60.0
"""Seconds after which what the work tree holds says nothing of a moment any more."""
_TORN = 5.0
"""Seconds after which an event that isn't there won't come."""


class Due(Frozen, frozen=True, kw_only=True):
    """A moment whose state is to be kept."""

    moment: Moment
    name: str
    """Of the event that it belongs to."""


def _folder(common_dir: Path) -> Path:
    return folder.home(common_dir) / "snapping"


def all_due(common_dir: Path) -> list[tuple[Due, Spooled]]:
    """What waits, with the events, oldest first; leftovers of killed processes are removed."""
    try:
        files = list(_folder(common_dir).iterdir())
    except OSError:
        return []
    if not files:
        return []
    told = {event.path.name: event for event in spool.read(folder.spool(common_dir))}
    found = []
    for path in files:
        due = _parse(path.name)
        if due is not None and due.name in told:
            found.append((due, told[due.name]))
        elif _age(path) > _TORN:
            path.unlink(missing_ok=True)
    return sorted(found, key=lambda pair: (pair[1].at, pair[0].name))


def find(common_dir: Path, event: Spooled) -> Due | None:
    """The moment of an event whose state isn't kept yet."""
    for moment in get_args(Moment):
        due = Due(moment=moment, name=event.path.name)
        if _path(common_dir, due).exists():
            return due
    return None


def finish(common_dir: Path, event: Spooled) -> None:
    """The state of an event is kept, or can't be."""
    while due := find(common_dir, event):
        _path(common_dir, due).unlink(missing_ok=True)


def note_end(common_dir: Path, session: SessionId, at: float) -> None:
    """Remember when a turn was over: nothing else tells when its end changed no file."""
    folder.write_atomic(_ended(common_dir, session), b"%.3f\n" % at)


def last_end(common_dir: Path, session: SessionId) -> float | None:
    """When a turn of a session was last over."""
    try:
        return float(_ended(common_dir, session).read_bytes())
    except (OSError, ValueError):
        return None


def forget_ends(common_dir: Path, *, days: int) -> None:
    """Remove what tells of sessions long over."""
    with suppress(OSError):
        for path in (folder.home(common_dir) / "ended").iterdir():
            if _age(path) > days * 86400:
                path.unlink(missing_ok=True)


def _ended(common_dir: Path, session: SessionId) -> Path:
    return folder.home(common_dir) / "ended" / session_slug(session)


def _path(common_dir: Path, due: Due) -> Path:
    return _folder(common_dir) / f"{due.moment}.{due.name}"


def _parse(name: str) -> Due | None:
    moment, _, rest = name.partition(".")
    return Due(moment=moment, name=rest) if moment in get_args(Moment) else None  # type: ignore[arg-type]


def _age(path: Path) -> float:
    try:
        return abs(time.time() - path.stat().st_mtime)
    except OSError:
        return 0.0
