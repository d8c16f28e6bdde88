"""Puts a session's transcript together: from what is stored, and from what its agent has here.

The agent's own file is preferred where it holds all that is stored: a session in
progress has more than its captures. What this gives is whole: a fork's lines
come behind those of its parent that they go on from.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gitsession import agents
from gitsession.agents.base import Adapter, Cut, Side, Stamp
from gitsession.capture import reader
from gitsession.capture.leftover import end_of
from gitsession.errors import NotFound, SessionError, Unreadable
from gitsession.git.plumbing import Plumbing
from gitsession.ids import SessionId
from gitsession.model import Frozen, Parent
from gitsession.store import codec, contents, layout, sessions

Standing = Literal["alone", "same", "ahead", "behind", "apart"]
"""How the agent's own file stands to what is stored.

`alone`: only one of both is there. `ahead`: it holds all that is stored, and
more. `behind`: all it holds is stored. `apart`: each has something of its own.
"""

_MAX_RESULT = 256 << 20
_MOST_PARENTS = 50


class Transcript(Frozen, frozen=True, kw_only=True):
    """A session's lines, from the first to the last, and what lies beside them."""

    session: SessionId
    agent: str
    lines: tuple[bytes, ...]
    sides: tuple[Side, ...] = ()
    inherited: int = 0
    """The turns it has from its parent; its own are numbered after them from 1."""
    source: str = ""
    """The agent's own file, if there is one on this machine."""
    stamp: Stamp | None = None
    """That file as it was read."""
    standing: Standing = "alone"
    parent: Parent | None = None
    forgotten: int = 0
    """The captures that were forgotten: what they held is missing."""
    files: tuple[str, ...] = ()
    """What it touched, relative to the repository."""


# -- pure ---------------------------------------------------------------------------------


def uuids_of(adapter: Adapter, lines: Iterable[bytes]) -> set[str]:
    """The names of the lines that have one."""
    return {uuid for raw in lines if (uuid := adapter.parse_line(raw).uuid)}


def compare(adapter: Adapter, local: Iterable[bytes], stored: Iterable[bytes]) -> Standing:
    """How an agent's own file stands to what is stored; told by the names of lines."""
    here, kept = uuids_of(adapter, local), uuids_of(adapter, stored)
    if here == kept:
        return "same"
    if here >= kept:
        return "ahead"
    return "behind" if here <= kept else "apart"


def catch_up(
    adapter: Adapter, local: Iterable[bytes], stored: Iterable[bytes]
) -> tuple[bytes, ...]:
    """An agent's own lines, as they are, and behind them those that it lacks."""
    ours = tuple(line if line.endswith(b"\n") else line + b"\n" for line in local)
    known = uuids_of(adapter, ours)
    lacking = (raw for raw in stored if (u := adapter.parse_line(raw).uuid) and u not in known)
    return (*ours, *lacking)


def count_inherited(adapter: Adapter, lines: Sequence[bytes], first: str | None) -> int:
    """The turns before a session's first own line; by its lines' word, if that isn't known."""
    if first is not None:
        turns = 0
        for raw in lines:
            line = adapter.parse_line(raw)
            if line.uuid == first:
                return turns
            turns += line.prompt is not None
    origin = adapter.parent_of(lines)
    return origin.turn if origin else 0


def cut(found: Transcript, *, turn: int | None = None, before: str | None = None) -> Cut:
    """The conversation at a moment; its turns are numbered, and told, as `show` has them."""
    adapter = agents.get(found.agent)
    number = turn + found.inherited if turn is not None and turn >= 0 else turn
    try:
        whole = adapter.cut(found.lines, turn=number, before=before)
    except NotFound:
        if turn is None:
            raise
        numbers = [t.number for t in adapter.read_turns(found.lines)]
        last = max(numbers, default=0) - found.inherited
        hint = f"the turns here are 1 to {last}" if last > 0 else "it has no turn of its own"
        raise NotFound("turn", str(turn), hint=hint) from None
    own = tuple(n - found.inherited for n in whole.turns if n > found.inherited)
    return msgspec.structs.replace(whole, turns=own)


def find_roots(found: Transcript, here: str) -> dict[str, str]:
    """The folders, on whatever machine, that the repository was in → where it is now.

    Edits tell: records name files relative to it. Without any it is where the session began.
    """
    adapter = agents.get(found.agent)
    read = [adapter.parse_line(raw) for raw in found.lines]
    asked = (edit.path for line in read for call in line.calls for edit in call.edits)
    told = (edit.path for line in read for done in line.outcomes for edit in done.edits)
    ends = {"/" + file for file in found.files}
    roots = {
        path[: -len(end)]: None
        for path in (*asked, *told)
        for end in ends
        if path.replace("\\", "/").endswith(end) and len(path) > len(end)
    }
    if not roots:
        roots = dict.fromkeys([line.cwd for line in read if line.cwd][:1])
    return {root: here for root in roots if root != here}


# -- reading ------------------------------------------------------------------------------


def assemble(
    repo: Plumbing, stored: sessions.Stored, env: Mapping[str, str] | None = None
) -> Transcript:
    """A session that is stored: of its agent's own file when that holds as much, or more."""
    return _best(repo, stored, os.environ if env is None else env, ())


