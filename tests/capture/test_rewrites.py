"""Commits that take the place of others keep their conversation, and the old note stays."""

from __future__ import annotations

import pytest

from tests.client import Client, captures, raw, records_of, set_up, work
from tests.scratch import Scratch


@pytest.fixture
def repo(scratch: Scratch) -> Scratch:
    """A repository after init."""
    set_up(scratch)
    return scratch


@pytest.fixture
def client(repo: Scratch) -> Client:
    """A session."""
    client = Client.start(repo)
    client.prompt("write a program")
    return client


def two_commits(repo: Scratch, client: Client) -> tuple[str, str]:
    """The agent commits twice."""
    client.talk.write("one.py", "def first_function():\n    return 1\n")
    one = client.commit("one")
    client.talk.write("two.py", "def second_function():\n    return 2\n")
    two = client.commit("two")
    work(repo)
    return one, two


def origins(repo: Scratch, commit: str = "HEAD") -> dict[int, str | None]:
    """The captures of a commit, each with the commit its record was carried from."""
    found = records_of(repo, commit)
    assert len({record.id for record in found}) == len(found)
    return {record.seq: record.rewritten_from for record in found}


def test_an_amend_in_the_same_command(repo: Scratch, client: Client) -> None:
    client.talk.write("one.py", "import os\n")
    client.bash("git add -A && git commit -qm one && git commit -q --amend -m better")
    work(repo)
    old = repo.git("rev-parse", "HEAD@{1}")
    assert records_of(repo, old)
    found = records_of(repo)
    assert {record.seq for record in found} == {1}
    assert len(found) == 1
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_an_amend_in_a_later_call(repo: Scratch, client: Client) -> None:
    client.talk.write("one.py", "import os\n")
    old = client.commit("one")
    work(repo)
    client.bash("git commit -q --amend -m better")
    work(repo)
    assert origins(repo)[1] == old
    assert origins(repo, old) == {1: None}
    client.end()
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_a_rebase_of_two_commits(repo: Scratch, client: Client) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    one, two = two_commits(repo, client)
    repo.git("checkout", "-q", "main")
    repo.commit("mine", {"mine.py": "x = 1\n"})
    repo.git("checkout", "-q", "topic")
    repo.git("rebase", "-q", "main")
    work(repo)
    assert repo.git("rev-parse", "HEAD~2") == repo.git("rev-parse", "main")
    assert origins(repo, "HEAD^") == {1: one}
    assert origins(repo) == {2: two}
    assert origins(repo, one) == {1: None}
    assert origins(repo, two) == {2: None}


def test_a_rebase_by_the_agent_captures_nothing_new(repo: Scratch, client: Client) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    one, two = two_commits(repo, client)
    repo.git("checkout", "-q", "main")
    repo.commit("mine", {"mine.py": "x = 1\n"})
    repo.git("checkout", "-q", "topic")
    client.bash("git rebase -q main")
    work(repo)
    assert (origins(repo, "HEAD^"), origins(repo)) == ({1: one}, {2: two})
    assert len(captures(repo, client.session)) == 2


def test_a_rebase_before_the_worker_has_run(repo: Scratch, client: Client) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    client.talk.write("one.py", "def first_function():\n    return 1\n")
    one = client.commit("one")
    client.talk.write("two.py", "def second_function():\n    return 2\n")
    two = client.commit("two")
    repo.git("checkout", "-q", "main")
    repo.commit("mine", {"mine.py": "x = 1\n"})
    repo.git("checkout", "-q", "topic")
    repo.git("rebase", "-q", "main")
    work(repo)
    assert (origins(repo, "HEAD^"), origins(repo)) == ({1: one}, {2: two})


@pytest.mark.parametrize("word", ["squash", "fixup"])
def test_squashed_commits_have_the_records_of_all(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    one, two = two_commits(repo, client)
    monkeypatch.setenv("GIT_SEQUENCE_EDITOR", f"sed -i.bak '2s/^pick/{word}/'")
    repo.git("rebase", "-q", "-i", "HEAD~2")
    work(repo)
    assert repo.git("rev-list", "--count", "HEAD") == "2"
    assert origins(repo) == {1: one, 2: two}


def test_a_soft_reset_and_one_commit_of_all(repo: Scratch, client: Client) -> None:
    one, two = two_commits(repo, client)
    client.bash("git reset -q --soft HEAD~2 && git commit -qm all")
    work(repo)
    assert origins(repo) == {1: one, 2: two, 3: None}
    assert origins(repo, one) == {1: None}
    assert origins(repo, two) == {2: None}


def test_a_cherry_pick_by_hand(repo: Scratch, client: Client) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    one, _ = two_commits(repo, client)
    repo.git("checkout", "-q", "main")
    repo.commit("mine", {"mine.py": "x = 1\n"})
    repo.git("cherry-pick", one)
    work(repo)
    assert origins(repo) == {1: one}


def test_a_cherry_pick_of_two(repo: Scratch, client: Client) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    one, two = two_commits(repo, client)
    repo.git("checkout", "-q", "main")
    repo.commit("mine", {"mine.py": "x = 1\n"})
    repo.git("cherry-pick", "topic~2..topic")
    work(repo)
    assert (origins(repo, "HEAD^"), origins(repo)) == ({1: one}, {2: two})


def test_a_rewritten_commit_rewritten_again(repo: Scratch, client: Client) -> None:
    client.talk.write("one.py", "import os\n")
    one = client.commit("one")
    work(repo)
    repo.git("commit", "-q", "--amend", "-m", "better")
    better = repo.head()
    repo.git("commit", "-q", "--amend", "-m", "best")
    work(repo)
    assert origins(repo, better) == {1: one}
    assert origins(repo) == {1: better}


def test_a_rewrite_of_commits_without_sessions_writes_nothing(
    repo: Scratch, client: Client
) -> None:
    repo.commit("mine", {"mine.py": "x = 1\n"})
    repo.git("commit", "-q", "--amend", "-m", "better")
    work(repo)
    assert records_of(repo) == []
