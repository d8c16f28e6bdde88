"""Where the segment of a commit ends: with the call that made it, and with no call torn apart.

The call is told by time: it had begun when the commit was made, and had not
ended. So the answer is the same whenever it is asked, and needs no state.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from gitsession.agents.base import Call, Line, Outcome
from gitsession.model import Frozen

_SLACK = 0.05
"""Seconds by which the client's clock and the file system's may differ."""


class Cut(Frozen, frozen=True, kw_only=True):
    """Where to cut one source, and how sure that is."""

    end: int
    """The offset of the cut; what is after it belongs to what comes next."""
    made_here: bool = False
    """A shell call of this source was under way when the commit was made."""
    running: bool = False
    """That call's result isn't there yet."""
    named: bool = False
    """A result in this source names the commit."""
    reached: bool = False
    """The source goes on beyond the moment of the commit."""


def seconds(at: str | None) -> float | None:
    """A time stamp as seconds since the epoch; None when it isn't one."""
    if not at:
        return None
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return None


class _Scan:
    """The state of one pass over a source's lines."""

    def __init__(self, start: int, since: float, until: float, commit: str) -> None:
        self.since, self.until, self.commit = since - _SLACK, until + _SLACK, commit
        self.first, self.last = since, until
        self.open: dict[str, tuple[Call | None, float | None]] = {}
        self.before = start
        self.wanted: int | None = None
        self.cut: int | None = None
        self.exact = False
        self.named = False
        self.reached = False

    def take(self, end: int, line: Line) -> None:
        at = seconds(line.at)
        for call in line.calls:
            self.open[call.id] = (call, at)
        for outcome in line.outcomes:
            self._close(outcome, at, end)
        if at is not None and at > self.until:
            self.reached = True
        if not all(call and call.delegates for call, _ in self.open.values()):
            return
        # Only what was surely there: a line without a time may be of long after, and one within
        # the slack is what the client writes when the call has ended.
        if at is not None and at <= self.last and not self.reached:
            self.before = end
        if self.wanted is not None and self.cut is None:
            self.cut = end

    def _close(self, outcome: Outcome, at: float | None, end: int) -> None:
        call, began = self.open.pop(outcome.id, (None, None))
        if any(self.commit.startswith(name) for name in outcome.commits if len(name) >= 7):
            self.named, self.wanted, self.cut = True, end, None
        elif call and call.command and not self.named:
            self._weigh(began, at, end)

    def _weigh(self, began: float | None, ended: float | None, end: int) -> None:
        """Take a call for the one that made the commit, unless a likelier one is known.

        Calls may follow one another within the slack: it counts only where no call fits exactly.
        """
        if began is None or ended is None or began > self.until or ended < self.since:
            return
        exact = began <= self.last and ended >= self.first
        if exact or not self.exact:
            self.exact = exact
            self.wanted, self.cut = end, None

    def running(self) -> bool:
        """A shell call that had begun by then has no result yet."""
        return any(
            call and call.command and (began is None or began <= self.until)
            for call, began in self.open.values()
        )


def find_cut(
    lines: Iterable[tuple[int, Line]], *, start: int, since: float, until: float, commit: str
) -> Cut:
    """Where the segment of a commit made between two moments ends in one source."""
    scan = _Scan(start, since, until, commit)
    for end, line in lines:
        scan.take(end, line)
    running = scan.running() and (scan.cut is None or not (scan.exact or scan.named))
    end = scan.cut if scan.cut is not None else scan.before
    return Cut(
        end=end,
        # A call that fits only with the slack may be the one before, while ours is on its way.
        made_here=scan.exact or scan.named or running,
        running=running or (scan.wanted is not None and scan.cut is None),
        named=scan.named,
        reached=scan.reached,
    )
