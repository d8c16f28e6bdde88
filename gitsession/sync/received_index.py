"""Whether an index may be taken as it was pushed: it holds all that it held, and nothing odd."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitsession.git import wary
from gitsession.git.repository import Changed
from gitsession.git.wary import Bounds
from gitsession.ids import CaptureId, Oid
from gitsession.model import RECORD_VERSION, Foreign, Record
from gitsession.query.index import find_records
from gitsession.store import index_union, records, tombstones
from gitsession.store.tombstones import Forgotten, Tombstone
from gitsession.sync.received import Command, Ground, Refused, author_of

_BOUNDS = Bounds(depth=8, files=1_000_000)
_HINT = "`git session sync` merges what others pushed"

Lines = list[Record | Foreign]


def check_index(ground: Ground, command: Command) -> None:
    """Raise Refused for an index that is no union of the one here and something more."""
    if command.new is None:
        raise Refused("the index of all sessions can't be taken away")
    new = ground.commit(command.new)
    changes = wary.differences(ground.repo, command.old, new.tree, _BOUNDS)
    sizes = ground.repo.sizes(sorted({x.new for x in changes if x.new is not None}))
    for change in changes:
        _check_file(change, sizes)
    before = _gather(ground, {x.path: x.old for x in changes if x.old is not None})
    after = _gather(ground, {x.path: x.new for x in changes if x.new is not None})
    _add_unchanged(ground, command.new, before, after)
    fresh = _check_tombstones(ground, before, after)
    if not fresh and not ground.moves_on(command):
        raise Refused("it throws history away that is here", hint=_HINT)
    gone = tombstones.union(
        tombstones.forgotten(after.get(path, b"") for path in after if _is_stone(path)),
        _forgotten_here(ground, command.old),
    )
    for path in before:
        _check_kept(path, before[path], after.get(path, b""), gone)
    _vouch_for_notes(ground, command.old, before, after)


def _check_file(change: Changed, sizes: Mapping[str, int]) -> None:
    """A new file is a plain one, at a sane place, and not larger than any of ours."""
    if change.new is None:
        return
    if change.mode != wary.FILE or index_union.place_of(change.path) is None:
        raise Refused(f"it has a file that is none of an index: {change.path[:80]!r}")
    if sizes.get(change.new, 0) > index_union.MAX_FILE:
        raise Refused(f"'{change.path}' has {sizes[change.new]} bytes")


def _gather(ground: Ground, files: Mapping[str, Oid]) -> dict[str, bytes]:
    """The contents of some files, by where they belong; what belongs nowhere is left out."""
    found: dict[str, bytes] = {}
    for path, data in zip(files, ground.repo.read_many(files.values()), strict=True):
        place = index_union.place_of(path)
        if place is not None and len(data or b"") <= index_union.MAX_FILE:
            found[place] = found.get(place, b"") + b"\n" + (data or b"")
    return found


def _add_unchanged(
    ground: Ground, new: Oid, before: Mapping[str, bytes], after: dict[str, bytes]
) -> None:
    """Take in the files that a moved one's lines may have gone to."""
    for place in before.keys() - after.keys():
        data = ground.repo.read(f"{new}:{place}")
        if data is not None:
            after[place] = data


def _is_stone(path: str) -> bool:
    return path.startswith(f"{tombstones.FOLDER}/")


def _forgotten_here(ground: Ground, old: Oid | None) -> Forgotten:
    entries = ground.repo.tree(f"{old}:{tombstones.FOLDER}") if old else []
    return tombstones.forgotten(x or b"" for x in ground.repo.read_many(e.oid for e in entries))


def _check_tombstones(
    ground: Ground, before: Mapping[str, bytes], after: Mapping[str, bytes]
) -> bool:
    """No tombstone disappears; tells whether there are new ones."""
    fresh = False
    for path in {path for path in (*before, *after) if _is_stone(path)}:
        had, has = (tombstones.decode(side.get(path, b"")) for side in (before, after))
        if any(stone not in has for stone in had):
            raise Refused(f"what '{path}' says was forgotten would come back", hint=_HINT)
        stones = [stone for stone in has if stone not in had]
        for stone in stones:
            _check_stone(ground, path, stone)
        fresh = fresh or bool(stones)
    return fresh


def _check_stone(ground: Ground, path: str, stone: Tombstone | Foreign) -> None:
    if isinstance(stone, Foreign) or stone.v != tombstones.VERSION:
        raise Refused(f"'{path}' has a line that can't be read")
    if tombstones.path_of(stone.session) != path:
        raise Refused(f"'{path}' has the tombstone of another session")
    who = stone.author.email.lower() if stone.author else ""
    if ground.rules.pusher is not None and who and who not in ground.rules.pusher:
        raise Refused(f"'{path}' has a tombstone by {who}, who isn't pushing")


def _check_kept(path: str, old: bytes, new: bytes, gone: Forgotten) -> None:
    """Whatever a file said is still said, unless it was forgotten."""
    if _is_stone(path):
        return
    if not index_union.is_note(path):
        if not new.strip():
            raise Refused(f"it has lost '{path}'", hint=_HINT)
        return
    has = {_key(line) for line in records.decode_note(new)}
    for line in tombstones.without(records.decode_note(old), gone):
        if _key(line) not in has:
            what = f"a record of {line.session}" if isinstance(line, Record) else "a line"
            raise Refused(f"the note of {path.replace('/', '')} has lost {what}", hint=_HINT)


def _key(line: Record | Foreign) -> tuple[str, str | None] | bytes:
    return line.raw if isinstance(line, Foreign) else (line.id, line.commit)


def _vouch_for_notes(
    ground: Ground, old: Oid | None, before: Mapping[str, bytes], after: Mapping[str, bytes]
) -> None:
    """Every line that is new can be read, or is of a later version, and is the pusher's own."""
    added: Lines = []
    for path in filter(index_union.is_note, after):
        had = {_key(line) for line in records.decode_note(before.get(path, b""))}
        new = [line for line in records.decode_note(after[path]) if _key(line) not in had]
        if any(isinstance(line, Foreign) and (line.v or 0) <= RECORD_VERSION for line in new):
            raise Refused(
                f"the note of {path.replace('/', '')} has a line that is no record",
                hint=f"`git notes --ref=sessions edit {path.replace('/', '')}` takes it out",
            )
        added += new
    ground.vouch(added, _carried(ground, old, added))


def _carried(
    ground: Ground, old: Oid | None, added: Iterable[Record | Foreign]
) -> set[tuple[CaptureId, str]]:
    """What the index here tells of the commits that were rewritten, by whomever."""
    if ground.rules.pusher is None or old is None:
        return set()
    found: set[tuple[CaptureId, str]] = set()
    for record in (line for line in added if isinstance(line, Record)):
        if author_of(record) not in ground.rules.pusher and record.rewritten_from:
            here = find_records(ground.repo, record.rewritten_from, ref=old)
            found |= {(r.id, author_of(r)) for r in here}
    return found
