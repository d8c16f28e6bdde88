"""Snapshots of the work tree, as the hooks ask for them: taken at once, dropped when old."""

from __future__ import annotations

import time
from pathlib import Path

from gitsession import config
from gitsession.capture import snapshot
from gitsession.errors import SessionError
from gitsession.store import folder, journal, moments

_EVERY = 86400
"""Seconds between two looks for what is too old."""


def take_due(common_dir: Path) -> None:
    """Keep the states that hooks told of; what goes wrong is noted."""
    try:
        snapshot.recover_all(common_dir)
        if not moments.all_due(common_dir):
            return
        settings = config.load(common_dir)
        if not settings.snapshot:
            # The hooks keep this note of having asked; now they have to ask again.
            (folder.home(common_dir) / "enabled").unlink(missing_ok=True)
        snapshot.take_due(common_dir, settings)
    except (SessionError, OSError) as error:
        journal.note(common_dir, f"snapshot: {error}")


def expire(common_dir: Path, *, now: float | None = None) -> list[str]:
    """Drop old snapshots, once a day; gives back their refs."""
    now = time.time() if now is None else now
    stamp = folder.home(common_dir) / "expired"
    if not folder.home(common_dir).is_dir() or now - _changed(stamp) < _EVERY:
        return []
    folder.write_atomic(stamp, b"")
    return snapshot.expire(common_dir, config.load(common_dir))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
