"""What forking a session at a turn means: its code, its place, its name. Pure."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from gitsession.ids import Oid, SessionId
from gitsession.model import Author, Frozen, Record, Turn
from gitsession.render import dates, diffstat
from gitsession.render.escape import one_line
from gitsession.store.states import Snapshot, seconds

BRANCHES = "session/"
SHORT = 8
"""The digits of a session's id that its branch and its work tree are named by."""


class Reached(Frozen, frozen=True, kw_only=True):
    """A commit that was made by the end of a turn."""

    turn: int
    commit: Oid


class Code(Frozen, frozen=True, kw_only=True):
    """The state of the files at a turn."""

    commit: Oid
    tree: Oid | None = None
    """What lay in the work tree, when that is known."""
    top: str = ""
    """The work tree that it was."""
    remarks: tuple[str, ...] = ()


class Row(Frozen, frozen=True, kw_only=True):
    """A turn, to choose from."""

    number: int
    age: str = ""
    added: int = 0
    removed: int = 0
    files: tuple[str, ...] = ()
    prompt: str = ""


# -- turns --------------------------------------------------------------------------------


def own_turns(turns: Iterable[Turn], inherited: int) -> tuple[Turn, ...]:
    """The turns that aren't its parent's, numbered from 1."""
    return tuple(
        msgspec.structs.replace(turn, number=turn.number - inherited)
        for turn in turns
        if turn.number > inherited
    )


def rows(turns: Sequence[Turn], roots: Collection[str], now: datetime) -> list[Row]:
    """The moments that can be forked, the newest first: the last is before the first prompt."""
    found = [_row(turn, roots, now) for turn in reversed(turns)]
    return [*found, Row(number=0, prompt="(before the first prompt)")] if found else []


def _row(turn: Turn, roots: Collection[str], now: datetime) -> Row:
    changes = diffstat.total(diffstat.changes_of([turn])).values()
    return Row(
        number=turn.number,
        age=dates.age(turn.started_at, now),
        added=sum(change.added for change in changes),
        removed=sum(change.removed for change in changes),
        files=tuple(one_line(_relative(change.path, roots)) for change in changes),
        prompt=one_line(turn.prompt),
    )


def _relative(path: str, roots: Collection[str]) -> str:
    for root in sorted(roots, key=len, reverse=True):
        if path.startswith(root.rstrip("/\\") + "/"):
            return path[len(root.rstrip("/\\")) + 1 :]
    return path


def reach(captures: Iterable[Sequence[Record]]) -> list[Reached]:
    """The commits of a session's captures, in order, each with the turn that it was made in.

    A commit holds what was captured before, too: the last of its captures tells.
    """
    turn = 0
    found: dict[Oid, int] = {}
    for records in captures:
        turn += records[0].turns if records else 0
        for record in records:
            if record.commit:
                found.pop(record.commit, None)
                found[record.commit] = turn
    return [Reached(turn=turn, commit=commit) for commit, turn in found.items()]


def begun_after(turns: Sequence[Turn], number: int) -> float | None:
    """When the turn after one began; None when there is none, or nothing tells."""
    following = min((t for t in turns if t.number > number), key=lambda t: t.number, default=None)
    return seconds(following.started_at) if following else None


# -- code ---------------------------------------------------------------------------------


def choose_code(
    turn: int,
    snapshot: Snapshot | None,
    reached: Sequence[Reached],
    *,
    base: Oid | None,
    head: Oid | None,
) -> Code | None:
    """The files as they were at the end of a turn, as far as that is known.

    `base`: what the session began on; `head`: what is checked out now.
    """
    if snapshot is not None and snapshot.head is not None:
        return Code(
            commit=snapshot.head,
            tree=snapshot.tree,
            top=snapshot.worktree,
            remarks=tuple(_say_left_out(snapshot)),
        )
    remark = "no snapshot was kept of that turn: the code is that of the commit"
    made = [one.commit for one in reached if one.turn <= turn]
    known = made[-1] if made else base
    if known is not None:
        return Code(commit=known, remarks=(remark,))
    if head is None:
        return None
    remark = "nothing tells what the code was at that turn: it is that of HEAD"
    return Code(commit=head, remarks=(remark,))


def _say_left_out(snapshot: Snapshot) -> Iterator[str]:
    if snapshot.left_out:
        names = ", ".join(one_line(path) for path in snapshot.left_out[:3])
        yield f"the snapshot lacks what was too large or couldn't be read: {names}"


# -- names --------------------------------------------------------------------------------


def short_id(session: SessionId) -> str:
    """What a session's branch and work tree are named by."""
    return session[:SHORT].lower()


def place_worktree(main: Path, top: Path, session: SessionId, setting: str) -> Path:
    """Where a fork's work tree is: beside the main one, or in the folder that the user named."""
    name = f"{main.name}-{short_id(session)}"
    if not setting:
        return main.parent / name
    return Path(os.path.normpath(top / Path(setting).expanduser())) / name


def find_roots(told: Mapping[str, str], code: Code, top: Path, here: Path) -> dict[str, str]:
    """The folders that the conversation was held in → where it goes on."""
    own = code.top or str(top)
    roots = {**told, own: str(here)}
    return {old: new for old, new in roots.items() if old != new}


# -- whose --------------------------------------------------------------------------------


def is_same_person(one: Author, other: Author) -> bool:
    """Whether two names stand for one person: an address does, a name alone need not."""
    return one.email.casefold() == other.email.casefold() and bool(one.email or one == other)
