"""Rebuilds the index from the session refs, which are the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from gitsession import config
from gitsession.errors import Unreadable
from gitsession.git import notes, refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Repository
from gitsession.ids import Oid, SessionId
from gitsession.model import Foreign, Frozen, Record
from gitsession.query.index import read_all
from gitsession.store import archives, records, sessions
from gitsession.sync.remote import find_remote

Lines = dict[Oid, list[Record | Foreign]]


_MANY = 500
"""Sessions from which on importing libgit2 costs less than asking git for each object."""


class Rebuilt(Frozen, frozen=True, kw_only=True):
    """What a rebuild found and changed."""

    sessions: int
    records: int
    changed: int
    """Notes that are different now."""
    unreadable: tuple[str, ...] = ()


def reindex(path: Path) -> Rebuilt:
    """Make the index say what the session refs say, and keep what only it knows."""
    with discover(path) as repo:
        return _rebuild(repo)


def _rebuild(repo: Plumbing) -> Rebuilt:
    settings = config.load(repo.common_dir)
    tip = repo.resolve(refs.INDEX)
    old = dict(read_all(repo, tip)) if tip else {}
    found = _gather(repo, partial=settings.partial)
    new = _notes(old, found, _known_elsewhere(repo, settings, found))
    changed = {commit: data for commit, data in new.items() if old.get(commit) != data}
    gone = [commit for commit in old if commit not in new]
    if changed or gone:
        plan = notes.plan(repo, tip, changed, "reindex\n")
        removes = (*plan.removes, *(notes.path_of(commit) for commit in gone))
        repo.apply([msgspec.structs.replace(plan, removes=removes)], settings.author)
    return Rebuilt(
        sessions=found.sessions,
        records=sum(map(len, found.records.values())),
        changed=len(changed) + len(gone),
        unreadable=found.unreadable,
    )


def _known_elsewhere(
    repo: Plumbing, settings: config.Settings, found: _Found
) -> Callable[[Record], bool]:
    """Tell whether a record that no ref here has may be right all the same.

    A clone has the index of everybody, and the sessions that somebody opened in
    it: what isn't here, or not wholly, is no reason to drop what is said of it.
    """
    remote = find_remote(settings)
    tip = repo.resolve(refs.seen(remote.slug, refs.INDEX)) if remote else None
    there = {
        (line.id, line.commit)
        for _, data in (read_all(repo, tip) if tip else ())
        for line in records.readable(records.decode_note(data))
    }
    return lambda r: r.session not in found.here or (r.id, r.commit) in there


class _Found(Frozen, frozen=True, kw_only=True):
    """What the session refs say."""

    sessions: int
    records: dict[Oid, list[Record]]
    here: frozenset[SessionId]
    """The sessions that can be read here."""
    unreadable: tuple[str, ...]


def _gather(repo: Plumbing, *, partial: bool) -> _Found:
    """Read every session's records, through the library where it pays and can."""
    session_refs = [ref for ref in repo.refs(refs.SESSIONS) if refs.is_session(ref)]
    archived = archives.every_copy(repo)
    source: Repository = repo
    if len(session_refs) + len(archived) >= _MANY and not partial:
        source = _library(repo) or repo
    found: dict[Oid, list[Record]] = {}
    unreadable: list[str] = []
    copies = [(refs.SESSIONS + slug, tree) for slug, tree in archived]
    for ref, tree in [*((ref, None) for ref in session_refs), *copies]:
        try:
            for record in _records_of(source, ref, tree):
                key = record.commit or record.base
                if key is not None:
                    found.setdefault(key, []).append(record)
        except Unreadable as error:
            unreadable.append(error.message)
    if source is not repo:
        source.close()
    count = len({*session_refs, *(ref for ref, _ in copies)})
    here = frozenset(record.session for group in found.values() for record in group)
    return _Found(sessions=count, records=found, here=here, unreadable=tuple(unreadable))


def _library(repo: Plumbing) -> Repository | None:
    from gitsession.git.library import open_library

    return open_library(repo.git_dir, repo.common_dir, repo.work_tree)


def _notes(
    old: dict[Oid, bytes], found: _Found, elsewhere: Callable[[Record], bool]
) -> dict[Oid, bytes]:
    """The notes as they should be: what the refs say, and what only the index knows."""
    kept = _kept(old, elsewhere)
    parts = {c: (kept.get(c, []), found.records.get(c, [])) for c in kept | found.records}
    return {
        commit: records.merge_note(records.encode_note(before), said)
        for commit, (before, said) in parts.items()
        if before or said
    }


def _kept(old: dict[Oid, bytes], elsewhere: Callable[[Record], bool]) -> Lines:
    """What the index alone knows: rewritten records, lines of a later version, others' sessions."""
    return {
        commit: [
            line
            for line in records.decode_note(data)
            if isinstance(line, Foreign) or line.rewritten_from is not None or elsewhere(line)
        ]
        for commit, data in old.items()
    }


def _records_of(repo: Repository, ref: str, tree: Oid | None) -> Iterator[Record]:
    """The records of a session, as its ref has it or an archive."""
    stored = sessions.open_tip(repo, ref, tree) if tree else sessions.open_ref(repo, ref)
    for seq in stored.seqs:
        for line in sessions.record_lines(repo, stored, seq):
            if isinstance(line, Record):
                yield line
