"""What going back would change, in words, and what it has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitsession.render.escape import one_line

_SHOWN = 40

Row = tuple[str, str, int, int]
"""What becomes of a file, its path, and the lines that it gains and loses."""


def render_plan(
    *, session: str, moment: str, rows: Sequence[Row] | None, talks: bool, remarks: Sequence[str]
) -> Iterator[str]:
    """Where it leads, and what is touched."""
    yield f"back to {one_line(moment)} (session {one_line(session)})"
    for kind, path, added, removed in (rows or ())[:_SHOWN]:
        counts = " ".join(_counts(added, removed))
        yield f"  {kind:12}  {one_line(path)}{'  ' if counts else ''}{counts}"
    if rows and len(rows) > _SHOWN:
        yield f"  and {len(rows) - _SHOWN} more"
    if rows:
        total = " ".join(_counts(sum(row[2] for row in rows), sum(row[3] for row in rows)))
        yield f"{count_files(len(rows))} {total}".rstrip()
    elif rows is not None:
        yield "no file differs"
    if talks:
        yield "the conversation goes on from there in a copy: the session itself stays as it is"
    for remark in remarks:
        yield f"note: {one_line(remark)}"


def count_files(number: int) -> str:
    """A number of files."""
    return f"{number} file{'' if number == 1 else 's'}"


def _counts(added: int, removed: int) -> Iterator[str]:
    if added:
        yield f"+{added}"
    if removed:
        yield f"-{removed}"
