"""What is said of a fork: why to look at it first, and what was made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gitsession.render.escape import one_line
from gitsession.render.width import clip

_LONGEST = 300


def render_doubt(reasons: Sequence[str], prompts: Sequence[str]) -> Iterator[str]:
    """Whose conversation it is, and what was said in it last."""
    for reason in reasons[:8]:
        yield f"warning: {one_line(reason)}"
    if len(reasons) > 8:
        yield f"warning: and {len(reasons) - 8} more"
    yield "An agent that goes on with it is told what stands there. The last prompts:"
    for prompt in prompts or ("(none)",):
        yield f"  > {clip(one_line(prompt), _LONGEST, '...')}"


def render_made(
    *, parent: str, turn: int, branch: str, worktree: str, commit: str, remarks: Iterable[str]
) -> Iterator[str]:
    """What there is now."""
    moment = f"turn {turn}" if turn else "the start"
    yield (
        f"forked {one_line(parent)} at {moment}: branch {one_line(branch)}"
        f" ({one_line(commit)[:7]}) in {one_line(worktree)}"
    )
    for remark in remarks:
        yield f"note: {one_line(remark)}"
