"""Fetches what others captured, pushes what was captured here, and does both until they agree."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from gitsession.config import Settings
from gitsession.errors import Moved
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Swap
from gitsession.ids import CaptureId, Oid
from gitsession.model import Frozen, Record
from gitsession.store import contents, outbox
from gitsession.sync.answers import Answer
from gitsession.sync.fold import Folded, fold_index
from gitsession.sync.fold_sessions import fold_sessions
from gitsession.sync.remote import Remote
from gitsession.sync.transport import Line, Sent, TransferFailed

_TRIES = 10
_AT_ONCE = 1000
"""Refs in one push: their names must fit into a command line."""
_ENOUGH = 10
"""Refs in a row that a server refused, after which it won't take the others either."""
_MOVES_ON = 0.05
"""Seconds that a race is worth waiting for at first; it doubles with every try."""


class Fetched(Frozen, frozen=True, kw_only=True):
    """What came from the remote."""

    records: int = 0
    """Records that weren't here."""
    sessions: tuple[str, ...] = ()
    """Session refs that are different now."""
    warnings: tuple[str, ...] = ()


class Held(Frozen, frozen=True, kw_only=True):
    """A ref that could not be pushed."""

    ref: str
    reason: str


class Pushed(Frozen, frozen=True, kw_only=True):
    """What went to the remote."""

    refs: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()
    warnings: tuple[str, ...] = ()


class Exchange:
    """What this clone has to do with one remote."""

    def __init__(self, repo: Plumbing, settings: Settings, line: Line) -> None:
        self.repo = repo
        self.repo.sign = settings.sign
        self.settings = settings
        self.remote: Remote = line.remote
        self._line = line

    # -- fetching -------------------------------------------------------------------------

    def fetch(self, sessions: Sequence[str] = (), *, everything: bool = False) -> Fetched:
        """Bring the index, these session refs or all, and those here that others went on with."""
        specs = [self._spec(refs.INDEX)]
        specs += [self._spec(ref) for ref in sessions]
        if everything:
            specs.append(self._spec(refs.SESSIONS))
        self._line.fetch(specs, tips=[refs.seen(self.remote.slug, refs.INDEX)])
        folded = fold_index(self.repo, self.remote, self.settings)
        behind = sorted(self._behind(folded.new) - set(sessions))
        if behind and not everything:
            self._line.fetch([self._spec(ref) for ref in behind], tips=behind)
        wanted = self._seen_sessions() if everything else [*sessions, *behind]
        return self._fold(folded, wanted)

    def _fold(self, folded: Folded, wanted: Iterable[str]) -> Fetched:
        taken = fold_sessions(self.repo, self.remote, wanted, folded.gone, self.settings)
        return Fetched(
            records=len(folded.new),
            sessions=taken.changed,
            warnings=(*folded.warnings, *taken.warnings),
        )

    def _spec(self, ref: str) -> str:
        """A refspec that asks for a ref, and is no error where the remote doesn't have it."""
        return f"+{ref}*:{refs.seen(self.remote.slug, ref)}*"

    def _seen_sessions(self) -> list[str]:
        """Every session ref that the remote has, less the archives."""
        begin = refs.seen_on(self.remote.slug)
        found = (f"refs/{ref.removeprefix(begin)}" for ref in self.repo.refs(begin))
        return [r for r in found if r.startswith(refs.SESSIONS) and not r.startswith(refs.ARCHIVE)]

    def _behind(self, new: Iterable[Record]) -> set[str]:
        """The sessions that are here, but without captures that the index tells of."""
        by_ref: dict[str, set[CaptureId]] = {}
        for record in new:
            by_ref.setdefault(refs.session(record.session), set()).add(record.id)
        found = set()
        for ref, ids in by_ref.items():
            tip = self.repo.resolve(ref)
            if tip is not None and not ids <= {r.id for r in contents.read(self.repo, tip).records}:
                found.add(ref)
        return found

    # -- pushing --------------------------------------------------------------------------

    def push(self) -> Pushed:
        """Send what the remote doesn't have; when others were faster, merge and send again."""
        done: list[str] = []
        warnings: list[str] = []
        refused: dict[str, str] = {}
        together = True
        for attempt in range(_TRIES):
            waiting = [sent for sent in self.unpushed() if sent.ref not in refused]
            if not waiting:
                break
            last = attempt == _TRIES - 1
            found = self._send(waiting, together=together, atomic=together and not last)
            done += [answer.ref for answer in found if answer.done]
            wrong = {x.ref: x.reason for x in found if not (x.done or x.stale or x.held)}
            if wrong and together and len(waiting) > 1:
                # A server that refuses one may have refused all for it.
                together = False
                continue
            refused |= wrong
            stale = [answer.ref for answer in found if answer.stale]
            if stale and not last:
                time.sleep(random.uniform(0, _MOVES_ON * 2**attempt))
                warnings += self.fetch([r for r in stale if r != refs.INDEX]).warnings
        held = [Held(ref=sent.ref, reason=refused.get(sent.ref, "others were always faster"))
                for sent in self.unpushed()]  # fmt: skip
        return Pushed(refs=tuple(done), held=tuple(held), warnings=tuple(warnings))

    def unpushed(self) -> list[Sent]:
        """The refs that the remote isn't known to have as they are here."""
        seen = self.repo.refs(refs.seen_on(self.remote.slug))
        mine = self.repo.refs(refs.SESSIONS) | self.repo.refs(refs.INDEX)
        if self.settings.push_snapshots:
            mine |= self.repo.refs(refs.SNAPSHOTS)
        return [
            Sent(ref=ref, new=oid)
            for ref, oid in mine.items()
            if seen.get(refs.seen(self.remote.slug, ref)) != oid
        ]

    def _send(self, waiting: Sequence[Sent], *, together: bool, atomic: bool) -> list[Answer]:
        """Push: all at once and together or not at all, so that nothing goes out before we know
        what others have forgotten; or each by itself, so that one refusal doesn't hold the others.
        """
        found: list[Answer] = []
        size = _AT_ONCE if together else 1
        for start in range(0, len(waiting), size):
            part = waiting[start : start + size]
            answers = self._line.push(part, atomic=atomic and len(part) > 1)
            sent = {x.ref: x.new for x in part}
            self._note({x.ref: sent.get(x.ref) for x in answers if x.done})
            found += answers
            if len(found) >= _ENOUGH and not any(answer.done for answer in found):
                break
        return found

    def _note(self, done: dict[str, Oid | None]) -> None:
        """Remember what the remote has now."""
        names = {ref: refs.seen(self.remote.slug, ref) for ref in done}
        swaps = [
            Swap(ref=names[ref], old=self.repo.resolve(names[ref]), new=new)
            for ref, new in done.items()
        ]
        # Git itself notes the refs that a configured refspec covers; so may another process.
        with suppress(Moved):
            self.repo.swap([swap for swap in swaps if swap.old != swap.new])


def try_push(exchange: Exchange) -> Pushed:
    """Push, and note how it went for `status` and for the user's next push."""
    common = exchange.repo.common_dir
    outbox.clear(common)
    try:
        pushed = exchange.push()
    except TransferFailed as error:
        outbox.mark(common)
        outbox.failed(common, error.message)
        raise
    if pushed.held:
        outbox.mark(common)
        outbox.failed(common, f"{pushed.held[0].ref}: {pushed.held[0].reason}")
    else:
        outbox.worked(common)
    return pushed
