"""Every ref name there is; nobody else spells one."""

from __future__ import annotations

from gitsession.ids import SessionId, session_slug

SESSIONS = "refs/sessions/"
ARCHIVE = "refs/sessions/archive/"
INDEX = "refs/notes/sessions"
SNAPSHOTS = "refs/snapshots/"
REMOTES = "refs/session-remotes/"


def session(session_id: SessionId) -> str:
    """The ref of a session."""
    return SESSIONS + session_slug(session_id)


def slug_of(ref: str) -> str:
    """The session's part of a session ref."""
    return ref.removeprefix(SESSIONS)


def seen(remote: str, ref: str) -> str:
    """Where a ref of ours is kept as a remote was last seen to have it."""
    return f"{REMOTES}{remote}/{ref.removeprefix('refs/')}"


def seen_on(remote: str) -> str:
    """What the names of all refs begin with that a remote was seen to have."""
    return f"{REMOTES}{remote}/"


def branch_of(ref: str) -> str | None:
    """A branch's short name, or None for anything else (a detached HEAD)."""
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
