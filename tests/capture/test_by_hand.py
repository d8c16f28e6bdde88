"""Commits by hand: tied to the sessions whose work they hold, and to no others."""

from __future__ import annotations

import time

import pytest

from tests.client import (
    PAUSE,
    Client,
    captures,
    is_untouched,
    raw,
    records_of,
    set_up,
    tied,
    work,
)
from tests.scratch import Scratch

LOGIN = "def login(user, password):\n    return check(user, password)\n"
LOGOUT = "def logout(session):\n    session.destroy_cookies()\n"
BETWEEN = "\n".join(f"# section {number} of the program" for number in range(12)) + "\n"


@pytest.fixture
def repo(scratch: Scratch) -> Scratch:
    """A repository after init, with a file of its own."""
    scratch.commit("base", {"base.py": "import os\n" + BETWEEN + "import sys\n"})
    set_up(scratch)
    return scratch


@pytest.fixture
def client(repo: Scratch) -> Client:
    """A session that wrote two files, and whose turn is over."""
    client = Client.start(repo)
    client.prompt("write a login")
    client.talk.write("login.py", LOGIN)
    client.talk.write("logout.py", LOGOUT)
    client.talk.say("written")
    client.stop()
    work(repo)
    return client


def assert_tied(repo: Scratch, client: Client, commit: str = "HEAD", *, seq: int = 1) -> None:
    """A commit has one record, by content, of a capture of this session."""
    (record,) = records_of(repo, commit)
    assert record.session == client.session
    assert record.seq == seq
    assert record.evidence is not None
    assert record.evidence.by == "content"


def by_hand(repo: Scratch, *paths: str, message: str = "by hand") -> str:
    """The user commits some files, or all."""
    repo.git("add", "-A", "--", *(paths or (".",)))
    time.sleep(PAUSE)
    repo.git("commit", "-q", "-m", message)
    time.sleep(PAUSE)
    return repo.head()


# -- what is tied ---------------------------------------------------------------------------


def test_after_a_turn_the_whole_work(repo: Scratch, client: Client) -> None:
    by_hand(repo)
    work(repo)
    assert_tied(repo, client)
    assert raw(repo, "HEAD") == client.talk.path.read_bytes()
    (record,) = records_of(repo)
    assert record.evidence is not None
    assert record.evidence.files == ("login.py", "logout.py")
    assert record.evidence.lines == 4


def test_after_the_session_has_ended(repo: Scratch, client: Client) -> None:
    client.end()
    work(repo)
    (checkpoint,) = captures(repo, client.session)
    assert (checkpoint.kind, checkpoint.reason) == ("checkpoint", "end")
    commit = by_hand(repo)
    work(repo)
    assert_tied(repo, client)
    assert records_of(repo)[0].id == checkpoint.id
    assert tied(repo, client.session) == {1: [None, commit]}


def test_before_the_worker_has_seen_anything(repo: Scratch) -> None:
    client = Client.start(repo)
    client.prompt("write a login")
    client.talk.write("login.py", LOGIN)
    client.stop()
    by_hand(repo)
    client.end()
    work(repo)
    assert_tied(repo, client)


def test_while_the_turn_goes_on(repo: Scratch, client: Client) -> None:
    client.prompt("go on")
    client.talk.write("third.py", "def third_function(argument):\n    pass\n")
    by_hand(repo)
    work(repo)
    assert_tied(repo, client)


def test_split_over_several_commits(repo: Scratch, client: Client) -> None:
    one = by_hand(repo, "login.py")
    two = by_hand(repo, "logout.py")
    work(repo)
    assert_tied(repo, client, one)
    assert_tied(repo, client, two)
    assert tied(repo, client.session) == {1: [one, two]}


def test_split_over_commits_that_the_worker_sees_one_by_one(repo: Scratch, client: Client) -> None:
    one = by_hand(repo, "login.py")
    work(repo)
    two = by_hand(repo, "logout.py")
    work(repo)
    assert tied(repo, client.session) == {1: [one, two]}


