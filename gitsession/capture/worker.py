"""Works off the spool: one worker a repository, and the others hand over to it.

An event is dropped when all that follows from it is in the refs, never before;
what an event asks for can be done twice without a trace. So a worker may be
killed at any instant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from gitsession.capture import autocommit, events, replaced, snapshot
from gitsession.capture.commits import Waiting
from gitsession.capture.pipeline import Pipeline
from gitsession.errors import SessionError
from gitsession.git import maintenance
from gitsession.git.plumbing import Plumbing
from gitsession.ids import Oid, SessionId, is_oid
from gitsession.store import folder, heads, journal, spool
from gitsession.store.lock import held
from gitsession.store.spool import Spooled

PATIENCE = 20.0
"""Seconds that a worker stays for a call that goes on; then the next event brings one back."""
_PAUSE = 0.04
_LONGEST_PAUSE = 0.5

Who = tuple[str, SessionId] | None
"""The agent and the session that an event is of."""
MakePipeline = Callable[[], Pipeline]
Mend = Callable[[], None]


class Worker:
    """Handles the events of one repository."""

    def __init__(
        self, common_dir: Path, make_pipeline: MakePipeline, mend: Mend, *, final: bool = False
    ) -> None:
        self._common = common_dir
        self._spool = folder.spool(common_dir)
        self._make_pipeline = make_pipeline
        self._mend = mend
        self._final = final
        self._pipeline: Pipeline | None = None
        self._failed: set[Path] = set()
        self.failures: list[str] = []

    def run(self, *, wait: bool = False) -> bool:
        """Work until nothing is left that can be done; False when another worker is on it."""
        mine = False
        while True:
            with held(folder.home(self._common) / "lock", wait=wait) as got:
                if not got:
                    return mine
                mine = True
                folder.clear(folder.home(self._common) / "tmp")
                try:
                    left = self._work()
                finally:
                    self._rest()
                if self._pipeline is not None and maintenance.is_due(self._common):
                    maintenance.pack_loose(self._common)
            # An event written while the lock was being let go of found no worker to take it.
            if all(event.path in left for event in spool.read(self._spool)):
                return True

    def _rest(self) -> None:
        """Let go of processes; they are started again when they are needed."""
        if self._pipeline is not None:
            self._pipeline.repo.close()

    def _work(self) -> set[Path]:
        """Handle events until only such are left as must wait for longer."""
        pause = _PAUSE
        while True:
            found = spool.read(self._spool)
            waiting = self._pass(found)
            patient = [e for e in waiting if abs(time.time() - e.at) < PATIENCE]
            fresh = {e.path for e in spool.read(self._spool)} - {e.path for e in found}
            if not fresh and (self._final or not patient):
                return {event.path for event in waiting} | self._failed
            if not fresh:
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)

    def _pass(self, found: Sequence[Spooled]) -> list[Spooled]:
        """Handle each event once, in order; gives back those that stay."""
        ended = _ended(found)
        waiting: list[Spooled] = []
        for event in found:
            if event.path in self._failed:
                continue
            who = events.session_of(event.env)
            if _waits_for(event, who, waiting):
                waiting.append(event)
                continue
            over = who is not None and ended.get(who[1], 0.0) >= event.at
            final = self._final or over
            try:
                self._handle(event, final=final, behind={other.head for other in waiting})
            except Waiting:
                waiting.append(event)
                continue
            except Exception as error:
                self._fail(event, error)
                continue
            spool.drop(event)
        return waiting

    def _handle(self, event: Spooled, *, final: bool, behind: Collection[str]) -> None:
        if self._pipeline is None:
            self._pipeline = self._make_pipeline()
            self._pipeline.ledger.alone = True
        pipeline = self._pipeline
        git_dir = Path(event.git_dir)
        if not git_dir.is_dir():
            git_dir = self._common
        if git_dir == pipeline.repo.git_dir:
            self._dispatch(pipeline, pipeline.repo, event, final=final, behind=behind)
            return
        with Plumbing(git_dir, self._common) as repo:
            self._dispatch(pipeline, repo, event, final=final, behind=behind)

    def _dispatch(
        self,
        pipeline: Pipeline,
        repo: Plumbing,
        event: Spooled,
        *,
        final: bool,
        behind: Collection[str],
    ) -> None:
        match event.event:
            case "post-merge" if event.args == "1":
                replaced.on_squash(repo, event)
            case "post-commit" | "post-merge":
                events.on_commit(
                    pipeline, repo, event, final=final, at_once=self._final, behind=behind
                )
                replaced.forget(repo, event)
                if is_oid(event.head):
                    heads.see(repo, Oid(event.head))
            case "post-rewrite":
                events.on_rewrite(pipeline, event)
            case "agent":
                snapshot.take_for(self._common, event, pipeline.settings)
                if event.word == "session-start":
                    self._mend()
                events.on_agent(pipeline, repo, event, final=final)
                autocommit.commit_turn(pipeline, repo, event)

    def _fail(self, event: Spooled, error: Exception) -> None:
        """Note why an event could not be handled; it stays, for the next worker."""
        what = f"{event.event} {event.word}".strip()
        message = error.message if isinstance(error, SessionError) else repr(error)
        hint = f" ({error.hint})" if isinstance(error, SessionError) and error.hint else ""
        details = "" if isinstance(error, SessionError) else _trace()
        self._failed.add(event.path)
        self.failures.append(f"{what}: {message}{hint}")
        # A worker that can't write its log must still do what it can.
        try:
            journal.note(self._common, self.failures[-1], details=details)
        except OSError:
            return


def _trace() -> str:
    import traceback

    return traceback.format_exc()


def _ended(found: Sequence[Spooled]) -> dict[str, float]:
    """When each session's last turn was over: no call from before that is still running."""
    words = ("turn-ended", "session-end", "compacting")
    ended: dict[str, float] = {}
    for event in found:
        told = events.understand(event) if event.event == "agent" else None
        if told is not None and told.name in words:
            ended[told.session] = max(event.at, ended.get(told.session, 0.0))
    return ended


def _waits_for(event: Spooled, who: Who, waiting: Sequence[Spooled]) -> bool:
    """Whether something earlier comes first: a commit that was rewritten, or one of the session."""
    if event.event == "post-rewrite":
        return not events.rewritten(event).isdisjoint(other.head for other in waiting)
    if event.event != "agent" or event.word == "session-start" or who is None:
        # A session may start anew because its program died in that very call.
        return False
    return any(events.session_of(other.env) == who for other in waiting)
