"""What is shown of a turn before it is chosen: the turn itself, and what became of the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gitsession.actions.fork_plan import Row
from gitsession.actions.fork_source import Origin
from gitsession.actions.picker import Preview, Screen
from gitsession.git.inspect import patch
from gitsession.git.plumbing import discover
from gitsession.render.escape import plain
from gitsession.render.terminal import render_diff, render_turn
from gitsession.store import snapshots

_MOST_LINES = 400


def preview_of(path: Path, origin: Origin, screen: Screen) -> Preview:
    """Renders a turn, harmless to a terminal."""
    turns = {turn.number: turn for turn in origin.turns}

    def preview(row: Row) -> str:
        if row.number not in turns:
            first = origin.turns[0].prompt if origin.turns else ""
            return f"Before the first prompt, which was:\n\n{plain(first)}\n"
        told = render_turn(
            turns[row.number],
            root=origin.top,
            width=screen.width,
            color=screen.color,
            unicode=screen.unicode,
        )
        lines = [*told, *_diff(path, origin, row.number, screen)]
        return "".join(f"{line}\n" for line in lines)

    return preview


def _diff(path: Path, origin: Origin, number: int, screen: Screen) -> Iterator[str]:
    """What the turn changed in the work tree, if snapshots tell."""
    before, after = (
        snapshots.snapshot_at(origin.snapshots, origin.turns, n) for n in (number - 1, number)
    )
    if before is None or after is None or before.tree == after.tree:
        return
    with discover(path) as repo:
        lines = list(render_diff(patch(repo, before.tree, after.tree), color=screen.color))
    yield ""
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield f"and {len(lines) - _MOST_LINES} more lines"
