"""Pushes captures by itself: after the user's own push, and after a capture on a shared branch.

Nobody watches, so nothing asks, and what can't be pushed now waits for the next time.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from gitsession import config
from gitsession.config import Settings
from gitsession.errors import SessionError
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.store import folder, journal, outbox, sessions
from gitsession.store.lock import held
from gitsession.sync.remote import Remote, find_remote

_LONGEST = 600.0
"""Seconds that a user's push may take before we don't wait for its end any longer."""
_PAUSE = 0.05
_ROUNDS = 20
_LOOKED_AT = 50
"""Sessions whose branch is looked up; the others are pushed with them."""


def publish(common_dir: Path, *, pushed: str | None = None, after: int = 0) -> None:
    """Push what waits; `pushed` is where the user is pushing to, as the process `after`."""
    settings = config.load(common_dir)
    remote = find_remote(settings)
    if not settings.enabled or not settings.auto_push or remote is None:
        return
    if pushed is not None and not settings.remote and not _is_there(common_dir, remote, pushed):
        return
    _wait_for(after)
    for _ in range(_ROUNDS):
        with held(folder.home(common_dir) / "push.lock") as got:
            if not got:
                # Whoever holds it looks again when it is done.
                outbox.mark(common_dir)
                return
            done = _push(common_dir, settings, remote, branch_known=pushed is not None)
        if not done or not outbox.is_marked(common_dir):
            return


def _is_there(common_dir: Path, remote: Remote, pushed: str) -> bool:
    """Whether the user pushes to the remote of the sessions, and not somewhere else."""
    if pushed == remote.name:
        return True
    repo = Plumbing(common_dir, common_dir)
    urls = repo.git("remote", "get-url", "--push", "--all", "--", remote.name, ok=(0, 2, 128))
    return os.fsencode(pushed) in urls.splitlines()


def _wait_for(process: int) -> None:
    """Wait until git has pushed: the remote then knows the branch, and the user's password."""
    end = time.monotonic() + _LONGEST
    while process > 1 and time.monotonic() < end:
        try:
            os.kill(process, 0)
        except OSError:
            return
        time.sleep(_PAUSE)


def _push(common_dir: Path, settings: Settings, remote: Remote, *, branch_known: bool) -> bool:
    """Push once; tells whether that worked."""
    from gitsession.sync.exchange import Exchange, try_push
    from gitsession.sync.transport import Line

    with Plumbing(common_dir, common_dir) as repo:
        exchange = Exchange(repo, settings, Line(repo, remote, watched=False))
        waiting = [sent.ref for sent in exchange.unpushed()]
        if not branch_known and not is_shared(repo, waiting):
            return False
        try:
            pushed = try_push(exchange)
        except SessionError as error:
            journal.note(common_dir, f"push: {error.message}")
            return False
        for warning in pushed.warnings:
            journal.note(common_dir, f"push: {warning}")
        return not pushed.held


def is_shared(repo: Plumbing, waiting: list[str]) -> bool:
    """Whether one of the branches that sessions were captured on is known to be on a remote."""
    branches = set()
    for ref in [ref for ref in waiting if ref.startswith(refs.SESSIONS)][:_LOOKED_AT]:
        try:
            last = sessions.last_record(repo, sessions.open_ref(repo, ref))
        except SessionError:
            continue
        branches.add(last.branch if last else None)
    if refs.INDEX in waiting and not branches:
        branches.add(
            refs.branch_of(repo.git("symbolic-ref", "-q", "HEAD", ok=(0, 1)).decode().strip())
        )
    patterns = [f"refs/remotes/*/{branch}" for branch in sorted(filter(None, branches))]
    return bool(patterns) and bool(repo.git("for-each-ref", "--count=1", *patterns))
