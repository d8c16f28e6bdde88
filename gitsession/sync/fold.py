"""Makes what a remote was last seen to have, and what is here, one.

The result stands on the remote's history, never on ours beside it: so it can be
pushed at once, and what somebody had forgotten there doesn't come back with our
old commits. Only where the remote doesn't know yet what was forgotten here it
stands on ours, and takes the place of the remote's when it is pushed. What comes
from a remote is looked at before a ref of ours leads to it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from gitsession.config import Settings
from gitsession.errors import Moved, Unreadable
from gitsession.git import refs, wary
from gitsession.git.inspect import is_ancestor, is_commit
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Draft, Link, Put, Swap
from gitsession.git.wary import Bounds
from gitsession.ids import Oid
from gitsession.model import Author, Frozen, Record
from gitsession.query.index import read_paths
from gitsession.store import folder, index_union, remotes, tombstones
from gitsession.store.lock import held
from gitsession.store.tombstones import Forgotten
from gitsession.sync.bury import bury, clear_caches, forget_moves, write_root
from gitsession.sync.remote import Remote

_TRIES = 8
_BOUNDS = Bounds(depth=3, files=5_000_000, folders=100_000)
_MOST = 100
"""Warnings of one kind; who wants to be heard need not fill the screen."""


class Folded(Frozen, frozen=True, kw_only=True):
    """What came of it."""

    new: tuple[Record, ...] = ()
    """Records that we didn't have."""
    gone: Forgotten = Forgotten()
    """All that was ever forgotten."""
    refused: dict[str, str] = {}
    """The index's ref, when what the remote has can't be taken at all, and why."""
    warnings: tuple[str, ...] = ()


def fold_index(repo: Plumbing, remote: Remote, settings: Settings) -> Folded:
    """Bring the index that the remote was last seen to have into ours."""
    told: list[str] = []
    for attempt in range(_TRIES):
        ours, theirs = repo.resolve(refs.INDEX), repo.resolve(refs.seen(remote.slug, refs.INDEX))
        if theirs is None:
            return Folded(gone=read_forgotten(repo, ours))
        if not is_commit(repo, theirs):
            return _left_out(repo, remote, ours, "it is no commit")
        try:
            folded = _Indexes(repo, remote, ours, theirs, told).fold(settings)
            remotes.follow(repo.common_dir, remote.slug, remote.name, theirs)
            return folded
        except Unreadable as error:
            return _left_out(repo, remote, ours, error.message)
        except Moved:
            time.sleep(0.01 * (attempt + 1))
    raise Moved("the index keeps moving", hint="run `git session sync` again later")


def _left_out(repo: Plumbing, remote: Remote, ours: Oid | None, why: str) -> Folded:
    return Folded(
        gone=read_forgotten(repo, ours),
        refused={refs.INDEX: why},
        warnings=(f"{remote.name}: {refs.INDEX} is left out: {why}",),
    )


def read_forgotten(repo: Plumbing, index: Oid | None) -> Forgotten:
    """What an index says was forgotten."""
    return tombstones.read(repo, index)


