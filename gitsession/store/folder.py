"""The local folder under git's common directory: what may be deleted without losing a capture."""

from __future__ import annotations

import os
from contextlib import suppress
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


def create(path: Path, prefix: str) -> tuple[int, Path]:
    """A new file in a folder, open for its owner alone, as `tempfile` makes them at a tenth."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    make(path)
    while True:
        file = path / f"{prefix}{os.getpid()}-{os.urandom(4).hex()}"
        with suppress(FileExistsError):
            return os.open(file, flags, 0o600), file


def clear(path: Path) -> None:
    """Remove the files of a folder, if there is one."""
    with suppress(OSError):
        for file in path.iterdir():
            file.unlink(missing_ok=True)


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file at once: a reader sees the old or the new one, whole."""
    handle, fresh = create(path.parent, ".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
