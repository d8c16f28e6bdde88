"""Whether the index says what the session refs say, and holds nothing that doesn't belong there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from gitsession.audit.finding import REINDEX, Finding, error, warning
from gitsession.audit.objects import Away, Objects
from gitsession.audit.session import Session
from gitsession.audit.shape import unreadable
from gitsession.errors import Unreadable
from gitsession.git import notes, refs
from gitsession.git.parse import parse_commit
from gitsession.git.repository import Listed
from gitsession.ids import CaptureId, Oid, SessionId, session_slug
from gitsession.model import Foreign, Frozen, Record
from gitsession.store import index_union, records, tombstones
from gitsession.store.tombstones import Forgotten

_BEHIND = f"`git session fetch` brings what others captured; {REINDEX}"

Key = tuple[CaptureId, Oid | None]
"""What a note holds one record of."""


class Index(Frozen, frozen=True, kw_only=True):
    """The index as it was seen."""

    tip: Oid | None = None
    files: tuple[Listed, ...] = ()
    readable: bool = True
    """Its files are here and in order, so that it can be compared."""
    gone: Forgotten = Forgotten()
    findings: tuple[Finding, ...] = ()
    """What is wrong with the files themselves."""

    @property
    def notes(self) -> list[Listed]:
        """The files that are read as notes."""
        most = index_union.MAX_FILE
        return [
            file
            for file in self.files
            if index_union.is_note(file.path) and file.mode == "100644" and (file.size or 0) <= most
        ]

    def notes_of(self, commit: Oid) -> list[Listed]:
        """The notes of one commit: one, unless another program wrote a second."""
        return [file for file in self.notes if notes.commit_of(file.path) == commit]


class Told(Frozen, frozen=True, kw_only=True):
    """What the session refs tell that the index has to tell as well."""

    keys: Mapping[SessionId, Mapping[Key, Record]]
    """The records of each session that is here."""
    slugs: frozenset[str]
    """All sessions that have a ref here, those that can't be read too."""


class Met(Frozen, frozen=True, kw_only=True):
    """What a walk through the index came across."""

    notes: int = 0
    commits: frozenset[Oid] = frozenset()
    elsewhere: frozenset[SessionId] = frozenset()
    """Sessions that have no ref here."""
    keys: frozenset[Key] = frozenset()
    """What it says of the sessions that are here."""
    unread: frozenset[Oid] = frozenset()
    """Commits whose notes can't be read, or aren't here."""
    findings: tuple[Finding, ...] = ()


def read_index(objects: Objects, tip: Oid | None) -> Index:
    """The index, and what is odd about its files."""
    if tip is None:
        return Index(readable=False)
    try:
        objects.look_for([tip], history=False)
        files = objects.files(parse_commit(tip, objects.read(tip)).tree)
    except Away:
        return Index(tip=tip, readable=False)
    except Unreadable as why:
        problem = error(refs.INDEX, f"it can't be read: {why.message}")
        return Index(tip=tip, readable=False, findings=(problem,))
    sizes = objects.sizes(file.oid for file in files)
    measured = tuple(msgspec.structs.replace(x, size=sizes.get(x.oid)) for x in files)
    stones = [file for file in measured if file.path.startswith(f"{tombstones.FOLDER}/")]
    found = [*_check_files(measured)]
    texts: list[bytes] = []
    for file, data in zip(stones, objects.read_many(x.oid for x in stones), strict=True):
        if isinstance(data, bytes):
            texts.append(data)
            found += _check_stones(file.path, data)
        elif not isinstance(data, Away):
            found.append(error(f"{refs.INDEX} {file.path!r}", data.message))
    gone = tombstones.forgotten(texts)
    return Index(tip=tip, files=measured, gone=gone, findings=tuple(found))


def _check_files(files: tuple[Listed, ...]) -> Iterator[Finding]:
    commits: set[str] = set()
    for file in files:
        where = f"{refs.INDEX} {file.path!r}"
        if file.mode != "100644":
            yield error(where, "it is no plain file")
        elif (file.size or 0) > index_union.MAX_FILE:
            yield error(where, f"it has {file.size} bytes")
        elif index_union.is_note(file.path):
            commit = notes.commit_of(file.path)
            if commit in commits:
                yield warning(where, "the commit has a second note")
            commits.add(commit)
        elif not file.path.startswith(f"{tombstones.FOLDER}/"):
            yield warning(where, "it is no note and no tombstone")


