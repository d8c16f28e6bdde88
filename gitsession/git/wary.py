"""Trees and objects that anybody may have made, read so that none of them can do harm.

Git lists a tree that holds itself a thousand times over as faithfully as any other, and
takes a slash in a name for a folder. Here every name, kind, depth and number is
looked at before the next tree is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitsession.errors import Unreadable
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Changed, Entry, Listed
from gitsession.ids import Oid
from gitsession.model import Frozen

FILE = "100644"
FOLDER = "40000"
MAX_TREE = 16 << 20
"""Bytes of one folder's own list."""


class Bounds(Frozen, frozen=True, kw_only=True):
    """How far a tree may go."""

    depth: int
    files: int
    folders: int = 70_000
    """More than a note's path in two folders of two digits makes."""


class Thing(Frozen, frozen=True, kw_only=True):
    """One object that a push brings."""

    kind: str
    size: int


def fresh(repo: Plumbing, tips: Sequence[Oid]) -> dict[Oid, Thing]:
    """What can be reached from these and from no ref of the repository yet."""
    if not tips:
        return {}
    words = "".join(f"{tip}\n" for tip in tips).encode()
    ask = ["rev-list", "--objects", "--no-object-names", "--stdin", "--not", "--all"]
    return things(repo, repo.git(*ask, stdin=words))


def things(repo: Plumbing, names: bytes) -> dict[Oid, Thing]:
    """The kind and the size of objects, a name on each line."""
    form = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
    found = {}
    for line in repo.git("cat-file", form, stdin=names).decode().splitlines():
        oid, kind, *size = line.split(" ")
        if not size:
            raise Unreadable(f"the object {oid} is missing")
        found[Oid(oid)] = Thing(kind=kind, size=int(size[0]))
    return found


def entries(repo: Plumbing, tree: Oid) -> list[Entry]:
    """What one folder holds: plain files and folders, each once, as git sorts them."""
    found = repo.tree(tree)
    for entry in found:
        if not _is_plain(entry.path):
            raise Unreadable(f"it has a file with an odd name: {entry.path[:80]!r}")
        if entry.mode not in (FILE, FOLDER):
            raise Unreadable(f"{entry.path[:80]!r} is neither a plain file nor a folder")
    places = [_place(entry) for entry in found]
    if places != sorted(places) or len({entry.path for entry in found}) != len(found):
        raise Unreadable("it has a folder whose files are out of order, or there twice")
    return found


def problem_of(repo: Plumbing, tree: Oid) -> str:
    """What is wrong with one folder; empty when nothing is."""
    try:
        entries(repo, tree)
    except Unreadable as error:
        return error.message
    return ""


def _is_plain(name: str) -> bool:
    """Whether a name leads nowhere else, on no system, and is taken for no option."""
    odd = not name.isascii() or not name.isprintable() or any(c in name for c in "/\\:")
    return bool(name) and not odd and not name.startswith((".", "-"))


def _place(entry: Entry) -> bytes:
    """What git sorts an entry by."""
    name = entry.path.encode("utf-8", "surrogateescape")
    return name + b"/" if entry.is_tree else name


def files(repo: Plumbing, tree: Oid, bounds: Bounds) -> list[Listed]:
    """Every file of a tree."""
    return [
        Listed(path=x.path, mode=x.mode, oid=x.new)
        for x in differences(repo, None, tree, bounds)
        if x.new is not None
    ]


def differences(
    repo: Plumbing,
    old: Oid | None,
    new: Oid | None,
    bounds: Bounds,
    odd: list[str] | None = None,
) -> list[Changed]:
    """The files that differ between two trees; what is the same in both is not opened.

    What nobody may have is noted in `odd` and passed over; where there is none it is an error.
    """
    found: list[Changed] = []
    waiting = [("", old, new)]
    folders = _Folders(repo)
    opened = 0
    while waiting:
        path, one, other = waiting.pop()
        opened += 1
        if path.count("/") >= bounds.depth and odd is not None:
            odd.append(path)
            continue
        if path.count("/") >= bounds.depth:
            raise Unreadable(f"its folders are more than {bounds.depth} deep")
        if odd is not None and other is not None:
            odd += [path + name for name in folders.look_at(other)]
        for name, before, after in folders.pairs(one, other):
            waiting += _deeper(path + name, before, after)
            found += _changed(path + name, before, after)
        if opened + len(waiting) > bounds.folders:
            raise Unreadable(f"it has more than {bounds.folders} folders")
        if len(found) > bounds.files:
            raise Unreadable(f"it has more than {bounds.files} files")
    return found


class _Folders:
    """Folders, each read once, however often a tree holds it."""

    def __init__(self, repo: Plumbing) -> None:
        self._repo = repo
        self._before: dict[Oid, dict[str, Entry]] = {}
        self._after: dict[Oid, dict[str, Entry]] = {}

    def look_at(self, tree: Oid) -> list[str]:
        """Open a folder of which only the good part counts; gives back what else it has."""
        found = self._repo.tree(tree)
        good = {x.path: x for x in reversed(found) if _is_plain(x.path)}
        good = {name: x for name, x in good.items() if x.mode in (FILE, FOLDER)}
        self._after[tree] = good
        sound = sorted(map(_place, found)) == [*map(_place, found)]
        return [x.path for x in found if good.get(x.path) is not x] or ([] if sound else [""])

    def pairs(
        self, old: Oid | None, new: Oid | None
    ) -> Iterator[tuple[str, Entry | None, Entry | None]]:
        """The entries of two folders that aren't the same, by name; the old one is as it is."""
        if old is not None and old not in self._before:
            self._before[old] = {entry.path: entry for entry in self._repo.tree(old)}
        if new is not None and new not in self._after:
            self._after[new] = {entry.path: entry for entry in entries(self._repo, new)}
        before = self._before[old] if old else {}
        after = self._after[new] if new else {}
        for name in sorted(before.keys() | after.keys()):
            one, other = before.get(name), after.get(name)
            if one != other:
                yield name, one, other


def _deeper(
    path: str, old: Entry | None, new: Entry | None
) -> list[tuple[str, Oid | None, Oid | None]]:
    """The folders to open next, if either is one."""
    one, other = ((x.oid if x and x.is_tree else None) for x in (old, new))
    return [(f"{path}/", one, other)] if one or other else []


def _changed(path: str, old: Entry | None, new: Entry | None) -> list[Changed]:
    one, other = ((x.oid if x and not x.is_tree else None) for x in (old, new))
    mode = new.mode if new and other else "000000"
    return [Changed(path=path, mode=mode, old=one, new=other)] if one or other else []
