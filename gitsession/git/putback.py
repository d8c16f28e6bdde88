"""What putting back a state means: which files are written and removed, and what is against it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Listed
from gitsession.git.worktree import LINK, parents
from gitsession.ids import Oid
from gitsession.model import Frozen

Seen = list[int]
"""What tells a file from what it was: mode, size, time and number."""
_LINK_MODE = "120000"


class Plan(Frozen, frozen=True, kw_only=True):
    """What leads from one state of a work tree to another."""

    writes: tuple[Listed, ...] = ()
    deletes: tuple[str, ...] = ()
    empties: tuple[str, ...] = ()
    """Folders that hold nothing any more, the innermost first."""
    attributes: tuple[Listed, ...] = ()
    """What says how the files of that state are filtered."""
    kept: tuple[str, ...] = ()
    """The files that the first state has and that are neither written nor removed."""
    links: tuple[str, ...] = ()
    """Repositories inside of this one that were at another commit; they are left alone."""
    changed: tuple[str, ...] = ()
    """Those of the writes that the first state has as well."""
    nested: tuple[str, ...] = ()
    """The repositories inside of this one that are there now."""


def plan(now: Sequence[Listed], target: Sequence[Listed], paths: Sequence[str] = ()) -> Plan:
    """What leads from one state to another, in some files and folders or in all. Pure."""
    named = [path.strip("/") for path in paths]
    # The top of the work tree is all of it, whatever else is named.
    wanted = [] if {"", "."} & {*named} else named

    def is_wanted(path: str) -> bool:
        return not wanted or any(path == one or path.startswith(one + "/") for one in wanted)

    old = {x.path: x for x in now if x.mode != LINK}
    new = {x.path: x for x in target if x.mode != LINK}
    links = [{x.path: x.oid for x in state if x.mode == LINK} for state in (now, target)]
    writes = [x for p, x in new.items() if is_wanted(p) and _differs(x, old.get(p))]
    deletes = [p for p in old if is_wanted(p) and p not in new]
    gone, written = set(deletes), {x.path for x in writes}
    left = {up for p in (*(set(old) - gone), *written, *links[0]) for up in parents(p)}
    emptied = {up for p in deletes for up in parents(p)} - left - written
    return Plan(
        writes=tuple(sorted(writes, key=lambda x: x.path)),
        deletes=tuple(sorted(deletes)),
        empties=tuple(sorted(emptied | (written & _folders(old)), reverse=True)),
        attributes=tuple(x for p, x in new.items() if p.rpartition("/")[2] == ".gitattributes"),
        kept=tuple(sorted(set(old) - gone - written)),
        links=tuple(sorted(p for p in {**links[0], **links[1]} if is_wanted(p)
                           and links[0].get(p) != links[1].get(p))),
        changed=tuple(sorted(written & set(old))),
        nested=tuple(sorted(links[0])),
    )  # fmt: skip


def look(top: Path, path: str) -> os.stat_result | None:
    """What is at a path; nothing is behind a link."""
    if any((top / up).is_symlink() for up in parents(path)):
        return None
    try:
        return (top / path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def see(top: Path, path: str) -> Seen | None:
    """How a file is found; None when there is none."""
    state = look(top, path)
    return state and [state.st_mode, state.st_size, state.st_mtime_ns, state.st_ino]


def _differs(new: Listed, old: Listed | None) -> bool:
    return old is None or (new.mode, new.oid) != (old.mode, old.oid)


def _folders(paths: Iterable[str]) -> set[str]:
    return {up for path in paths for up in parents(path)}


class Obstacles:
    """What keeps a plan from being carried out, each as a short sentence."""

    def __init__(self, repo: Plumbing, top: Path, wanted: Plan) -> None:
        self._repo = repo
        self._top = top
        self._plan = wanted
        self._gone = set(wanted.deletes)
        self._known = self._gone | set(wanted.changed)
        self.same: set[str] = set()
        """What isn't in the present state, and is on disk just as it is to be."""
        self.hollow: set[str] = set()
        """Folders where a file has to be, that hold nothing else."""

    @cached_property
    def absent(self) -> set[str]:
        """What git keeps out of the work tree (a sparse checkout): it stays out."""
        return {p for p in self._known if not os.path.lexists(self._top / p)}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes of what is to be written, as far as it is here."""
        return self._repo.sizes([x.oid for x in self._plan.writes])

    def blocked(self) -> Iterator[str]:
        """Paths that no file of ours may be at."""
        nested = set(self._plan.nested)
        for entry in self._plan.writes:
            parts = entry.path.split("/")
            if any(x in ("", ".", "..") or x.lower() == ".git" for x in parts):
                yield f"'{entry.path}' is no path of a file"
            elif not nested.isdisjoint((*parents(entry.path), entry.path)) or any(
                look(self._top, f"{up}/.git") for up in parents(entry.path)
            ):
                yield f"'{entry.path}' is in another repository"
        for path in sorted(self._known):
            if any((self._top / up).is_symlink() for up in parents(path)):
                yield f"'{path}' is behind a link"

    def in_the_way(self) -> Iterator[str]:
        """What is at, or above, the place of a file, and is not part of the present state."""
        for entry in self._plan.writes:
            above = parents(entry.path)
            if entry.path in self._known or not self._gone.isdisjoint(above):
                # The file is there to be replaced, or what is above it goes.
                continue
            states = [(up, look(self._top, up)) for up in above]
            wrong = [up for up, state in states if state and not stat.S_ISDIR(state.st_mode)]
            said = f"'{wrong[0]}' is in the way" if wrong else self._occupied(entry)
            if said:
                yield said

    def _occupied(self, entry: Listed) -> str | None:
        state = look(self._top, entry.path)
        if state is None:
            return None
        if stat.S_ISDIR(state.st_mode):
            return self._foreign(entry.path)
        if self._is_same(entry, state):
            self.same.add(entry.path)
            return None
        return f"'{entry.path}' is in the way, and in no snapshot (ignored, or too large)"

    def _foreign(self, path: str) -> str | None:
        """What keeps a folder from making room for a file."""
        for folder, names, files in os.walk(self._top / path):
            self.hollow.add(Path(folder).relative_to(self._top).as_posix())
            links = [name for name in names if (Path(folder) / name).is_symlink()]
            for name in (*files, *links):
                inner = (Path(folder) / name).relative_to(self._top).as_posix()
                if inner not in self._gone:
                    return f"'{inner}' is where the file '{path}' has to be"
        return None

    def _is_same(self, entry: Listed, state: os.stat_result) -> bool:
        executable = bool(state.st_mode & stat.S_IXUSR)
        if not stat.S_ISREG(state.st_mode) or entry.mode == _LINK_MODE:
            return False
        if executable != (entry.mode == "100755"):
            return False
        # The name only says which filters there are.
        out = self._repo.git("hash-object", "--", entry.path)
        return Oid(out.decode().strip()) == entry.oid

    def clashes(self) -> Iterator[str]:
        """Names that are the same to a file system that doesn't tell case."""
        out = self._repo.git("config", "--type=bool", "core.ignoreCase", ok=(0, 1))
        if out.strip() != b"true":
            return
        names: dict[str, str] = {}
        touched = {x.path for x in self._plan.writes} | self._gone
        for path in sorted({*touched, *self._plan.kept}):
            other = names.setdefault(path.casefold(), path)
            if other != path and not touched.isdisjoint((other, path)):
                yield f"'{other}' and '{path}' differ only in case"

    def not_permitted(self) -> Iterator[str]:
        """Folders that can't be written to, or are on another disk."""
        device = self._top.stat().st_dev
        folders = {
            p.rpartition("/")[0] for p in (*self._known, *(x.path for x in self._plan.writes))
        }
        for folder in sorted(folders):
            above = (folder, *parents(folder)[::-1], "")
            there = next(up for up in above if not up or self._is_folder(up))
            if not os.access(self._top / there, os.W_OK | os.X_OK):
                yield f"nothing can be written in '{there or '.'}'"
            elif (self._top / there).stat().st_dev != device:
                yield f"'{there}' is on another disk"

    def missing(self) -> Iterator[str]:
        """Contents that are not in the repository."""
        for entry in self._plan.writes:
            if entry.oid not in self.sizes:
                yield f"the content of '{entry.path}' is not here"

    def _is_folder(self, path: str) -> bool:
        state = look(self._top, path)
        return state is not None and stat.S_ISDIR(state.st_mode)
