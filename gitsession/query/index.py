"""Reads the index: one note, or all of them."""

from __future__ import annotations

from collections.abc import Iterator

from gitsession.git import notes, refs
from gitsession.git.plumbing import Plumbing
from gitsession.ids import Oid
from gitsession.model import Foreign, Record
from gitsession.store import records


def read_all(repo: Plumbing, tip: Oid | None = None) -> Iterator[tuple[Oid, bytes]]:
    """Every note of the index, by the commit it is on."""
    for path, data in read_paths(repo, tip):
        yield notes.commit_of(path), data


def read_paths(repo: Plumbing, tip: Oid | None = None) -> Iterator[tuple[str, bytes]]:
    """Every note of the index, by where it stands."""
    tip = tip or repo.resolve(refs.INDEX)
    if tip is None:
        return
    listing = repo.git("ls-tree", "-r", "-z", tip).decode("utf-8", "replace")
    found = list(_notes_in(listing))
    contents = repo.read_many(blob for blob, _ in found)
    for (_, path), data in zip(found, contents, strict=True):
        if data is not None:
            yield path, data


def _notes_in(listing: str) -> Iterator[tuple[str, str]]:
    """The blob and the path of each note."""
    for entry in listing.split("\0"):
        head, _, path = entry.partition("\t")
        words = head.split()
        if len(words) == 3 and words[1] == "blob" and all(c in "0123456789abcdef/" for c in path):
            yield words[2], path


def find_foreign(repo: Plumbing, commit: Oid, *, ref: str = refs.INDEX) -> list[Foreign]:
    """The lines of a commit's note that this version can't read."""
    lines = records.decode_note(notes.read(repo, commit, ref=ref))
    return [line for line in lines if isinstance(line, Foreign)]


def find_records(repo: Plumbing, commit: Oid, *, ref: str = refs.INDEX) -> list[Record]:
    """The records that a commit's note holds, oldest first, those of other commits too."""
    return records.readable(records.decode_note(notes.read(repo, commit, ref=ref)))
