"""The states of a real client's turns, and the hook that its tools wait for."""

from __future__ import annotations

import pytest

from gitsession.agents import claude_code
from gitsession.git.inspect import listing
from gitsession.git.plumbing import discover
from gitsession.ids import SessionId
from gitsession.store import snapshots
from tests.e2e.scenario import Ground, bash, wait_until, write

pytestmark = pytest.mark.e2e


def test_every_turn_has_the_state_that_it_ended_with(ground: Ground) -> None:
    ground.repo.commit("ground", {".gitignore": ".claude\n"})
    ground.turn("one", bash("echo 1 >one; echo 1 >both"))
    ground.repo.write("mine", "between turns\n")
    # A call of some megabytes: the hook before it doesn't read what it is told.
    ground.turn("two", write(ground.repo.path / "two", "x\n" * 1_500_000), bash("echo 2 >both"))
    ground.turn("three")
    ground.turn("four", bash("rm one both; git add two mine && git commit -qm four"))
    waiting = ground.common / "gitsession" / "snapping"
    wait_until(lambda: not list(waiting.iterdir()), lambda: str(list(waiting.iterdir())))
    said = ground.transcript().read_bytes()
    assert b"hook_non_blocking_error" not in said and b"hook_cancelled" not in said
    turns = claude_code.read_turns(said.splitlines(keepends=True))
    with discover(ground.repo.path) as repo:
        found = snapshots.read_all(repo, SessionId(ground.session))
        states = []
        for number in range(5):
            state = snapshots.snapshot_at(found, turns, number)
            assert state is not None
            states.append([x.path for x in listing(repo, state.tree)])
            assert state.prompt
    assert [one.moment for one in found] == ["start", "end", "start", "end", "end"]
    base = [".gitignore", "README"]
    assert states == [
        base,
        [*base, "both", "one"],
        [*base, "both", "mine", "one", "two"],
        [*base, "both", "mine", "one", "two"],
        [*base, "mine", "two"],
    ]
    ground.check()
