"""What is going on: active sessions, what waits, and what went wrong last."""

from __future__ import annotations

import time
from pathlib import Path

from gitsession import agents, config
from gitsession.actions.sync import Outlook, outlook_of
from gitsession.capture import events
from gitsession.git.plumbing import Plumbing, discover
from gitsession.ids import SessionId
from gitsession.model import Frozen
from gitsession.store import folder, journal, registry, spool


class Active(Frozen, frozen=True, kw_only=True):
    """A session that may still have something to capture."""

    session: SessionId
    agent: str
    state: str
    seen_at: float
    cwd: str
    files: tuple[str, ...]
    """What it wrote and no commit holds yet."""


class Waits(Frozen, frozen=True, kw_only=True):
    """An event in the spool."""

    event: str
    head: str
    age: float


class Status(Frozen, frozen=True, kw_only=True):
    """All of it; nothing has a default, so that `--json` always says everything."""

    installed: bool
    enabled: bool
    sessions: tuple[Active, ...]
    waiting: tuple[Waits, ...]
    sharing: Outlook
    last_error: str


def status(path: Path) -> Status:
    """Look, and change nothing."""
    with discover(path) as repo:
        return _look(repo, time.time())


def _look(repo: Plumbing, now: float) -> Status:
    settings = config.load(repo.common_dir)
    return Status(
        installed=bool(settings.installed),
        enabled=settings.enabled,
        sessions=tuple(map(_active, registry.all_known(repo.common_dir))),
        waiting=tuple(
            Waits(event=f"{e.event} {e.word}".strip(), head=e.head, age=now - e.at)
            for e in spool.read(folder.spool(repo.common_dir))
        ),
        sharing=outlook_of(repo, settings),
        last_error=journal.last(repo.common_dir) or "",
    )


def _active(known: registry.Known) -> Active:
    lost = known.state == "active" and known.pid and not events.is_running(known)
    return Active(
        session=known.session,
        agent=agents.get(known.agent).TITLE if known.agent in agents.NAMES else known.agent,
        state="lost" if lost else known.state,
        seen_at=known.seen_at,
        cwd=known.cwd,
        files=tuple(sorted({trace.path for trace in known.traces})),
    )
