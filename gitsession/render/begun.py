"""What is said of a session that was begun, or goes on. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitsession.ids import SessionId
from gitsession.render.escape import one_line


def render_resumed(
    *,
    session: SessionId,
    parent: SessionId | None,
    turn: int,
    worktree: str,
    remarks: Sequence[str],
) -> Iterator[str]:
    """What goes on, where, and what else is to be known."""
    if parent is None:
        yield one_line(f"session {session} goes on after turn {turn} in {worktree}")
    else:
        yield one_line(f"session {session}, a fork of {parent} at turn {turn}, in {worktree}")
    yield from (f"note: {one_line(remark)}" for remark in remarks)


def render_started(
    *, session: SessionId, branch: str, worktree: str, autocommit: bool, remarks: Sequence[str]
) -> Iterator[str]:
    """What was begun, where, and what is done by itself."""
    yield one_line(f"session {session} on branch {branch} in {worktree}")
    if autocommit:
        yield "each turn that changes files is committed; `git session squash` makes them one"
    yield from (f"note: {one_line(remark)}" for remark in remarks)