class _Indexes:
    """Two indexes as they were seen: ours, and the remote's."""

    def __init__(
        self, repo: Plumbing, remote: Remote, ours: Oid | None, theirs: Oid, told: list[str]
    ) -> None:
        self._repo = repo
        self._name = remote.name
        self._slug = remote.slug
        self._told = told
        """Warnings that can't be given a second time."""
        self._ours = ours
        self._theirs = theirs
        self._mine: dict[str, bytes] = {}
        self._yours: dict[str, bytes] = {}
        self._refused = False
        """Whether theirs has something that nobody shall have."""
        self._warnings: list[str] = []

    def fold(self, settings: Settings) -> Folded:
        """Plan, write, and move our index."""
        if self._ours == self._theirs:
            return Folded(gone=read_forgotten(self._repo, self._ours))
        self._read_differences()
        had = read_forgotten(self._repo, self._ours)
        gone = tombstones.union(had, index_union.forgotten_in(self._mine, self._yours))
        fresh = tombstones.beyond(had, gone)
        lacks = tombstones.beyond(read_forgotten(self._repo, self._theirs), gone)
        if fresh != Forgotten():
            # The worker must not capture again what is just going.
            with held(folder.home(self._repo.common_dir) / "lock", wait=True):
                self._tell(fresh)
                # First, so that it is done again if it should not come to its end.
                changed = bury(self._repo, fresh, settings)
                self._read_forgotten_notes(fresh)
                new = self._unite(gone, fresh, lacks, settings.author)
                forget_moves(self._repo, changed)
                clear_caches(self._repo.common_dir)
        else:
            new = self._unite(gone, fresh, lacks, settings.author)
        return Folded(new=new, gone=gone, warnings=(*self._told, *self._warnings))

    def _tell(self, fresh: Forgotten) -> None:
        """Say which of the sessions here goes because somebody else forgot it."""
        for session in sorted(fresh.sessions | fresh.partly):
            ref = refs.session(session)
            tip = self._repo.resolve(ref)
            if tip is None:
                continue
            sent = self._repo.resolve(refs.seen(self._slug, ref)) == tip
            what = "session" if session in fresh.sessions else "a part of session"
            why = "" if sent else ", with captures that had never been pushed"
            self._told.append(
                f"{self._name}: {what} {session!r} was forgotten elsewhere, "
                f"and is gone here too{why}"
            )

    def _unite(
        self, gone: Forgotten, fresh: Forgotten, lacks: Forgotten, author: Author
    ) -> tuple[Record, ...]:
        """Move our index to the union; gives back the records that we didn't have."""
        new = tuple(r for r in index_union.only_in(self._yours, self._mine) if not gone.covers(r))
        united = index_union.unite(self._mine, self._yours, gone)
        if lacks == Forgotten():
            self._move(united, author)
        else:
            self._move_beside(united, author, knows=fresh == Forgotten())
        return new

    def _read_differences(self) -> None:
        """Read the files that aren't the same, unless they are larger than any of ours can be."""
        mine: dict[str, Oid] = {}
        yours: dict[str, Oid] = {}
        odd: list[str] = []
        changes = wary.differences(self._repo, self._ours, self._theirs, _BOUNDS, odd)
        for path in odd:
            self._refuse(path, "it is no file of an index")
        for change in changes:
            if change.old is not None:
                mine[change.path] = change.old
            if change.new is None:
                continue
            if index_union.place_of(change.path) is None:
                self._refuse(change.path, "it is no file of an index")
            else:
                yours[change.path] = change.new
        sizes = self._repo.sizes(sorted({*mine.values(), *yours.values()}))
        for path in index_union.too_large({path: sizes.get(oid, 0) for path, oid in yours.items()}):
            self._refuse(path, f"it has {sizes[yours.pop(path)]} bytes")
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
        self._refused = True
        if len(self._warnings) < _MOST:
            self._warnings.append(f"{self._name}: {path[:200]!r} of the index is left out: {why}")

    def _move(self, united: dict[str, bytes], author: Author) -> None:
        """Lead our index to the union, on top of what the remote has."""
        lacking = {p: data for p, data in united.items() if data and self._yours.get(p) != data}
        kept = {path for path, data in united.items() if data}
        removes = [path for path in self._yours if path not in kept]
        new = self._theirs
        if lacking or removes or self._refused:
            complete = all(self._mine.get(path, b"") == data for path, data in united.items())
            if complete and self._ours and is_ancestor(self._repo, self._theirs, self._ours):
                return
            new = self._clean(author)
            if lacking or removes:
                new = self._write(new, lacking, removes, author)
        self._repo.swap([Swap(ref=refs.INDEX, old=self._ours, new=new)])

    def _move_beside(self, united: dict[str, bytes], author: Author, *, knows: bool) -> None:
        """Lead our index to the union, but not on top of a past that holds what was forgotten.

        Ours doesn't, where it knows all that was; otherwise the union has no past at all.
        """
        have = self._mine if knows else self._yours
        lacking = {path: data for path, data in united.items() if data and have.get(path) != data}
        removes = [path for path in have if not united.get(path)]
        puts = tuple(Put(path=path, data=data) for path, data in sorted(lacking.items()))
        if not knows:
            new = write_root(self._repo, self._clean(author), puts, removes, author)
        elif puts or removes:
            draft = Draft(
                message=f"sessions of {len(puts)} commits, merged\n",
                parents=(self._ours,) if self._ours else (),
                puts=puts,
                removes=tuple(sorted(removes)),
            )
            (new,) = self._repo.write([draft], author)
        else:
            return
        self._repo.swap([Swap(ref=refs.INDEX, old=self._ours, new=new)])

    def _clean(self, author: Author) -> Oid:
        """Theirs, without what nobody shall have."""
        if not self._refused:
            return self._theirs
        every = wary.differences(self._repo, None, self._theirs, _BOUNDS, [])
        sizes = self._repo.sizes(sorted({x.new for x in every if x.new is not None}))
        good = {x.path: x.new for x in every if x.new and index_union.place_of(x.path)}
        for path in index_union.too_large({p: sizes.get(oid, 0) for p, oid in good.items()}):
            del good[path]
        links = tuple(Link(path=path, oid=oid) for path, oid in good.items())
        draft = Draft(
            message="sessions, cleaned\n", parents=(self._theirs,), links=links, anew=True
        )
        return self._repo.write([draft], author)[0]

    def _write(
        self, base: Oid, lacking: dict[str, bytes], removes: Sequence[str], author: Author
    ) -> Oid:
        words = f"sessions of {len(lacking)} commits, merged\n"
        puts = tuple(Put(path=path, data=data) for path, data in sorted(lacking.items()))
        draft = Draft(message=words, parents=(base,), puts=puts, removes=tuple(sorted(removes)))
        return self._repo.write([draft], author)[0]
