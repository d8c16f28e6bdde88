"""How many lines a diff adds and removes, by file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gitsession.model import Frozen, ToolResult, Turn

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class Change(Frozen, frozen=True, kw_only=True):
    """What happened to one file."""

    path: str
    added: int = 0
    removed: int = 0


def count(diff: str) -> list[Change]:
    """The changes in a unified diff; its hunks' headers tell lines from headers."""
    changes: list[Change] = []
    old = new = 0
    for line in diff.split("\n"):
        if old > 0 or new > 0:
            sign = line[:1]
            old -= sign in ("-", " ", "")
            new -= sign in ("+", " ", "")
            if sign in ("+", "-") and changes:
                last = changes[-1]
                changes[-1] = Change(
                    path=last.path,
                    added=last.added + (sign == "+"),
                    removed=last.removed + (sign == "-"),
                )
        elif line.startswith("+++ "):
            changes.append(Change(path=line[4:]))
        elif found := _HUNK.match(line):
            old, new = (int(n if n is not None else 1) for n in found.groups())
    return changes


def total(changes: Iterable[Change]) -> dict[str, Change]:
    """The changes of each file together, in order of first mention."""
    found: dict[str, Change] = {}
    for change in changes:
        before = found.get(change.path, Change(path=change.path))
        found[change.path] = Change(
            path=change.path,
            added=before.added + change.added,
            removed=before.removed + change.removed,
        )
    return found


def changes_of(turns: Iterable[Turn]) -> Iterator[Change]:
    """What the tools of some turns changed, as their results tell."""
    for turn in turns:
        for message in turn.messages:
            for block in message.blocks:
                if isinstance(block, ToolResult) and block.diff and not block.failed:
                    yield from count(block.diff)
