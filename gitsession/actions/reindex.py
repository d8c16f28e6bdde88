"""Rebuilds the index from the session refs, which are the truth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gitsession import config
from gitsession.errors import Unreadable
from gitsession.git import notes, refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Update
from gitsession.ids import Oid
from gitsession.model import Foreign, Frozen, Record
from gitsession.query.index import read_all
from gitsession.store import records, sessions

Lines = dict[Oid, list[Record | Foreign]]


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
    unreadable: list[str] = []
    session_refs = repo.refs(refs.SESSIONS)
    kept = _kept(old)
    wanted: dict[Oid, list[Record]] = {}
    count = 0
    for ref in session_refs:
        try:
            for record in _records_of(repo, ref):
                count += 1
                key = record.commit or record.base
                if key is not None:
                    wanted.setdefault(key, []).append(record)
        except Unreadable as error:
            unreadable.append(error.message)
    notes_of = {commit: (kept.get(commit, []), wanted.get(commit, [])) for commit in kept | wanted}
    new = {
        commit: records.merge_note(records.encode_note(before), found)
        for commit, (before, found) in notes_of.items()
        if before or found
    }
    changed = {commit: data for commit, data in new.items() if old.get(commit) != data}
    gone = [commit for commit in old if commit not in new]
    if changed or gone:
        plan = notes.plan(repo, tip, changed, "reindex\n")
        removes = (*plan.removes, *(notes.path_of(commit) for commit in gone))
        repo.apply(
            [Update(ref=plan.ref, old=tip, message=plan.message, puts=plan.puts, removes=removes)],
            settings.author,
        )
    return Rebuilt(
        sessions=len(session_refs),
        records=count,
        changed=len(changed) + len(gone),
        unreadable=tuple(unreadable),
    )


def _kept(old: dict[Oid, bytes]) -> Lines:
    """What the index alone knows: rewritten records, and lines of a later version."""
    return {
        commit: [
            line
            for line in records.decode_note(data)
            if isinstance(line, Foreign) or line.rewritten_from is not None
        ]
        for commit, data in old.items()
    }


def _records_of(repo: Plumbing, ref: str) -> Iterator[Record]:
    stored = sessions.open_ref(repo, ref)
    for seq in stored.seqs:
        for line in sessions.record_lines(repo, stored, seq):
            if isinstance(line, Record):
                yield line
