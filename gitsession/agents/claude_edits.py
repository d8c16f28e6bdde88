"""Which lines of which files, and which commits, Claude Code's tools write."""

from __future__ import annotations

import re

from msgspec import Raw, Struct

from gitsession.agents.base import Edit
from gitsession.agents.claude_lines import Result, decode_text, understand

EDITORS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_SUMMARY = re.compile(r"^\[[^\[\n]{1,250} ([0-9a-f]{7,64})\] ", re.MULTILINE)


class ToolInput(Struct):
    """What the tools that matter here are asked."""

    command: str | None = None
    file_path: str | None = None
    notebook_path: str | None = None
    content: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    new_source: str | None = None
    edits: list[Raw] | None = None


def read_intent(given: ToolInput) -> tuple[Edit, ...]:
    """What an editing tool was asked to change."""
    path = given.file_path or given.notebook_path
    if not path:
        return ()
    if given.edits is None:
        changes = [(given.old_string or "", given.new_string or given.content or given.new_source)]
    else:
        parts = [understand(raw, ToolInput) for raw in given.edits]
        changes = [(part.old_string or "", part.new_string) for part in parts if part]
    added: list[str] = []
    removed: list[str] = []
    for old, new in changes:
        gone, come = _trim(split_lines(old), split_lines(new or ""))
        removed += gone
        added += come
    return (Edit(path=path, added=tuple(added), removed=tuple(removed)),)


def _trim(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Leave out the lines that both begin and end with."""
    start = _common(old, new)
    old, new = old[start:], new[start:]
    end = _common(old[::-1], new[::-1])
    return old[: len(old) - end], new[: len(new) - end]


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many lines two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def read_edits(result: Result) -> tuple[Edit, ...]:
    """The lines that a tool's result says were written and taken."""
    if result.notebook_path is not None:
        return _notebook_edits(result.notebook_path, result)
    if result.file_path is None:
        return ()
    if result.patch:
        lines = [line for hunk in result.patch for line in hunk.lines]
        added = tuple(line[1:] for line in lines if line[:1] == "+")
        removed = tuple(line[1:] for line in lines if line[:1] == "-")
        return (Edit(path=result.file_path, added=added, removed=removed),)
    if result.type == "create":
        text = decode_text(result.content) or ""
        return (Edit(path=result.file_path, added=split_lines(text)),)
    if result.type == "update":
        # Written over with the same text: it says so, lest the call's own content counts.
        return (Edit(path=result.file_path),)
    return ()


def _notebook_edits(path: str, result: Result) -> tuple[Edit, ...]:
    if result.original_file is None or result.updated_file is None:
        return (Edit(path=path, added=split_lines(result.new_source or "")),)
    before, after = split_lines(result.original_file), split_lines(result.updated_file)
    return (Edit(path=path, added=_beyond(after, before), removed=_beyond(before, after)),)


def _beyond(lines: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    gone = set(known)
    return tuple(line for line in lines if line not in gone)


def read_commits(result: Result | str) -> tuple[str, ...]:
    """The commits that a result names: by the client's word, and by git's own summary."""
    if isinstance(result, str):
        return find_commits(result)
    named = result.git.commit.sha if result.git and result.git.commit else None
    found = find_commits(result.stdout) if result.stdout else ()
    return tuple(dict.fromkeys([named, *found] if named else found))


def find_commits(output: str) -> tuple[str, ...]:
    """The hashes in git's summary lines (`[main abc1234] subject`)."""
    return tuple(dict.fromkeys(_SUMMARY.findall(output))) if "[" in output else ()


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of a file, split as git splits them."""
    if not text:
        return ()
    return tuple(text.removesuffix("\n").split("\n"))
