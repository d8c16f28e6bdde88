"""Whether a session's tree has the form that docs/format.md gives it."""

from __future__ import annotations

from collections.abc import Iterator

from gitsession.audit.finding import Finding, error, warning
from gitsession.audit.session import Capture, Session
from gitsession.ids import session_slug
from gitsession.model import RECORD_VERSION, Foreign
from gitsession.store import check, contents, layout, sessions


def check_shape(session: Session) -> Iterator[Finding]:
    """What is odd about a session's files and records."""
    for problem in check.problems_of_tree(session.files):
        yield error(session.ref, problem)
    yield from _check_head(session)
    yield from _check_paths(session)
    if not session.captures:
        yield error(session.ref, "it holds no capture")
    for capture in session.captures:
        yield from _check_capture(session, capture)


def _check_head(session: Session) -> Iterator[Finding]:
    if session.head is None:
        yield error(session.ref, f"{layout.HEAD} can't be read")
    elif session.head.v > sessions.FORMAT:
        yield warning(
            session.ref,
            f"it is of format {session.head.v}, which this version doesn't know",
            "a newer git session can check it",
        )
    elif session_slug(session.head.session) != session.slug:
        yield error(session.ref, f"{layout.HEAD} is of another session: {session.head.session}")


def _check_paths(session: Session) -> Iterator[Finding]:
    """Files that no capture explains."""
    numbers = {capture.seq for capture in session.captures}
    for path in (file.path for file in session.files):
        seq = layout.record_seq(path)
        number = layout.segment_seq(path)
        if seq is not None and path != layout.record(seq):
            yield error(session.ref, f"{path!r} is not where capture {seq} belongs")
        elif number is not None and number not in numbers:
            yield error(session.ref, f"{path!r} belongs to no capture: it has no record")
        elif seq is None and number is None and not _is_known(path):
            yield warning(session.ref, f"{path!r} is no file that a session has")


def _is_known(path: str) -> bool:
    return path == layout.HEAD or (path.startswith(f"{layout.RESULTS}/") and path.endswith(".zst"))


def _check_capture(session: Session, capture: Capture) -> Iterator[Finding]:
    where = session.where(capture)
    if capture.problem:
        yield error(where, f"its records can't be read: {capture.problem}")
    elif not capture.lines:
        yield error(where, "it has no record")
    if contents.MAIN not in capture.files:
        yield error(where, "its lines are missing")
    for line in capture.lines:
        if isinstance(line, Foreign):
            yield unreadable(where, line)
            continue
        if line.session != session.id:
            yield error(where, f"it holds a record of another session: {line.session}")
        if line.seq != capture.seq:
            yield error(where, f"its record says to be of capture {line.seq}")
        if capture.own is not None and line.id != capture.own.id:
            yield error(where, f"it holds a record of another capture: {line.id}")


def unreadable(where: str, line: Foreign) -> Finding:
    """A line of records that this version can't understand."""
    if line.v is not None and line.v > RECORD_VERSION:
        hint = "a newer git session can check it"
        return warning(
            where, f"a record of version {line.v}, which this version doesn't know", hint
        )
    return error(where, f"a record that can't be read: {line.raw[:60]!r}")
