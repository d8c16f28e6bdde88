"""The record of a capture, whoever takes it: the hooks' worker, a person, a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gitsession.agents.base import Adapter
from gitsession.capture.digest import Digest, shorten
from gitsession.capture.ledger import Tie
from gitsession.capture.pipeline import next_moment, now
from gitsession.ids import CaptureId, SessionId
from gitsession.model import (
    RECORD_VERSION,
    Agent,
    Author,
    Frozen,
    Kind,
    Reason,
    Record,
    Status,
)


class Purpose(Frozen, frozen=True, kw_only=True):
    """Whose lines are captured, and what for."""

    session: SessionId
    agent: str
    kind: Kind
    reason: Reason | None = None
    status: Status = "complete"
    task: str | None = None
    tie: Tie = Tie()


def fed(blocks: Iterator[bytes], adapter: Adapter, digest: Digest) -> Iterator[bytes]:
    """The same blocks, counted on their way."""
    for block in blocks:
        for raw in block.split(b"\n"):
            if raw:
                digest.add(adapter.parse_line(raw))
        yield block


def describe(
    purpose: Purpose, digest: Digest, *, author: Author, redact: Callable[[str], str]
) -> Record:
    """All that can be said of a capture before it has its place in the session."""
    return Record(
        v=RECORD_VERSION,
        id=CaptureId(""),
        session=purpose.session,
        seq=0,
        kind=purpose.kind,
        reason=purpose.reason,
        status=purpose.status,
        commit=purpose.tie.commit,
        base=purpose.tie.base,
        branch=purpose.tie.branch,
        task=purpose.task,
        evidence=purpose.tie.evidence,
        author=author,
        captured_at=now(),
        agent=Agent(name=purpose.agent, version=digest.version),
        models=digest.models,
        started_at=digest.started_at,
        ended_at=digest.ended_at,
        messages=digest.messages,
        turns=digest.turns,
        tools=dict(sorted(digest.tools.items())),
        tokens=digest.tokens,
        files=digest.files,
        first=digest.first,
        last=digest.last,
        # Redacted before it is cut: a cut secret is one that no rule finds any more.
        prompt=shorten(redact(digest.prompt)),
    )


def moment_after(last: Record | None) -> str:
    """The moment of a new capture: after the last one's, though the clock was set back.

    When a session was continued on two machines, time is what orders its captures.
    """
    return now() if last is None else max(now(), next_moment(last.captured_at))
