"""Where a commit's note is in the index: the fan-out, written by us.

`git notes` reads any fan-out. Ours is `ab/cdef…` from the first note on: libgit2
writes one flat tree, and fast-import counts all notes to choose a depth.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitsession.git import refs
from gitsession.git.repository import Put, Repository, Update
from gitsession.ids import Oid


def path_of(commit: Oid) -> str:
    """Where we write a note."""
    return f"{commit[:2]}/{commit[2:]}"


def _elsewhere(commit: Oid) -> tuple[str, ...]:
    """Where another program may have put it."""
    return (commit, f"{commit[:2]}/{commit[2:4]}/{commit[4:]}")


def read(repo: Repository, commit: Oid, *, ref: str = refs.INDEX) -> bytes:
    """The note of a commit; empty when it has none."""
    for path in (path_of(commit), *_elsewhere(commit)):
        note = repo.read(f"{ref}:{path}")
        if note is not None:
            return note
    return b""


def plan(repo: Repository, tip: Oid | None, notes: Mapping[Oid, bytes], message: str) -> Update:
    """The commit that gives these notes their new contents."""
    removes = [
        path
        for commit in notes
        for path in _elsewhere(commit)
        if tip is not None and repo.resolve(f"{tip}:{path}")
    ]
    puts = tuple(Put(path=path_of(commit), data=data) for commit, data in sorted(notes.items()))
    return Update(
        ref=refs.INDEX, old=tip, message=message, puts=puts, removes=tuple(sorted(removes))
    )


def commit_of(path: str) -> Oid:
    """The commit that a path of the index stands for."""
    return Oid(path.replace("/", ""))
