"""One snapshot as a commit tells it: a subject for people, and trailers with all that is known."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Literal

from gitsession.git.worktree import Taken
from gitsession.ids import Oid, SessionId, is_oid
from gitsession.model import Frozen

Moment = Literal["start", "end", "barrier", "rewind"]
"""When it was taken: at a turn's start or end, at a start but late, so that a tool may have
begun, or before a rewind."""

_SUBJECTS: dict[Moment, str] = {
    "start": "The start of a turn",
    "end": "The end of a turn",
    "barrier": "The start of a turn, kept late",
    "rewind": "Before a rewind",
}
_MAX_NAMED = 20
_TRAILER = re.compile(r"([A-Z][A-Za-z-]*): (.*)")


class Draft(Frozen, frozen=True, kw_only=True):
    """What is known of a state beside the state itself."""

    session: SessionId
    moment: Moment
    at: float
    """When the event was, not when it was dealt with."""
    worktree: str = ""
    prompt: str = ""
    """The agent's own name for the prompt, if it has one."""
    ended: float | None = None
    """When a turn of the session was last over, for the start of one, if ever."""


class Snapshot(Frozen, frozen=True, kw_only=True):
    """One state of the work tree, as it is kept."""

    oid: Oid
    tree: Oid
    moment: Moment
    at: str
    """RFC 3339, UTC."""
    session: str = ""
    head: Oid | None = None
    branch: str | None = None
    worktree: str = ""
    prompt: str = ""
    ended: str = ""
    left_out: tuple[str, ...] = ()
    """What was there and could not be kept; the first of it."""


def render(taken: Taken, draft: Draft) -> str:
    """The message of a snapshot's commit."""
    trailers = [
        ("Session", draft.session),
        ("Moment", draft.moment),
        ("At", stamp(draft.at)),
        ("Head", taken.head or ""),
        ("Branch", taken.branch or ""),
        ("Worktree", draft.worktree),
        ("Prompt", draft.prompt),
        ("Ended", "" if draft.ended is None else stamp(draft.ended)),
        *(("Left-out", path) for path in taken.left_out[:_MAX_NAMED]),
    ]
    lines = [f"{key}: {_escape(value)}\n" for key, value in trailers if value]
    more = len(taken.left_out) - _MAX_NAMED
    note = f"and {more} more files are left out\n\n" if more > 0 else ""
    return f"{_SUBJECTS[draft.moment]}\n\n{note}{''.join(lines)}"


def stamp(at: float) -> str:
    """A moment as RFC 3339 has it, to the millisecond."""
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _escape(text: str) -> str:
    """A value on one line, in UTF-8: git makes other bytes of other bytes."""
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\0", "")
    return re.sub("[\udc80-\udcff]", lambda m: f"\\x{ord(m[0]) - 0xDC00:02x}", text)


def _unescape(text: str) -> str:
    plain = {"n": "\n", "r": "\r", "\\": "\\"}
    return re.sub(
        r"\\(?:([\\nr])|x([89a-f][0-9a-f]))",
        lambda m: plain[m[1]] if m[1] else chr(0xDC00 + int(m[2], 16)),
        text,
    )


def parse(text: str) -> Snapshot | None:
    """A snapshot from `<commit> <tree>` and its message; None when it is another commit."""
    head, _, message = text.partition("\n")
    oid, _, tree = head.partition(" ")
    values: dict[str, list[str]] = {}
    for line in message.split("\n")[1:]:
        if found := _TRAILER.fullmatch(line):
            values.setdefault(found[1], []).append(_unescape(found[2]))

    def first(key: str) -> str:
        return values.get(key, [""])[0]

    moment, at = first("Moment"), first("At")
    if moment not in _SUBJECTS or seconds(at) is None or not is_oid(oid) or not is_oid(tree):
        return None
    return Snapshot(
        oid=Oid(oid),
        tree=Oid(tree),
        moment=moment,
        at=at,
        session=first("Session"),
        head=Oid(first("Head")) if is_oid(first("Head")) else None,
        branch=first("Branch") or None,
        worktree=first("Worktree"),
        prompt=first("Prompt"),
        ended=first("Ended"),
        left_out=tuple(values.get("Left-out", ())),
    )


def seconds(at: str) -> float | None:
    """Seconds since the epoch of a moment; None for what isn't one."""
    try:
        found = datetime.fromisoformat(at)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
