"""Whether what was forgotten is gone."""

from __future__ import annotations

from collections.abc import Iterator

from gitsession.audit.finding import Finding, error, warning
from gitsession.audit.session import Session
from gitsession.ids import capture_id
from gitsession.model import Record
from gitsession.store import contents
from gitsession.store.tombstones import Forgotten

_SYNC = "`git session sync` takes out what was forgotten"
_WHAT = "it was forgotten, and is still here"


def check_forgotten(session: Session, gone: Forgotten) -> Iterator[Finding]:
    """What a session still holds though a tombstone names it, and what is empty without one."""
    if session.id in gone.sessions:
        yield error(session.ref, _WHAT, _SYNC)
        return
    for file in session.files:
        if file.oid in gone.blobs:
            yield error(f"{session.ref} {file.path!r}", _WHAT, _SYNC)
    for capture in session.captures:
        if any(map(gone.covers, capture.records)):
            yield error(session.where(capture), _WHAT, _SYNC)
        elif capture.is_stub and not _is_accounted(capture.own, gone):
            yield warning(session.where(capture), "it is empty, and no tombstone tells of it")


def _is_accounted(stub: Record | None, gone: Forgotten) -> bool:
    """Whether a tombstone's capture would leave just this."""
    return stub is not None and any(
        capture_id(stub.session, stub.offset, [(contents.FORGOTTEN, name)]) == stub.id
        for name in gone.captures
    )
