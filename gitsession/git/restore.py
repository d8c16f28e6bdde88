"""Puts a state back into the work tree: looked at as a whole, and then done as a whole.

The new files are written in a folder beside the work tree. Then a journal is
written, and only from then on is the work tree touched, by removing and renaming.
Killed before the journal, nothing has happened; killed after it, `recover` does the
rest. Steps find out for themselves whether they were done before, and none of them
touches a file that has been changed by somebody else since.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from gitsession.errors import GitFailed, SessionError
from gitsession.git.inspect import listing
from gitsession.git.plumbing import Plumbing
from gitsession.git.putback import Obstacles, Plan, Seen, plan, see
from gitsession.git.repository import Listed
from gitsession.git.sideindex import SideIndex
from gitsession.git.worktree import parents
from gitsession.ids import Oid
from gitsession.model import Frozen

BESIDE = ".git-session-restore"
"""In the work tree, where its files can't be renamed to from git's own folder."""
_JOURNAL = "journal"
_SPARE = 1.05
"""So much more room than the files need."""


class Journal(TypedDict):
    """What is to be done, in a file."""

    v: int
    beside: bool
    deletes: list[tuple[str, Seen | None]]
    empties: list[str]
    writes: list[tuple[str, Seen | None]]


class Checked(Frozen, frozen=True, kw_only=True):
    """A plan that can be carried out, and what it was checked against."""

    writes: tuple[Listed, ...]
    deletes: tuple[str, ...]
    empties: tuple[str, ...]
    attributes: tuple[Listed, ...]
    seen: dict[str, Seen]
    """How each file that is to go, or to be replaced, was found."""
    beside: bool = False
    """Whether the new files are made in the work tree's own folder."""


def plan_restore(
    repo: Plumbing, target_tree: Oid, now_tree: Oid, paths: Sequence[str] = ()
) -> Plan:
    """What leads from one state to another, in some files and folders or in all."""
    return plan(listing(repo, now_tree), listing(repo, target_tree), paths)


def check(repo: Plumbing, wanted: Plan, place: Path) -> Checked:
    """Look at everything before anything is written; raises with every reason against it."""
    top = _top(repo)
    found = Obstacles(repo, top, wanted)
    reasons = [*found.blocked(), *found.in_the_way(), *found.clashes()]
    reasons = reasons or [*found.not_permitted(), *found.missing()]
    disk = os.statvfs(top)
    if not reasons and sum(found.sizes.values()) * _SPARE > disk.f_bavail * disk.f_frsize:
        reasons = ["there is not enough room on the disk"]
    if reasons:
        more = f" (and {len(reasons) - 3} more reasons)" if len(reasons) > 3 else ""
        raise SessionError(
            "the work tree can't be put back: " + "; ".join(reasons[:3]) + more,
            hint="nothing was changed",
        )
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    writes = tuple(x for x in wanted.writes if x.path not in found.absent | found.same)
    deletes = tuple(path for path in wanted.deletes if path not in found.absent)
    return Checked(
        writes=writes,
        deletes=deletes,
        empties=tuple(sorted({*wanted.empties, *found.hollow}, reverse=True)),
        attributes=wanted.attributes,
        seen={path: s for path in (*deletes, *(x.path for x in writes)) if (s := see(top, path))},
        beside=top.stat().st_dev != place.parent.stat().st_dev,
    )


def apply(repo: Plumbing, checked: Checked, place: Path) -> list[str]:
    """Put the state back; gives back what somebody else changed meanwhile, which stays so."""
    top = _top(repo)
    recover(place, top)
    files = _files(place, top, checked.beside)
    try:
        _stage(repo, checked, place, files)
        _write_journal(place, checked)
    except BaseException:
        _clear(place, top)
        raise
    return recover(place, top)


