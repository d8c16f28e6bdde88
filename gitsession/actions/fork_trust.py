"""Whose conversation a session is, and whether it is the one that was captured.

A conversation that somebody else wrote is what an agent is told: it may be
told anything. So nobody goes on with one without having been asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gitsession import config
from gitsession.actions.fork_plan import is_same_person
from gitsession.actions.verify import verify
from gitsession.audit.finding import REINDEX
from gitsession.errors import SessionError
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.ids import SessionId
from gitsession.model import Frozen, Turn
from gitsession.render.escape import one_line
from gitsession.store import records, sessions

_MOST_PARENTS = 50
_MOST_SAID = 3


class Doubt(Frozen, frozen=True, kw_only=True):
    """Why somebody should look at a conversation before an agent goes on with it."""

    reasons: tuple[str, ...]
    prompts: tuple[str, ...]
    """The last ones, the oldest first."""


def find_doubt(
    path: Path, repo: Plumbing, stored: sessions.Stored, turns: Sequence[Turn]
) -> Doubt | None:
    """What speaks against taking a session for the user's own, and whole; None if nothing does."""
    reasons = tuple(dict.fromkeys(_reasons(path, repo, stored)))
    if not reasons:
        return None
    prompts = [turn.prompt for turn in turns if turn.number and turn.prompt]
    return Doubt(reasons=reasons, prompts=tuple(prompts[-_MOST_SAID:]))


def _reasons(path: Path, repo: Plumbing, stored: sessions.Stored) -> Iterator[str]:
    user = config.load(path).author
    for one in _lineage(repo, stored):
        name = refs.slug_of(one.ref)
        told = [
            record
            for seq in one.seqs
            for record in records.readable(sessions.record_lines(repo, one, seq))
        ]
        for author in dict.fromkeys(r.author for r in told if r.author):
            if not is_same_person(author, user):
                yield one_line(f"session {name} is by {author.name} <{author.email}>, not by you")
        yield from _unverified(path, name)


def _lineage(repo: Plumbing, stored: sessions.Stored) -> Iterator[sessions.Stored]:
    """A session, and those whose lines it goes on from."""
    seen: set[SessionId] = set()
    while stored.head is not None and stored.head.session not in seen and len(seen) < _MOST_PARENTS:
        yield stored
        seen.add(stored.head.session)
        if stored.head.parent is None:
            return
        stored = sessions.open_session(repo, stored.head.parent.session)


def _unverified(path: Path, name: str) -> Iterator[str]:
    try:
        findings = verify(path, (name,)).findings
    except SessionError as error:
        findings = ()
        yield one_line(f"session {name} can't be verified: {error.message}")
    for found in findings:
        # What the index lacks says nothing of the session itself.
        if found.level == "error" and name in found.where and found.hint != REINDEX:
            yield one_line(f"{found.where}: {found.what}")
