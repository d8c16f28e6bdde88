"""Six thousand captures in one repository: the last ones cost what the first ones did.

The first and the last of one run are minutes apart, and tell more of the machine
than of us: a file system that has just deleted thousands of files, as packing
and earlier runs do, makes new ones at up to twice the cost for minutes. So a
copy of the young repository is kept, and the two are captured into by turns.
"""

from __future__ import annotations

import resource
import statistics
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
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
from tests.bench.ground import Ground, copy_repository, disk_use, run, transcript
from tests.bench.report import Row
from tests.scratch import Scratch

_DELTA = 20_000
_YOUNG = 20
"""Of so many parts of the captures, the copy has the first."""
_TURNS = 120
_EACH = 10
"""Captures of one of the new sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """So many sessions with so many captures each, one after the other or in turns."""

    sessions: int
    captures: int

    @property
    def total(self) -> int:
        """All captures."""
        return self.sessions * self.captures

    @property
    def first(self) -> int:
        """The captures that the young repository has."""
        return max(1, self.total // _YOUNG)

    def __str__(self) -> str:
        return f"{self.sessions:,} session{'s' * (self.sessions > 1)} x {self.captures:,} captures"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds for one capture."""

    wall: float
    cpu: float
    """Of the processor, git's processes included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """What captures in the old repository cost against those in the young one."""

    wall: float
    cpu: float

    @classmethod
    def of(cls, old: Sequence[Cost], young: Sequence[Cost]) -> Ratio:
        """From medians."""
        return cls(
            wall=_median(old, lambda c: c.wall) / _median(young, lambda c: c.wall),
            cpu=_median(old, lambda c: c.cpu) / _median(young, lambda c: c.cpu),
        )


def _median(costs: Sequence[Cost], part: Callable[[Cost], float]) -> float:
    return statistics.median(map(part, costs))


def measure(ground: Ground) -> Iterator[Row]:
    """Time, space and soundness after many captures."""
    plans = [Plan(sessions=4, captures=15), Plan(sessions=1, captures=30)]
    if not ground.quick:
        plans = [Plan(sessions=60, captures=100), Plan(sessions=1, captures=1000)]
    for number, plan in enumerate(plans):
        yield from _measure_plan(ground, plan, 100 if number == 0 else None)


def _measure_plan(ground: Ground, plan: Plan, megabytes: float | None) -> Iterator[Row]:
    site = _Site(ground, plan)
    empty, _ = disk_use(site.git_dir)
    early, spent = site.take_all()
    apparent, blocks = disk_use(site.git_dir)
    run("git", "fsck", "--strict", "--no-dangling", cwd=site.repo.path)
    young, old = _alike(ground, early), _alike(ground, site.repo)
    same, new = site.compare_grown(young, old), site.compare_new(young, old)
    yield Row(
        what=f"{plan}: one more against one after the first {100 // _YOUNG} %, by turns",
        measured=same.wall, budget=1.2,
        note=f"processor time {same.cpu:.2f}x; in new sessions {new.wall:.2f}x and "
        f"{new.cpu:.2f}x; the last against the first as they came {slope(spent):.2f}x; "
        f"{sum(spent) / len(spent) * 1000:.0f} ms a capture in all, packing included",
    )  # fmt: skip
    yield Row(
        what=f"{plan}: `.git` before any gc, blocks on disk", measured=blocks / 1e6, unit="MB",
        budget=megabytes,
        note=f"{apparent / 1e6:.0f} MB apparent ({empty / 1e6:.1f} MB before); "
        f"{plan.total * _DELTA / 1e6:.0f} MB of raw lines",
    )  # fmt: skip
    yield Row(what=f"{plan}: `git fsck --strict`", measured=0, unit="errors", budget=0)


def _alike(ground: Ground, repo: Scratch) -> Scratch:
    """A copy that was just made and just packed: where its folders are on disk costs as well."""
    copied = copy_repository(repo.path, ground.place("copy"))
    maintenance.pack_loose(copied.path / ".git")
    return copied


def _commits(repo: Scratch, count: int) -> list[Oid]:
    """Commits to tie captures to, packed as a clone has them."""
    marks = repo.path / ".git" / "marks"
    repository.import_history(repo.path, count, marks)
    named = [line.split() for line in marks.read_text().splitlines()]
    repo.git("reset", "-q", "--hard")
    repo.git("gc", "-q")
    return [Oid(oid) for _, oid in sorted(named, key=lambda pair: int(pair[0][1:]))]


class _Site:
    """A repository whose sessions are captured in turns."""

    def __init__(self, ground: Ground, plan: Plan) -> None:
        self._ground, self._plan = ground, plan
        self._turns = 10 if ground.quick else _TURNS
        self.repo = ground.repository("many")
        self.git_dir = self.repo.path / ".git"
        self._commits = _commits(self.repo, plan.total + 2 * self._turns)
        self._growing = [_Growing(ground, number) for number in range(plan.sessions)]

    def take_all(self) -> tuple[Scratch, list[float]]:
        """A copy of the young repository, and seconds for each capture and its packing."""
        young = self.repo
        spent = []
        for number in range(self._plan.total):
            growing = self._of(number)
            growing.grow()
            cost = self._take(self.repo, growing, number, growing.ends[-1])
            start = time.perf_counter()
            if maintenance.is_due(self.git_dir):
                maintenance.pack_loose(self.git_dir)
            spent.append(cost.wall + time.perf_counter() - start)
            if number + 1 == self._plan.first:
                young = copy_repository(self.repo.path, self._ground.place("young"))
        return young, spent

    def compare_grown(self, young: Scratch, old: Scratch) -> Ratio:
        """One more capture of the same sessions, which are longer in the old one."""
        early: list[Cost] = []
        late: list[Cost] = []
        for turn in range(self._turns):
            number, last = self._plan.first + turn, self._plan.total + turn
            self._of(last).grow()
            sides = [(young, number, early), (old, last, late)]
            for repo, at, costs in sides[:: 1 if turn % 2 else -1]:
                growing = self._of(at)
                end = growing.ends[at // self._plan.sessions]
                costs.append(self._take(repo, growing, at, end))
        return Ratio.of(late, early)

    def compare_new(self, young: Scratch, old: Scratch) -> Ratio:
        """The same captures of new sessions: what is left is the repository's own growth."""
        early: list[Cost] = []
        late: list[Cost] = []
        for turn in range(self._turns):
            if turn % _EACH == 0:
                growing = _Growing(self._ground, self._plan.sessions + turn)
            growing.grow()
            number = self._plan.total + self._turns + turn
            sides = [(young, early), (old, late)]
            for repo, costs in sides[:: 1 if turn % 2 else -1]:
                costs.append(self._take(repo, growing, number, growing.ends[-1]))
        return Ratio.of(late, early)

    def _of(self, number: int) -> _Growing:
        return self._growing[number % self._plan.sessions]

    def _take(self, repo: Scratch, growing: _Growing, number: int, end: int) -> Cost:
        """A capture as a worker of its own takes it: nothing is remembered from the one before."""
        sessions._read.clear()
        tie = Tie(
            commit=self._commits[number], branch="main", evidence=Evidence(by="environment")
        )  # fmt: skip
        order = Order(
            session=growing.session, agent="claude-code", source=str(growing.path),
            kind="commit", end=end, tie=tie,
        )  # fmt: skip
        with discover(repo.path) as seen:
            pipeline = pipeline_of(seen)
            start, used = time.perf_counter(), _processor()
            taken = pipeline.take(order)
        cost = Cost(wall=time.perf_counter() - start, cpu=_processor() - used)
        if taken is None:
            raise SystemExit("error: a capture found nothing new")
        return cost


def _processor() -> float:
    """Seconds of processor time of this process and of those it has waited for."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in both)


class _Growing:
    """A session whose transcript grows by some lines at a time."""

    def __init__(self, ground: Ground, number: int) -> None:
        self.session = SessionId(str(uuid.uuid4()))
        self.path: Path = transcript(self.session)
        self._lines = self._endless(ground, number)
        self.path.touch()
        self.ends: list[int] = []
        """Where each of its deltas ends."""

    def _endless(self, ground: Ground, number: int) -> Iterator[bytes]:
        at = number * 130_000 % ground.corpus.size
        while True:
            for line in ground.corpus.lines(1_000_000, skip=at):
                if len(line) < 4 * _DELTA:
                    yield line
            at += 1_000_000

    def grow(self) -> None:
        """Append about a delta."""
        made = 0
        with self.path.open("ab") as file:
            while made < _DELTA:
                made += file.write(next(self._lines))
            self.ends.append(file.tell())
