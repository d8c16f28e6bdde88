"""A thousand messages and a hundred thousand alike: counted in processes, reads and bytes."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gitsession import Sessions
from gitsession.git.plumbing import Plumbing
from gitsession.model import Frozen
from tests.library.lines import Line, asked, talk
from tests.scratch import Scratch

FEW, MANY = 500, 50_000
"""Turns of two messages each."""


@pytest.fixture
def repo(scratch: Scratch) -> Scratch:
    """One object format: what is counted doesn't depend on it."""
    return scratch


class Cost(Frozen, frozen=True, kw_only=True):
    """What a call took."""

    processes: tuple[str, ...]
    reads: int


Measure = Callable[[Callable[[], Any]], Cost]


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """Counts the git processes that a call starts, and the objects that it reads."""
    reads: list[str] = []
    receive = Plumbing._receive

    def counted(self: Plumbing, name: str) -> Any:
        reads.append(name)
        return receive(self, name)

    monkeypatch.setattr(Plumbing, "_receive", counted)

    def run(call: Callable[[], Any]) -> Cost:
        trace = tmp_path / "trace"
        trace.unlink(missing_ok=True)
        reads.clear()
        with monkeypatch.context() as patch:
            patch.setenv("GIT_TRACE2_EVENT", str(trace))
            call()
        events = map(json.loads, trace.read_text().splitlines()) if trace.exists() else ()
        names = (event["name"] for event in events if event["event"] == "cmd_name")
        return Cost(processes=tuple(sorted(names)), reads=len(reads))

    return run


def count(lines: Iterator[bytes]) -> int:
    return sum(1 for _ in lines)


def test_a_capture_of_many_messages_costs_what_one_of_few_does(
    repo: Scratch, measure: Measure
) -> None:
    costs = []
    for turns in (FEW, MANY):
        with Sessions(repo.path) as store:
            session = store.create()
            store.append(session, talk(1))
            appended = measure(lambda: store.append(session, talk(turns, "v"), commit="HEAD"))  # noqa: B023
            loaded = measure(lambda: count(store.load(session)))  # noqa: B023
            cut = measure(lambda: count(store.load(session, until=f"v{2 * turns}")))  # noqa: B023
            assert count(store.load(session)) == 2 * turns + 2
            assert store.list()[0].messages == 2 * turns + 2
            costs.append((appended, loaded, cut))
    assert costs[0] == costs[1]
    assert 0 < len(costs[0][0].processes) < 12


def test_a_session_of_many_captures_is_read_once(
    store: Sessions, repo: Scratch, measure: Measure
) -> None:
    session = store.create()
    appended, loaded, cut, told = [], [], [], []
    for number in range(1, 41):
        cost = measure(
            lambda: store.append(session, talk(1, f"{number}-"), commit="HEAD")  # noqa: B023
        )
        if number in (10, 40):
            appended.append(cost)
            loaded.append(measure(lambda: count(store.load(session))))
            cut.append(measure(lambda: count(store.load(session, turn=number - 1))))  # noqa: B023
            told.append(measure(lambda: store.records(session)))
    assert appended[0] == appended[1]
    for (few, many), most in ((loaded, 1), (cut, 2), (told, 1)):
        assert few.processes == many.processes
        assert many.reads - few.reads == 30 * most


def noise(size: int) -> Iterator[Line]:
    """About so many bytes of lines that get no smaller than half."""
    chance = random.Random(size)
    last: str | None = None
    for number in range(size // 10_000):
        yield asked(f"n{number}", last, chance.randbytes(5_000).hex())
        last = f"n{number}"


def peak(call: Callable[[], Any]) -> int:
    """The most memory that a call held."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_bounded_by_a_block_or_a_capture(store: Sessions) -> None:
    session = store.create()
    store.append(session, noise(1 << 20))
    one = count(store.load(session))
    few = peak(lambda: count(store.load(session)))
    assert peak(lambda: store.append(session, noise(20 << 20))) < 10 << 20
    other = store.create()
    for _ in range(8):
        store.append(other, noise(1 << 20))
    assert count(store.load(other)) == 8 * one
    assert peak(lambda: count(store.load(other))) < 1.5 * few