def test_a_part_of_a_file(repo: Scratch, client: Client) -> None:
    text = (repo.path / "base.py").read_text()
    client.prompt("change both ends")
    client.talk.edit("base.py", "import os\n", "import os\nFIRST_CONSTANT = os.environ['HOME']\n")
    client.talk.edit("base.py", "import sys\n", "import sys\nLAST_CONSTANT = sys.argv[1:]\n")
    client.stop()
    work(repo)
    assert text != (repo.path / "base.py").read_text()
    repo.git("add", "-p", "base.py", stdin="y\nn\n")
    repo.git("commit", "-q", "-m", "first half")
    work(repo)
    one = repo.head()
    assert_tied(repo, client, one)
    repo.git("commit", "-q", "-am", "second half")
    work(repo)
    assert_tied(repo, client)
    assert tied(repo, client.session) == {1: [one, repo.head()]}


def test_stashed_and_committed_after_something_else(repo: Scratch, client: Client) -> None:
    repo.git("stash", "-q", "-u")
    repo.commit("something else", {"other.py": "unrelated = True\n"})
    other = repo.head()
    repo.git("stash", "pop", "-q")
    by_hand(repo)
    work(repo)
    assert_tied(repo, client)
    assert records_of(repo, other) == []


def test_amended_later(repo: Scratch, client: Client) -> None:
    old = by_hand(repo)
    work(repo)
    repo.git("commit", "-q", "--amend", "-m", "better words")
    work(repo)
    (record,) = records_of(repo)
    assert (record.session, record.rewritten_from) == (client.session, old)
    assert_tied(repo, client, old)


def test_amended_with_more_of_the_work(repo: Scratch, client: Client) -> None:
    old = by_hand(repo, "login.py")
    work(repo)
    client.prompt("more")
    client.talk.write("third.py", "def third_function(argument):\n    return argument\n")
    client.stop()
    work(repo)
    repo.git("add", "-A")
    repo.git("commit", "-q", "--amend", "-m", "all")
    work(repo)
    found = {record.seq: record.rewritten_from for record in records_of(repo)}
    assert found == {1: old, 2: None}


def test_several_turns_in_one_commit(repo: Scratch, client: Client) -> None:
    client.prompt("a third file")
    client.talk.write("third.py", "def third_function(argument):\n    pass\n")
    client.stop()
    by_hand(repo)
    work(repo)
    assert_tied(repo, client)
    assert records_of(repo)[0].turns == 2


def test_one_commit_of_several_captures(repo: Scratch, client: Client) -> None:
    client.fire("compacting", trigger="manual")
    work(repo)
    client.prompt("a third file")
    client.talk.write("third.py", "def third_function(argument):\n    pass\n")
    client.stop()
    work(repo)
    commit = by_hand(repo)
    work(repo)
    assert sorted(r.seq for r in records_of(repo)) == [1, 2]
    assert tied(repo, client.session) == {1: [None, commit], 2: [commit]}


def test_one_commit_of_two_sessions(repo: Scratch, client: Client) -> None:
    other = Client.start(repo)
    other.prompt("another part")
    other.talk.write("other.py", "def other_function(argument):\n    pass\n")
    other.stop()
    by_hand(repo)
    work(repo)
    assert {r.session for r in records_of(repo)} == {client.session, other.session}


def test_a_commit_of_the_agent_takes_what_it_holds(repo: Scratch, client: Client) -> None:
    agent = client.commit()
    repo.commit("by hand", {"mine.py": "my_own = 'work'\n"})
    work(repo)
    assert [r.evidence.by for r in records_of(repo, agent) if r.evidence] == ["environment"]
    assert records_of(repo) == []


def test_deletions_alone_are_work_too(repo: Scratch, client: Client) -> None:
    by_hand(repo)
    client.prompt("shorten it")
    client.talk.edit("base.py", "# section 3 of the program\n# section 4 of the program\n", "")
    client.stop()
    by_hand(repo)
    work(repo)
    assert_tied(repo, client, seq=2)


