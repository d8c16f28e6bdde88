"""What the agent's settings call."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.hooks.ground import (
    PAYLOAD,
    SHELLS,
    call_agent,
    commit,
    events,
    git_dir,
    wait_for,
)
from tests.scratch import Scratch


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_an_event_of_the_agent_is_kept(repo: Scratch, shell: list[str], end: str) -> None:
    call_agent(repo, "turn-ended", *shell, stdin=PAYLOAD + end)
    [event] = events(git_dir(repo))
    assert (event.event, event.agent, event.word) == ("agent", "claude-code", "turn-ended")
    assert (event.head, event.ref) == (repo.head(), "refs/heads/main")
    assert event.body == (PAYLOAD + end).encode()


def test_a_prompt_starts_no_worker(repo: Scratch, notes: Path) -> None:
    call_agent(repo, "prompt")
    assert len(events(git_dir(repo))) == 1
    call_agent(repo, "turn-ended")
    assert len(wait_for(notes)) == 1


def test_a_tool_is_told_of_only_when_head_moved(repo: Scratch) -> None:
    call_agent(repo, "session-start")
    call_agent(repo, "tool-used")
    assert [e.word for e in events(git_dir(repo))] == ["session-start"]
    commit(repo, CLAUDE_CODE_SESSION_ID="")
    call_agent(repo, "tool-used")
    call_agent(repo, "tool-used")
    told = [e.word or e.event for e in events(git_dir(repo))]
    assert told == ["session-start", "post-commit", "tool-used"]


def test_a_commit_by_hand_is_told_of_before_the_worker_has_met_the_session(repo: Scratch) -> None:
    commit(repo, CLAUDE_CODE_SESSION_ID="")
    assert not events(git_dir(repo))
    call_agent(repo, "prompt")
    commit(repo, CLAUDE_CODE_SESSION_ID="")
    assert [e.word or e.event for e in events(git_dir(repo))] == ["prompt", "post-commit"]


def test_an_input_that_never_ends_doesnt_hold_the_agent(repo: Scratch) -> None:
    words = [".git/gitsession-hooks/agent", "claude-code", "prompt"]
    with subprocess.Popen(words, cwd=repo.path, stdin=subprocess.PIPE) as child:
        assert child.stdin
        child.stdin.write(PAYLOAD.encode() + b"\n")
        child.stdin.flush()
        assert child.wait(timeout=20) == 0
