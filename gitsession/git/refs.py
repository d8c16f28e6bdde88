"""Every ref name there is; nobody else spells one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gitsession.ids import Oid, SessionId, session_slug

SESSIONS = "refs/sessions/"
ARCHIVE = "refs/sessions/archive/"
INDEX = "refs/notes/sessions"
SNAPSHOTS = "refs/snapshots/"
REMOTES = "refs/session-remotes/"


def session(session_id: SessionId) -> str:
    """The ref of a session."""
    return SESSIONS + session_slug(session_id)


def archive(month: str) -> str:
    """The ref of the archive of a month, as in `2026-08`."""
    return ARCHIVE + month


def is_session(ref: str) -> bool:
    """Whether a ref is one session's, and no archive of several."""
    return ref.startswith(SESSIONS) and not ref.startswith(ARCHIVE)


def snapshots(session_id: SessionId) -> str:
    """The ref of a session's snapshots."""
    return SNAPSHOTS + session_slug(session_id)


def slug_of(ref: str) -> str:
    """The session's part of a session ref."""
    return ref.removeprefix(SESSIONS)


def seen(remote: str, ref: str) -> str:
    """Where a ref of ours is kept as a remote was last seen to have it."""
    return f"{REMOTES}{remote}/{ref.removeprefix('refs/')}"


def seen_on(remote: str) -> str:
    """What the names of all refs begin with that a remote was seen to have."""
    return f"{REMOTES}{remote}/"


def unpushed(
    list_refs: Callable[[str], Mapping[str, Oid]], remote: str, *, snapshots: bool = False
) -> dict[str, Oid]:
    """The refs that a remote isn't known to have as they are here."""
    there = list_refs(seen_on(remote))
    kinds = (SESSIONS, INDEX, *((SNAPSHOTS,) if snapshots else ()))
    mine = {ref: oid for kind in kinds for ref, oid in list_refs(kind).items()}
    return {ref: oid for ref, oid in mine.items() if there.get(seen(remote, ref)) != oid}


def branch_of(ref: str) -> str | None:
    """A branch's short name, or None for anything else (a detached HEAD)."""
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
