"""The conversation behind a commit, a session, a turn or a task."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from gitsession.actions import stories
from gitsession.errors import NotFound, SessionError, Unreadable
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Commit
from gitsession.ids import Oid
from gitsession.model import Record
from gitsession.query.index import find_foreign, find_records
from gitsession.query.names import Target, get_target
from gitsession.render.log import describe_foreign
from gitsession.render.timeline import Story, TurnRow, turn_rows
from gitsession.store import folder, sessions, spool
from gitsession.sync import content
from gitsession.sync.lately import take_in


def show(path: Path, name: str, *, turn: int | None = None) -> list[Story]:
    """The stories that a name stands for, a story for each session."""
    with discover(path) as repo:
        take_in(repo)
        target = _find(repo, name)
        found = _stories(repo, target)
        root = str(repo.work_tree or "")
        wanted = turn if turn is not None else target.turn
        if wanted is not None:
            found = stories.get_turn(found, wanted)
        return [stories.rooted(story, root) for story in found]


def _stories(repo: Plumbing, target: Target) -> list[Story]:
    if target.session is not None:
        return [stories.of_session(repo, target.session)]
    if target.task:
        content.bring(repo, target.task)
        return stories.of_records(repo, target.task)
    assert target.commit is not None
    commit = repo.get_commit(target.commit)
    found = get_records(repo, commit)
    content.bring(repo, found)
    return stories.of_commit(repo, commit, found)


def _find(repo: Plumbing, name: str) -> Target:
    """What a name stands for: a session that only the index knows is fetched."""
    try:
        return get_target(repo, name)
    except NotFound:
        known = content.in_index(repo, name.partition("@")[0])
        if not known:
            raise
    content.bring(repo, known)
    return get_target(repo, name)


def get_records(repo: Plumbing, commit: Commit) -> list[Record]:
    """The records of a commit; raises when it has none."""
    found = [r for r in find_records(repo, commit.oid) if r.commit == commit.oid]
    foreign = find_foreign(repo, commit.oid) if not found else []
    if foreign:
        raise Unreadable(
            f"commit {commit.oid[:12]}: {describe_foreign(foreign[0])}",
            hint="a newer git session can show it; `git notes --ref=sessions show` prints it raw",
        )
    if not found:
        raise SessionError(f"commit {commit.oid[:12]} has no session", hint=_hint(repo, commit.oid))
    return found


def _hint(repo: Plumbing, commit: Oid) -> str:
    waiting = spool.read(folder.spool(repo.common_dir))
    if any(event.head == commit for event in waiting):
        return "its capture is waiting: `git session capture` takes it now"
    return "`git session log` lists the commits that have one"


def raw(path: Path, name: str) -> Iterator[bytes]:
    """The agent's own lines: of a session all of them, of a commit its captures'."""
    with discover(path) as repo:
        take_in(repo)
        target = _find(repo, name)
        if target.session is not None:
            yield from stories.raw_lines(repo, target.session, target.session.seqs)
            return
        found = target.task or get_records(repo, repo.get_commit(str(target.commit)))
        content.bring(repo, found)
        for record in found:
            stored = sessions.open_session(repo, record.session)
            yield from stories.raw_lines(repo, stored, stories.seqs_of(repo, stored, [record]))


def turns(path: Path, name: str, now: datetime) -> list[TurnRow]:
    """The turns of a session, with what each changed and the commits it led to."""
    with discover(path) as repo:
        take_in(repo)
        stored = get_session(repo, name)
        story = stories.of_session(repo, stored)
        return turn_rows(story.turns, stories.commits_by_turn(repo, stored), now)


def get_session(repo: Plumbing, name: str) -> sessions.Stored:
    """A session by its id or the beginning of one, fetched where only the index knows it."""
    try:
        return sessions.get_session(repo, name)
    except NotFound:
        known = content.in_index(repo, name)
        if not known:
            raise
    content.bring(repo, known)
    return sessions.get_session(repo, name)
