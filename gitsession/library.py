"""Sessions for programs: begin, append, read, fork, list and delete them. See docs/library.md.

A thin face of the modules that the commands use. Every call opens what it needs
and keeps nothing but git's reader, so that several programs, and several
threads with one of these, can work in a repository at once. What fails raises a
SessionError.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType

from gitsession import agents
from gitsession.actions import adding, extent, forget, stories
from gitsession.actions.overview import SessionInfo, find_latest, overview
from gitsession.agents.base import Side
from gitsession.capture.given import GivenLine
from gitsession.capture.record_of import Purpose
from gitsession.errors import SessionError, Usage
from gitsession.git.plumbing import Plumbing, discover
from gitsession.ids import SessionId
from gitsession.model import Parent, Record, Status, Turn
from gitsession.render.dates import parse_date
from gitsession.store import codec, created, sessions
from gitsession.sync.lately import take_in

__all__ = ["GivenLine", "Parent", "Record", "SessionError", "SessionInfo", "Sessions", "Turn"]

Infos = list[SessionInfo]
"""`list` is a method below."""


class Sessions:
    """The sessions of the repository that a folder belongs to."""

    def __init__(self, path: str | os.PathLike[str] = ".") -> None:
        self._path = Path(path)
        self._lock = threading.RLock()
        self._repo: Plumbing | None = discover(self._path)

    def __enter__(self) -> Sessions:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the repository."""
        with self._lock:
            if self._repo is not None:
                self._repo.close()
                self._repo = None

    # -- writing ------------------------------------------------------------------------------

    def create(
        self,
        *,
        agent: str = "claude-code",
        session: str | None = None,
        parent: Parent | None = None,
    ) -> SessionId:
        """Begin a session; others see it from its first capture on.

        Without an id it gets a new one. Raises where an id is taken, or was forgotten.
        """
        with self._held() as repo:
            return adding.begin(repo, agent, session, parent)

    def append(
        self,
        session: str,
        lines: Iterable[GivenLine],
        *,
        commit: str | None = None,
        task: str | None = None,
        status: Status = "complete",
    ) -> Record:
        """Capture these lines of the agent, for a commit, a task or neither.

        Secrets are taken out first. The capture is kept as a whole or not at all.
        """
        with self._held() as repo:
            purpose = adding.purpose_of(repo, session, commit=commit, task=task, status=status)
        return self._append(purpose, lines)

    def _append(
        self, purpose: Purpose, lines: Iterable[GivenLine], sides: Sequence[Side] = ()
    ) -> Record:
        # A repository of its own: other threads go on while lines come in.
        with translated(), discover(self._path) as repo:
            return adding.appender_of(repo).append(purpose, lines, sides)

    def fork(
        self, session: str, *, turn: int | None = None, before: str | None = None
    ) -> SessionId:
        """Begin a session with what another one held at the end of a turn.

        `before`: the moment before a prompt, named by its uuid, was sent. As it is now when
        neither is given. Raises where that moment can't be had exactly.
        """
        with self._held() as repo:
            found, cut = adding.cut(repo, session, turn=turn, before=before)
            parent = Parent(session=found.session, turn=max(cut.turns, default=0))
            new = adding.begin(repo, found.agent, None, parent)
            purpose = adding.purpose_of(repo, new, commit=None, task=None, status="complete")
        if cut.fresh:
            return new
        adapter = agents.get(found.agent)
        try:
            lines = adapter.prepare(cut.lines, session=new, parent=found.session)
            self._append(purpose, lines, adapter.select(cut.lines, found.sides))
        except BaseException:
            with self._held() as repo:
                created.drop(repo.common_dir, new)
            raise
        return new

    def delete(self, session: str) -> None:
        """Forget a session here, for good: a tombstone keeps it from coming back.

        The next sync takes it off the remote.
        """
        with self._held() as repo:
            known = adding.get_begun(repo, session).session
            created.drop(repo.common_dir, known)
            if adding.is_known(repo, known):
                forget.carry_out(self._path, forget.Request(name=known))

    # -- reading ------------------------------------------------------------------------------

    def load(
        self, session: str, *, until: str | None = None, turn: int | None = None
    ) -> Iterator[bytes]:
        """The agent's own lines, in one pass: all, or up to a line or the end of a turn.

        `until`: the uuid of the last line that is wanted. What isn't there is said at once,
        before there is a first line.
        """
        if until is not None and turn is not None:
            raise Usage("give a uuid or a turn, not both")
        with self._held() as repo:
            stored = adding.get(repo, session)
            end = None
            if until is not None:
                end = extent.up_to(repo, stored, until)
            elif turn is not None:
                end = extent.of_turn(repo, stored, turn)
        return self._lines(stored, end)

    def _lines(self, stored: sessions.Stored, end: extent.End | None) -> Iterator[bytes]:
        for seq in stored.seqs:
            with self._held() as repo:
                blob = sessions.segment_blob(repo, stored, seq)
            last = end is not None and end.seq == seq
            yield from islice(codec.lines(blob), end.lines if end and last else None)
            if last:
                return

    def turns(self, session: str) -> tuple[Turn, ...]:
        """The conversation, turn by turn, the same for every agent."""
        with self._held() as repo:
            stored = adding.get(repo, session)
            return tuple(stories.read_turns(repo, stored, stored.seqs)) if stored.tip else ()

    def records(self, session: str) -> tuple[Record, ...]:
        """The captures in order: a record for each, and one more for each further commit."""
        with self._held() as repo:
            stored = adding.get(repo, session)
            told = (x for s in stored.seqs for x in sessions.record_lines(repo, stored, s))
            return tuple(line for line in told if isinstance(line, Record))

    def latest(self, folder: str | os.PathLike[str] | None = None) -> SessionId | None:
        """The newest session of the repository, or of those that ran in a folder or below it."""
        with self._held() as repo:
            take_in(repo)
            return find_latest(repo, None if folder is None else Path(folder))

    # -- finding ------------------------------------------------------------------------------

    @contextmanager
    def _held(self) -> Iterator[Plumbing]:
        """The repository, for one thread at a time: git's reader answers in order."""
        with self._lock, translated():
            if self._repo is None:
                raise Usage("this was closed", hint="open the sessions again")
            yield self._repo

    def list(
        self,
        *,
        agent: str | None = None,
        branch: str | None = None,
        since: datetime | str | None = None,
    ) -> Infos:
        """All sessions that are known here, the one that was captured last first."""
        with self._held() as repo:
            take_in(repo)
            return overview(repo, agent=agent, branch=branch, since=_read_date(since))


@contextmanager
def translated() -> Iterator[None]:
    """A disk that is full, or a folder that can't be written, is a failure like others."""
    try:
        yield
    except OSError as error:
        raise SessionError(f"{error.strerror or error}: {error.filename or 'a file'}") from error


def _read_date(since: datetime | str | None) -> datetime | None:
    if since is None:
        return None
    found = parse_date(since) if isinstance(since, str) else since
    if found is None:
        raise Usage(f"this is no date: '{since}'", hint="say 2026-11-18, or an RFC 3339 moment")
    return found if found.tzinfo else found.replace(tzinfo=UTC)
