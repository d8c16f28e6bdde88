"""Captures the sessions that the agent has on disk for this repository."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gitsession import agents
from gitsession.actions.work import main_tree, pipeline_of
from gitsession.agents.base import Adapter
from gitsession.capture import events
from gitsession.capture.history import capture_history
from gitsession.errors import NotFound
from gitsession.git.plumbing import Plumbing, discover
from gitsession.model import Frozen, Record
from gitsession.store import registry
from gitsession.store.registry import Known

Progress = Callable[[int, int], None]
"""Told how many sessions of how many are done."""


class Imported(Frozen, frozen=True, kw_only=True):
    """What an import found and did."""

    sessions: int = 0
    records: tuple[Record, ...] = ()
    running: int = 0
    """Sessions that are under way: their captures come by themselves."""
    failures: tuple[str, ...] = ()


def import_sessions(
    path: Path, paths: Sequence[Path] = (), *, progress: Progress = lambda done, of: None
) -> Imported:
    """Capture each session once; again, it finds nothing new."""
    with discover(path) as repo:
        return _import(repo, paths, progress)


def _import(repo: Plumbing, paths: Sequence[Path], progress: Progress) -> Imported:
    pipeline = pipeline_of(repo)
    found = [(a, s) for a in agents.NAMES for s in _sources(repo, agents.get(a), paths)]
    records: list[Record] = []
    running = 0
    failures = []
    for done, (agent, source) in enumerate(found):
        progress(done, len(found))
        known = _known(repo, agent, source)
        if known is None:
            failures.append(f"{source}: it doesn't say which session it is")
        elif known.state == "active" and events.is_running(known):
            running += 1
        else:
            try:
                records += capture_history(pipeline, known)
            except OSError as error:
                failures.append(f"{source}: {error.strerror}")
    progress(len(found), len(found))
    return Imported(
        sessions=len(found),
        records=tuple(records),
        running=running,
        failures=tuple(failures),
    )


def _sources(repo: Plumbing, adapter: Adapter, paths: Sequence[Path]) -> Iterator[str]:
    """The named files, all in the named folders, or all that ran in this repository."""
    for path in paths:
        if not path.exists():
            raise NotFound("file or folder", str(path))
        yield from map(str, sorted(path.rglob("*.jsonl")) if path.is_dir() else [path])
    if not paths:
        seen = set()
        for top in _tops(repo):
            for source in adapter.list_sources(top, os.environ):
                if source not in seen:
                    seen.add(source)
                    yield source


def _tops(repo: Plumbing) -> list[Path]:
    """All work trees of the repository."""
    out = repo.git("worktree", "list", "--porcelain").decode("utf-8", "surrogateescape")
    lines = (line for line in out.splitlines() if line.startswith("worktree "))
    tops = [Path(line.removeprefix("worktree ")) for line in lines]
    main = main_tree(repo)
    return tops or ([main] if main else [])


def _known(repo: Plumbing, agent: str, source: str) -> Known | None:
    session = agents.get(agent).session_of(source)
    if session is None:
        return None
    known = registry.find(repo.common_dir, session)
    if known is not None and known.source == source:
        return known
    return Known(session=session, agent=agent, source=source, state="ended", started_at=time.time())
