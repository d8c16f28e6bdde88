"""What `git session status` says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitsession.render.escape import one_line


def render_age(seconds: float) -> str:
    """A span of time, in its largest unit."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"


def render_session(
    session: str, agent: str, state: str, age: float, cwd: str, files: Sequence[str]
) -> Iterator[str]:
    """One session: what it is, when it was last heard of, what it wrote that no commit holds."""
    words = {"active": "active", "ended": "ended, with work not committed yet"}
    said = words.get(state, "its program is gone")
    yield f"  {one_line(session)}  {one_line(agent)}, {said}, {render_age(age)} ago"
    if cwd:
        yield f"      in {one_line(cwd)}"
    if files:
        more = f" and {len(files) - 4} more" if len(files) > 4 else ""
        yield f"      not committed: {', '.join(map(one_line, files[:4]))}{more}"
