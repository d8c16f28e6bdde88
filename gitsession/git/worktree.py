"""The work tree as it is, as a tree object: tracked and untracked files, never ignored ones.

`git status` on an index of our own says what differs from the last time, and only
that is read. Nothing of the user's is written: not the index, not a ref, not a log.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gitsession.errors import GitFailed
from gitsession.git.plumbing import Plumbing
from gitsession.git.run import run
from gitsession.git.sideindex import SideIndex
from gitsession.ids import Oid, is_oid
from gitsession.model import Frozen

LARGEST = 100 << 20
"""Bytes up to which an untracked file is kept."""
LINK = "160000"
"""The mode of a repository inside of this one."""

_NOTHING = "000000"
_STATUS = (
    "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames",
    "--untracked-files=all", "--ignored=no", "--ignore-submodules=dirty",
)  # fmt: skip


class Taken(Frozen, frozen=True, kw_only=True):
    """A work tree as it was found."""

    tree: Oid
    head: Oid | None
    branch: str | None
    """None when HEAD is detached."""
    left_out: tuple[str, ...] = ()
    """What could not be kept: too large, unreadable, or a repository without a commit."""


class Found(Frozen, frozen=True, kw_only=True):
    """One path that is not as the index has it."""

    path: str
    mode: str = ""
    """In the work tree; empty when the index doesn't have it."""
    was: str = ""
    """In the index."""


class Status(Frozen, frozen=True, kw_only=True):
    """What `git status` told."""

    head: Oid | None = None
    branch: str | None = None
    found: tuple[Found, ...] = ()


def at_git_dir(git_dir: Path, common_dir: Path) -> Plumbing:
    """The repository of a git directory with its work tree, where it has one."""
    try:
        # A linked work tree's folder says where its `.git` is.
        top = Path(os.fsdecode((git_dir / "gitdir").read_bytes().removesuffix(b"\n"))).parent
        return Plumbing(git_dir, common_dir, top if top.is_dir() else None)
    except OSError:
        pass
    out = run([f"--git-dir={git_dir}", "config", "-z", "--list"], cwd=common_dir, check=False)
    found = dict(entry.partition(b"\n")[::2] for entry in out.split(b"\0"))
    named = os.fsdecode(found.get(b"core.worktree", b""))
    if named:
        return Plumbing(git_dir, common_dir, Path(os.path.normpath(git_dir / named)))
    bare = found.get(b"core.bare", b"false").lower() in (b"true", b"yes", b"on", b"1")
    plain = git_dir.name == ".git" and not bare
    return Plumbing(git_dir, common_dir, git_dir.parent if plain else None)


def take(repo: Plumbing, side_index: Path, *, largest: int = LARGEST) -> Taken:
    """Write the work tree's state as a tree; raises where there is no work tree."""
    side = SideIndex(repo, side_index)
    side.prepare()
    try:
        return _take(side, largest)
    except GitFailed:
        # Damaged, or of objects that were pruned: it is made anew, once.
        side.drop()
        side.prepare()
        return _take(side, largest)


def _take(side: SideIndex, largest: int) -> Taken:
    _forget_untracked(side)
    status = parse_status(side.git(*_STATUS))
    # A tracked file that became a repository counts, too: git would see a link for ever.
    became = {f"{x.path}/" for x in status.found if x.mode == LINK != x.was}
    side.keep_untracked(side.untracked | became | {x.path for x in status.found if not x.mode})
    adds, removes, links, left_out = [], [], [], []
    for found in status.found:
        path = found.path.removesuffix("/")
        if found.mode == LINK or path != found.path:
            head = _head_of(side, path)
            (links.append((path, head)) if head else left_out.append(path))
        elif found.mode == _NOTHING or not _is_file(side.top / path):
            removes.append(path)
        elif _fits(side.top / path, largest if path in side.untracked else None):
            adds.append(path)
        else:
            left_out.append(path)
            removes += [path] if found.mode and path in side.untracked else []
    _change(side, "--force-remove", _but_sparse(side, removes))
    left_out += _add(side, adds)
    if links:
        lines = _lines(f"{LINK} {oid}\t{path}" for path, oid in links)
        side.git("update-index", "--replace", "--add", "-z", "--index-info", stdin=lines)
    tree = Oid(side.git("write-tree").decode().strip())
    return Taken(
        tree=tree, head=status.head, branch=status.branch, left_out=tuple(sorted(left_out))
    )


