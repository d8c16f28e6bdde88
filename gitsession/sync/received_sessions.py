"""Whether a session, or an archive of them, may be taken as it was pushed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import zstandard

from gitsession.errors import SessionError, Unreadable
from gitsession.git import refs, wary
from gitsession.git.repository import Listed
from gitsession.git.wary import Bounds
from gitsession.ids import CaptureId, Oid, SessionId, session_slug
from gitsession.model import RECORD_VERSION, Foreign, Frozen, Record
from gitsession.store import check, codec, layout, records, sessions
from gitsession.store.contents import FORGOTTEN
from gitsession.sync.received import Command, Ground, Refused, Refusing, author_of, is_slug

_BOUNDS = Bounds(depth=5, files=check.MAX_FILES)
_MAX_ENTRIES = 200_000
_SMALL = 64 << 20
"""Bytes that anything may unpack to, however small it is packed."""
_MAX_RATIO = 1000
_MAGIC = zstandard.FRAME_HEADER
_UPDATE = "the server's git session may be older than yours"
_MERGE = "`git session sync` merges what others pushed"


class Kept(Frozen, frozen=True, kw_only=True):
    """One capture of a session."""

    lines: tuple[Record | Foreign, ...]
    """Its records, its own first."""
    parts: dict[str, Oid]
    """What it brought, by the part's name."""

    @property
    def is_stub(self) -> bool:
        """Whether nothing is left of it."""
        own = self.lines[0]
        return isinstance(own, Record) and FORGOTTEN in own.redactions


Captures = Mapping[CaptureId, Kept]


# -- what a push brings -------------------------------------------------------------------


def unpack_fresh(ground: Ground, commands: Sequence[Command]) -> None:
    """Refuse what unpacks beyond measure; remember what doesn't."""
    good = set()
    for oid, thing in ground.fresh.items():
        data = ground.repo.read(oid) if thing.kind == "blob" else None
        if data is None or not data.startswith(_MAGIC):
            continue
        try:
            measure(data, ground.rules.max_segment)
        except Unreadable as error:
            raise Refusing(ground.bringer(commands, oid), error.message) from None
        good.add(oid)
    ground.packed = frozenset(good)


def measure(blob: bytes, max_segment: int) -> int:
    """How much a stored part unpacks to; raises Unreadable when that is out of all proportion."""
    limit = min(max_segment, max(_SMALL, _MAX_RATIO * len(blob)))
    try:
        said = zstandard.get_frame_parameters(blob).content_size
    except zstandard.ZstdError as error:
        raise Unreadable(f"a stored segment is damaged: {error}") from None
    if zstandard.CONTENTSIZE_UNKNOWN > said > limit:
        raise Unreadable(f"a stored segment of {len(blob)} bytes says to unpack to {said}")
    return sum(len(piece) for piece in codec.pieces(blob, limit=limit))


# -- one session --------------------------------------------------------------------------


def check_session(ground: Ground, command: Command) -> None:
    """Raise Refused for a session ref that can't be taken."""
    slug = refs.slug_of(command.ref)
    before = captures_at(ground, command.old, slug)
    if command.new is None:
        _check_removed(ground, command, slug, before)
        return
    tree = ground.commit(command.new).tree
    known = {**_archived(ground, slug), **before} if ground.rules.pusher is not None else {}
    after = check_tree(ground, tree, slug, known)
    _check_nothing_lost(ground, before, after)
    if not ground.moves_on(command) and slug not in ground.partly_slugs:
        raise Refused("it throws history away that is here", hint=_MERGE)


def _check_removed(ground: Ground, command: Command, slug: str, before: Captures) -> None:
    """A session goes when it was forgotten, or when an archive has all of it."""
    if slug in ground.forgotten_slugs:
        return
    lost = _lost(ground, before, _archived(ground, slug))
    if lost or not any(_entry(ground, tip, slug) for tip in ground.archives):
        raise Refused(
            "it would be lost: no archive has it, and nobody has forgotten it",
            hint=f"`git session forget {slug} --remote` says so to everybody; "
            "`git session gc` archives",
        )


