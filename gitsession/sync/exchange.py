"""Fetches what others captured, pushes what was captured here, and does both until they agree."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from gitsession.config import Settings
from gitsession.errors import Moved, Unreadable
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Swap
from gitsession.ids import CaptureId, Oid
from gitsession.model import Frozen, Record
from gitsession.store import archives, contents, outbox
from gitsession.sync import unwanted
from gitsession.sync.answers import Answer
from gitsession.sync.fold import Folded, fold_index, read_forgotten
from gitsession.sync.fold_archives import fold_archives
from gitsession.sync.fold_sessions import enter, fold_sessions
from gitsession.sync.remote import Remote
from gitsession.sync.settle import find_settled, settle
from gitsession.sync.transport import Line, Sent, TransferFailed

_TRIES = 10
_AT_ONCE = 1000
"""Refs in one push: their names must fit into a command line."""
_ENOUGH = 10
"""Refs in a row that a server refused, after which it won't take the others either."""
_MOVES_ON = 0.05
"""Seconds that a race is worth waiting for at first; it doubles with every try."""


class Fetched(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """What came from the remote."""

    records: int = 0
    """Records that weren't here."""
    sessions: tuple[str, ...] = ()
    """Session refs that are different now."""
    refused: dict[str, str] = {}
    """Refs of the remote that can't be taken, and why."""
    warnings: tuple[str, ...] = ()


class Held(Frozen, frozen=True, kw_only=True):
    """A ref that could not be pushed."""

    ref: str
    reason: str


class Pushed(Frozen, frozen=True, kw_only=True, omit_defaults=False):
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
        self._unwanted: dict[str, Oid] = {}
        """What the remote has and shall not keep, for it was forgotten."""

    # -- fetching -------------------------------------------------------------------------

    def fetch(self, sessions: Sequence[str] = (), *, everything: bool = False) -> Fetched:
        """Bring the index, these session refs or all, and those here that others went on with."""
        specs = [self._spec(refs.INDEX)]
        specs += [self._spec(ref) for ref in sessions]
        if everything:
            specs.append(self._spec(refs.SESSIONS))
        tips = [refs.seen(self.remote.slug, refs.INDEX)]
        if everything or any(map(archives.is_archive, sessions)):
            # An archive that has grown is not sent all over again.
            tips += [*archives.tips(self.repo)]
        self._line.fetch(specs, tips=tips, prune=everything)
        folded = fold_index(self.repo, self.remote, self.settings)
        if everything:
            return self._fold(folded, self._seen_sessions())
        behind = self._behind(folded.new, but=sessions)
        if behind:
            wanted = [self._spec(ref) for ref in behind]
            self._line.fetch(wanted, tips=[*filter(self.repo.resolve, behind)], prune=True)
        months = self._fetch_archives_of(behind)
        return self._fold(folded, [*sessions, *behind, *months])

    def open(self, wanted: Iterable[Record]) -> Fetched:
        """Bring the sessions of these captures by their exact refs, and nothing else."""
        by_ref: dict[str, list[Record]] = {}
        for record in wanted:
            by_ref.setdefault(refs.session(record.session), []).append(record)
        specs = [self._spec(ref) for ref in by_ref]
        self._line.fetch(specs, tips=[*filter(self.repo.resolve, by_ref)], prune=True)
        months = self._fetch_archives_of(by_ref)
        gone = read_forgotten(self.repo, self.repo.resolve(refs.INDEX))
        return self._fold(Folded(gone=gone), [*by_ref, *months])

    def _fetch_archives_of(self, behind: Mapping[str, Sequence[Record]]) -> list[str]:
        """Bring the archives of those sessions that the remote has no refs of any more."""
        gone = [x for x in behind if not self.repo.resolve(refs.seen(self.remote.slug, x))]
        months = sorted({refs.archive(archives.month_of(behind[ref])) for ref in gone})
        if months:
            self._line.fetch([self._spec(ref) for ref in months], tips=months)
        return months

    def _fold(self, folded: Folded, wanted: Iterable[str]) -> Fetched:
        repo, gone = self.repo, folded.gone
        asked = list(wanted)
        months = [ref for ref in asked if not refs.is_session(ref)]
        archived = fold_archives(repo, self.remote, months, gone, self.settings)
        needless = find_settled(repo, self.remote, asked, gone)
        single = [ref for ref in asked if refs.is_session(ref) and ref not in needless]
        taken = fold_sessions(repo, self.remote, single, gone, self.settings)
        self._unwanted |= archived.unwanted | taken.unwanted
        settled = settle(repo, gone, self.settings) if months or taken.changed else []
        enter(repo, taken.changed, gone, self.settings)
        return Fetched(
            records=len(folded.new),
            sessions=tuple(dict.fromkeys((*archived.changed, *taken.changed, *settled))),
            refused={**taken.refused, **folded.refused},
            warnings=(*folded.warnings, *archived.warnings, *taken.warnings),
        )

    def _spec(self, ref: str) -> str:
        """A refspec that asks for a ref, and is no error where the remote doesn't have it."""
        return f"+{ref}*:{refs.seen(self.remote.slug, ref)}*"

    def _seen_sessions(self) -> list[str]:
        """Every session ref that the remote has, and the archives."""
        begin = refs.seen_on(self.remote.slug)
        found = (f"refs/{ref.removeprefix(begin)}" for ref in self.repo.refs(begin))
        return [ref for ref in found if ref.startswith(refs.SESSIONS)]

    def _behind(self, new: Iterable[Record], *, but: Sequence[str]) -> dict[str, list[Record]]:
        """The sessions that are here, but without captures that the index tells of: those."""
        by_ref: dict[str, list[Record]] = {}
        for record in new:
            by_ref.setdefault(refs.session(record.session), []).append(record)
        asked = sorted(by_ref.keys() - set(but))
        archived = archives.newest(self.repo) if asked else {}
        # One question for each of very many takes far longer than one for all.
        tips = self.repo.refs(refs.SESSIONS) if len(asked) > _AT_ONCE else None
        found = {}
        for ref in asked:
            own = self.repo.resolve(ref) if tips is None else tips.get(ref)
            tip = own or archived.get(refs.slug_of(ref))
            if tip and not {record.id for record in by_ref[ref]} <= self._captures_in(tip):
                found[ref] = by_ref[ref]
        return found

    def _captures_in(self, tip: Oid) -> set[CaptureId]:
        """The captures of a session; none of one that can't be read, so that it is fetched."""
        try:
            return {record.id for record in contents.read(self.repo, tip).records}
        except Unreadable:
            return set()

    # -- pushing --------------------------------------------------------------------------

    def push(self, *, forgotten: bool = False) -> Pushed:
        """Send what the remote doesn't have; when others were faster, merge and send again.

        Or only what takes the place of something `forgotten`, and the index.
        """
        done: list[str] = []
        warnings: list[str] = []
        refused: dict[str, str] = {}
        together = True
        for attempt in range(_TRIES):
            self._unwanted |= unwanted.look(self.repo, self._line, self.settings)
            left = self.unpushed()
            wanted = (x for x in left if x.over or x.ref == refs.INDEX or not forgotten)
            waiting = [sent for sent in wanted if sent.ref not in refused]
            if not waiting:
                break
            last = attempt == _TRIES - 1
            found = self._send(waiting, together=together, atomic=together and not last)
            done += [answer.ref for answer in found if answer.done]
            if not refused and _is_all_done(waiting, found):
                # What is captured meanwhile is marked, and pushed by whoever took it.
                return Pushed(refs=tuple(done), warnings=tuple(warnings))
            wrong = {x.ref: x.reason for x in found if not (x.done or x.stale or x.held)}
            if wrong and together and len(waiting) > 1:
                # A server that refuses one may have refused all for it.
                together = False
                continue
            refused |= wrong
            stale = [answer.ref for answer in found if answer.stale]
            if stale and not last:
                time.sleep(random.uniform(0, _MOVES_ON * 2**attempt))
                fetched = self.fetch([r for r in stale if r != refs.INDEX])
                warnings += fetched.warnings
                refused |= {ref: fetched.refused[ref] for ref in stale if ref in fetched.refused}
        else:
            left = self.unpushed()
        held = [Held(ref=sent.ref, reason=refused.get(sent.ref, "others were always faster"))
                for sent in left]  # fmt: skip
        return Pushed(refs=tuple(done), held=tuple(held), warnings=tuple(warnings))

    def drop_archived(self) -> Pushed:
        """Take those session refs off the remote that its archives have all of."""
        gone = read_forgotten(self.repo, self.repo.resolve(refs.INDEX))
        theirs = [ref for ref in self._seen_sessions() if refs.is_session(ref)]
        found = find_settled(self.repo, self.remote, theirs, gone, there=True)
        waiting = [Sent(ref=ref, new=None, over=tip) for ref, tip in found.items()]
        answers = self._send(waiting, together=True, atomic=False) if waiting else []
        stale = [answer.ref for answer in answers if answer.stale]
        if stale:
            # Somebody went on with it, or was faster.
            self._line.fetch([self._spec(ref) for ref in stale], tips=[], prune=True)
        held = [Held(ref=x.ref, reason=x.reason) for x in answers if not (x.done or x.stale)]
        done = [answer.ref for answer in answers if answer.done]
        return Pushed(refs=tuple(done), held=tuple(held))

    def unpushed(self) -> list[Sent]:
        """The refs that the remote isn't known to have as they are here."""
        snapshots = self.settings.push_snapshots
        found = refs.unpushed(self.repo.refs, self.remote.slug, snapshots=snapshots)
        return unwanted.sent(self.repo, found, self._unwanted)

    def _send(self, waiting: Sequence[Sent], *, together: bool, atomic: bool) -> list[Answer]:
        """Push: all at once and together or not at all, so that nothing goes out before we know
        what others have forgotten; or each by itself, so that one refusal doesn't hold the others.
        """
        found: list[Answer] = []
        size = _AT_ONCE if together else 1
        guard = self._guard(waiting, together=together)
        sent = {x.ref: x.new for x in waiting}
        rest = [x for x in waiting if x not in guard] or [*guard]
        for start in range(0, len(rest), size):
            part = list(dict.fromkeys((*rest[start : start + size], *guard)))
            answers = self._line.push(part, atomic=atomic and len(part) > 1)
            answers = [x for x in answers if x.ref in sent or not x.done]
            self._note({x.ref: sent[x.ref] for x in answers if x.done})
            found += answers
            if len(found) >= _ENOUGH and not any(answer.done for answer in found):
                break
        return found

    def is_unwanted(self, ref: str) -> bool:
        """Whether the remote still has what was forgotten under this ref."""
        return ref in self._unwanted

    def _guard(self, waiting: Sequence[Sent], *, together: bool) -> list[Sent]:
        """The index, which goes with every part: who doesn't know the latest one is refused.

        It tells of what others have forgotten, and may not be brought back.
        """
        mine = [x for x in waiting if x.ref == refs.INDEX]
        if mine:
            return mine if together else []
        index = self.repo.resolve(refs.INDEX)
        seen = self.repo.resolve(refs.seen(self.remote.slug, refs.INDEX))
        return [Sent(ref=refs.INDEX, new=index)] if index and index == seen else []

    def _note(self, done: dict[str, Oid | None]) -> None:
        """Remember what the remote has now."""
        for ref in done:
            self._unwanted.pop(ref, None)
        names = {ref: refs.seen(self.remote.slug, ref) for ref in done}
        swaps = [
            Swap(ref=names[ref], old=self.repo.resolve(names[ref]), new=new)
            for ref, new in done.items()
        ]
        # Git itself notes the refs that a configured refspec covers; so may another process.
        with suppress(Moved):
            self.repo.swap([swap for swap in swaps if swap.old != swap.new])


def _is_all_done(waiting: Sequence[Sent], found: Sequence[Answer]) -> bool:
    """Whether every ref was pushed, so that not all have to be looked at again."""
    asked = {sent.ref for sent in waiting}
    return asked <= {answer.ref for answer in found} and all(answer.done for answer in found)


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