def _best(
    repo: Plumbing, stored: sessions.Stored, env: Mapping[str, str], seen: tuple[SessionId, ...]
) -> Transcript:
    if stored.tip is None or stored.head is None:
        raise Unreadable(
            f"{stored.ref} is not here", hint="`git session fetch` brings it from the remote"
        )
    kept = _stored(repo, stored, env, seen)
    adapter = agents.get(kept.agent)
    source = adapter.find_source(kept.session, env)
    if source is None:
        return kept
    local = read_local(adapter, kept.session, source)
    standing = compare(adapter, local.lines, kept.lines)
    whole = standing in ("same", "ahead")
    if whole:
        first = _first_uuid(adapter, _own_lines(repo, stored))
        turns = count_inherited(adapter, local.lines, first)
        kept = msgspec.structs.replace(
            kept, lines=local.lines, sides=local.sides, inherited=turns, forgotten=0
        )
    return msgspec.structs.replace(kept, standing=standing, source=source, stamp=local.stamp)


def read_local(adapter: Adapter, session: SessionId, source: str) -> Transcript:
    """A session as its agent has it; a last line that isn't whole yet is left out."""
    path = Path(source)
    try:
        seen = path.stat()
        lines = tuple(raw + b"\n" for _, raw in reader.lines(path, 0, end_of(path)))
        sides = adapter.read_sides(source)
    except OSError as error:
        raise Unreadable(f"'{source}' can't be read: {error.strerror}") from None
    return Transcript(
        session=session,
        agent=adapter.NAME,
        lines=lines,
        sides=sides,
        inherited=count_inherited(adapter, lines, None),
        source=source,
        stamp=Stamp(size=seen.st_size, changed=seen.st_mtime_ns),
        parent=adapter.parent_of(lines),
    )


def _first_uuid(adapter: Adapter, lines: Iterable[bytes]) -> str | None:
    return next((uuid for raw in lines if (uuid := adapter.parse_line(raw).uuid)), None)


def _own_lines(repo: Plumbing, stored: sessions.Stored) -> Iterator[bytes]:
    for seq in stored.seqs:
        yield from sessions.segment_lines(repo, stored, seq)


def _stored(
    repo: Plumbing,
    stored: sessions.Stored,
    env: Mapping[str, str],
    seen: tuple[SessionId, ...],
) -> Transcript:
    """A session as it is stored, with what it has from its parents."""
    assert stored.head is not None
    adapter = agents.get(stored.head.agent)
    own = tuple(_own_lines(repo, stored))
    found = [r for seq in stored.seqs if (r := sessions.find_record(repo, stored, seq))]
    parent = stored.head.parent or next((r.parent for r in found if r.parent), None)
    lines, sides, inherited = own, _sides(repo, stored), 0
    if parent is not None:
        origin = _origin(repo, parent.session, env, (*seen, stored.head.session))
        try:
            lines = adapter.join(origin.lines if origin else (), own)
        except SessionError as error:
            name = f"the beginning of this session is in its parent {parent.session}"
            hint = "`git session fetch` brings the parent, if a remote has it"
            raise Unreadable(f"{name}: {error.message}", hint=hint) from None
        given = lines[: len(lines) - len(own)]
        inherited = sum(adapter.parse_line(raw).prompt is not None for raw in given)
        names = {side.name for side in sides}
        theirs = origin.sides if origin and given else ()
        sides += tuple(side for side in theirs if side.name not in names)
    return Transcript(
        session=stored.head.session,
        agent=stored.head.agent,
        lines=lines,
        sides=sides,
        inherited=inherited,
        parent=parent,
        forgotten=sum(contents.FORGOTTEN in r.redactions for r in found),
        files=tuple(dict.fromkeys(file for r in found for file in r.files)),
    )


def _origin(
    repo: Plumbing,
    session: SessionId,
    env: Mapping[str, str],
    seen: tuple[SessionId, ...],
) -> Transcript | None:
    """A fork's parent, stored or (never captured yet) as its agent has it."""
    if session in seen or len(seen) > _MOST_PARENTS:
        return None
    stored = sessions.open_session(repo, session)
    if stored.tip is not None:
        return _best(repo, stored, env, seen)
    for name in agents.NAMES:
        adapter = agents.get(name)
        source = adapter.find_source(session, env)
        if source is not None:
            return read_local(adapter, session, source)
    return None


def _sides(repo: Plumbing, stored: sessions.Stored) -> tuple[Side, ...]:
    found = [
        Side(kind="subagent", name=name, data=b"".join(lines))
        for name, lines in sessions.subagent_lines(repo, stored).items()
    ]
    for entry in repo.tree(f"{stored.tip}:{layout.RESULTS}"):
        blob = repo.read(f"{stored.tip}:{layout.RESULTS}/{entry.path}")
        # One that was forgotten is there, and empty.
        if blob and (data := codec.unpack(blob, limit=_MAX_RESULT)):
            found.append(Side(kind="result", name=entry.path.removesuffix(".zst"), data=data))
    return tuple(found)
