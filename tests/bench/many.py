"""Six thousand captures in one repository: the last ones cost what the first ones did."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitsession.actions.work import pipeline_of
from gitsession.capture.ledger import Tie
from gitsession.capture.pipeline import Order
from gitsession.git import maintenance
from gitsession.git.plumbing import discover
from gitsession.ids import Oid, SessionId
from gitsession.model import Evidence
from gitsession.store import sessions
from tests.bench import repository
from tests.bench.clock import slope
from tests.bench.ground import Ground, disk_use, run, transcript
from tests.bench.report import Row
from tests.scratch import Scratch

_DELTA = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """So many sessions with so many captures each, one after the other or in turns."""

    sessions: int
    captures: int

    @property
    def total(self) -> int:
        """All captures."""
        return self.sessions * self.captures

    def __str__(self) -> str:
        return f"{self.sessions:,} session{'s' * (self.sessions > 1)} x {self.captures:,} captures"


def measure(ground: Ground) -> Iterator[Row]:
    """Time, space and soundness after many captures."""
    plans = [Plan(sessions=4, captures=15), Plan(sessions=1, captures=30)]
    if not ground.quick:
        plans = [Plan(sessions=60, captures=100), Plan(sessions=1, captures=1000)]
    for number, plan in enumerate(plans):
        repo = ground.repository("many")
        commits = _commits(repo, plan.total)
        empty, _ = disk_use(repo.path / ".git")
        spent = list(_take_all(ground, repo, plan, commits))
        apparent, blocks = disk_use(repo.path / ".git")
        per = sum(spent) / len(spent)
        yield Row(
            what=f"{plan}: the last 5 % against the first 5 %", measured=slope(spent), budget=1.2,
            note=f"{per * 1000:.0f} ms a capture in all, packing included",
        )  # fmt: skip
        yield Row(
            what=f"{plan}: `.git` before any gc, blocks on disk", measured=blocks / 1e6, unit="MB",
            budget=100 if number == 0 else None,
            note=f"{apparent / 1e6:.0f} MB apparent ({empty / 1e6:.1f} MB before); "
            f"{plan.total * _DELTA / 1e6:.0f} MB of raw lines",
        )  # fmt: skip
        run("git", "fsck", "--strict", "--no-dangling", cwd=repo.path)
        yield Row(what=f"{plan}: `git fsck --strict`", measured=0, unit="errors", budget=0)


def _commits(repo: Scratch, count: int) -> list[Oid]:
    """Commits to tie captures to, packed as a clone has them."""
    marks = repo.path / ".git" / "marks"
    repository.import_history(repo.path, count, marks)
    named = [line.split() for line in marks.read_text().splitlines()]
    repo.git("reset", "-q", "--hard")
    repo.git("gc", "-q")
    return [Oid(oid) for _, oid in sorted(named, key=lambda pair: int(pair[0][1:]))]


def _take_all(ground: Ground, repo: Scratch, plan: Plan, commits: Sequence[Oid]) -> Iterator[float]:
    """Seconds for each capture, sessions in turns, with the packing that the worker does."""
    made = [_Growing(ground, number) for number in range(plan.sessions)]
    for number in range(plan.total):
        growing = made[number % plan.sessions]
        end = growing.grow()
        start = time.perf_counter()
        # A worker of its own for each: nothing is remembered from the one before.
        sessions._read.clear()
        with discover(repo.path) as seen:
            pipeline = pipeline_of(seen)
            began = time.perf_counter()
            pipeline.take(
                Order(session=growing.session, agent="claude-code", source=str(growing.path),
                      kind="commit", end=end,
                      tie=Tie(commit=commits[number], branch="main",
                              evidence=Evidence(by="environment")))
            )  # fmt: skip
            if maintenance.is_due(repo.path / ".git"):
                maintenance.pack_loose(repo.path / ".git")
        yield time.perf_counter() - (began if began > start else start)


class _Growing:
    """A session whose transcript grows by some lines at a time."""

    def __init__(self, ground: Ground, number: int) -> None:
        self.session = SessionId(str(uuid.uuid4()))
        self.path: Path = transcript(self.session)
        self._lines = self._endless(ground, number)
        self.path.touch()

    def _endless(self, ground: Ground, number: int) -> Iterator[bytes]:
        at = number * 130_000 % ground.corpus.size
        while True:
            for line in ground.corpus.lines(1_000_000, skip=at):
                if len(line) < 4 * _DELTA:
                    yield line
            at += 1_000_000

    def grow(self) -> int:
        """Append about a delta; gives back where it ends."""
        made = 0
        with self.path.open("ab") as file:
            while made < _DELTA:
                made += file.write(next(self._lines))
            return file.tell()
