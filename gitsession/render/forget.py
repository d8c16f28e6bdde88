"""What forgetting touches, and what it can't reach, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitsession.render.escape import one_line

_SHOWN = 20


def render_touched(
    *,
    sessions: Sequence[str],
    captures: Sequence[str],
    found: int,
    cleans: bool,
    commits: Sequence[str],
    named_by: str,
    refs: Sequence[str],
    remote: str,
) -> Iterator[str]:
    """What is touched, before it is."""
    yield from _list("whole sessions", sessions)
    what = f"captures to be rewritten ({found} places)" if cleans else "captures to be emptied"
    yield from _list(what, [capture[:12] for capture in captures])
    yield from _list("commits whose notes change", [commit[:12] for commit in commits])
    if named_by and len(commits) > 1:
        yield f"note: these captures belong to commits other than {named_by[:12]}, too"
    yield from _list("refs", refs)
    if remote:
        yield f"and the same refs of {one_line(remote)}"


def render_left(*, transcripts: Sequence[str], remote: str, absent: Sequence[str]) -> Iterator[str]:
    """What is out of reach, and how to finish there."""
    yield "not reached, and yours to finish:"
    if absent:
        yield f"  {len(absent)} sessions that aren't here: `git session fetch --all`, then again"
    if not remote:
        yield "  the remote: `git session sync` takes it off there too"
    for path in transcripts:
        yield f"  the agent's own transcript: {one_line(path)}"
    yield "  objects here that nothing leads to: `git gc --prune=now`"
    yield "  other clones: their next `git session sync` does the same; then `git gc --prune=now`"
    yield "  objects on the server: `git gc --prune=now` there (plain git; Gitea: admin, git gc;"
    yield "    GitLab: Settings, Repository, cleanup; GitHub: ask its support to collect garbage)"
    yield "  forks, and copies that somebody made. A leaked secret must be revoked anyway"


def _list(title: str, names: Sequence[str]) -> Iterator[str]:
    if not names:
        return
    yield f"{title}: {len(names)}"
    yield from (f"  {one_line(name)}" for name in names[:_SHOWN])
    if len(names) > _SHOWN:
        yield f"  and {len(names) - _SHOWN} more"
