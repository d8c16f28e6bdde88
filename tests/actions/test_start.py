"""A session with a branch of its own: nothing is lost by it, and nothing is half made."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from gitsession.actions import start as action
from gitsession.actions.start import Begun, Wish, make_safe
from gitsession.agents.base import Launch
from gitsession.commands.start import command
from gitsession.errors import SessionError, Usage
from gitsession.store import started
from tests.client import Client, common_of, set_up, work
from tests.scratch import Scratch


def begin(scratch: Scratch, **wish: object) -> tuple[Begun, Launch]:
    """Start a session without the agent."""
    return action.start(scratch.path, Wish(launches=False, **wish))  # type: ignore[arg-type]


def branches(scratch: Scratch) -> list[str]:
    return scratch.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()


def test_the_branch_is_here_and_changes_come_along(scratch: Scratch) -> None:
    scratch.write("README", "changed\n")
    scratch.write("new", "new\n")
    scratch.git("add", "new")
    before = scratch.git("status", "--porcelain")
    begun, launch = begin(scratch)
    assert begun.branch == f"session/{begun.session[:8]}"
    assert scratch.git("symbolic-ref", "--short", "HEAD") == begun.branch
    assert scratch.git("status", "--porcelain") == before
    assert scratch.git("rev-parse", "main", "HEAD").split() == [begun.base] * 2
    assert begun.command == launch.argv
    assert launch.argv[1:] == ("--session-id", begun.session)
    assert (launch.cwd, begun.worktree) == (str(scratch.path), str(scratch.path))
    made = started.find(common_of(scratch), begun.session)
    assert made is not None
    assert (made.branch, made.autocommit, made.base, made.origin) == (
        begun.branch, False, scratch.head(), "main",
    )  # fmt: skip


@pytest.mark.parametrize("setting", ["", "../trees"])
def test_a_work_tree_of_its_own(scratch: Scratch, tmp_path: Path, setting: str) -> None:
    if setting:
        scratch.git("config", "session.worktrees", setting)
    scratch.write("new", "new\n")
    begun, launch = begin(scratch, name="topic", worktree=True, prompt="do it")
    name = f"{scratch.path.name}-{begun.session[:8]}"
    place = tmp_path / "trees" / name if setting else tmp_path / name
    assert launch.cwd == begun.worktree == str(place)
    assert launch.argv[1:] == ("-p", "--session-id", begun.session, "--", "do it")
    assert Scratch(place).git("symbolic-ref", "--short", "HEAD") == "session/topic"
    assert scratch.git("symbolic-ref", "--short", "HEAD") == "main"
    assert (place / "README").read_text() == "hello\n"
    assert not (place / "new").exists()
    assert any("stays in this work tree" in remark for remark in begun.remarks)


@pytest.mark.parametrize(
    ("name", "safe"),
    [("login", "login"), ("Fix the login!", "Fix-the-login"), ("a/b..c", "a-b.c"),
     ("-x.lock", "x"), ("caf\u00e9", "caf\u00e9"), ("x" * 200, "x" * 80)],
)  # fmt: skip
def test_a_name_is_made_safe(scratch: Scratch, name: str, safe: str) -> None:
    assert make_safe(name) == safe
    begun, _ = begin(scratch, name=name)
    assert branches(scratch) == ["main", f"session/{safe}"]
    assert begun.branch == f"session/{safe}"


@pytest.mark.parametrize("name", ["...", "-", "!?"])
def test_a_name_of_which_nothing_is_left(scratch: Scratch, name: str) -> None:
    with pytest.raises(Usage):
        begin(scratch, name=name)


def test_what_would_cost_something_is_refused(scratch: Scratch) -> None:
    begin(scratch, name="one")
    with pytest.raises(SessionError, match="there is a branch"):
        begin(scratch, name="one")
    (scratch.path / ".git" / "MERGE_HEAD").write_text(scratch.head() + "\n")
    with pytest.raises(SessionError, match="a merge is in progress"):
        begin(scratch)
    assert branches(scratch) == ["main", "session/one"]
    assert len(list(started.all_started(common_of(scratch)))) == 1


def test_the_branch_isnt_taken_away_from_under_a_session(scratch: Scratch, tmp_path: Path) -> None:
    set_up(scratch)
    client = Client.start(scratch)
    work(scratch)
    with pytest.raises(SessionError, match="is at work in this work tree"):
        begin(scratch)
    scratch.git("worktree", "add", "-q", str(tmp_path / "linked"))
    begin(Scratch(tmp_path / "linked"), name="there")
    begin(scratch, worktree=True)
    client.end()
    work(scratch)
    begin(scratch)


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="no commit here yet"):
        begin(Scratch.create(tmp_path / "empty", commit=False))


def test_turns_are_committed_where_hooks_tell_of_them(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SessionError, match="without hooks"):
        begin(scratch, autocommit=True)
    set_up(scratch)
    begun, _ = begin(scratch, autocommit=True)
    assert begun.autocommit
    scratch.git("config", "session.autoCommit", "true")
    assert begin(scratch)[0].autocommit
    assert not begin(scratch, autocommit=False)[0].autocommit
    monkeypatch.setenv("GIT_SESSION_AUTO_COMMIT", "false")
    assert not begin(scratch)[0].autocommit


def test_nothing_is_made_for_an_agent_that_isnt_here(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_BIN", "/nowhere/claude")
    with pytest.raises(SessionError, match="is not here"):
        action.start(scratch.path, Wish(worktree=True))
    assert branches(scratch) == ["main"]
    assert list(started.all_started(common_of(scratch))) == []


def test_nothing_is_left_of_one_that_failed(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    scratch.git("config", "session.worktrees", str(tmp_path / "file"))
    with pytest.raises(SessionError):
        begin(scratch, worktree=True)
    assert list(started.all_started(common_of(scratch))) == []
    assert branches(scratch) == ["main"]


def test_what_is_known_of_a_deleted_branch_is_forgotten(scratch: Scratch) -> None:
    first, _ = begin(scratch)
    scratch.git("switch", "-q", "main")
    scratch.git("branch", "-D", first.branch)
    second, _ = begin(scratch)
    assert [x.session for x in started.all_started(common_of(scratch))] == [second.session]


def test_the_command(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scratch.path)
    done = CliRunner().invoke(command, ["topic", "--no-launch", "--json"])
    told = json.loads(done.stdout)
    assert (told["branch"], told["worktree"]) == ("session/topic", str(scratch.path))
    assert told["command"] == ["claude", "--session-id", told["session"]]
    assert told["transcript"].endswith(f"{told['session']}.jsonl")
    done = CliRunner().invoke(command, ["--print"])
    assert done.stdout.startswith(f"cd {scratch.path} && claude --session-id ")
    assert "on branch session/" in done.stderr


def test_the_agent_is_started_there(
    scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "agent"
    program.write_text('#!/bin/sh\npwd >"$HOME/told"\nprintf "%s\\n" "$@" >>"$HOME/told"\nexit 3\n')
    program.chmod(0o755)
    monkeypatch.setenv("CLAUDE_BIN", str(program))
    monkeypatch.chdir(scratch.path)
    done = CliRunner().invoke(command, ["--worktree", "--prompt", "-do it"])
    assert done.exit_code == 3
    told = Path(os.environ["HOME"], "told").read_text().splitlines()
    (made,) = started.all_started(common_of(scratch))
    assert told == [made.worktree, "-p", "--session-id", made.session, "--", "-do it"]