def recover(place: Path, top: Path) -> list[str]:
    """Finish what was begun in a work tree, or undo it; call it before anything looks there.

    Gives back the files that somebody else had changed, which stay as they are.
    """
    if not place.exists():
        return []
    try:
        told: Journal = json.loads((place / _JOURNAL).read_bytes())
    except FileNotFoundError:
        _clear(place, top)
        return []
    try:
        left = list(_finish(told, _files(place, top, told["beside"]), top))
    except OSError as error:
        raise SessionError(
            f"the work tree is not yet put back as a whole: {error}",
            hint="mend that; the next git session command goes on with it",
        ) from None
    # From here on nothing is to be done again.
    (place / _JOURNAL).unlink()
    _clear(place, top)
    return left


def _top(repo: Plumbing) -> Path:
    if repo.work_tree is None:
        raise SessionError(f"no work tree at {repo.git_dir}", hint="go to a work tree")
    return repo.work_tree


def _files(place: Path, top: Path, beside: bool) -> Path:
    return top / BESIDE if beside else place / "files"


def _clear(place: Path, top: Path) -> None:
    for root in (top / BESIDE, place):
        for folder, names, files in os.walk(root, topdown=False):
            for name in (*files, *names):
                path = Path(folder) / name
                with suppress(OSError):
                    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        with suppress(OSError):
            root.rmdir()


def _stage(repo: Plumbing, checked: Checked, place: Path, files: Path) -> None:
    """Write the new files as git writes them, filters and line ends included."""
    place.mkdir(mode=0o700)
    files.mkdir(mode=0o700)
    if not checked.writes:
        return
    side = SideIndex(Plumbing(repo.git_dir, repo.common_dir, files), place / "index")
    # The filters are those that the attributes of that state name.
    entries = {x.path: x for x in (*checked.attributes, *checked.writes)}
    lines = "".join(f"{x.mode} {x.oid}\t{x.path}\0" for x in entries.values())
    side.git("update-index", "--add", "-z", "--index-info", stdin=_bytes(lines))
    names = "".join(f"{x.path}\0" for x in checked.writes)
    side.git("checkout-index", "--force", "-z", "--stdin", stdin=_bytes(names))
    for entry in checked.writes:
        if not os.path.lexists(files / entry.path):
            raise GitFailed(f"git checkout-index: '{entry.path}' was not written")
    if hasattr(os, "sync"):
        os.sync()


def _write_journal(place: Path, checked: Checked) -> None:
    """From the moment that this file is there, the state is put back."""
    told = Journal(
        v=1,
        beside=checked.beside,
        deletes=[(path, checked.seen.get(path)) for path in checked.deletes],
        empties=list(checked.empties),
        writes=[(x.path, checked.seen.get(x.path)) for x in checked.writes],
    )
    fresh = place / f"{_JOURNAL}.new"
    with fresh.open("wb") as file:
        # Names may hold any bytes: plain ASCII with escapes brings all of them back.
        file.write(json.dumps(told).encode("ascii"))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(place / _JOURNAL)


def _finish(told: Journal, files: Path, top: Path) -> Iterator[str]:
    for path, seen in told["deletes"]:
        now = see(top, path)
        if now is not None and now == seen:
            (top / path).unlink()
        elif now is not None and not stat.S_ISDIR(now[0]):
            yield path
    for path in told["empties"]:
        if not _leads_outside(top, path):
            # What is ignored may be in there still: then it stays.
            with suppress(OSError):
                (top / path).rmdir()
    for path, seen in told["writes"]:
        if os.path.lexists(files / path) and not _put(files / path, top, path, seen):
            yield path


def _put(source: Path, top: Path, path: str, seen: Seen | None) -> bool:
    """Move a new file into its place, unless something else has come to be there."""
    if _leads_outside(top, path):
        return False
    now = see(top, path)
    if now is not None and now != seen:
        return False
    try:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        source.rename(top / path)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return False
    return True


def _leads_outside(top: Path, path: str) -> bool:
    return any((top / parent).is_symlink() for parent in parents(path))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
