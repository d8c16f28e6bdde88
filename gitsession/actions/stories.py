"""Puts a conversation together from what is stored: of a commit, of a session, of a turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gitsession import agents
from gitsession.errors import NotFound, Unreadable
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Commit
from gitsession.ids import Oid, SessionId
from gitsession.model import Record, Turn
from gitsession.render.timeline import Story, find_root
from gitsession.store import sessions


def of_commit(repo: Plumbing, commit: Commit, found: Sequence[Record]) -> list[Story]:
    """The conversations behind a commit, a story for each session."""
    by_session: dict[SessionId, list[Record]] = {}
    for record in found:
        by_session.setdefault(record.session, []).append(record)
    stories = []
    for session, group in by_session.items():
        stored = sessions.open_session(repo, session)
        group.sort(key=lambda r: r.seq)
        story = _story(stored, group, read_turns(repo, stored, seqs_of(repo, stored, group)))
        stories.append(
            msgspec.structs.replace(
                story, commit=commit.oid, subject=commit.subject, date=commit.author.date
            )
        )
    return stories


def of_session(repo: Plumbing, stored: sessions.Stored) -> Story:
    """A whole session."""
    found = [r for seq in stored.seqs if (r := sessions.find_record(repo, stored, seq))]
    if not found:
        raise Unreadable(f"{stored.ref} holds no capture that this version can read")
    return _story(stored, found, read_turns(repo, stored, stored.seqs))


def of_records(repo: Plumbing, found: Iterable[Record]) -> list[Story]:
    """The conversations of some captures, as of a task, a story for each session."""
    ordered = sorted(found, key=lambda r: (r.session, r.seq))
    stories = []
    for session, group in itertools.groupby(ordered, key=lambda r: r.session):
        stored = sessions.open_session(repo, session)
        records = list(group)
        turns = read_turns(repo, stored, seqs_of(repo, stored, records))
        stories.append(_story(stored, records, turns))
    return stories


def seqs_of(repo: Plumbing, stored: sessions.Stored, found: Sequence[Record]) -> list[int]:
    """Where a session has these captures; raises when it doesn't have one."""
    places = [sessions.find_seq(repo, stored, record) for record in found]
    for record, place in zip(found, places, strict=True):
        if place is None:
            raise Unreadable(
                f"capture {record.seq} of session {record.session} is not here",
                hint="`git session fetch` brings it from the remote that has it",
            )
    return sorted({place for place in places if place is not None})


def _story(stored: sessions.Stored, found: Sequence[Record], turns: Sequence[Turn]) -> Story:
    first, last = found[0], found[-1]
    return Story(
        session=first.session,
        agent=last.agent,
        turns=tuple(turns),
        records=tuple(found),
        branch=last.branch,
        task=last.task,
        author=last.author,
        date=last.captured_at,
        parent=first.parent or (stored.head.parent if stored.head else None),
    )


def read_turns(repo: Plumbing, stored: sessions.Stored, seqs: Sequence[int]) -> list[Turn]:
    """The turns in some captures, by their numbers in the whole session."""
    if stored.tip is None or stored.head is None:
        raise Unreadable(
            f"{stored.ref} is not here", hint="fetch the session from the remote that has it"
        )
    adapter = agents.get(stored.head.agent)
    turns: list[Turn] = []
    for _, group in itertools.groupby(enumerate(seqs), key=lambda pair: pair[1] - pair[0]):
        run = [seq for _, seq in group]
        lines = itertools.chain.from_iterable(
            sessions.segment_lines(repo, stored, seq) for seq in run
        )
        sides = _sides(repo, stored, run)
        before = turns_before(repo, stored, run[0])
        turns += number(adapter.read_turns(lines, subagents=sides), before)
    return turns


def _sides(repo: Plumbing, stored: sessions.Stored, seqs: Sequence[int]) -> dict[str, list[bytes]]:
    sides: dict[str, list[bytes]] = {}
    for seq in seqs:
        for name, lines in sessions.subagent_lines(repo, stored, seq).items():
            sides.setdefault(name, []).extend(lines)
    return sides


def turns_before(repo: Plumbing, stored: sessions.Stored, seq: int) -> int:
    """How many turns the captures before one hold."""
    earlier = [s for s in stored.seqs if s < seq]
    return sum(r.turns for s in earlier if (r := sessions.find_record(repo, stored, s)))


def number(turns: Iterable[Turn], before: int) -> Iterator[Turn]:
    """Number turns in the whole session; lines before a prompt go on with the turn before."""
    for turn in turns:
        continued = turn.number == 0 and before > 0
        yield msgspec.structs.replace(turn, number=turn.number + before, continued=continued)


def get_turn(stories: Sequence[Story], wanted: int) -> list[Story]:
    """The stories that have a turn, with nothing but that turn; raises NotFound."""
    found = []
    for story in stories:
        turns = tuple(turn for turn in story.turns if turn.number == wanted)
        found += [msgspec.structs.replace(story, turns=turns)] if turns else []
    if not found:
        numbers = [turn.number for story in stories for turn in story.turns]
        hint = f"the turns here are {min(numbers)} to {max(numbers)}" if numbers else None
        raise NotFound("turn", str(wanted), hint=hint)
    return found


def raw_lines(repo: Plumbing, stored: sessions.Stored, seqs: Iterable[int]) -> Iterator[bytes]:
    """The agent's own lines, as they are stored."""
    for seq in seqs:
        yield from sessions.segment_lines(repo, stored, seq)


def rooted(story: Story, root: str) -> Story:
    """A story whose paths are shown relative to the work tree, on whatever machine that was."""
    return msgspec.structs.replace(story, root=find_root(story, root))


def commits_by_turn(repo: Plumbing, stored: sessions.Stored) -> dict[int, list[Oid]]:
    """The commits that each turn's captures belong to: a capture ends in its last turn."""
    found: dict[int, list[Oid]] = {}
    turn = 0
    for seq in stored.seqs:
        lines = [x for x in sessions.record_lines(repo, stored, seq) if isinstance(x, Record)]
        turn += lines[0].turns if lines else 0
        for record in lines:
            if record.commit and record.commit not in found.setdefault(turn, []):
                found[turn].append(record.commit)
    return found
