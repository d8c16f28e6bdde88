"""Whether a tree is one that a session, or an archive of them, may have. Pure.

A remote may hold anything. What a ref of ours leads to was looked at here: plain
files of known shape, no links, no folders that lead out, nothing beyond measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gitsession.git.repository import Listed
from gitsession.store import layout

MAX_FILES = 200_000
MAX_BLOB = 1 << 30
"""No compressed part is larger."""
MAX_RECORD = 16 << 20
_MAX_PATH = 400
MAX_DEPTH = 4
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*", re.ASCII)


def problems_of_tree(files: Sequence[Listed]) -> Iterator[str]:
    """What is wrong with the files of a session."""
    if len(files) > MAX_FILES:
        yield f"it has more than {MAX_FILES} files"
        return
    for file in files:
        yield from _problems_of_file(file)
    if not any(file.path == layout.HEAD for file in files):
        yield f"it has no {layout.HEAD}"


def by_entry(files: Iterable[Listed]) -> dict[str, list[Listed]]:
    """The files of each session of an archive, as the session itself names them."""
    found: dict[str, list[Listed]] = {}
    for file in files:
        slug, _, path = file.path.partition("/")
        found.setdefault(slug, []).append(msgspec.structs.replace(file, path=path))
    return found


def _problems_of_file(file: Listed) -> Iterator[str]:
    parts = file.path.split("/")
    if len(file.path) > _MAX_PATH or len(parts) > MAX_DEPTH or not all(map(_PART.fullmatch, parts)):
        yield f"it has a file with an odd name: {file.path[:80]!r}"
    elif file.mode != "100644":
        yield f"'{file.path}' is no plain file"
    elif file.size is not None and file.size > _most(file.path):
        yield f"'{file.path}' has {file.size} bytes"


def _most(path: str) -> int:
    return MAX_BLOB if path.endswith(".zst") else MAX_RECORD
