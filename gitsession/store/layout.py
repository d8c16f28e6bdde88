"""The paths inside a session's tree, spelled nowhere else. See docs/format.md."""

from __future__ import annotations

import re

_PER_FOLDER = 100
_RECORD = re.compile(r"(?:\d+/)?(\d{1,9})\.json")
_SEGMENT = re.compile(
    r"(?:captures/(?:\d+/)?|subagents/[A-Za-z0-9._-]+/)(\d{1,9})\.jsonl\.zst", re.ASCII
)
_ENTRY = re.compile(rb"100644 (\d{1,9})\.json\0")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")

HEAD = "session.json"
CAPTURES = "captures"
SUBAGENTS = "subagents"
RESULTS = "results"


def _base(seq: int) -> str:
    # A folder of hundreds keeps the tree that each capture writes anew small.
    return f"{CAPTURES}/{seq // _PER_FOLDER}/{seq}" if seq >= _PER_FOLDER else f"{CAPTURES}/{seq}"


def segment(seq: int) -> str:
    """The lines of a capture."""
    return _base(seq) + ".jsonl.zst"


def record(seq: int) -> str:
    """The records of a capture: its own, and one more for each further commit."""
    return _base(seq) + ".json"


def subagent(name: str, seq: int) -> str:
    """The lines of a subagent that a capture brought."""
    return f"{SUBAGENTS}/{safe(name)}/{seq}.jsonl.zst"


def result(name: str) -> str:
    """A large tool output."""
    return f"{RESULTS}/{safe(name)}.zst"


def safe(name: str) -> str:
    """A name that is one plain path component."""
    plain = _UNSAFE.sub("_", name)[:150] or "_"
    # Neither `..` nor `.git`, which every git refuses in a tree, nor what looks like an option.
    return "_" + plain[1:] if plain.startswith((".", "-")) else plain


def seq_of(path: str) -> int | None:
    """The number of the capture whose record a path (below the captures) holds."""
    found = _RECORD.fullmatch(path)
    return int(found[1]) if found else None


def record_seq(path: str) -> int | None:
    """The number of the capture whose record a path of the whole tree holds."""
    folder, _, rest = path.partition("/")
    return seq_of(rest) if folder == CAPTURES else None


def segment_seq(path: str) -> int | None:
    """The number of the capture whose lines a path of the whole tree holds."""
    found = _SEGMENT.fullmatch(path)
    return int(found[1]) if found else None


def seqs_in(tree: bytes) -> tuple[int, ...]:
    """The captures whose records a folder holds, from the bytes of its tree object.

    A session of a thousand captures reads ten of these at each capture.
    """
    return tuple(map(int, _ENTRY.findall(tree)))
