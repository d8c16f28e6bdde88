"""Reads objects for an audit: never fetches one, and never falls over a damaged one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from gitsession.errors import GitFailed, Unreadable
from gitsession.git.parse import parse_tree
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Changed, Entry, Listed
from gitsession.ids import Oid, is_oid
from gitsession.store import check

_MAX_DEPTH = 6
_MAX_TREES = 5000
_MAX_SIZES = 500_000
_AT_ONCE = 64
_MAX_SMALL = 1 << 20
_MAX_HELD = 64 << 20


class Away(Unreadable):
    """An object that this partial clone doesn't have."""


class Objects:
    """The objects that are here."""

    def __init__(self, repo: Plumbing, *, partial: bool) -> None:
        self.repo = repo
        self._partial = partial
        if partial:
            # Git before 2.45 doesn't know it: there `look_for` alone has to do.
            repo.more = {**repo.more, "GIT_NO_LAZY_FETCH": "1"}
        self._missing: set[str] = set()
        self._held: dict[Oid, bytes] = {}
        self._sizes: dict[str, int] = {}
        self._trees: dict[Oid, dict[str, Entry]] = {}

    def look_for(self, tips: Iterable[Oid], *, history: bool = True) -> None:
        """Find out which objects behind commits a partial clone lacks, without fetching them."""
        if self._partial:
            self._list(tips, history=history)

    def hold(self, tips: Iterable[Oid]) -> None:
        """Read what is small behind these in one go, for it will be asked for bit by bit."""
        self._held.clear()
        names = self._list(tips, history=True)
        sizes = self.sizes(names)
        small: list[Oid] = []
        total = 0
        for oid in names:
            size = sizes.get(oid, _MAX_SMALL)
            if size < _MAX_SMALL and total + size <= _MAX_HELD:
                small.append(oid)
                total += size
        for oid, data in zip(small, self.read_many(small), strict=True):
            if isinstance(data, bytes):
                self._held[oid] = data

    def _list(self, tips: Iterable[Oid], *, history: bool) -> list[Oid]:
        """All that is behind these and here."""
        asked = "".join(f"{oid}\n" for oid in tips)
        if not asked:
            return []
        options = ["--objects", "--no-object-names", "--missing=print", "--ignore-missing"]
        options += ["--stdin"] if history else ["--no-walk", "--stdin"]
        try:
            out = self.repo.git("rev-list", *options, stdin=asked.encode())
        except GitFailed:
            # Something is damaged: it is told of when it is read.
            return []
        lines = out.decode("utf-8", "replace").splitlines()
        if self._partial:
            self._missing |= {line[1:] for line in lines if line.startswith("?")}
        return [Oid(line) for line in lines if is_oid(line)]

    def is_away(self, oid: Oid) -> bool:
        """Whether an object has to be fetched first."""
        return oid in self._missing

    def read(self, oid: Oid) -> bytes:
        """The content of an object; raises Away or Unreadable."""
        if self.is_away(oid):
            raise Away(f"object {oid} is not here")
        if oid in self._held:
            return self._held[oid]
        try:
            data = self.repo.read(oid) if is_oid(oid) else None
        except GitFailed:
            raise Unreadable(f"object {oid} is damaged") from None
        if data is None:
            raise Unreadable(f"object {oid} is not in the repository")
        return data

    def read_many(self, oids: Iterable[Oid]) -> Iterator[bytes | Unreadable]:
        """The contents of many small objects, in order, or why one can't be read."""
        rest = iter(oids)
        while asked := list(islice(rest, _AT_ONCE)):
            yield from self._read_some(asked)

    def _read_some(self, oids: Sequence[Oid]) -> Iterator[bytes | Unreadable]:
        found: dict[Oid, bytes | None] = {oid: self._held.get(oid) for oid in oids}
        here = [oid for oid in oids if found[oid] is None and not self.is_away(oid)]
        with suppress(GitFailed):
            found |= zip(here, list(self.repo.read_many(here)), strict=True)
        for oid in oids:
            data = found.get(oid)
            if data is not None:
                yield data
                continue
            try:
                yield self.read(oid)
            except Unreadable as why:
                yield why

    def sizes(self, oids: Iterable[Oid]) -> dict[str, int]:
        """The sizes of those that are here; each is asked for once."""
        wanted = {oid for oid in oids if is_oid(oid) and not self.is_away(oid)}
        if len(self._sizes) > _MAX_SIZES:
            self._sizes.clear()
        # A damaged object says so when it is read.
        with suppress(GitFailed):
            self._sizes |= self.repo.sizes(sorted(wanted - self._sizes.keys()))
        return {oid: self._sizes[oid] for oid in wanted if oid in self._sizes}

    def kinds(self, oids: Iterable[Oid]) -> dict[str, str]:
        """What those objects are that are here; of a partial clone the commits only."""
        digits = len(self.repo.zero())
        asked = "".join(f"{oid}\n" for oid in sorted(set(oids)) if len(oid) == digits).encode()
        if not asked:
            return {}
        if self._partial:
            # To ask for an object by its name would fetch it.
            options = ["--no-walk", "--ignore-missing", "--missing=print", "--stdin"]
            lines = self.repo.git("rev-list", *options, stdin=asked).decode().splitlines()
            return {line: "commit" for line in lines if not line.startswith("?")}
        out = self.repo.git("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=asked)
        pairs = (line.split(" ", 1) for line in out.decode("utf-8", "replace").splitlines())
        return {oid: kind for oid, kind in pairs if kind != "missing"}

    # -- trees -----------------------------------------------------------------------------

    def files(self, tree: Oid) -> list[Listed]:
        """Every file of a tree; raises Away or Unreadable."""
        return [
            Listed(mode=x.mode, oid=x.new, path=x.path)
            for x in self.changes(None, tree)
            if x.new is not None
        ]

    def changes(self, old: Oid | None, new: Oid | None) -> list[Changed]:
        """The files that are not the same in two trees; raises Away or Unreadable."""
        found = list(islice(self._changes(old, new, ""), check.MAX_FILES + 1))
        if len(found) > check.MAX_FILES:
            raise Unreadable(f"it has more than {check.MAX_FILES} files")
        return found

    def _changes(self, old: Oid | None, new: Oid | None, folder: str) -> Iterator[Changed]:
        if old == new:
            return
        if folder.count("/") > _MAX_DEPTH:
            raise Unreadable("its folders are too deep")
        before = self.entries(old) if old else {}
        after = self.entries(new) if new else {}
        for name in sorted(before.keys() | after.keys()):
            was, now = before.get(name), after.get(name)
            if (was and (was.mode, was.oid)) == (now and (now.mode, now.oid)):
                continue
            path = folder + name
            yield from self._changes(_tree_of(was), _tree_of(now), path + "/")
            if _file_of(was) or _file_of(now):
                mode = now.mode if now else "000000"
                yield Changed(path=path, mode=mode, old=_file_of(was), new=_file_of(now))

    def entries(self, tree: Oid) -> dict[str, Entry]:
        """What one folder holds; raises Away or Unreadable."""
        if tree not in self._trees:
            if len(self._trees) >= _MAX_TREES:
                self._trees.clear()
            self._trees[tree] = _by_name(parse_tree(self.read(tree), len(tree) // 2))
        return self._trees[tree]


def _by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for entry in entries:
        if not entry.path or "/" in entry.path or entry.path in found:
            raise Unreadable(f"it has a file with an odd name: {entry.path[:80]!r}")
        found[entry.path] = entry
    return found


def _tree_of(entry: Entry | None) -> Oid | None:
    return entry.oid if entry and entry.is_tree else None


def _file_of(entry: Entry | None) -> Oid | None:
    return entry.oid if entry and not entry.is_tree else None