def _check_stones(path: str, data: bytes) -> Iterator[Finding]:
    for line in tombstones.decode(data):
        if isinstance(line, Foreign):
            yield warning(f"{refs.INDEX} {path!r}", "it holds a tombstone that can't be read")
        elif tombstones.path_of(line.session) != path:
            yield warning(f"{refs.INDEX} {path!r}", "it holds the tombstone of another session")


# -- notes ----------------------------------------------------------------------------------


def check_notes(
    objects: Objects, index: Index, told: Told, *, everything: bool, commits: frozenset[Oid]
) -> Met:
    """Compare the notes with the sessions: of all, or of those told of and of some commits."""
    walk = _Walk(index, told)
    files = index.notes
    for file, data in zip(files, objects.read_many(x.oid for x in files), strict=True):
        commit = notes.commit_of(file.path)
        full = everything or commit in commits
        if isinstance(data, bytes):
            walk.note(commit, data, full=full)
            continue
        walk.unread.add(commit)
        if not isinstance(data, Away):
            walk.found.append(error(_where(commit), data.message))
    return Met(
        notes=walk.notes,
        commits=frozenset(walk.commits),
        elsewhere=frozenset(walk.elsewhere),
        keys=frozenset(walk.keys),
        unread=frozenset(walk.unread),
        findings=tuple(walk.found),
    )


def _where(commit: Oid) -> str:
    return f"index, note of {commit[:12]}"


class _Walk:
    """Takes in one note after the other."""

    def __init__(self, index: Index, told: Told) -> None:
        self._gone = index.gone
        self._told = told
        self._ids = {session: {id for id, _ in keys} for session, keys in told.keys.items()}
        self.notes = 0
        self.commits: set[Oid] = set()
        self.elsewhere: set[SessionId] = set()
        self.keys: set[Key] = set()
        self.unread: set[Oid] = set()
        self.found: list[Finding] = []

    def note(self, commit: Oid, data: bytes, *, full: bool) -> None:
        """Look at the lines of a note: all, or those of the sessions in question."""
        lines = [
            line
            for line in records.decode_note(data)
            if full or (isinstance(line, Record) and line.session in self._told.keys)
        ]
        if lines or full:
            self.notes += 1
            self.commits.add(commit)
        for line in lines:
            if isinstance(line, Foreign):
                self.found.append(unreadable(_where(commit), line))
            else:
                self.found += self._record(commit, line)

    def _record(self, commit: Oid, record: Record) -> Iterator[Finding]:
        where = f"{_where(commit)}, session {record.session} capture {record.seq}"
        if self._gone.covers(record):
            what = "it was forgotten, and its record is still there"
            yield error(where, what, "`git session sync` takes out what was forgotten")
            return
        if (record.commit or record.base) != commit:
            other = str(record.commit or record.base)[:12]
            yield warning(where, f"the record belongs to commit {other}", REINDEX)
            return
        held = self._told.keys.get(record.session)
        if held is None:
            if session_slug(record.session) not in self._told.slugs:
                self.elsewhere.add(record.session)
            return
        key = (record.id, record.commit)
        self.keys.add(key)
        if record.id not in self._ids[record.session]:
            yield error(where, f"the session has no capture {record.id}", _BEHIND)
        elif record.rewritten_from is None:
            yield from _compare(where, record, held.get(key))


def _compare(where: str, record: Record, own: Record | None) -> Iterator[Finding]:
    """A record of the index with the session's own."""
    if own is None:
        yield error(where, "the session doesn't have this record of its capture", _BEHIND)
        return
    numbered = msgspec.structs.replace(record, seq=own.seq)
    if records.encode(numbered) != records.encode(own):
        yield error(where, f"the session's own record says otherwise: {_differing(own, record)}")
    elif record.seq != own.seq:
        yield warning(where, f"in its session it is capture {own.seq}", _BEHIND)


def _differing(one: Record, other: Record) -> str:
    names = (name for name in Record.__struct_fields__ if name not in ("seq", "rewritten_from"))
    return ", ".join(name for name in names if getattr(one, name) != getattr(other, name))


def check_indexed(index: Index, session: Session, met: Met) -> Iterator[Finding]:
    """Records of a session that the index lacks."""
    for capture in session.captures:
        for record in capture.records:
            note = record.commit or record.base
            if note is None or note in met.unread or index.gone.covers(record):
                continue
            if (record.id, record.commit) not in met.keys:
                what = f"the index lacks its record at {note[:12]}"
                yield error(session.where(capture), what, REINDEX)


def check_kinds(kinds: Mapping[str, str]) -> Iterator[Finding]:
    """Notes on what is no commit."""
    for oid, kind in sorted(kinds.items()):
        if kind != "commit":
            yield warning(_where(Oid(oid)), f"it is on a {kind}, not on a commit")
