"""Puts a conversation where its agent will look for it: what fork and resume have in common."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from gitsession.agents.base import Adapter, Placed, Side, Stamp
from gitsession.ids import SessionId
from gitsession.model import Frozen


class Put(Frozen, frozen=True, kw_only=True):
    """Where a conversation was put, and whether it was."""

    place: Path
    placed: Placed


def put(
    adapter: Adapter,
    lines: Iterable[bytes],
    sides: Iterable[Side],
    *,
    folder: Path,
    session: SessionId,
    env: Mapping[str, str],
    parent: SessionId | None = None,
    roots: Mapping[str, str] | None = None,
    staged_for: SessionId | None = None,
    instead: Stamp | None = None,
) -> Put:
    """Make lines a session's of this machine, and put them where it is started; see the adapter."""
    told = tuple(lines)
    place = adapter.place_of(folder, session, env)
    chosen = adapter.select(told, sides)
    results = {
        side.name: str(adapter.side_place(place, side)) for side in chosen if side.kind == "result"
    }
    fitted = adapter.prepare(
        told,
        session=session,
        parent=parent,
        roots=roots,
        results=results,
        staged_for=staged_for,
    )
    beside = [
        _fit(adapter, side, session, roots or {}, results) if side.kind == "subagent" else side
        for side in chosen
    ]
    return Put(place=place, placed=adapter.install(place, fitted, beside, instead=instead))


def take_away(adapter: Adapter, place: Path) -> None:
    """Remove what was just put somewhere, under an id that nobody else has."""
    folders = {Path(side.path).parent for side in adapter.side_sources(str(place))}
    place.unlink(missing_ok=True)
    for folder in folders:
        shutil.rmtree(folder)
    for empty in {*(folder.parent for folder in folders), place.parent}:
        # Others may have sessions there.
        with suppress(OSError):
            empty.rmdir()


def append(
    adapter: Adapter,
    lines: Iterable[bytes],
    more: Iterable[bytes],
    sides: Iterable[Side],
    *,
    place: Path,
    session: SessionId,
    roots: Mapping[str, str],
    instead: Stamp | None,
) -> Placed:
    """Put more lines behind those that a session's source has; these stay as they are."""
    fresh = tuple(more)
    chosen = adapter.select(fresh, sides)
    results = {s.name: str(adapter.side_place(place, s)) for s in chosen if s.kind == "result"}
    fitted = adapter.prepare(fresh, session=session, roots=roots, results=results)
    beside = [
        _fit(adapter, side, session, roots, results) if side.kind == "subagent" else side
        for side in chosen
    ]
    return adapter.install(place, (*lines, *fitted), beside, instead=instead)


def _fit(
    adapter: Adapter,
    side: Side,
    session: SessionId,
    roots: Mapping[str, str],
    results: Mapping[str, str],
) -> Side:
    """A subagent's lines as those of the session that they now belong to."""
    lines = side.data.splitlines(keepends=True)
    fitted = adapter.prepare(lines, session=session, roots=roots, results=results)
    return msgspec.structs.replace(side, data=b"".join(fitted))
