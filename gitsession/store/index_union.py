"""One index from two: every record that either has, less what was forgotten. Pure.

An index is a tree of small files: notes, tombstones, and perhaps what a later
version puts beside them. Whoever unites two, in whatever order and grouping,
gets the same files with the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gitsession.git import notes
from gitsession.ids import Oid, is_oid
from gitsession.model import Record
from gitsession.store import records, tombstones
from gitsession.store.tombstones import Forgotten

Files = Mapping[str, bytes]
"""Some files of an index, by path."""

MAX_FILE = 16 << 20
"""No note is larger: it would be of thousands of captures."""
_MAX_LARGE = 1 << 20
_MAX_IN_ALL = 64 << 20
"""Bytes of all notes that are larger than any is: all are read at once."""
_MAX_PATH = 200


def place_of(path: str) -> str | None:
    """Where a file belongs, wherever another program put it; None when it belongs nowhere."""
    parts = path.split("/")
    if len(path) > _MAX_PATH or not path.isprintable() or not path.isascii():
        return None
    if any(not part or part.startswith((".", "-")) for part in parts):
        return None
    name = path.replace("/", "")
    return notes.path_of(Oid(name)) if is_oid(name) else path


def too_large(sizes: Mapping[str, int]) -> list[str]:
    """The files, of those that come together, that are beyond measure."""
    left = _MAX_IN_ALL
    found = []
    for path, size in sorted(sizes.items()):
        if size > MAX_FILE or (size > _MAX_LARGE and size > left):
            found.append(path)
        elif size > _MAX_LARGE:
            left -= size
    return found


def is_note(path: str) -> bool:
    """Whether a file holds the records of a commit."""
    return is_oid(path.replace("/", ""))


def unite(mine: Files, yours: Files, gone: Forgotten) -> dict[str, bytes]:
    """The files of both, each where it belongs; what holds nothing any more is empty."""
    gathered: dict[str, list[bytes]] = {}
    for path, data in (*mine.items(), *yours.items()):
        place = place_of(path)
        if place is not None:
            gathered.setdefault(place, []).append(data)
    return {path: _one_of(path, found, gone) for path, found in gathered.items()}


def _one_of(path: str, found: Iterable[bytes], gone: Forgotten) -> bytes:
    if is_note(path):
        lines = [line for data in found for line in records.decode_note(data)]
        return records.encode_note(records.join(tombstones.without(lines, gone)))
    if path.startswith(tombstones.FOLDER + "/"):
        return tombstones.encode(line for data in found for line in tombstones.decode(data))
    return max(found)


def forgotten_in(*sides: Files) -> Forgotten:
    """What the tombstones among these files say."""
    return tombstones.forgotten(
        data
        for files in sides
        for path, data in files.items()
        if path.startswith(tombstones.FOLDER + "/")
    )


def only_in(yours: Files, mine: Files) -> Iterator[Record]:
    """The records that the first has and the second lacks."""
    have = {(r.id, r.commit) for r in _all_records(mine)}
    for record in _all_records(yours):
        if (record.id, record.commit) not in have:
            yield record


def _all_records(files: Files) -> Iterator[Record]:
    for path, data in files.items():
        if is_note(path):
            yield from records_of(data)


def records_of(note: bytes) -> list[Record]:
    """The records in a note that this version understands."""
    return records.readable(records.decode_note(note))
