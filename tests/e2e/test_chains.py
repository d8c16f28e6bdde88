"""A session from end to end: resumed, forked, killed, with all that belongs to it."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.e2e.client import new_id
from tests.e2e.fake_anthropic import Json, Step, text
from tests.e2e.scenario import (
    Ground,
    Tied,
    bash,
    program,
    session_command,
    steps,
    wait_until,
    write,
)

pytestmark = pytest.mark.e2e

COMMIT_ONE = "echo 1 >one; git add . && git commit -qm one"


def test_a_resumed_session_goes_on_with_its_chain(ground: Ground) -> None:
    ground.turn("first", bash(COMMIT_ONE))
    ground.turn("second", bash("echo 2 >two; git add . && git commit -qm two"))
    ground.turn("third")
    assert ground.ties(ground.find("one")) == [Tied(ground.session, 1, "environment")]
    assert ground.ties(ground.find("two")) == [Tied(ground.session, 3, "environment")]
    assert ground.story() == ["commit", "end", "commit", "end", "end"]
    assert ground.raw() == ground.transcript().read_bytes()
    assert ground.repo.git("log", "--format=%an", f"refs/sessions/{ground.session}")
    ground.check()


def test_a_fork_does_not_repeat_what_it_inherited(ground: Ground) -> None:
    ground.turn("first", bash(COMMIT_ONE))
    ground.turn("second")
    fork = new_id()
    flags = ("-r", ground.session, "--fork-session", "--session-id", fork)
    commit = bash("echo 3 >three; git add . && git commit -qm forked")
    assert ground.client("third, of the fork", commit, flags=flags) == fork
    assert ground.ties(ground.find("forked")) == [Tied(fork, 1, "environment")]
    first = ground.chain(fork)[0]
    assert first.parent is not None
    assert (first.parent.session, first.parent.turn) == (ground.session, 2)
    assert first.prompt == "third, of the fork"
    assert first.turns == 1
    assert COMMIT_ONE.encode() not in ground.raw(fork)
    assert ground.claude.transcript(ground.repo.path, fork).read_bytes().endswith(ground.raw(fork))
    assert ground.raw() == ground.transcript().read_bytes()
    ground.check()


def test_an_agent_that_amends_its_commit_keeps_both_conversations(ground: Ground) -> None:
    ground.turn(
        "first",
        bash(COMMIT_ONE),
        bash("echo 2 >two; git add . && git commit -q --amend -m 'one and two'"),
    )
    head = ground.repo.head()
    carried, own = sorted(ground.records(head), key=lambda record: record.seq)
    assert (carried.seq, carried.rewritten_from) == (1, ground.repo.git("rev-parse", "HEAD@{1}"))
    assert (own.seq, own.rewritten_from, own.commit) == (2, None, head)
    assert ground.story() == ["commit", "commit", "end"]
    assert ground.raw() == ground.transcript().read_bytes()
    ground.check()


def test_large_outputs_are_kept_with_the_session(ground: Ground) -> None:
    ground.turn("much output", bash("seq 1 20000"), bash(COMMIT_ONE))
    (own,) = (ground.transcript().with_suffix("") / "tool-results").iterdir()
    assert ground.stored("results") == [f"{own.name}.zst"]
    assert ground.unpack(f"results/{own.name}.zst") == own.read_bytes()
    assert ground.raw() == ground.transcript().read_bytes()


def _kill(ground: Ground, *calls: Json, last_words: str) -> None:
    """Kill the client in the middle of a turn, when its transcript has some words."""
    waits = Step((text("Too late."),), delay=60)
    ground.api.on("unlucky", *steps(*calls, waits))
    client = ground.claude.start(ground.repo.path, "unlucky", *ground.flags())
    path = ground.transcript()
    wait_until(
        lambda: path.is_file() and last_words in path.read_text(),
        lambda: path.read_text(),
    )
    os.kill(client.pid, signal.SIGKILL)
    with client:
        client.communicate()


def test_a_client_that_was_killed_is_swept_up_by_the_next_one(ground: Ground) -> None:
    call = write(ground.repo.path / "work.py", program("work"))
    _kill(ground, call, last_words='"tool_result"')
    other = ground.at(ground.repo.path)
    other.turn("the next one")
    assert ground.story() == other.story() == ["end"]
    assert ground.raw() == ground.transcript().read_bytes()
    hand = ground.by_hand("what the unlucky one wrote")
    assert ground.ties(hand) == [Tied(ground.session, 1, "content")]
    status = json.loads(session_command(ground.repo, "status", "--json"))
    assert not status.get("sessions") and not status.get("last_error")
    ground.check()


def test_what_a_killed_client_left_is_captured_by_hand(ground: Ground) -> None:
    _kill(ground, bash(COMMIT_ONE), last_words='"tool_result"')
    session_command(ground.repo, "capture")
    ground.settle()
    assert ground.ties(ground.find("one")) == [Tied(ground.session, 1, "environment")]
    assert ground.raw() == ground.transcript().read_bytes()
    assert ground.story() in (["commit"], ["commit", "end"])
    ground.check()
