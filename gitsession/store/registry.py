"""The sessions of this repository that may still have something to capture.

Local and derived: what is written here can be found again in the transcripts.
It lets a commit made by hand find the sessions whose work it may hold without
reading one transcript twice, and tells the hooks whether there is work at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from gitsession.ids import SessionId, session_slug
from gitsession.model import Frozen
from gitsession.store import folder


class Trace(Frozen, frozen=True, kw_only=True):
    """What one edit wrote and took, as hashes, less what a commit holds already."""

    path: str
    """Relative to the top of the work tree."""
    offset: int
    """Where in its source the edit was done."""
    side: str = ""
    """The subagent that did it; empty for the main source."""
    seq: int | None = None
    """The capture that holds it, once there is one."""
    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()


class Known(Frozen, frozen=True, kw_only=True):
    """What is known of one session on this machine."""

    session: SessionId
    agent: str
    source: str
    cwd: str = ""
    pid: int = 0
    state: Literal["active", "ended"] = "active"
    started_at: float = 0.0
    seen_at: float = 0.0
    scanned: int = 0
    """Up to where the main source was read for traces."""
    scanned_sides: dict[str, int] = {}
    traces: tuple[Trace, ...] = ()


_decoder = msgspec.json.Decoder(Known)


def _path(common_dir: Path, session: SessionId) -> Path:
    return folder.sessions(common_dir) / f"{session_slug(session)}.json"


def find(common_dir: Path, session: SessionId) -> Known | None:
    """What is known of a session, if anything."""
    try:
        return _decoder.decode(_path(common_dir, session).read_bytes())
    except (OSError, msgspec.DecodeError):
        return None


def save(common_dir: Path, known: Known) -> None:
    """Keep what is known."""
    folder.write_atomic(_path(common_dir, known.session), msgspec.json.encode(known))


def renumber(common_dir: Path, session: SessionId, numbers: Mapping[int, int]) -> None:
    """Captures of a session have other numbers now."""
    known = find(common_dir, session)
    if known is None:
        return
    traces = tuple(
        msgspec.structs.replace(trace, seq=numbers.get(trace.seq, trace.seq))
        if trace.seq is not None
        else trace
        for trace in known.traces
    )
    save(common_dir, msgspec.structs.replace(known, traces=traces))


def drop(common_dir: Path, session: SessionId) -> None:
    """Forget a session that has nothing left to capture."""
    _path(common_dir, session).unlink(missing_ok=True)


def all_known(common_dir: Path) -> list[Known]:
    """All sessions, oldest first; a damaged entry is passed over, for it is derived."""
    found = []
    for path in sorted(folder.sessions(common_dir).glob("*.json")):
        try:
            found.append(_decoder.decode(path.read_bytes()))
        except (OSError, msgspec.DecodeError):
            continue
    return sorted(found, key=lambda known: (known.started_at, known.session))
