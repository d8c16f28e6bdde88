"""The kinds of identifiers, so that one is never taken for another."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import NewType

SessionId = NewType("SessionId", str)
"""An agent's own name for a conversation: opaque, and not safe as a ref by assumption."""
CaptureId = NewType("CaptureId", str)
"""The content hash of a capture."""
Oid = NewType("Oid", str)
"""The hexadecimal name of a git object: 40 digits, or 64."""

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_RESERVED = frozenset({"archive"})
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def is_oid(text: str) -> bool:
    """Tell whether a text is the full name of an object."""
    return _OID.fullmatch(text) is not None


def session_slug(session: SessionId) -> str:
    """The part of a ref or file name that stands for a session.

    An id that git, a file system or an option parser could stumble over is
    replaced by its hash; the id itself is in the session's `session.json`.
    """
    if _SAFE.fullmatch(session) and session not in _RESERVED:
        return session
    return "x-" + hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def capture_id(session: SessionId, offset: int, parts: Iterable[tuple[str, str]]) -> CaptureId:
    """Name a capture by what it holds: (name, sha256 of the stored text) of each part.

    Not by its number, which changes when the session was continued elsewhere as
    well. Where it ends keeps apart what says the same twice.
    """
    digest = hashlib.sha256(f"capture 1\n{session}\n{offset}\n".encode("utf-8", "surrogatepass"))
    for name, text_hash in sorted(parts):
        digest.update(f"{text_hash} {name}\n".encode("utf-8", "surrogatepass"))
    return CaptureId(digest.hexdigest()[:40])
