"""People at work in clones: what they do is planned from a seed, and done in a process by itself.

    python -m tests.sync.actor LOG < JOBS

The process may be killed at any moment; what it began and what it had done is in its log.
"""

from __future__ import annotations

import os
import random
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gitsession import config
from gitsession.capture.ledger import Ledger, Tie
from gitsession.errors import Moved, SessionError
from gitsession.git import refs
from gitsession.ids import Oid, SessionId
from gitsession.model import Evidence, Frozen
from gitsession.store import contents, sessions
from tests.scratch import Scratch
from tests.sync.clones import Clone

Verb = Literal["capture", "join", "tie", "amend", "fetch", "push", "sync", "everything"]

_LOCAL: tuple[Verb, ...] = ("capture", "capture", "capture", "join", "tie", "amend")
_AWAY: tuple[Verb, ...] = ("sync", "sync", "push", "fetch", "everything")


class Step(Frozen, frozen=True, kw_only=True):
    """One thing that somebody does."""

    do: Verb
    session: str = ""
    text: str = ""
    """What is captured, found nowhere else."""
    commit: bool = False
    """A commit is made first, and the capture tied to it."""


class Task(Frozen, frozen=True, kw_only=True):
    """What happens in one clone at a time, and to it."""

    clone: int
    steps: tuple[Step, ...]
    beside: tuple[Step, ...] = ()
    """What another process does in the same clone meanwhile, as our worker does."""
    kill: float | None = None
    """Seconds after which it is killed."""
    group: bool = False
    """With all that it has started, as when a machine goes down."""
    drop: str = ""
    """Which connections are cut, and when: as tests/sync/connection.py takes it."""


class Job(Frozen, frozen=True, kw_only=True):
    """Steps in one clone."""

    path: str
    steps: tuple[Step, ...]


class Entry(Frozen, frozen=True, kw_only=True):
    """One line of a log."""

    what: Literal["ready", "begun", "done", "tied", "carried", "failed", "warned", "bug"]
    session: str = ""
    text: str = ""
    id: str = ""
    commit: str | None = None