def check_tree(ground: Ground, tree: Oid, slug: str, known: Captures) -> Captures:
    """What a session's tree holds; raises when it isn't one that may be kept."""
    files = wary.files(ground.repo, tree, _BOUNDS)
    sized = [msgspec.structs.replace(f, size=_size(ground, f.oid)) for f in files]
    problem = next(check.problems_of_tree(sized), None)
    if problem is not None:
        raise Refused(problem)
    session = _check_head(ground, tree, slug)
    for file in files:
        _check_file(ground, file)
    kept = _read(ground, files)
    for seq, capture in kept.items():
        _check_capture(seq, capture, session, files)
    after = _by_id(kept)
    if session in ground.gone.sessions or not ground.gone.captures.isdisjoint(after):
        raise Refused("it holds what was forgotten", hint="`git session sync` forgets it too")
    held = (x for k in known.values() for x in k.lines if isinstance(x, Record))
    lines = (x for k in after.values() for x in k.lines)
    ground.vouch(lines, [(x.id, author_of(x)) for x in held])
    return after


def _size(ground: Ground, oid: Oid) -> int | None:
    """The size of a file that the push brings; another one was looked at before."""
    return ground.fresh[oid].size if oid in ground.fresh else None


def _check_head(ground: Ground, tree: Oid, slug: str) -> SessionId:
    head = sessions.read_head(ground.repo, tree, layout.HEAD)
    if head.v != sessions.FORMAT:
        raise Refused(f"its format is {head.v}, which isn't known here", hint=_UPDATE)
    if session_slug(head.session) != slug:
        raise Refused(f"it says to be session {head.session[:100]!r}")
    return head.session


def _check_file(ground: Ground, file: Listed) -> None:
    """A capture's file is where its number belongs, and what is packed can be unpacked."""
    seq = layout.record_seq(file.path)
    if seq is not None and file.path != layout.record(seq):
        raise Refused(f"'{file.path}' isn't where a record belongs")
    seq = layout.segment_seq(file.path) if file.path.startswith(f"{layout.CAPTURES}/") else None
    if seq is not None and file.path != layout.segment(seq):
        raise Refused(f"'{file.path}' isn't where a segment belongs")
    if file.path.endswith(".zst") and file.oid in ground.fresh and file.oid not in ground.packed:
        raise Refused(f"'{file.path}' isn't compressed as it says")


def _check_capture(seq: int, kept: Kept, session: SessionId, files: list[Listed]) -> None:
    own = kept.lines[0] if kept.lines else Foreign(raw=b"")
    if isinstance(own, Foreign):
        hint = _UPDATE if (own.v or 0) > RECORD_VERSION else None
        raise Refused(f"the record of capture {seq} can't be read", hint=hint)
    for line in kept.lines:
        if isinstance(line, Record) and (line.session, line.seq, line.id) != (session, seq, own.id):
            raise Refused(f"a record of capture {seq} is of another session, number or capture")
        if isinstance(line, Foreign) and (line.v or 0) <= RECORD_VERSION:
            raise Refused(f"a record of capture {seq} can't be read")
    if layout.segment(seq) not in {file.path for file in files}:
        raise Refused(f"capture {seq} has no lines")


# -- what was, and what stays -------------------------------------------------------------


def _check_nothing_lost(ground: Ground, before: Captures, after: Captures) -> None:
    lost = _lost(ground, before, after)
    if lost:
        seqs = ", ".join(str(x.seq) for k in lost[:5] for x in k.lines[:1] if isinstance(x, Record))
        raise Refused(f"it has lost {len(lost)} captures that are here: {seqs}", hint=_MERGE)
    for name in before.keys() & after.keys():
        for part, oid in before[name].parts.items():
            if not _is_same(ground, oid, after[name].parts.get(part)):
                raise Refused(f"what capture {name[:12]} holds is not what it held", hint=_MERGE)


def _lost(ground: Ground, before: Captures, after: Captures) -> list[Kept]:
    """The captures that are no longer there, and that nobody has forgotten."""
    missing = before.keys() - after.keys() - ground.gone.captures
    return [before[name] for name in sorted(missing) if not before[name].is_stub]


def _is_same(ground: Ground, old: Oid, new: Oid | None) -> bool:
    """Whether two parts hold the same lines; they may have been compressed differently."""
    if old == new or new is None:
        return old == new
    return _digest(ground, old) == _digest(ground, new)


