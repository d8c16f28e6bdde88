"""What an audit finds: a value, so that it can be printed, counted and sent as JSON."""

from __future__ import annotations

from typing import Literal

from gitsession.model import Frozen

Level = Literal["error", "warning"]

REINDEX = "`git session reindex` makes the index say what the session refs say"


class Finding(Frozen, frozen=True, kw_only=True):
    """One thing that is wrong, or at least odd."""

    level: Level
    where: str
    what: str
    hint: str = ""


def error(where: str, what: str, hint: str = "") -> Finding:
    """Something that must not be."""
    return Finding(level="error", where=_sayable(where), what=_sayable(what), hint=hint)


def warning(where: str, what: str, hint: str = "") -> Finding:
    """Something that may be, and that somebody should know of."""
    return Finding(level="warning", where=_sayable(where), what=_sayable(what), hint=hint)


def _sayable(text: str) -> str:
    """A text that any encoder takes: names in git are bytes, and may be anything."""
    return text.encode("utf-8", "replace").decode()
