"""Sessions that a program has begun, and that hold nothing yet.

Local, and needed only until the first capture, which says it from then on: a
session's ref begins with a capture.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from gitsession.ids import SessionId, session_slug
from gitsession.model import Frozen, Parent
from gitsession.store import folder


class Created(Frozen, frozen=True, kw_only=True):
    """What its first capture will say of a session."""

    session: SessionId
    agent: str
    parent: Parent | None = None


_decoder = msgspec.json.Decoder(Created)


def _path(common_dir: Path, slug: str) -> Path:
    return folder.home(common_dir) / "created" / f"{slug}.json"


def begin(common_dir: Path, created: Created) -> bool:
    """Keep what is known of a new session, unless somebody else has begun it."""
    path = _path(common_dir, session_slug(created.session))
    handle, fresh = folder.create(path.parent, ".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(created))
        path.hardlink_to(fresh)
    except FileExistsError:
        return False
    finally:
        fresh.unlink(missing_ok=True)
    return True


def find(common_dir: Path, slug: str) -> Created | None:
    """A session that was begun and holds nothing yet."""
    with suppress(OSError, msgspec.DecodeError):
        return _decoder.decode(_path(common_dir, slug).read_bytes())
    return None


def drop(common_dir: Path, session: SessionId) -> None:
    """Forget that a session was begun."""
    _path(common_dir, session_slug(session)).unlink(missing_ok=True)
