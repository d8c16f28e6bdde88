"""Every ref name there is; nobody else spells one."""

from __future__ import annotations

from gitsession.ids import SessionId, session_slug

SESSIONS = "refs/sessions/"
INDEX = "refs/notes/sessions"


def session(session_id: SessionId) -> str:
    """The ref of a session."""
    return SESSIONS + session_slug(session_id)


def slug_of(ref: str) -> str:
    """The session's part of a session ref."""
    return ref.removeprefix(SESSIONS)


def branch_of(ref: str) -> str | None:
    """A branch's short name, or None for anything else (a detached HEAD)."""
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
