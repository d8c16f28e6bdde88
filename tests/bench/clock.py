"""Measures by turns: each contender once a round, so that a busy machine is busy for all."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


def nothing() -> None:
    """What a contender does before and after, unless it says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Something to be timed; what it needs before and leaves behind isn't."""

    run: Callable[[], object]
    before: Callable[[], object] = nothing
    after: Callable[[], object] = nothing
    times: int = 1
    """How often `run` does the thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds for doing a thing once."""

    best: float
    median: float
    cpu: float
    """Of the processor, by the median; what else the machine does is left out of it."""


def compare(contenders: Mapping[str, Contender], rounds: int) -> dict[str, Timing]:
    """Time all of them, round by round; the first round only warms up."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    used: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, contender in contenders.items():
            contender.before()
            start, busy = time.perf_counter(), processor()
            contender.run()
            spent, busy = time.perf_counter() - start, processor() - busy
            contender.after()
            if number:
                taken[name].append(spent / contender.times)
                used[name].append(busy / contender.times)
    return {
        name: Timing(
            best=min(spent), median=statistics.median(spent), cpu=statistics.median(used[name])
        )
        for name, spent in taken.items()
    }


def processor() -> float:
    """Seconds of processor time of this process and of those it has waited for."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in both)


def command(
    *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, stdin: Path | None = None
) -> Callable[[], object]:
    """A program as a contender's run; one that fails ends the benchmark."""

    def run() -> None:
        with Path(stdin or os.devnull).open("rb") as given:
            subprocess.run(
                list(map(str, words)), cwd=cwd, stdin=given, stdout=subprocess.DEVNULL,
                env={**os.environ, **(env or {})}, check=True,
            )  # fmt: skip

    return run


def repeated(script: str, times: int, *, cwd: Path, **env: str) -> Contender:
    """A line of shell run often by one shell: for what takes as little as starting a process."""
    loop = f"i=0; while [ $i -lt {times} ]; do {script}; i=$((i+1)); done"
    return Contender(run=command("sh", "-c", loop, cwd=cwd, env=env), times=times)


def python_pass(cwd: Path) -> Contender:
    """The yardstick of everything that is written in Python."""
    return Contender(run=command(sys.executable, "-c", "pass", cwd=cwd))


def throughput(work: Callable[[], object], size: int, rounds: int) -> float:
    """Megabytes a second, at its best."""
    return size / compare({"it": Contender(run=work)}, rounds)["it"].best / 1e6


def slope(spent: Sequence[float], share: float = 0.05) -> float:
    """What the last ones of many cost against the first ones."""
    count = max(1, int(len(spent) * share))
    return statistics.median(spent[-count:]) / statistics.median(spent[:count])
