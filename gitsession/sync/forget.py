"""Forgets in this clone: sessions, captures or a text, with all that led to them.

Everything moves in one transaction: a process that is killed has changed
nothing, or all but what is only local, which the next attempt does again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from gitsession.config import Settings
from gitsession.errors import Moved
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Put, Swap
from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Foreign, Frozen, Record
from gitsession.query.index import read_paths
from gitsession.store import index_union, records, registry, tombstones
from gitsession.store.contents import Contents
from gitsession.store.tombstones import Forgotten, Tombstone
from gitsession.sync import bury

_TRIES = 8

Renew = Callable[[Record], Record]
"""What becomes of a record in the index before what was forgotten is left out."""


class Order(Frozen, frozen=True, kw_only=True):
    """What to forget, and what takes its place."""

    stones: tuple[Tombstone, ...]
    clean: Callable[[Contents], Contents]
    renew: Renew = lambda record: record

    @property
    def gone(self) -> Forgotten:
        """What the tombstones say."""
        return tombstones.named_by(self.stones)


def forget(repo: Plumbing, settings: Settings, order: Order) -> list[str]:
    """Do it here, under the worker's lock; gives back the refs that changed."""
    for attempt in range(_TRIES):
        try:
            changed = _move(repo, settings, order)
            break
        except Moved:
            time.sleep(0.01 * (attempt + 1))
    else:
        raise Moved("the refs keep moving", hint="try again when nobody captures")
    for session in order.gone.sessions:
        registry.drop(repo.common_dir, session)
    bury.forget_moves(repo, changed)
    bury.clear_caches(repo.common_dir)
    return changed


def _move(repo: Plumbing, settings: Settings, order: Order) -> list[str]:
    index = repo.resolve(refs.INDEX)
    swaps = bury.plan(repo, order.gone, order.clean, settings.author)
    new = _write_index(repo, index, order, settings)
    if new != index:
        swaps.append(Swap(ref=refs.INDEX, old=index, new=new))
    repo.swap(swaps)
    return [swap.ref for swap in swaps]


def _write_index(repo: Plumbing, index: Oid | None, order: Order, settings: Settings) -> Oid | None:
    """The index with the tombstones and without what they are of; a commit without a past."""
    puts = [*_stones(repo, index, order)]
    removes: list[str] = []
    for path, old, new in _notes(repo, index, order):
        place = index_union.place_of(path) or path
        if new:
            puts.append(Put(path=place, data=new))
        if not new or place != path:
            removes.append(path)
        assert old != new
    if not puts and not removes:
        return index
    return bury.write_root(repo, index, puts, removes, settings.author)


def _notes(repo: Plumbing, index: Oid | None, order: Order) -> Iterator[tuple[str, bytes, bytes]]:
    """The notes that change: where, what they are, what they shall be."""
    gone = order.gone
    for path, old in read_paths(repo, index):
        lines = records.decode_note(old)
        kept = tombstones.without([_renew(x, order) for x in lines], gone)
        if kept != lines:
            new = records.encode_note(kept)
            if new != old:
                yield path, old, new


def _renew(line: Record | Foreign, order: Order) -> Record | Foreign:
    return line if isinstance(line, Foreign) else order.renew(line)


def _stones(repo: Plumbing, index: Oid | None, order: Order) -> Iterator[Put]:
    """The files of the tombstones that aren't there yet."""
    by_path: dict[str, list[Tombstone]] = {}
    for stone in order.stones:
        by_path.setdefault(tombstones.path_of(stone.session), []).append(stone)
    for path, stones in sorted(by_path.items()):
        old = (repo.read(f"{index}:{path}") if index else None) or b""
        lines = tombstones.decode(old)
        known = {_key(x) for x in lines if isinstance(x, Tombstone)}
        fresh = [stone for stone in stones if _key(stone) not in known]
        if fresh:
            yield Put(path=path, data=tombstones.encode([*lines, *fresh]))


def _key(stone: Tombstone) -> Tombstone:
    """What a tombstone is of, whoever set it."""
    return msgspec.structs.replace(stone, at="", author=None)


# -- what will be touched -----------------------------------------------------------------------


def find_refs(repo: Plumbing, sessions: Sequence[SessionId]) -> list[str]:
    """The refs that keep something of these sessions, archives too; nothing is written."""
    names = frozenset(sessions)
    slugs = {session_slug(session) for session in names}
    found = [ref for ref, _ in bury.refs_of(repo, names)]
    found += [
        ref
        for ref, tip in bury.archives_of(repo)
        if any(entry.path in slugs for entry in repo.tree(tip))
    ]
    return sorted(found)