def _digest(ground: Ground, oid: Oid) -> bytes:
    """What a part says, in few bytes."""
    digest = hashlib.sha256()
    for piece in codec.pieces(ground.repo.read(oid) or b"", limit=ground.rules.max_segment):
        digest.update(piece)
    return digest.digest()


def captures_at(ground: Ground, tip: Oid | None, slug: str) -> Captures:
    """What the repository holds of a session; nothing where that can't be read."""
    if tip is None:
        return {}
    try:
        return _by_id(_read(ground, wary.files(ground.repo, tip, _BOUNDS)))
    except SessionError:
        return {}


def _archived(ground: Ground, slug: str) -> Captures:
    """What the archives hold of a session."""
    found: dict[CaptureId, Kept] = {}
    for tip in ground.archives:
        found.update(captures_at(ground, _entry(ground, tip, slug), slug))
    return found


def _entry(ground: Ground, tip: Oid, slug: str) -> Oid | None:
    return ground.repo.resolve(f"{tip}:{slug}")


def _by_id(kept: Mapping[int, Kept]) -> Captures:
    owns = ((capture.lines[0], capture) for capture in kept.values() if capture.lines)
    return {own.id: capture for own, capture in owns if isinstance(own, Record)}


def _read(ground: Ground, files: Iterable[Listed]) -> dict[int, Kept]:
    """The captures among the files of a session, by number."""
    where = {file.path: file.oid for file in files}
    places = {seq: path for path in where if (seq := layout.record_seq(path)) is not None}
    parts: dict[int, dict[str, Oid]] = {}
    for path, oid in where.items():
        if (seq := layout.segment_seq(path)) is not None:
            parts.setdefault(seq, {})[_part_of(path)] = oid
    texts = ground.repo.read_many(where[path] for path in places.values())
    return {
        seq: Kept(lines=tuple(records.decode_note(text or b"")), parts=parts.get(seq, {}))
        for seq, text in zip(places, texts, strict=True)
    }


def _part_of(path: str) -> str:
    """What a segment is to its capture, whatever number that has."""
    folder, _, rest = path.partition("/")
    return f"{folder}/{rest.partition('/')[0]}" if folder == layout.SUBAGENTS else folder


# -- archives -----------------------------------------------------------------------------


def check_archive(ground: Ground, command: Command) -> None:
    """Raise Refused for an archive that has lost a session, or took in what is none."""
    before = dict(_entries(ground, command.old, strict=False))
    new = ground.commit(command.new).tree if command.new else None
    after = dict(_entries(ground, new, strict=True))
    if len(after) > _MAX_ENTRIES:
        raise Refused(f"it has more than {_MAX_ENTRIES} sessions")
    for slug in sorted(before.keys() - after.keys() - ground.forgotten_slugs):
        raise Refused(f"it has lost the session {slug}", hint=_MERGE)
    for slug, tree in after.items():
        if before.get(slug) != tree:
            _check_entry(ground, slug, before.get(slug), tree)
    forgotten = ground.forgotten_slugs | ground.partly_slugs
    if not ground.moves_on(command) and forgotten.isdisjoint(before):
        raise Refused("it throws history away that is here", hint=_MERGE)


def _check_entry(ground: Ground, slug: str, old: Oid | None, new: Oid) -> None:
    try:
        before = captures_at(ground, old, slug)
        own = captures_at(ground, ground.repo.resolve(refs.SESSIONS + slug), slug)
        after = check_tree(ground, new, slug, {**own, **before})
        _check_nothing_lost(ground, before, after)
    except SessionError as error:
        raise Refused(f"session {slug}: {error.message}", hint=error.hint) from None


def _entries(ground: Ground, tip: Oid | None, *, strict: bool) -> Iterator[tuple[str, Oid]]:
    """The sessions of an archive."""
    if tip is None:
        return
    for entry in wary.entries(ground.repo, tip) if strict else ground.repo.tree(tip):
        if entry.is_tree and is_slug(entry.path):
            yield entry.path, entry.oid
        elif strict:
            raise Refused(f"it holds {entry.path[:80]!r}, which is no session")
