"""Brings what a session holds here when somebody opens it: a clone has the index alone."""

from __future__ import annotations

from collections.abc import Iterable

from gitsession import config
from gitsession.errors import SessionError
from gitsession.git.plumbing import Plumbing
from gitsession.ids import SessionId, session_slug
from gitsession.model import Record
from gitsession.query.index import read_all
from gitsession.store import records, sessions
from gitsession.sync.remote import find_remote


def bring(repo: Plumbing, wanted: Iterable[Record]) -> None:
    """Fetch the sessions of these captures, by their exact refs, where they aren't here."""
    missing = [record for record in wanted if not is_here(repo, record)]
    if not missing:
        return
    settings = config.load(repo.common_dir)
    remote = find_remote(settings)
    if remote is None:
        return
    from gitsession.sync.exchange import Exchange
    from gitsession.sync.transport import Line, TransferFailed

    try:
        Exchange(repo, settings, Line(repo, remote, watched=True)).open(missing)
    except TransferFailed as error:
        raise SessionError(
            f"session {missing[0].session} isn't here: {error.message}",
            hint="it is fetched as soon as the remote can be reached",
        ) from None


def is_here(repo: Plumbing, record: Record) -> bool:
    """Whether the capture that a record tells of can be read without the remote."""
    stored = sessions.open_session(repo, record.session)
    return stored.tip is not None and sessions.find_seq(repo, stored, record) is not None


def in_index(repo: Plumbing, prefix: str) -> list[Record]:
    """The records of the sessions whose id begins so, whether they are here or not."""
    if not prefix or session_slug(SessionId(prefix)) != prefix:
        return []
    # Most notes needn't be understood: only a hashed id isn't in them as it is.
    hashed = prefix == "x" or prefix.startswith("x-")
    found = (note for _, note in read_all(repo) if hashed or prefix.encode() in note)
    every = (record for note in found for record in records.readable(records.decode_note(note)))
    return [record for record in every if session_slug(record.session).startswith(prefix)]
