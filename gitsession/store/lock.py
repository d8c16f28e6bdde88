"""One worker a repository: a lock that the system lets go of when its holder dies."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitsession.store import folder


@contextmanager
def held(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a lock; yields whether it was to be had."""
    folder.make(path.parent)
    with path.open("ab") as file:
        yield _lock(file.fileno(), wait)


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int, wait: bool) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _lock(handle: int, wait: bool) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            return False
        return True