def plan(seed: int, clones: int, rounds: int) -> list[list[Task]]:
    """What everybody does: the same for the same seed."""
    rng = random.Random(seed)
    return [
        # Everybody does something, and later on some do more.
        [_task(rng, n, turn, clones) for n in rng.sample(range(clones), clones // (turn + 1))]
        for turn in range(rounds)
    ]


def _task(rng: random.Random, clone: int, turn: int, clones: int) -> Task:
    local = [_step(rng, clone, f"{turn}-{n}", clones) for n in range(rng.randint(1, 4))]
    away = [Step(do=rng.choice(_AWAY)) for _ in range(rng.randint(1, 2))]
    fate = rng.random()
    mixed = [*local, *away]
    if beside := rng.random() < 0.25:
        mixed = local
    elif rng.random() < 0.5:
        rng.shuffle(mixed)
    service = rng.choice(("receive-pack", "receive-pack", "upload-pack"))
    drop = f"{service}:{rng.choice(('in', 'out'))}:{int(10 ** rng.uniform(0, 4.5))}"
    return Task(
        clone=clone,
        steps=tuple(mixed),
        beside=tuple(away) if beside else (),
        kill=rng.uniform(0, 0.8) if fate < 0.25 else None,
        group=rng.random() < 0.5,
        drop=drop if 0.25 < fate < 0.5 else "",
    )


def _step(rng: random.Random, clone: int, at: str, clones: int) -> Step:
    do = rng.choice(_LOCAL)
    owner = rng.randrange(clones) if do == "join" else clone
    # Everybody has two sessions; those of a few are continued by many.
    session = f"c{owner % 5 if do == 'join' else owner}-{rng.randrange(2)}"
    return Step(do=do, session=session, text=f"{clone}/{at}", commit=rng.random() < 0.6)


# -- the process ------------------------------------------------------------------------------


class Actor:
    """Does steps in one clone, and writes down what it does."""

    def __init__(self, clone: Clone, log: int) -> None:
        self._clone = clone
        self._log = log

    def run(self, steps: Sequence[Step]) -> None:
        """Do them; what fails is tried no more."""
        for step in steps:
            try:
                self._do(step)
            except SessionError as error:
                self._note(Entry(what="failed", text=f"{step.do}: {error.message}"))

    def _note(self, entry: Entry) -> None:
        os.write(self._log, msgspec.json.encode(entry) + b"\n")

    def _do(self, step: Step) -> None:
        match step.do:
            case "capture":
                self._capture(step)
            case "join":
                self._warn(self._clone.fetch(step.session))
                self._capture(step)
            case "tie":
                self._tie(step)
            case "amend":
                self._amend(step)
            case _:
                self._exchange(step.do)

    def _commit(self, text: str, *flags: str) -> str:
        self._clone.git("commit", "-q", "--allow-empty", "-m", text, *flags)
        return self._clone.scratch.head()

    def _capture(self, step: Step) -> None:
        commit = self._commit(step.text) if step.commit else None
        for attempt in range(20):
            self._note(Entry(what="begun", session=step.session, text=step.text))
            try:
                record = self._clone.capture(step.session, step.text, commit=commit)
            except Moved:
                # As the worker, which looks for what isn't captured yet and begins again.
                time.sleep(0.01 * attempt)
                if self._has(step):
                    return
                continue
            entry = Entry(what="done", session=step.session, text=step.text, id=record.id,
                          commit=commit)  # fmt: skip
            self._note(entry)
            return
        raise Moved(f"{step.session} keeps moving")

    def _has(self, step: Step) -> bool:
        with self._clone.open() as repo:
            tip = repo.resolve(refs.session(SessionId(step.session)))
            every = contents.read(repo, tip).records if tip else []
            return any(record.prompt == step.text for record in every)

    def _tie(self, step: Step) -> None:
        with self._clone.open() as repo:
            stored = sessions.open_session(repo, SessionId(step.session))
            if not stored.seqs:
                return
            commit = self._commit(step.text)
            tie = Tie(commit=Oid(commit), evidence=Evidence(by="manual"))
            ledger = Ledger(repo, config.load(self._clone.path))
            tied = ledger.tie(SessionId(step.session), stored.seqs[-1], tie)
            if tied is not None:
                self._note(Entry(what="tied", session=tied.session, id=tied.id, commit=commit))

    def _amend(self, step: Step) -> None:
        old = self._clone.scratch.head()
        new = self._commit(step.text, "--amend")
        with self._clone.open() as repo:
            ledger = Ledger(repo, config.load(self._clone.path))
            for record in ledger.carry([(Oid(old), Oid(new))]):
                entry = Entry(what="carried", session=record.session, id=record.id, commit=new)
                self._note(entry)

    def _exchange(self, do: Verb) -> None:
        with self._clone.open() as repo:
            exchange = self._clone.exchange(repo)
            if do != "push":
                self._warn(exchange.fetch(everything=do == "everything").warnings)
            if do in ("push", "sync"):
                pushed = exchange.push()
                self._warn(pushed.warnings)
                self._warn([f"{held.ref}: {held.reason}" for held in pushed.held])

    def _warn(self, warnings: Sequence[str]) -> None:
        for warning in warnings:
            self._note(Entry(what="warned", text=warning))


def read_log(path: Path) -> Iterator[Entry]:
    """What a process wrote down; its last line may have been cut."""
    for line in path.read_bytes().split(b"\n")[:-1]:
        yield msgspec.json.decode(line, type=Entry)


def main() -> None:
    """Do the jobs that standard input tells."""
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    jobs = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Job])
    os.write(log, msgspec.json.encode(Entry(what="ready")) + b"\n")
    for job in jobs:
        try:
            Actor(Clone(Scratch(Path(job.path))), log).run(job.steps)
        except Exception:
            trace = traceback.format_exc()
            os.write(log, msgspec.json.encode(Entry(what="bug", text=trace)) + b"\n")


if __name__ == "__main__":
    main()
