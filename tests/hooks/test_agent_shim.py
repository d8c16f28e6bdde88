"""What the agent's settings call."""

from __future__ import annotations

import subprocess
import time
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


def due(repo: Scratch) -> list[str]:
    """The moments whose state is still to be kept."""
    folder = git_dir(repo) / "gitsession" / "snapping"
    return sorted(path.name.partition(".")[0] for path in folder.glob("*"))


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_the_start_and_the_end_of_a_turn_are_to_be_kept(
    repo: Scratch, notes: Path, shell: list[str]
) -> None:
    for word in ("session-start", "prompt", "subagent-ended", "tool-used", "turn-ended"):
        call_agent(repo, word, *shell)
    assert due(repo) == ["end", "start"]
    names = {
        path.name.partition(".")[2] for path in (git_dir(repo) / "gitsession/snapping").iterdir()
    }
    assert names == {
        e.path.name for e in events(git_dir(repo)) if e.word in ("prompt", "turn-ended")
    }
    assert len(wait_for(notes, 4)) == 4


@pytest.mark.parametrize("said", ["configuration", "environment", "command line"])
def test_without_snapshots_a_prompt_starts_no_worker(
    repo: Scratch, notes: Path, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if said == "configuration":
        repo.git("config", "session.snapshot", "no")
    elif said == "environment":
        monkeypatch.setenv("GIT_SESSION_SNAPSHOT", "false")
    else:
        monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'session.snapshot=false'")
    commit(repo)
    assert len(wait_for(notes)) == 1
    call_agent(repo, "prompt")
    assert len(events(git_dir(repo))) == 2
    call_agent(repo, "turn-ended")
    assert due(repo) == []
    assert len(wait_for(notes, 2)) == 2


def test_snapshots_that_are_switched_on_again_are_taken(repo: Scratch) -> None:
    repo.git("config", "session.snapshot", "false")
    call_agent(repo, "prompt")
    assert due(repo) == []
    # A configuration that is as old as our note of it counts as older.
    time.sleep(0.05)
    repo.git("config", "--unset", "session.snapshot")
    call_agent(repo, "prompt")
    assert due(repo) == ["start"]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_tool_waits_until_the_start_is_kept(repo: Scratch, shell: list[str]) -> None:
    call_agent(repo, "tool-starting", *shell)
    call_agent(repo, "prompt")
    words = [*shell, ".git/gitsession-hooks/agent", "claude-code", "tool-starting"]
    with subprocess.Popen(words, cwd=repo.path, stdin=subprocess.PIPE) as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=0.3)
        for path in (git_dir(repo) / "gitsession" / "snapping").iterdir():
            path.unlink()
        assert child.wait(timeout=20) == 0


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_tool_waits_once_and_not_for_ever(repo: Scratch, shell: list[str]) -> None:
    call_agent(repo, "prompt")
    call_agent(repo, "turn-ended")
    call_agent(repo, "tool-starting", *shell)
    assert due(repo) == ["barrier", "end"]
    call_agent(repo, "tool-starting", *shell)
    assert due(repo) == ["barrier", "end"]
    assert [e.word for e in events(git_dir(repo))] == ["prompt", "turn-ended"]


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