def _forget_untracked(side: SideIndex) -> None:
    """Take out what git would no longer see as untracked: once it is there, git holds on to it.

    It may be ignored now, or a repository of its own, or no longer one.
    """
    kept = sorted(side.untracked)
    gone = _ignored(side, kept)
    folders = {up for path in kept for up in parents(path)}
    inner = {folder for folder in folders if os.path.lexists(side.top / folder / ".git")}
    gone |= {path for path in kept if not inner.isdisjoint(parents(path))}
    gone |= {p for p in kept if p[-1] == "/" and not os.path.lexists(side.top / p / ".git")}
    _change(side, "--force-remove", [path.removesuffix("/") for path in sorted(gone)])
    side.keep_untracked(side.untracked - gone)


def parents(path: str) -> list[str]:
    """The folders that a path is in, the outermost first."""
    parts = path.removesuffix("/").split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def parse_status(out: bytes) -> Status:
    """What differs between the index and the work tree, in `git status --porcelain=v2 -z`."""
    head = branch = None
    found = []
    for line in out.decode("utf-8", "surrogateescape").split("\0"):
        kind, _, rest = line.partition(" ")
        if line.startswith("# branch.oid "):
            word = line.rpartition(" ")[2]
            head = Oid(word) if is_oid(word) else None
        elif line.startswith("# branch.head "):
            word = line.removeprefix("# branch.head ")
            branch = None if word == "(detached)" else word
        elif kind == "1":
            words = rest.split(" ", 7)
            if words[0][1] != ".":
                found.append(Found(path=words[7], mode=words[4], was=words[3]))
        elif kind == "u":
            words = rest.split(" ", 9)
            found.append(Found(path=words[9], mode=words[5]))
        elif kind == "?":
            found.append(Found(path=rest))
    return Status(head=head, branch=branch, found=tuple(found))


def _ignored(side: SideIndex, paths: Sequence[str]) -> set[str]:
    """What was kept when it was merely untracked, and is ignored now."""
    if not paths:
        return set()
    words = ["check-ignore", "--no-index", "-z", "--stdin"]
    where = [f"--git-dir={side.repo.git_dir}", f"--work-tree={side.top}"]
    out = run([*where, *words], cwd=side.top, stdin=_lines(paths), ok=(0, 1))
    return set(out.decode("utf-8", "surrogateescape").split("\0")[:-1])


def _but_sparse(side: SideIndex, paths: Sequence[str]) -> Sequence[str]:
    """Paths without those that are missing because they are not to be in the work tree."""
    if not paths:
        return paths
    where = [f"--git-dir={side.repo.git_dir}", f"--work-tree={side.top}"]
    out = run([*where, "ls-files", "-t", "-z", "--full-name"], cwd=side.top)
    entries = out.decode("utf-8", "surrogateescape").split("\0")
    sparse = {entry[2:] for entry in entries if entry.startswith("S ")}
    return [path for path in paths if path not in sparse]


def _is_file(path: Path) -> bool:
    """Whether git would take it; what is gone meanwhile it sees for itself."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _fits(path: Path, largest: int | None) -> bool:
    """Whether a file can be read, and isn't too large."""
    try:
        state = path.lstat()
    except OSError:
        return True
    if stat.S_ISLNK(state.st_mode):
        return True
    return (largest is None or state.st_size <= largest) and os.access(path, os.R_OK)


def _head_of(side: SideIndex, path: str) -> Oid | None:
    """The commit of a repository inside of this one."""
    out = run(
        [f"--git-dir={side.top / path / '.git'}", "rev-parse", "--verify", "--quiet", "HEAD"],
        cwd=side.top, check=False,
    ).decode().strip()  # fmt: skip
    return Oid(out) if is_oid(out) and len(out) == len(side.repo.zero()) else None


def _change(side: SideIndex, how: str, paths: Sequence[str]) -> None:
    if paths:
        words = ["update-index", "--add", "--replace", how, "-z", "--stdin"]
        side.git(*words, stdin=_lines(paths))


def _add(side: SideIndex, paths: Sequence[str]) -> Iterator[str]:
    """Put files in the index as `git add` does; gives back those that can't be."""
    try:
        _change(side, "--remove", paths)
    except GitFailed:
        if len(paths) == 1:
            yield paths[0]
        else:
            half = len(paths) // 2
            yield from _add(side, paths[:half])
            yield from _add(side, paths[half:])


def _lines(words: Iterable[str]) -> bytes:
    return "".join(f"{word}\0" for word in words).encode("utf-8", "surrogateescape")