def test_formatted_before_it_was_committed(repo: Scratch, client: Client) -> None:
    path = repo.path / "login.py"
    path.write_text(LOGIN.replace("    ", "\t").replace("\n", "  \n"))
    by_hand(repo, "login.py")
    work(repo)
    assert_tied(repo, client)


def test_in_another_work_tree_with_the_same_content(
    repo: Scratch, client: Client, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("linked") / "tree"
    repo.git("worktree", "add", "-q", str(other))
    linked = Scratch(other)
    linked.commit("copied there", {"login.py": LOGIN})
    work(linked)
    assert_tied(linked, client)


def test_committed_with_hooks_switched_off_and_found_later(repo: Scratch, client: Client) -> None:
    repo.git("add", "-A")
    repo.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "unseen")
    client.prompt("what now")
    client.talk.say("more")
    client.stop()
    work(repo)
    assert_tied(repo, client)


# -- what is not ----------------------------------------------------------------------------


def test_a_commit_of_other_files(repo: Scratch, client: Client) -> None:
    repo.commit("mine", {"mine.py": "my_own = 'work'\n"})
    work(repo)
    assert is_untouched(repo)
    by_hand(repo)
    work(repo)
    assert_tied(repo, client)


def test_the_same_file_with_other_content(repo: Scratch, client: Client) -> None:
    repo.commit("mine", {"login.py": "class LoginForm:\n    template = 'login.html'\n"})
    work(repo)
    assert is_untouched(repo)


def test_the_same_content_in_another_file(repo: Scratch, client: Client) -> None:
    repo.commit("mine", {"elsewhere.py": "pass\n"})
    work(repo)
    assert is_untouched(repo)


def test_the_agents_change_undone_first(repo: Scratch, client: Client) -> None:
    (repo.path / "login.py").unlink()
    (repo.path / "logout.py").unlink()
    repo.commit("mine", {"base.py": "import os\nimport mine_alone\n"})
    work(repo)
    assert is_untouched(repo)


def test_undone_by_the_agent_itself(repo: Scratch) -> None:
    client = Client.start(repo)
    client.prompt("try it")
    client.talk.edit("base.py", "import sys\n", "import sys\nEXPERIMENT = enabled_by_default()\n")
    client.talk.edit("base.py", "import sys\nEXPERIMENT = enabled_by_default()\n", "import sys\n")
    client.stop()
    repo.commit("mine", {"base.py": "import os\nimport mine_alone\n"})
    work(repo)
    assert is_untouched(repo)


def test_a_failed_edit(repo: Scratch) -> None:
    client = Client.start(repo)
    client.prompt("try it")
    path = str(repo.path / "login.py")
    tool = client.talk.call("Write", file_path=path, content=LOGIN)
    client.talk.result(tool, "permission denied", failed=True)
    client.stop()
    repo.commit("mine", {"login.py": LOGIN})
    work(repo)
    assert is_untouched(repo)


def test_what_is_committed_already_ties_nothing_again(repo: Scratch, client: Client) -> None:
    first = by_hand(repo)
    work(repo)
    repo.git("rm", "-q", "login.py")
    repo.git("commit", "-q", "-m", "removed")
    work(repo)
    repo.commit("mine again", {"login.py": LOGIN})
    work(repo)
    assert tied(repo, client.session) == {1: [first]}
    assert records_of(repo) == []


def test_a_session_of_another_repository(repo: Scratch, client: Client) -> None:
    other = Scratch.create(repo.path.parent / "other")
    set_up(other)
    other.commit("mine", {"login.py": LOGIN})
    work(other)
    assert is_untouched(other)


def test_a_merge_by_hand(repo: Scratch, client: Client) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    made = by_hand(repo)
    repo.git("checkout", "-q", "main")
    repo.commit("mine", {"mine.py": "my_own = 'work'\n"})
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
    work(repo)
    assert_tied(repo, client, made)
    assert records_of(repo) == []
