"""What a program adds: sessions that it begins, captures of lines that it has, forks."""

from __future__ import annotations

import uuid
from typing import get_args

from gitsession import agents, config
from gitsession.actions import show, transcripts
from gitsession.actions.work import main_tree, redactor_of
from gitsession.agents.base import Cut
from gitsession.capture.given import Appender
from gitsession.capture.ledger import Tie
from gitsession.capture.record_of import Purpose
from gitsession.config import Settings
from gitsession.errors import NotFound, SessionError, Usage
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.ids import SessionId, session_slug
from gitsession.model import Evidence, Kind, Parent, Status
from gitsession.store import created, sessions, tombstones
from gitsession.store.created import Created
from gitsession.sync import content
from gitsession.sync.lately import take_in

_LONGEST = 1000


def get_settings(repo: Plumbing) -> Settings:
    """The settings; raises where the user has switched us off."""
    settings = config.load(repo.common_dir)
    if not settings.enabled:
        raise SessionError(
            "git session is switched off here",
            hint="`git config session.enabled true`, and GIT_SESSION_DISABLE unset",
        )
    return settings


# -- sessions -----------------------------------------------------------------------------


def begin(repo: Plumbing, agent: str, session: str | None, parent: Parent | None) -> SessionId:
    """Begin a session; raises where its id is taken, or was forgotten."""
    get_settings(repo)
    agents.get(agent)
    name = SessionId(str(uuid.uuid4()) if session is None else session)
    if not name or not name.isprintable() or len(name) > _LONGEST:
        raise Usage(f"no session can have this id: {name[:80]!r}")
    if name in tombstones.of_session(repo, name).sessions:
        raise SessionError(f"session {name} was forgotten", hint="take another id")
    begun = Created(session=name, agent=agent, parent=parent)
    if is_known(repo, name) or not created.begin(repo.common_dir, begun):
        raise SessionError(
            f"session {name} is there already", hint="append to it, or take another id"
        )
    return name


def is_known(repo: Plumbing, session: SessionId) -> bool:
    """Whether something of a session is kept, here or (as the index says) elsewhere."""
    told = content.in_index(repo, session_slug(session))
    return sessions.open_session(repo, session).tip is not None or any(
        record.session == session for record in told
    )


def get(repo: Plumbing, name: str) -> sessions.Stored:
    """A session by its id or the beginning of one, fetched where only a remote has it.

    Without a tip when it was begun and holds nothing yet.
    """
    begun = created.find(repo.common_dir, session_slug(SessionId(name)))
    if begun is not None:
        return sessions.open_session(repo, begun.session)
    take_in(repo)
    return show.get_session(repo, name)


def get_begun(repo: Plumbing, name: str) -> Created:
    """What is known of a session, whether it holds something or not."""
    begun = created.find(repo.common_dir, session_slug(SessionId(name)))
    head = get(repo, name).head
    if head is not None:
        return Created(session=head.session, agent=head.agent, parent=head.parent)
    if begun is None:
        raise NotFound("session", name)
    return begun


# -- captures -----------------------------------------------------------------------------


def purpose_of(
    repo: Plumbing, session: str, *, commit: str | None, task: str | None, status: Status
) -> Purpose:
    """Whose lines are to be captured, and what for; raises NotFound, or Usage."""
    if status not in get_args(Status):
        raise Usage(f"no capture has this status: {status!r}", hint=", ".join(get_args(Status)))
    if task is not None and not task.isprintable():
        raise Usage(f"no task has this name: {task[:80]!r}")
    known = get_begun(repo, session)
    kind: Kind = "commit" if commit is not None else "task" if task else "checkpoint"
    return Purpose(
        session=known.session,
        agent=known.agent,
        kind=kind,
        reason="manual" if kind == "checkpoint" else None,
        status=status,
        task=task,
        tie=_tie(repo, commit),
    )


def _tie(repo: Plumbing, commit: str | None) -> Tie:
    """The commit that a capture is said to belong to; none, and what HEAD is now."""
    head = repo.resolve("HEAD")
    target = repo.get_commit(commit) if commit is not None else None
    branch = None
    if target is None or target.oid == head:
        ref = repo.git("symbolic-ref", "-q", "HEAD", ok=(0, 1)).decode("utf-8", "replace").strip()
        branch = refs.branch_of(ref)
    if target is None:
        return Tie(base=head, branch=branch)
    return Tie(
        commit=target.oid,
        base=target.parents[0] if target.parents else None,
        branch=branch,
        evidence=Evidence(by="manual"),
    )


def appender_of(repo: Plumbing) -> Appender:
    """What appends to the sessions of a repository, by the rules that hold in it now."""
    settings = get_settings(repo)
    return Appender(repo, settings, redactor_of(settings, repo.work_tree or main_tree(repo)))


# -- forks --------------------------------------------------------------------------------


def cut(
    repo: Plumbing, session: str, *, turn: int | None, before: str | None
) -> tuple[transcripts.Transcript, Cut]:
    """A stored session, and what it held at a moment; raises where that can't be had exactly."""
    stored = get(repo, session)
    if stored.tip is None:
        raise SessionError("nothing was said in this session yet", hint="append to it")
    # Only what is stored: in an empty environment no agent's files are found.
    found = transcripts.assemble(repo, stored, {})
    if found.forgotten:
        raise SessionError(
            "a part of this session was forgotten, so that nothing can go on from it",
            hint="create a new one",
        )
    return found, transcripts.cut(found, turn=turn, before=before)
