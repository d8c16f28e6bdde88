"""What git session asks of git: a small interface, with an implementation for each way to reach it.

`plumbing.Plumbing` runs the git executable and is the default; `library.Library`
is pygit2, for programs that live long or work on many objects. One contract test
holds both to this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Protocol

from gitsession.ids import Oid
from gitsession.model import Author, Frozen


class Signature(Frozen, frozen=True, kw_only=True):
    """Who did something, and when."""

    name: str
    email: str
    at: int
    """Seconds since the epoch."""
    offset: str = "+0000"

    @property
    def date(self) -> str:
        """The moment as RFC 3339 has it, in its own time zone."""
        sign = -1 if self.offset.startswith("-") else 1
        minutes = int(self.offset[1:3]) * 60 + int(self.offset[3:5])
        zone = timezone(sign * timedelta(minutes=minutes % (24 * 60)))
        try:
            return datetime.fromtimestamp(self.at, zone).isoformat()
        except (OverflowError, OSError, ValueError):
            return ""


class Commit(Frozen, frozen=True, kw_only=True):
    """A commit as people and plans need it."""

    oid: Oid
    tree: Oid
    parents: tuple[Oid, ...]
    author: Signature
    committer: Signature
    message: str

    @property
    def subject(self) -> str:
        """The message's first line."""
        return self.message.split("\n", 1)[0]


class Entry(Frozen, frozen=True, kw_only=True):
    """One entry of a tree."""

    mode: str
    oid: Oid
    path: str

    @property
    def is_tree(self) -> bool:
        """Whether it is a folder."""
        return self.mode in ("40000", "040000")


class Listed(Frozen, frozen=True, kw_only=True):
    """One file of a tree and all that is below it."""

    mode: str
    oid: Oid
    path: str
    size: int | None = None
    """Its size in bytes, where it was asked for."""


class Changed(Frozen, frozen=True, kw_only=True):
    """One file that is not the same in two trees."""

    path: str
    mode: str
    """In the second tree."""
    old: Oid | None
    new: Oid | None


class Put(Frozen, frozen=True, kw_only=True):
    """A file that a new commit shall hold: its bytes, or where they can be read."""

    path: str
    data: bytes | Path


class Link(Frozen, frozen=True, kw_only=True):
    """A file or a folder that a new commit shall hold, and that is in the repository already."""

    path: str
    oid: Oid
    mode: str = "100644"


class Draft(Frozen, frozen=True, kw_only=True):
    """A commit that no ref leads to yet: what its first parent holds, and these changes."""

    message: str
    parents: tuple[Oid, ...] = ()
    puts: tuple[Put, ...] = ()
    links: tuple[Link, ...] = ()
    removes: tuple[str, ...] = ()
    anew: bool = False
    """It holds what is put and linked, and nothing of its parents."""


class Swap(Frozen, frozen=True, kw_only=True):
    """A ref that is to point elsewhere, if it still points where it was seen to."""

    ref: str
    old: Oid | None
    new: Oid | None
    """None takes the ref away."""


class Update(Frozen, frozen=True, kw_only=True):
    """One new commit on a ref: what the old one holds, with some files put or removed."""

    ref: str
    old: Oid | None
    """The value the ref was seen to have: when it no longer has it, nothing happens."""
    message: str
    puts: tuple[Put, ...] = ()
    removes: tuple[str, ...] = ()


class Move(Frozen, frozen=True, kw_only=True):
    """One entry of HEAD's reflog."""

    new: Oid
    action: str
    """Git's words for it, as in `commit (amend): subject`."""


class FileChange(Frozen, frozen=True, kw_only=True):
    """What a commit did to one file, line by line."""

    path: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    blob: Oid | None = None


class Repository(Protocol):
    """The repository as seen from one of its work trees."""

    git_dir: Path
    common_dir: Path
    work_tree: Path | None

    def resolve(self, name: str) -> Oid | None:
        """The object that a name (as `git rev-parse` takes it) stands for, or None."""

    def read(self, name: str) -> bytes | None:
        """The content of an object, by its name or as `REV:PATH`; None when it isn't there."""

    def read_many(self, names: Iterable[str]) -> Iterator[bytes | None]:
        """The contents of many objects, in order."""

    def get_commit(self, name: str) -> Commit:
        """A commit; raises NotFound."""

    def tree(self, name: str) -> list[Entry]:
        """The entries of one tree, not of its subtrees; empty when it isn't there."""

    def refs(self, prefix: str) -> dict[str, Oid]:
        """The refs under a prefix that ends in a slash, or whose name a glob matches."""

    def apply(self, updates: Sequence[Update], author: Author) -> list[Oid]:
        """Write the new commits and move the refs; raises Moved if one had moved."""

    def write(self, drafts: Sequence[Draft], author: Author) -> list[Oid]:
        """Write commits that no ref leads to."""

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Move refs, wherever they were before; raises Moved, and then none of them moves."""

    def close(self) -> None:
        """Let go of processes and files."""
