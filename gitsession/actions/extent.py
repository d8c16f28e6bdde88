"""How far a session's lines reach up to a moment: which capture, and how many lines of it.

Found by looking through one capture after the other, so that a session of any
length costs the same memory, and before a line is given to anybody.
"""

from __future__ import annotations

import re

from gitsession import agents
from gitsession.errors import NotFound
from gitsession.git.plumbing import Plumbing
from gitsession.model import Frozen
from gitsession.store import sessions

_PLAIN = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
"""A uuid that stands in a line as it is, whoever wrote the JSON."""


class End(Frozen, frozen=True, kw_only=True):
    """The last line of a part of a session."""

    seq: int
    lines: int
    """Of that capture, from its first."""


def up_to(repo: Plumbing, stored: sessions.Stored, uuid: str) -> End:
    """The end of the lines up to the one by that uuid, with it; raises NotFound."""
    needle = uuid.encode() if _PLAIN.fullmatch(uuid) else b""
    if stored.head is not None and uuid:
        adapter = agents.get(stored.head.agent)
        for seq in stored.seqs:
            for number, raw in enumerate(sessions.segment_lines(repo, stored, seq), 1):
                if needle in raw and adapter.parse_line(raw).uuid == uuid:
                    return End(seq=seq, lines=number)
    raise NotFound("line", uuid, hint="give the uuid of a line of this session")


def of_turn(repo: Plumbing, stored: sessions.Stored, turn: int) -> End | None:
    """The end of a turn's lines, in the order they were written; None for all there are."""
    found = [sessions.find_record(repo, stored, seq) for seq in stored.seqs]
    last = sum(record.turns for record in found if record)
    if not 0 <= turn <= last:
        hint = f"the turns here are 1 to {last}" if last else "nobody has asked anything yet"
        raise NotFound("turn", str(turn), hint=hint)
    if stored.head is None:
        return None
    adapter = agents.get(stored.head.agent)
    before = 0
    for seq, record in zip(stored.seqs, found, strict=True):
        before += record.turns if record else 0
        if before <= turn:
            continue
        prompts = before - record.turns if record else before
        for number, raw in enumerate(sessions.segment_lines(repo, stored, seq)):
            prompts += adapter.parse_line(raw).prompt is not None
            if prompts > turn:
                return End(seq=seq, lines=number)
    return None
