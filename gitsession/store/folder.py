"""The local folder under git's common directory: what may be deleted without losing a capture."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def home(common_dir: Path) -> Path:
    """Our folder."""
    return common_dir / "gitsession"


def spool(common_dir: Path) -> Path:
    """Where hooks leave word."""
    return home(common_dir) / "spool"


def sessions(common_dir: Path) -> Path:
    """The sessions that may still have something to capture, a file each."""
    return home(common_dir) / "sessions"


def log(common_dir: Path) -> Path:
    """What went wrong, for `status` and `doctor`."""
    return home(common_dir) / "log"


def make(path: Path) -> Path:
    """Make a folder that only its owner reads."""
    for folder in (*reversed(path.parents), path):
        # A parent that isn't there is ours as well: git's own folder always is.
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
    return path


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file at once: a reader sees the old or the new one, whole."""
    make(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
