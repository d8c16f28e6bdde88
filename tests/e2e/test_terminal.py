"""The interactive client: what is cleared, compacted, typed with `!`, or committed beside it."""

from __future__ import annotations

import re

import pytest

from tests.e2e.scenario import Ground, Tied, program, steps, wait_until, write

pytestmark = pytest.mark.e2e


def test_clear_compact_and_exit_leave_nothing_behind(ground: Ground) -> None:
    first = ground.session
    with ground.claude.terminal(ground.repo.path, first) as client:
        client.enter("the first question")
        client.wait("echo: the first question")
        client.enter("/clear")
        wait_until(lambda: first in ground.sessions(), lambda: client.screen())
        client.enter("the second question")
        client.wait("echo: the second question")
        client.enter("/compact")
        wait_until(lambda: len(ground.sessions()) == 2, lambda: client.screen())
        client.wait("ompacted")
        client.enter("!echo 1 >typed.txt; git add typed.txt; git commit -qm typed")
        wait_until(lambda: "typed" in ground.repo.git("log", "--format=%s"), client.screen)
        client.enter("the third question")
        client.wait("echo: the third question")
        client.quit()
    ground.settle()
    assert not re.search("git-?session", str(ground.api.requests))
    (second,) = set(ground.sessions()) - {first}
    assert ground.story(first) == ["clear"]
    assert ground.story(second) == ["compact", "commit", "end"]
    assert ground.ties(ground.find("typed")) == [Tied(second, 2, "environment")]
    assert ground.raw(first) == ground.transcript().read_bytes()
    assert ground.raw(second) == ground.claude.transcript(ground.repo.path, second).read_bytes()
    ground.check()


def test_a_commit_by_hand_while_the_client_is_open(ground: Ground) -> None:
    path = ground.repo.path / "work.py"
    ground.api.on("write it", *steps(write(path, program("work")), last="Written."))
    ground.api.on("more of it", *steps(write(path, program("work", 6)), last="Extended."))
    with ground.claude.terminal(ground.repo.path, ground.session) as client:
        client.enter("write it")
        client.wait("Written")
        one = ground.by_hand("while it is open")
        client.enter("more of it")
        client.wait("Extended")
        two = ground.by_hand("and again")
        client.quit()
    ground.settle()
    assert ground.ties(one) == [Tied(ground.session, 1, "content")]
    assert ground.ties(two) == [Tied(ground.session, 2, "content")]
    assert ground.story() == ["commit", "commit", "end"]
    assert b"more of it" not in ground.segment(1)
    assert ground.raw() == ground.transcript().read_bytes()
    ground.check()
