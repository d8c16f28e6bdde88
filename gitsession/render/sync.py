"""What `git session sync`, `fetch` and `push` say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitsession.git.refs import ARCHIVE, INDEX, SESSIONS, is_session
from gitsession.render.escape import one_line


def render_fetched(remote: str, records: int, sessions: int) -> str:
    """What came."""
    parts = [*_count(records, "record"), *_count(sessions, "session")]
    what = " and ".join(parts)
    return (
        f"fetched {what} from {one_line(remote)}" if what else f"nothing new on {one_line(remote)}"
    )


def render_pushed(remote: str, refs: Sequence[str]) -> str:
    """What went."""
    what = render_refs(refs)
    return (
        f"pushed {what} to {one_line(remote)}" if what else f"nothing to push to {one_line(remote)}"
    )


def render_refs(refs: Sequence[str]) -> str:
    """Refs as people speak of them: so many sessions, and the index."""
    names = set(refs)
    parts = _count(sum(is_session(ref) for ref in names), "session")
    parts += _count(sum(ref.startswith(ARCHIVE) for ref in names), "archive")
    parts += ["the index"] if INDEX in names else []
    others = sum(ref != INDEX and not ref.startswith(SESSIONS) for ref in names)
    return " and ".join([*parts, *_count(others, "snapshot")])


def render_outlook(
    remote: str, unpushed: Sequence[str], failures: int, reason: str
) -> Iterator[str]:
    """What waits, and why."""
    if not remote:
        yield "no remote: captures stay in this repository"
        return
    what = render_refs(unpushed)
    yield (
        f"not pushed to {one_line(remote)} yet: {what}" if what else f"all is on {one_line(remote)}"
    )
    if failures:
        yield (
            f"  the last {failures} pushes failed: {one_line(reason)}"
            if failures > 1
            else (f"  the last push failed: {one_line(reason)}")
        )


def _count(number: int, word: str) -> list[str]:
    return [f"{number} {word}{'' if number == 1 else 's'}"] if number else []
