"""Whether something waits to be pushed, and how the last attempts went.

Local, and found again by looking at refs.
The hook that runs before a push only looks whether the file is there: it must
not start a process to learn that nothing is new.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import msgspec

from gitsession.model import Frozen
from gitsession.store import folder

PATIENCE = 3
"""Failures in a row after which the user is told, once."""


class Attempts(Frozen, frozen=True, kw_only=True):
    """How pushing went since it last worked."""

    failures: int = 0
    reason: str = ""
    at: float = 0.0


_decoder = msgspec.json.Decoder(Attempts)


def _flag(common_dir: Path) -> Path:
    return folder.home(common_dir) / "unpushed"


def _state(common_dir: Path) -> Path:
    return folder.home(common_dir) / "push.json"


def _notice(common_dir: Path) -> Path:
    return folder.home(common_dir) / "notice"


def mark(common_dir: Path) -> None:
    """Remember that something is to be pushed; before it is written, so that it can't be missed."""
    path = _flag(common_dir)
    if not path.exists():
        folder.make(path.parent)
        path.touch(mode=0o600)


def clear(common_dir: Path) -> None:
    """Everything has been pushed."""
    _flag(common_dir).unlink(missing_ok=True)


def is_marked(common_dir: Path) -> bool:
    """Whether something may have to be pushed."""
    return _flag(common_dir).exists()


def attempts(common_dir: Path) -> Attempts:
    """How the last attempts went."""
    try:
        return _decoder.decode(_state(common_dir).read_bytes())
    except (OSError, msgspec.DecodeError):
        return Attempts()


def failed(common_dir: Path, reason: str) -> Attempts:
    """Note a failure; the user is told of the third in a row, at their next push."""
    now = Attempts(failures=attempts(common_dir).failures + 1, reason=reason, at=time.time())
    folder.write_atomic(_state(common_dir), msgspec.json.encode(now))
    if now.failures == PATIENCE:
        text = f"git session: {PATIENCE} pushes of sessions failed: {reason}\n"
        text += "hint: the captures are safe here; `git session sync` tries again\n"
        folder.write_atomic(_notice(common_dir), text.encode("utf-8", "replace"))
    return now


def worked(common_dir: Path) -> None:
    """A push worked: nothing is to be told any more."""
    for path in (_state(common_dir), _notice(common_dir)):
        with suppress(FileNotFoundError):
            path.unlink()
