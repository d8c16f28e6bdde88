"""Keeps our loose objects few, so that they never make the user's own commit run `git gc`.

Git packs its loose objects in the user's foreground once there are about 6,700
of them. Ours would be most of those; so the worker has git pack them earlier,
by the task that `git maintenance` runs in the background for everybody: it
deletes nothing that isn't in a pack, and prunes nothing.
"""

from __future__ import annotations

from pathlib import Path

from gitsession.errors import GitFailed
from gitsession.git.run import run

_SAMPLE = 10
"""Objects in one of the 256 folders: about 2,500 in all."""


def is_due(common_dir: Path) -> bool:
    """Estimate as git does, by one folder of 256: objects are spread evenly."""
    try:
        return sum(1 for _ in (common_dir / "objects" / "17").iterdir()) >= _SAMPLE
    except OSError:
        return False


def pack_loose(common_dir: Path) -> None:
    """Pack loose objects, and delete those that are packed."""
    where = [f"--git-dir={common_dir}"]
    try:
        run([*where, "maintenance", "run", "--quiet", "--task=loose-objects"], cwd=common_dir)
        run([*where, "prune-packed", "--quiet"], cwd=common_dir)
    except GitFailed:
        # Somebody else holds the maintenance lock, and does this very work.
        return
