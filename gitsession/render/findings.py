"""What an audit found, in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitsession.render.escape import one_line


def render_finding(level: str, where: str, what: str, hint: str) -> Iterator[str]:
    """One finding, and what to do about it."""
    yield f"{level}: {one_line(where)}: {one_line(what)}"
    if hint:
        yield f"hint: {one_line(hint)}"


def render_counts(things: Sequence[tuple[int, str]]) -> str:
    """Some numbers of things."""
    return ", ".join(f"{count} {word if count == 1 else word + 's'}" for count, word in things)


def render_outcome(errors: int, warnings: int) -> str:
    """What came of it, at the end of the last line."""
    found = [(count, word) for count, word in ((errors, "error"), (warnings, "warning")) if count]
    return render_counts(found) or "nothing wrong"


def render_absent(
    away: Sequence[str], elsewhere: int, absent: int, cut: int, *, shallow: bool
) -> Iterator[str]:
    """What isn't here, and so was not looked at."""
    for name in away:
        said = one_line(name)
        yield f"not here: session {said} (`git session fetch {said}` brings it)"
    counts = [(elsewhere, "session"), (absent, "commit")]
    found = [(count, word) for count, word in counts if count]
    why = " (a shallow clone)" if shallow and absent else ""
    if found:
        yield f"not here: {render_counts(found)} of the index{why}"
    if cut:
        yield f"not here: the beginning of the history of {render_counts([(cut, 'session')])}"
