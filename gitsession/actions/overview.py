"""All sessions that are known here, from the index and, where it doesn't tell, from their refs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from gitsession import agents
from gitsession.errors import SessionError, Unreadable
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.ids import CaptureId, Oid, SessionId, session_slug
from gitsession.model import Frozen, Parent, Record
from gitsession.query.index import read_all
from gitsession.render.dates import parse_date
from gitsession.store import archives, records, sessions

_HEAD_LINES = 100
_NEVER = datetime.min.replace(tzinfo=UTC)

Captures = dict[CaptureId, Record]


class SessionInfo(Frozen, frozen=True, kw_only=True):
    """One session; nothing has a default, so that it always says everything as JSON."""

    id: SessionId
    agent: str
    captures: int
    turns: int
    messages: int
    prompt: str
    """The first words of its first prompt."""
    captured_at: str
    """When its last capture was taken."""
    parent: Parent | None
    archived: bool
    here: bool
    """It can be read without a remote."""


def overview(
    repo: Plumbing, *, agent: str | None = None, branch: str | None = None,
    since: datetime | None = None,
) -> list[SessionInfo]:  # fmt: skip
    """The sessions, the one that was captured last before the others."""
    own = {refs.slug_of(ref) for ref in repo.refs(refs.SESSIONS) if refs.is_session(ref)}
    trees = archives.newest(repo)
    found = []
    for session, captures in _gather(repo, own, trees).items():
        slug = session_slug(session)
        ordered = sorted(captures.values(), key=lambda record: record.seq)
        info = _describe(
            session, ordered, slug not in own and slug in trees, slug in own or slug in trees
        )
        moment = _moment(info)
        if (
            agent in (None, info.agent)
            and (branch is None or any(record.branch == branch for record in ordered))
            and (since is None or moment >= since)
        ):
            found.append((moment, info))
    return [info for _, info in sorted(found, key=lambda x: (x[0], x[1].id), reverse=True)]


def _moment(info: SessionInfo) -> datetime:
    return parse_date(info.captured_at) or _NEVER


def _describe(session: SessionId, ordered: list[Record], archived: bool, here: bool) -> SessionInfo:
    last = ordered[-1]
    return SessionInfo(
        id=session,
        agent=last.agent.name,
        captures=len(ordered),
        turns=sum(record.turns for record in ordered),
        messages=sum(record.messages for record in ordered),
        prompt=next((record.prompt for record in ordered if record.prompt), ""),
        captured_at=last.captured_at,
        parent=next((record.parent for record in ordered if record.parent), None),
        archived=archived,
        here=here,
    )


def _gather(repo: Plumbing, own: set[str], trees: Mapping[str, Oid]) -> dict[SessionId, Captures]:
    """The captures of each session, each once however many commits it belongs to."""
    found: dict[SessionId, Captures] = {}
    for _, note in read_all(repo):
        _enter(found, records.readable(records.decode_note(note)))
    whole = {session_slug(session) for session, told in found.items() if _is_whole(told)}
    for slug in sorted((own | trees.keys()) - whole):
        try:
            _enter(found, _records_of(repo, refs.SESSIONS + slug))
        except Unreadable:
            # `git session verify` says what is wrong with it.
            continue
    return found


def _enter(found: dict[SessionId, Captures], told: Iterable[Record]) -> None:
    for record in told:
        found.setdefault(record.session, {}).setdefault(record.id, record)


def _is_whole(captures: Captures) -> bool:
    """Whether no capture is missing: those before the first commit are in no note."""
    return len(captures) >= max(record.seq for record in captures.values())


def _records_of(repo: Plumbing, ref: str) -> Iterator[Record]:
    stored = sessions.open_ref(repo, ref)
    for seq in stored.seqs:
        record = sessions.find_record(repo, stored, seq)
        if record is not None:
            yield record


def find_latest(repo: Plumbing, folder: Path | None) -> SessionId | None:
    """The newest session, or the newest of those here that began in a folder or below it."""
    every = overview(repo)
    if folder is None:
        return every[0].id if every else None
    root = os.path.realpath(folder)
    here = (info.id for info in every if info.here)
    return next((session for session in here if _began_in(repo, session, root)), None)


def _began_in(repo: Plumbing, session: SessionId, root: str) -> bool:
    try:
        cwd = _first_folder(repo, sessions.open_session(repo, session))
    except SessionError:
        # Of an agent that this version doesn't know, or not here as a whole.
        return False
    if not cwd or "\0" in cwd:
        return False
    cwd = os.path.realpath(cwd)
    return cwd == root or cwd.startswith(root.rstrip(os.sep) + os.sep)


def _first_folder(repo: Plumbing, stored: sessions.Stored) -> str:
    """Where a session began, as the first of its lines tell; empty when they don't."""
    if stored.head is None or not stored.seqs:
        return ""
    adapter = agents.get(stored.head.agent)
    head = islice(sessions.segment_lines(repo, stored, stored.seqs[0]), _HEAD_LINES)
    return next((cwd for raw in head if (cwd := adapter.parse_line(raw).cwd)), "")
