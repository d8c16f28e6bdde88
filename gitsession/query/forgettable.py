"""What a name stands for that something is to be forgotten of: a session, a capture, a commit."""

from __future__ import annotations

from collections.abc import Iterable

from gitsession.errors import Ambiguous, NotFound, SessionError, Unreadable
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.ids import CaptureId, Oid, SessionId, session_slug
from gitsession.model import Frozen, Record
from gitsession.query.index import read_all
from gitsession.query.names import recent
from gitsession.store import contents, records, sessions, tombstones

_LEAST = 6
"""Digits of a capture's id that name it."""


class Named(Frozen, frozen=True, kw_only=True):
    """One session, or some captures."""

    session: SessionId | None = None
    captures: frozenset[CaptureId] = frozenset()
    commit: Oid | None = None
    """The commit that the captures were named by."""


def get_named(repo: Plumbing, name: str) -> Named:
    """Understand a name; raises NotFound or Ambiguous, with candidates."""
    every = all_records(repo)
    found = {f"session {x}": Named(session=x) for x in _sessions(repo, name, every)}
    found |= {
        f"capture {x[:12]}": Named(captures=frozenset({x})) for x in _captures(repo, name, every)
    }
    commit = repo.resolve(name + "^{commit}") if name and not name.startswith("-") else None
    tied = frozenset(record.id for record in every if commit and record.commit == commit)
    if commit is not None and tied:
        found[f"commit {commit[:12]}"] = Named(captures=tied, commit=commit)
    if len(found) > 1:
        raise Ambiguous("thing", name, [*found][:8])
    if found:
        return next(iter(found.values()))
    if commit is not None:
        raise SessionError(
            f"no capture is tied to commit {commit[:12]}", hint="`git session log` lists what is"
        )
    known = [*recent(repo)]
    hint = None if known else "`git session log --all` lists what there is"
    raise NotFound("session, capture or commit", name, candidates=known, hint=hint)


def all_records(repo: Plumbing) -> list[Record]:
    """Every record of the index."""
    return [r for _, note in read_all(repo) for r in records.readable(records.decode_note(note))]


def _sessions(repo: Plumbing, name: str, every: Iterable[Record]) -> list[SessionId]:
    """The sessions whose id begins so, or the one whose id it is, forgotten ones included."""
    known = {record.session for record in every}
    known |= {head for ref in sessions.find_refs(repo, name) if (head := _id_of(repo, ref))}
    known |= tombstones.read(repo, repo.resolve(refs.INDEX)).sessions
    if name in known:
        return [SessionId(name)]
    return sorted(x for x in known if name and session_slug(x).startswith(name))


def _id_of(repo: Plumbing, ref: str) -> SessionId | None:
    try:
        head = sessions.open_ref(repo, ref).head
    except Unreadable:
        return None
    return head.session if head else None


def _captures(repo: Plumbing, name: str, every: Iterable[Record]) -> list[CaptureId]:
    if len(name) < _LEAST:
        return []
    known = {record.id for record in every if record.id.startswith(name)}
    known |= {
        x for x in tombstones.read(repo, repo.resolve(refs.INDEX)).captures if x.startswith(name)
    }
    return sorted(known or _in_sessions(repo, name))


def _in_sessions(repo: Plumbing, name: str) -> set[CaptureId]:
    """The captures that no note tells of: made before there was a commit."""
    found: set[CaptureId] = set()
    for ref in repo.refs(refs.SESSIONS):
        if not refs.is_session(ref):
            continue
        try:
            whole = contents.read(repo, Oid(repo.resolve(ref) or ""))
        except Unreadable:
            continue
        found |= {p.own.id for p in whole.pieces if p.own.id.startswith(name) and not p.is_stub}
    return found
