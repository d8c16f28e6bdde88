"""What a session's tree holds, capture by capture, read from a tree and made into one again."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gitsession.errors import Unreadable
from gitsession.git.inspect import listing
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Link, Put
from gitsession.ids import Oid, capture_id
from gitsession.model import Foreign, Frozen, Record
from gitsession.store import codec, layout, records, sessions
from gitsession.store.sessions import Head
from gitsession.store.tombstones import Forgotten

FORGOTTEN = "forgotten"
"""The rule that the record of an emptied capture names."""
MAIN = "main"
"""The name of a capture's main part."""
BLANK = b"{}\n"
"""A line that says nothing, and is counted as one."""


class Piece(Frozen, frozen=True, kw_only=True):
    """One capture as a session's tree holds it."""

    own: Record
    """The record made with it."""
    ties: tuple[Record | Foreign, ...] = ()
    """Those of further commits."""
    files: dict[str, Oid] = {}
    """What it brought: `main`, and `subagents/<name>`."""

    @property
    def is_stub(self) -> bool:
        """Whether what it held was forgotten."""
        return FORGOTTEN in self.own.redactions

    @property
    def lines(self) -> tuple[Record | Foreign, ...]:
        """All its records, as its file has them."""
        return (self.own, *self.ties)


class Contents(Frozen, frozen=True, kw_only=True):
    """All that a session's tree holds."""

    head: Head
    pieces: tuple[Piece, ...]
    others: dict[str, Oid] = {}
    """Large outputs, and what a later version put there; one without a name is to be empty."""

    @property
    def records(self) -> list[Record]:
        """Every record that this version understands."""
        return [x for piece in self.pieces for x in piece.lines if isinstance(x, Record)]


def read(repo: Plumbing, tip: Oid) -> Contents:
    """What a session holds; raises Unreadable when this version can't understand it."""
    head = sessions.read_head(repo, tip)
    found = {entry.path: entry.oid for entry in listing(repo, tip)}
    numbers = {seq: path for path in found if (seq := layout.record_seq(path)) is not None}
    files: dict[int, dict[str, Oid]] = {seq: {} for seq in numbers}
    others: dict[str, Oid] = {}
    for path in found.keys() - {layout.HEAD, *numbers.values()}:
        seq, name = _role_of(path)
        if seq in files:
            files[seq][name] = found[path]
        else:
            others[path] = found[path]
    texts = repo.read_many(found[path] for path in numbers.values())
    pieces = [_piece(seq, text, files[seq]) for seq, text in zip(numbers, texts, strict=True)]
    return Contents(head=head, pieces=tuple(sorted(pieces, key=lambda p: p.own.seq)), others=others)


def _piece(seq: int, text: bytes | None, files: Mapping[str, Oid]) -> Piece:
    own, *ties = records.decode_note(text or b"") or [Foreign(raw=b"")]
    if not isinstance(own, Record):
        raise Unreadable(f"the record of capture {seq} can't be read by this version")
    if any(isinstance(x, Record) and x.seq != seq for x in (own, *ties)):
        raise Unreadable(f"the record of capture {seq} says to be of another one")
    return Piece(own=own, ties=tuple(ties), files=dict(files))


def _role_of(path: str) -> tuple[int | None, str]:
    """The capture that a file came with, and what it is to it."""
    folder, _, rest = path.partition("/")
    if folder == layout.SUBAGENTS:
        name = rest.partition("/")[0]
        return layout.segment_seq(path), f"{layout.SUBAGENTS}/{name}"
    return (layout.segment_seq(path), MAIN) if folder == layout.CAPTURES else (None, "")


def tree_of(contents: Contents) -> tuple[tuple[Put, ...], tuple[Link, ...]]:
    """The tree that holds all this: files to write, and files that are there."""
    puts = [Put(path=layout.HEAD, data=sessions.encode_head(contents.head))]
    links = [Link(path=path, oid=oid) for path, oid in sorted(contents.others.items()) if oid]
    # An output that was forgotten keeps its place, so that it isn't captured again.
    puts += [
        Put(path=path, data=codec.pack(b"")) for path, oid in contents.others.items() if not oid
    ]
    for piece in contents.pieces:
        seq = piece.own.seq
        puts.append(Put(path=layout.record(seq), data=records.encode_lines(piece.lines)))
        links += [Link(path=_path_of(name, seq), oid=oid) for name, oid in piece.files.items()]
        if MAIN not in piece.files:
            puts.append(Put(path=layout.segment(seq), data=codec.pack(b"")))
    return tuple(puts), tuple(links)


def _path_of(name: str, seq: int) -> str:
    folder, _, who = name.partition("/")
    return layout.subagent(who, seq) if folder == layout.SUBAGENTS else layout.segment(seq)


def emptied(contents: Contents, gone: Forgotten) -> Contents:
    """The same session with nothing in the captures that were forgotten."""
    pieces = [stub(p) if p.own.id in gone.captures else p for p in contents.pieces]
    others = without(contents.others, gone)
    return msgspec.structs.replace(contents, pieces=tuple(pieces), others=others)


def without(others: Mapping[str, Oid], gone: Forgotten) -> dict[str, Oid]:
    """Large outputs, those that were forgotten with nothing in them."""
    return {path: Oid("") if oid in gone.blobs else oid for path, oid in others.items()}


def stub(piece: Piece) -> Piece:
    """What is left of a capture that was forgotten: its place, for the next one to go on from.

    Every clone makes the same one, so that they still have the same session.
    """
    own = piece.own
    bare = Record(
        v=own.v,
        id=capture_id(own.session, own.offset, [(FORGOTTEN, own.id)]),
        session=own.session,
        seq=own.seq,
        kind="checkpoint",
        reason="manual",
        agent=msgspec.structs.replace(own.agent, version=""),
        captured_at=own.captured_at,
        first=own.first,
        last=own.last,
        offset=own.offset,
        redactions={FORGOTTEN: 1},
    )
    return Piece(own=bare)
