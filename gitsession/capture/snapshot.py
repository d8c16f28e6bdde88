"""Keeps the work tree at the start and at the end of each turn.

The hook's own process does it, before it asks whether a worker is at work already:
a worker may be waiting for a call to end, and what an agent is about to change
can't wait. Whoever comes second finds nothing to do.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from gitsession import agents
from gitsession.agents.base import Event
from gitsession.config import Settings
from gitsession.errors import SessionError
from gitsession.git import restore, worktree
from gitsession.git.plumbing import Plumbing
from gitsession.git.putback import Plan
from gitsession.git.restore import Checked, recover
from gitsession.git.worktree import Taken
from gitsession.ids import Oid, SessionId
from gitsession.model import Frozen
from gitsession.store import journal, moments, registry, snapshots
from gitsession.store.spool import Spooled
from gitsession.store.states import Draft


class PutBack(Frozen, frozen=True, kw_only=True):
    """A state that was put back, or could be."""

    plan: Plan
    checked: Checked
    """What of it is to be done: without what is so already, or left out of a sparse work tree."""
    before: Taken
    snapshot: Oid | None = None
    """Where the state before is kept."""
    left: tuple[str, ...] = ()
    """Files that somebody changed meanwhile; they are as they were left."""


def take_due(common_dir: Path, settings: Settings) -> None:
    """Keep every state that waits to be kept."""
    for _, event in moments.all_due(common_dir):
        take_for(common_dir, event, settings)


def take_for(common_dir: Path, event: Spooled, settings: Settings) -> None:
    """Keep the state of an event, if it waits; a failure is noted and holds up nothing."""
    if moments.find(common_dir, event) is None:
        return
    try:
        _take_for(common_dir, event, settings)
    except (SessionError, OSError) as error:
        message = error.message if isinstance(error, SessionError) else str(error)
        journal.note(common_dir, f"snapshot: {message}")
    finally:
        moments.finish(common_dir, event)


def _take_for(common_dir: Path, event: Spooled, settings: Settings) -> None:
    told = understand(event)
    if told is None:
        return
    git_dir = Path(event.git_dir) if Path(event.git_dir).is_dir() else common_dir
    with snapshots.locked(common_dir, git_dir):
        due = moments.find(common_dir, event)
        if due is None:
            return
        if due.moment == "end":
            moments.note_end(common_dir, told.session, event.at)
        if not settings.snapshot or abs(time.time() - event.at) > moments.STALE:
            return
        with worktree.at_git_dir(git_dir, common_dir) as repo:
            if repo.work_tree is None:
                return
            recover(snapshots.restore_folder(common_dir, git_dir), repo.work_tree)
            side = snapshots.side_index(common_dir, git_dir)
            taken = worktree.take(repo, side, largest=settings.snapshot_max_file)
            # A tool that has waited too long for its turn's start says so.
            due = moments.find(common_dir, event) or due
            draft = Draft(
                session=told.session,
                moment=due.moment,
                at=event.at,
                worktree=str(repo.work_tree),
                prompt=told.prompt,
                ended=None if due.moment == "end" else moments.last_end(common_dir, told.session),
            )
            snapshots.write(repo, taken, draft, settings.author)


def recover_all(common_dir: Path) -> list[str]:
    """Finish, or undo, what was broken off when a state was put back; gives back what stays."""
    left = []
    for git_dir in snapshots.unfinished(common_dir):
        with (
            snapshots.locked(common_dir, git_dir),
            worktree.at_git_dir(git_dir, common_dir) as repo,
        ):
            if repo.work_tree is not None:
                left += recover(snapshots.restore_folder(common_dir, git_dir), repo.work_tree)
    return left


def understand(event: Spooled) -> Event | None:
    """An agent's event in our words."""
    if event.agent not in agents.NAMES:
        return None
    return agents.get(event.agent).parse_event(event.word, event.body)  # type: ignore[arg-type]


def put_back(
    repo: Plumbing,
    session: SessionId,
    target: Oid,
    settings: Settings,
    paths: Sequence[str] = (),
    *,
    seen: Oid | None = None,
    dry_run: bool = False,
) -> PutBack:
    """Put a state (a tree) back into the work tree, in some files and folders or in all.

    The present state is kept first. Raises with the reason when it can't be done,
    and has then changed nothing; `dry_run` only looks. `seen`: the present state as
    somebody agreed to lose it; another one is not touched.
    """
    place = snapshots.restore_folder(repo.common_dir, repo.git_dir)
    side = snapshots.side_index(repo.common_dir, repo.git_dir)
    with snapshots.locked(repo.common_dir, repo.git_dir):
        left = recover(place, repo.work_tree) if repo.work_tree else []
        taken = worktree.take(repo, side, largest=settings.snapshot_max_file)
        if seen is not None and taken.tree != seen:
            raise SessionError(
                "the files here have changed meanwhile: none was touched", hint="look once more"
            )
        plan = restore.plan_restore(repo, target, taken.tree, paths)
        checked = restore.check(repo, plan, place)
        if dry_run:
            return PutBack(plan=plan, checked=checked, before=taken)
        draft = Draft(
            session=session, moment="rewind", at=time.time(), worktree=str(repo.work_tree)
        )
        kept = snapshots.write(repo, taken, draft, settings.author)
        left += restore.apply(repo, checked, place)
        return PutBack(plan=plan, checked=checked, before=taken, snapshot=kept, left=tuple(left))


def expire(common_dir: Path, settings: Settings) -> list[str]:
    """Drop what is too old; of a session that goes on, nothing."""
    active = {k.session for k in registry.all_known(common_dir) if k.state == "active"}
    moments.forget_ends(common_dir, days=settings.snapshot_keep)
    with Plumbing(common_dir, common_dir) as repo:
        return snapshots.expire(repo, days=settings.snapshot_keep, active=active)
