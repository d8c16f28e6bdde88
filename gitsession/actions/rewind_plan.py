"""What going back to a moment of a session means: what is asked, found, done and told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from gitsession.actions.fork_source import Origin
from gitsession.agents.base import Cut, Launch
from gitsession.capture.snapshot import PutBack
from gitsession.errors import Exit, SessionError, Usage
from gitsession.ids import Oid, SessionId
from gitsession.model import Frozen
from gitsession.render.escape import one_line
from gitsession.store.states import Snapshot

Part = Literal["code", "conversation", "both"]
_SHOWN = 3


class Request(Frozen, frozen=True, kw_only=True):
    """Where somebody wants to go back to, and with what."""

    moment: str = ""
    """A turn's number (its end; 0 for before the first prompt), a prompt's uuid, or ID@either."""
    session: str = ""
    """The latest of this work tree if empty."""
    part: Part = "code"
    paths: tuple[str, ...] = ()
    """Relative to the folder that is asked from; all files if there are none."""
    undo: bool = False
    """To what lay here before somebody last went back."""


class Change(Frozen, frozen=True, kw_only=True):
    """What becomes of a file."""

    path: str
    kind: Literal["restored", "deleted", "brought back"]
    insertions: int = 0
    deletions: int = 0


class Code(Frozen, frozen=True, kw_only=True):
    """The files that go back."""

    state: Snapshot
    now: Oid
    """The work tree as it was looked at."""
    paths: tuple[str, ...]
    changes: tuple[Change, ...]


class Talk(Frozen, frozen=True, kw_only=True):
    """The conversation that goes back."""

    origin: Origin
    cut: Cut
    folder: str
    """Where it goes on."""


class Plan(Frozen, frozen=True, kw_only=True):
    """A rewind that can be carried out."""

    session: SessionId
    moment: str
    """In words."""
    turn: int | None = None
    """The last turn that stays; None when it is undone."""
    code: Code | None = None
    talk: Talk | None = None
    busy: str = ""
    """A session in the middle of a turn that works on these files."""
    remarks: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[Change, ...]:
        """What becomes of the files, if they go back."""
        return self.code.changes if self.code else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """All that one should know before."""
        return (*self.remarks, *([say_busy(self.busy)] if self.busy else []))


class Done(Frozen, frozen=True, kw_only=True):
    """What was done."""

    kept: Oid | None = None
    """The snapshot of what lay here before."""
    fork: SessionId | None = None
    """The session in which the conversation goes on."""
    launch: Launch | None = None
    """How to start it."""


class Answer(Frozen, frozen=True, kw_only=True, rename="camel"):
    """What `--json` says; nothing has a default, so that it always says everything."""

    can_rewind: bool
    error: str | None
    files_changed: tuple[str, ...]
    insertions: int
    deletions: int
    session: str | None
    turn: int | None
    remarks: tuple[str, ...]
    folder: str | None
    """Where the command is to be run."""
    command: tuple[str, ...]
    """What goes on with the conversation, once it was cut."""


# -- pure ----------------------------------------------------------------------------------


def check(request: Request) -> None:
    """Raise where what is asked makes no sense."""
    if request.undo and request.moment:
        raise Usage("say a moment or --undo, not both")
    if request.part != "code" and request.undo:
        raise Usage("only files can be undone", hint="the conversation itself was never changed")
    if request.part == "conversation" and request.paths:
        raise Usage("a conversation has no paths", hint="leave them, or --conversation, away")


def changes_of(seen: PutBack, counts: Mapping[str, tuple[int, int]]) -> Iterator[Change]:
    """What becomes of each file."""
    there = set(seen.plan.changed)
    for entry in seen.checked.writes:
        added, removed = counts.get(entry.path, (0, 0))
        kind: Literal["restored", "brought back"]
        kind = "restored" if entry.path in there else "brought back"
        yield Change(path=entry.path, kind=kind, insertions=added, deletions=removed)
    for path in seen.checked.deletes:
        added, removed = counts.get(path, (0, 0))
        yield Change(path=path, kind="deleted", insertions=added, deletions=removed)


def name_some(what: str, names: Sequence[str]) -> str:
    """Something, and the first that it is of; empty when it is of nothing."""
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{what}: {', '.join(map(one_line, names[:_SHOWN]))}{more}"


# -- telling ------------------------------------------------------------------------------


def answer(wanted: Plan, done: Done | None = None) -> Answer:
    """A plan, and what was done of it, as programs read it."""
    changes = wanted.changes
    launch = done.launch if done else None
    return Answer(
        can_rewind=True,
        error=None,
        files_changed=tuple(change.path for change in changes),
        insertions=sum(change.insertions for change in changes),
        deletions=sum(change.deletions for change in changes),
        session=wanted.session,
        turn=wanted.turn,
        remarks=wanted.notes,
        folder=wanted.talk.folder if wanted.talk else None,
        command=launch.argv if launch else (),
    )


def refusal(error: SessionError) -> Answer:
    """Why it can't be done, as programs read it; raises what is wrong with the call itself."""
    if error.exit_code == Exit.USAGE:
        raise error
    return Answer(
        can_rewind=False, error=error.message, files_changed=(), insertions=0, deletions=0,
        session=None, turn=None, remarks=(), folder=None, command=(),
    )  # fmt: skip


def say_busy(session: str) -> str:
    """Why one should be sure before going back."""
    return f"session {session} is in the middle of a turn, and may be changing these files"
