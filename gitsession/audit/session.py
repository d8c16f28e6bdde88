"""A session as an audit reads it: as much of it as can be read, whatever is wrong with the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from gitsession.audit.objects import Away, Objects
from gitsession.errors import Unreadable
from gitsession.git.parse import parse_commit
from gitsession.git.repository import Changed, Commit, Listed
from gitsession.ids import CaptureId, Oid, SessionId
from gitsession.model import Foreign, Frozen, Record
from gitsession.store import check, contents, layout, records
from gitsession.store.sessions import Head

_SUBAGENT = "subagent"


class Capture(Frozen, frozen=True, kw_only=True):
    """One capture as a tree has it."""

    seq: int
    """By its path."""
    lines: tuple[Record | Foreign, ...] = ()
    problem: str = ""
    """Why its records can't be read."""
    files: dict[str, Oid] = {}
    """What it brought, by the names that its id is made of."""

    @property
    def own(self) -> Record | None:
        """The record made with it, if this version can read it."""
        first = self.lines[0] if self.lines else None
        return first if isinstance(first, Record) else None

    @property
    def records(self) -> list[Record]:
        """All its records that this version can read."""
        return [line for line in self.lines if isinstance(line, Record)]

    @property
    def is_stub(self) -> bool:
        """Whether what it held was forgotten."""
        return self.own is not None and contents.FORGOTTEN in self.own.redactions


class Step(Frozen, frozen=True, kw_only=True):
    """One commit of a session's chain, and what it did to the one before."""

    commit: Commit
    parent: Oid | None
    """The tree of the commit before."""
    changes: tuple[Changed, ...]
    signed: bool


class Place(Frozen, frozen=True, kw_only=True):
    """Where a session is kept: under a ref of its own, or in an archive."""

    ref: str
    """How to speak of it."""
    slug: str
    tip: Oid
    """The newest commit; in an archive the session's tree."""
    archived: bool = False


class Session(Frozen, frozen=True, kw_only=True):
    """What is kept of a session in one place."""

    ref: str
    slug: str
    head: Head | None
    files: tuple[Listed, ...]
    captures: tuple[Capture, ...]
    """In order of their numbers."""

    @property
    def id(self) -> SessionId:
        """The session that it says to be, or else that its ref's name says."""
        return self.head.session if self.head else SessionId(self.slug)

    def where(self, capture: Capture) -> str:
        """How to speak of one of its captures."""
        return f"{self.ref} capture {capture.seq}"


class Chain(Frozen, frozen=True, kw_only=True):
    """How a session came to be what it is, newest first."""

    steps: tuple[Step, ...]
    cut: bool = False
    """What was before isn't here: a shallow or a partial clone."""
    problem: str = ""
    """Why what was before can't be read."""


def _tree_of(objects: Objects, place: Place) -> Oid:
    if place.archived:
        return place.tip
    return parse_commit(place.tip, objects.read(place.tip)).tree


def read_session(objects: Objects, place: Place) -> Session:
    """A session as it is; raises Away, or Unreadable when there is no tree to look at."""
    tree = _tree_of(objects, place)
    files = objects.files(tree)
    sizes = objects.sizes(file.oid for file in files)
    by_path = {file.path: file.oid for file in files}
    return Session(
        ref=place.ref,
        slug=place.slug,
        head=_read_head(objects, by_path.get(layout.HEAD)),
        files=tuple(msgspec.structs.replace(x, size=sizes.get(x.oid)) for x in files),
        captures=tuple(read_captures(objects, by_path).values()),
    )


def _read_head(objects: Objects, oid: Oid | None) -> Head | None:
    if oid is None:
        return None
    try:
        return msgspec.json.decode(objects.read(oid), type=Head)
    except Away:
        raise
    except (Unreadable, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def read_captures(objects: Objects, files: Mapping[str, Oid]) -> dict[int, Capture]:
    """The captures in a tree, in order of their numbers."""
    found = {seq: path for path in files if (seq := layout.record_seq(path)) is not None}
    parts: dict[int, dict[str, Oid]] = {}
    for path, oid in files.items():
        if (number := layout.segment_seq(path)) is not None:
            parts.setdefault(number, {})[_part_of(path)] = oid
    order = sorted(found)
    small = _small(objects, [files[found[seq]] for seq in order])
    texts = objects.read_many(oid for oid in small)
    by_oid = dict(zip(small, texts, strict=True))
    return {seq: _capture(seq, by_oid.get(files[found[seq]]), parts.get(seq, {})) for seq in order}


def _small(objects: Objects, oids: Iterable[Oid]) -> list[Oid]:
    """Those that are no larger than records can be: no other is read."""
    every = list(dict.fromkeys(oids))
    sizes = objects.sizes(every)
    return [oid for oid in every if sizes.get(oid, 0) <= check.MAX_RECORD]


def _capture(seq: int, data: bytes | Unreadable | None, files: dict[str, Oid]) -> Capture:
    if isinstance(data, Away):
        raise data
    if not isinstance(data, bytes):
        problem = data.message if data else f"they have more than {check.MAX_RECORD} bytes"
        return Capture(seq=seq, problem=problem, files=files)
    return Capture(seq=seq, lines=tuple(records.decode_note(data)), files=files)


def _part_of(path: str) -> str:
    """A part's name as a capture's id has it."""
    folder, _, rest = path.partition("/")
    return f"{_SUBAGENT}/{rest.partition('/')[0]}" if folder == layout.SUBAGENTS else contents.MAIN


def by_id(captures: Iterable[Capture]) -> dict[CaptureId, Capture]:
    """Captures by what they hold."""
    return {capture.own.id: capture for capture in captures if capture.own is not None}


def read_chain(objects: Objects, tip: Oid, shallow: frozenset[str]) -> Chain:
    """The commits of a session, newest first, as far as they can be read."""
    steps: list[Step] = []
    at: Oid | None = tip
    data = objects.read(tip)
    while at is not None:
        commit = parse_commit(at, data)
        signed = _is_signed(data)
        if at in shallow and commit.parents:
            # What it changed can't be told: what was there before isn't here.
            steps.append(Step(commit=commit, parent=None, changes=(), signed=signed))
            return Chain(steps=tuple(steps), cut=True)
        at = commit.parents[0] if commit.parents else None
        try:
            data = objects.read(at) if at else b""
            parent = parse_commit(at, data).tree if at else None
            changes = tuple(objects.changes(parent, commit.tree))
        except Away:
            return Chain(steps=tuple(steps), cut=True)
        except Unreadable as why:
            return Chain(steps=tuple(steps), problem=why.message)
        steps.append(Step(commit=commit, parent=parent, changes=changes, signed=signed))
    return Chain(steps=tuple(steps))


def _is_signed(data: bytes) -> bool:
    head = data.partition(b"\n\n")[0]
    return any(line.startswith((b"gpgsig ", b"gpgsig-sha256 ")) for line in head.split(b"\n"))
