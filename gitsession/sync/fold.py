"""Makes what a remote was last seen to have, and what is here, one.

The result stands on the remote's history, never on ours beside it: so it can be
pushed at once, and what somebody had forgotten there doesn't come back with our
old commits. What comes from a remote is looked at before a ref of ours leads to it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from gitsession.config import Settings
from gitsession.errors import Moved
from gitsession.git import refs
from gitsession.git.inspect import changed_files, is_ancestor
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Draft, Put, Swap
from gitsession.ids import Oid
from gitsession.model import Author, Frozen, Record
from gitsession.query.index import read_paths
from gitsession.store import index_union, tombstones
from gitsession.store.tombstones import Forgotten
from gitsession.sync.bury import bury, forget_moves
from gitsession.sync.remote import Remote

_TRIES = 8


class Folded(Frozen, frozen=True, kw_only=True):
    """What came of it."""

    new: tuple[Record, ...] = ()
    """Records that we didn't have."""
    gone: Forgotten = Forgotten()
    """All that was ever forgotten."""
    warnings: tuple[str, ...] = ()


def fold_index(repo: Plumbing, remote: Remote, settings: Settings) -> Folded:
    """Bring the index that the remote was last seen to have into ours."""
    for attempt in range(_TRIES):
        ours, theirs = repo.resolve(refs.INDEX), repo.resolve(refs.seen(remote.slug, refs.INDEX))
        if theirs is None or ours == theirs:
            return Folded(gone=read_forgotten(repo, ours))
        try:
            return _Indexes(repo, remote, ours, theirs).fold(settings)
        except Moved:
            time.sleep(0.01 * (attempt + 1))
    raise Moved("the index keeps moving", hint="run `git session sync` again later")


def read_forgotten(repo: Plumbing, index: Oid | None) -> Forgotten:
    """What an index says was forgotten."""
    if index is None:
        return Forgotten()
    files = repo.tree(f"{index}:{tombstones.FOLDER}")
    return tombstones.forgotten(data or b"" for data in repo.read_many(x.oid for x in files))


class _Indexes:
    """Two indexes as they were seen: ours, and the remote's."""

    def __init__(self, repo: Plumbing, remote: Remote, ours: Oid | None, theirs: Oid) -> None:
        self._repo = repo
        self._name = remote.name
        self._ours = ours
        self._theirs = theirs
        self._mine: dict[str, bytes] = {}
        self._yours: dict[str, bytes] = {}
        self._refused: list[str] = []
        """Paths of theirs that nobody shall have."""
        self._warnings: list[str] = []

    def fold(self, settings: Settings) -> Folded:
        """Plan, write, and move our index."""
        self._read_differences()
        had = read_forgotten(self._repo, self._ours)
        gone = tombstones.union(had, index_union.forgotten_in(self._mine, self._yours))
        fresh = tombstones.beyond(had, gone)
        if fresh != Forgotten():
            # First, so that it is done again if it should not come to its end.
            bury(self._repo, fresh, settings)
            self._read_forgotten_notes(fresh)
        new = tuple(r for r in index_union.only_in(self._yours, self._mine) if not gone.covers(r))
        self._move(index_union.unite(self._mine, self._yours, gone), settings.author)
        if fresh != Forgotten():
            forget_moves(self._repo)
        return Folded(new=new, gone=gone, warnings=tuple(self._warnings))

    def _read_differences(self) -> None:
        """Read the files that aren't the same, unless they are larger than any of ours can be."""
        mine: dict[str, Oid] = {}
        yours: dict[str, Oid] = {}
        for change in changed_files(self._repo, self._ours, self._theirs):
            if change.old is not None:
                mine[change.path] = change.old
            if change.new is None:
                continue
            if change.mode != "100644" or index_union.place_of(change.path) is None:
                self._refuse(change.path, "it is no file of an index")
            else:
                yours[change.path] = change.new
        sizes = self._repo.sizes(sorted({*mine.values(), *yours.values()}))
        for path, oid in [*yours.items()]:
            if sizes.get(oid, 0) > index_union.MAX_FILE:
                self._refuse(path, f"it has {sizes[oid]} bytes")
                del yours[path]
        self._mine = self._contents(mine)
        self._yours = self._contents(yours)

    def _contents(self, files: dict[str, Oid]) -> dict[str, bytes]:
        texts = self._repo.read_many(files.values())
        return {path: data or b"" for path, data in zip(files, texts, strict=True)}

    def _read_forgotten_notes(self, fresh: Forgotten) -> None:
        """Take in the notes that hold something forgotten and are the same in both."""
        for path, data in read_paths(self._repo, self._ours):
            if path not in self._mine and any(map(fresh.covers, index_union.records_of(data))):
                self._mine[path] = self._yours[path] = data

    def _refuse(self, path: str, why: str) -> None:
        self._refused.append(path)
        self._warnings.append(f"{self._name}: '{path}' of the index is left out: {why}")

    def _move(self, united: dict[str, bytes], author: Author) -> None:
        """Lead our index to the union, on top of what the remote has."""
        lacking = {p: data for p, data in united.items() if data and self._yours.get(p) != data}
        kept = {path for path, data in united.items() if data}
        removes = [path for path in self._yours if path not in kept] + self._refused
        new = self._theirs
        if lacking or removes:
            complete = all(self._mine.get(path, b"") == data for path, data in united.items())
            if complete and self._ours and is_ancestor(self._repo, self._theirs, self._ours):
                return
            new = self._write(lacking, removes, author)
        self._repo.swap([Swap(ref=refs.INDEX, old=self._ours, new=new)])

    def _write(self, lacking: dict[str, bytes], removes: Sequence[str], author: Author) -> Oid:
        words = f"sessions of {len(lacking)} commits, merged\n"
        puts = tuple(Put(path=path, data=data) for path, data in sorted(lacking.items()))
        draft = Draft(
            message=words, parents=(self._theirs,), puts=puts, removes=tuple(sorted(removes))
        )
        return self._repo.write([draft], author)[0]
