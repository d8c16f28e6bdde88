"""Commits that the agent makes: each captured once, with the right lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client import (
    Client,
    captures,
    is_untouched,
    raw,
    records_of,
    session_refs,
    set_up,
    tied,
    waiting,
    work,
)
from tests.scratch import Scratch


@pytest.fixture
def repo(scratch: Scratch) -> Scratch:
    """A repository after init."""
    set_up(scratch)
    return scratch


@pytest.fixture
def client(repo: Scratch) -> Client:
    """A session that was asked for something, and wrote a file."""
    client = Client.start(repo)
    client.prompt("write a program")
    client.talk.write("app.py", "def login():\n    return check(password)\n")
    return client


def assert_captured(repo: Scratch, client: Client, commit: str, *, by: str = "environment") -> None:
    """A commit has one record, of a capture that ends with the call that made it."""
    (record,) = records_of(repo, commit)
    assert record.session == client.session
    assert record.kind == "commit"
    assert record.evidence is not None
    assert record.evidence.by == by
    assert record.base == (repo.git("rev-parse", commit + "^"))
    kept = raw(repo, commit)
    assert kept.endswith(b"\n")
    assert b'"tool_result"' in kept.splitlines()[-1]
    assert client.talk.path.read_bytes().startswith(raw(repo, client.session))


# -- ways to commit -------------------------------------------------------------------------

COMMANDS = {
    "plain": "git commit -q -a -m work",
    "with output": "git commit -a -m work",
    "after add": "git add . && git commit -q -m work",
    "in a folder": "cd sub && git add -A .. && git commit -q -m work",
    "with -C": "cd / && git -C {top} commit -q -a -m work",
    "by an alias": "git -c alias.ci='commit -q -a' ci -m work",
    "by a script": "sh ./commit.sh",
    "with a failure after it": "git commit -q -a -m work; false",
    "in a subshell": "(unset X; git commit -q -a -m work) | cat",
    "with git's folder named": "GIT_DIR={top}/.git GIT_WORK_TREE={top} git commit -q -a -m work",
    "with another author": "git commit -q -a -m work --author='A B <a@b>' --date=2001-01-01T00:00Z",
    "without its hooks' checks": "git commit -q -a -m work --no-verify",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_commit_is_captured_however_it_is_made(
    repo: Scratch, client: Client, command: str
) -> None:
    repo.write("sub/x", "")
    repo.write("commit.sh", "git commit -q -a -m 'by a script'\n")
    repo.git("add", "-A")
    before = repo.head()
    client.bash(command.format(top=repo.path))
    assert repo.head() != before
    work(repo)
    assert_captured(repo, client, "HEAD")
    assert waiting(repo) == []
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_what_comes_after_the_commit_opens_the_next_capture(repo: Scratch, client: Client) -> None:
    first = client.commit()
    until = client.talk.path.stat().st_size
    client.talk.say("done")
    client.talk.write("b.py", "import os\n")
    work(repo)
    second = client.commit()
    client.stop()
    work(repo)
    assert raw(repo, first) == client.talk.path.read_bytes()[:until]
    assert raw(repo, second) == client.talk.path.read_bytes()[until:]
    assert [r.seq for r in captures(repo, client.session)] == [1, 2]
    assert len(records_of(repo, first)) == len(records_of(repo, second)) == 1


def test_two_commits_in_one_command_share_a_capture(repo: Scratch, client: Client) -> None:
    repo.write("b", "two\n")
    client.bash("git add app.py && git commit -qm one && git add b && git commit -qm two")
    work(repo)
    (one,), (two,) = records_of(repo, "HEAD^"), records_of(repo, "HEAD")
    assert one.id == two.id
    assert tied(repo, client.session) == {1: [one.commit, two.commit]}
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_two_commits_in_two_calls_have_a_capture_each(repo: Scratch, client: Client) -> None:
    one = client.commit("one")
    client.talk.write("b.py", "import os\n")
    two = client.commit("two")
    work(repo)
    (first,), (second,) = records_of(repo, one), records_of(repo, two)
    assert (first.seq, second.seq) == (1, 2)
    assert raw(repo, one) + raw(repo, two) == client.talk.path.read_bytes()


def test_parallel_calls_are_not_torn(repo: Scratch, client: Client) -> None:
    one = client.talk.call("Bash", command="git commit")
    two = client.talk.call("Read", file_path="x")
    client.run("git add -A && git commit -qm work")
    client.talk.result(one, "")
    work_end = client.talk.path.stat().st_size
    client.talk.result(two, "content")
    work(repo)
    assert raw(repo, "HEAD") == client.talk.path.read_bytes()
    assert client.talk.path.stat().st_size > work_end


def test_a_call_that_goes_on_is_waited_for(repo: Scratch, client: Client) -> None:
    tool = client.talk.call("Bash", command="git commit && make")
    client.run("git add -A && git commit -qm work")
    client.stop()
    client.talk.result(tool, "made")
    work(repo)
    assert raw(repo, "HEAD") == client.talk.path.read_bytes()


def test_a_merge_of_the_agent_is_captured(repo: Scratch, client: Client) -> None:
    client.commit("on main")
    repo.git("checkout", "-q", "-b", "topic", "HEAD^")
    client.talk.write("topic.py", "import sys\n")
    client.commit("on topic")
    client.bash("git checkout -q main && git merge -q --no-ff -m merge topic")
    work(repo)
    assert len(repo.git("log", "-1", "--format=%P").split()) == 2
    assert_captured(repo, client, "HEAD")
    assert [r.seq for r in captures(repo, client.session)] == [1, 2, 3]


def test_a_fast_forward_is_no_commit(repo: Scratch, client: Client) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    made = client.commit("on topic")
    client.bash("git checkout -q main && git merge -q topic")
    work(repo)
    assert repo.head() == made
    assert len(records_of(repo, made)) == 1
    assert len(captures(repo, client.session)) == 1


def test_a_commit_of_a_subagent_is_captured_with_its_lines(repo: Scratch, client: Client) -> None:
    task = client.talk.call("Task", prompt="commit it")
    sub = client.talk.subagent("a1")
    sub.prompt("commit it")
    tool = sub.call("Bash", command="git commit")
    client.run("git add -A && git commit -qm work")
    sub.result(tool, "")
    sub.say("committed")
    client.talk.result(task, "it is committed")
    client.fire("subagent-ended", agent_id="a1")
    client.stop()
    work(repo)
    (record,) = records_of(repo)
    names = repo.git("ls-tree", "-r", "--name-only", f"refs/sessions/{client.session}").split()
    assert "subagents/agent-a1/1.jsonl.zst" in names
    assert record.tools == {"Bash": 1, "Task": 1, "Write": 1}
    client.end()
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_large_results_go_with_their_capture_once(repo: Scratch, client: Client) -> None:
    results = client.talk.path.with_suffix("") / "tool-results"
    results.mkdir(parents=True)
    (results / "b1.txt").write_text("large\n" * 1000)
    client.commit()
    work(repo)
    (results / "b2.txt").write_text("more\n" * 1000)
    client.talk.bash("make", "<persisted-output>")
    client.end()
    work(repo)
    names = repo.git("ls-tree", "--name-only", f"refs/sessions/{client.session}:results").split()
    assert names == ["b1.txt.zst", "b2.txt.zst"]


def test_a_commit_in_a_linked_work_tree_is_captured(repo: Scratch, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Scratch(tmp_path / "linked")
    client = Client.start(linked)
    client.prompt("work there")
    client.talk.write("app.py", "import os\n")
    client.commit()
    work(linked)
    assert_captured(linked, client, "HEAD")
    (record,) = records_of(linked)
    assert (record.branch, record.files) == ("linked", ("app.py",))


def test_a_commit_in_a_submodule_goes_to_its_own_repository(
    repo: Scratch, client: Client, tmp_path: Path
) -> None:
    other = Scratch.create(tmp_path / "other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "sub")
    sub = Scratch(repo.path / "sub")
    set_up(sub)
    client.talk.write("sub/inner.py", "import os\n")
    client.bash("cd sub && git add -A && git commit -qm inner")
    work(sub)
    work(repo)
    assert_captured(sub, client, "HEAD")
    assert is_untouched(repo)
    assert records_of(sub)[0].files == ("inner.py",)


def test_a_commit_in_a_submodule_without_init_captures_nothing(
    repo: Scratch, client: Client, tmp_path: Path
) -> None:
    other = Scratch.create(tmp_path / "other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "sub")
    client.talk.write("sub/inner.py", "import os\n")
    client.bash("cd sub && git add -A && git commit -qm inner")
    work(repo)
    assert is_untouched(repo)
    assert is_untouched(Scratch(repo.path / "sub"))


def test_two_sessions_in_one_work_tree_get_their_own_commits(repo: Scratch) -> None:
    one, two = Client.start(repo), Client.start(repo)
    one.prompt("write one")
    two.prompt("write two")
    one.talk.write("one.py", "def first_function():\n    return 1\n")
    two.talk.write("two.py", "def second_function():\n    return 2\n")
    one.bash("git add one.py && git commit -qm one")
    two.bash("git add two.py && git commit -qm two")
    work(repo)
    (first,), (second,) = records_of(repo, "HEAD^"), records_of(repo, "HEAD")
    assert (first.session, second.session) == (one.session, two.session)
    assert raw(repo, one.session) == one.talk.path.read_bytes()
    assert raw(repo, two.session) == two.talk.path.read_bytes()


def test_a_commit_that_holds_the_work_of_two_sessions_has_both(repo: Scratch) -> None:
    one, two = Client.start(repo), Client.start(repo)
    one.prompt("write one")
    two.prompt("write two")
    one.talk.write("one.py", "def first_function():\n    return 1\n")
    two.talk.write("two.py", "def second_function():\n    return 2\n")
    two.commit()
    work(repo)
    found = {r.session: r.evidence.by for r in records_of(repo) if r.evidence}
    assert found == {one.session: "content", two.session: "environment"}


def test_the_record_says_what_happened(repo: Scratch, client: Client) -> None:
    base = repo.head()
    client.talk.say("writing")
    commit = client.commit()
    work(repo)
    (record,) = records_of(repo)
    assert (record.commit, record.base, record.branch) == (commit, base, "main")
    assert record.author is not None
    assert record.author.email == "dev@example.com"
    assert record.prompt == "write a program"
    assert (record.turns, record.tools) == (1, {"Bash": 1, "Write": 1})
    assert record.files == ("app.py",)
    assert record.offset == record.raw_size == client.talk.path.stat().st_size
    assert record.tokens is not None
    assert repo.git("log", "--format=%an", f"refs/sessions/{client.session}") == "Dev"


def test_a_detached_head_has_no_branch(repo: Scratch, client: Client) -> None:
    repo.git("checkout", "-q", "--detach")
    client.commit()
    work(repo)
    assert records_of(repo)[0].branch is None


def test_a_root_commit_has_no_base(tmp_path: Path) -> None:
    repo = Scratch.create(tmp_path / "empty", commit=False)
    set_up(repo)
    client = Client.start(repo)
    client.prompt("begin")
    client.talk.write("a.py", "import os\n")
    client.commit()
    work(repo)
    (record,) = records_of(repo)
    assert record.base is None
    assert raw(repo, "HEAD") == client.talk.path.read_bytes()


def test_a_repository_with_sha256_is_captured(tmp_path: Path) -> None:
    repo = Scratch.create(tmp_path / "sha256", object_format="sha256")
    set_up(repo)
    client = Client.start(repo)
    client.prompt("begin")
    client.talk.write("a.py", "import os\n")
    client.commit()
    work(repo)
    assert_captured(repo, client, "HEAD")


# -- what captures nothing ------------------------------------------------------------------

NOTHING = {
    "a failing commit": "git commit -q -m nothing-added",
    "a commit that changes nothing": "git commit -q --allow-empty -m empty",
    "a commit without a message": "git add -A; git commit -F none",
    "an echo of a commit": "echo 'git commit -m x'",
    "a dry run": "git add -A && git commit --dry-run -m x",
    "a stash": "git add -A && git stash -q && git stash pop -q",
    "a checkout": "git checkout -q -b topic",
    "a reset": "git reset -q --hard",
    "a tag": "git tag -a -m tag v1",
}


@pytest.mark.parametrize("command", NOTHING.values(), ids=NOTHING)
def test_no_commit_no_capture(repo: Scratch, client: Client, command: str) -> None:
    client.bash(command)
    client.stop()
    work(repo)
    assert is_untouched(repo)
    assert waiting(repo) == []


def test_a_commit_without_any_session_captures_nothing(repo: Scratch) -> None:
    repo.commit("by hand", {"a": "b\n"})
    assert waiting(repo) == []
    work(repo)
    assert is_untouched(repo)


def test_switched_off_by_the_environment_nothing_is_written(repo: Scratch, client: Client) -> None:
    work(repo)
    client.env["GIT_SESSION_DISABLE"] = "1"
    client.commit()
    client.stop()
    client.end()
    assert waiting(repo) == []
    assert is_untouched(repo)


def test_switched_off_by_the_settings_nothing_is_written(repo: Scratch) -> None:
    repo.git("config", "session.enabled", "false")
    client = Client.start(repo)
    client.prompt("write")
    client.talk.write("a.py", "import os\n")
    client.commit()
    client.stop()
    client.end()
    assert waiting(repo) == []
    assert is_untouched(repo)
    assert session_refs(repo) == []


# -- commits that run no hook ---------------------------------------------------------------


@pytest.mark.parametrize("quiet", ["-q", ""])
def test_a_commit_without_hooks_is_found_when_the_turn_ends(
    repo: Scratch, client: Client, quiet: str
) -> None:
    work(repo)
    client.bash(f"git add -A && git -c core.hooksPath=/dev/null commit {quiet} -m work")
    assert waiting(repo) == []
    client.talk.say("done")
    client.stop()
    work(repo)
    assert_captured(repo, client, "HEAD", by="turn" if quiet else "named")


def test_two_commits_without_hooks_are_both_found(repo: Scratch, client: Client) -> None:
    work(repo)
    repo.git("config", "core.hooksPath", "/dev/null")
    client.commit("one")
    client.talk.write("b.py", "import sys\n")
    client.commit("two")
    client.stop()
    work(repo)
    (one,), (two,) = records_of(repo, "HEAD^"), records_of(repo, "HEAD")
    assert one.session == two.session == client.session


def test_an_amend_without_hooks_carries_its_record(repo: Scratch, client: Client) -> None:
    old = client.commit("one")
    work(repo)
    repo.git("config", "core.hooksPath", "/dev/null")
    client.bash("git commit -q --amend -m better")
    client.stop()
    work(repo)
    assert [r.rewritten_from for r in records_of(repo)] in ([old], [None], [None, old], [old, None])
