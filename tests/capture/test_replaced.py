"""A commit that holds what others held has their records, where git tells nobody of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gitsession.capture.replaced import Files, before_resets, holds, parse_squashed, unlike
from gitsession.git.inspect import Touched
from gitsession.git.parse import parse_touched
from gitsession.git.repository import FileChange, Move
from gitsession.ids import Oid
from gitsession.store import folder, registry, spool, squashes
from tests.client import PAUSE, Client, captures, common_of, records_of, set_up, waiting, work
from tests.scratch import Scratch

FILES = {
    "one.py": "def first_function(argument):\n    return argument + 1\n",
    "two.py": "def second_function(argument):\n    return argument + 2\n",
    "three.py": "def third_function(argument):\n    return argument + 3\n",
}


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


def commit_each(client: Client) -> list[str]:
    """The agent commits three times."""
    made = []
    for name, text in FILES.items():
        client.talk.write(name, text)
        made.append(client.commit(name))
    return made


def on_topic(repo: Scratch, client: Client) -> list[str]:
    """The agent commits three times on a branch, and the user goes back to the other one."""
    repo.git("checkout", "-q", "-b", "topic")
    made = commit_each(client)
    work(repo)
    repo.git("checkout", "-q", "main")
    return made


def forget_session(repo: Scratch, client: Client) -> None:
    """The session is over, and its work committed: nothing local knows of it any more."""
    client.end()
    time.sleep(PAUSE)
    work(repo)
    assert registry.all_known(common_of(repo)) == []


def squash(repo: Scratch, *branches: str) -> None:
    """Squash branches into the work tree."""
    repo.git("merge", "-q", "--squash", *(branches or ("topic",)))


def commit(repo: Scratch, message: str = "all of it") -> str:
    """The user commits what is in the index."""
    time.sleep(PAUSE)
    repo.git("commit", "-q", "-m", message)
    return repo.head()


def origins(repo: Scratch, name: str = "HEAD") -> dict[int, str | None]:
    """The captures of a commit, each with the commit its record was carried from."""
    found = records_of(repo, name)
    assert len({record.id for record in found}) == len(found)
    return {record.seq: record.rewritten_from for record in found}


def assert_carried(repo: Scratch, made: list[str]) -> None:
    """HEAD has the records of all three commits, and they have kept theirs."""
    assert origins(repo) == dict(enumerate(made, 1))
    assert [origins(repo, old) for old in made] == [{1: None}, {2: None}, {3: None}]
    assert squashes.find(common_of(repo), common_of(repo)) == ()
    assert waiting(repo) == []


# -- squash merges --------------------------------------------------------------------------


def test_a_squash_has_the_records_of_all(repo: Scratch, client: Client) -> None:
    made = on_topic(repo, client)
    squash(repo)
    commit(repo)
    work(repo)
    assert_carried(repo, made)
    assert len(captures(repo, client.session)) == 3


def test_a_worker_between_the_squash_and_its_commit(repo: Scratch, client: Client) -> None:
    made = on_topic(repo, client)
    squash(repo)
    work(repo)
    assert waiting(repo) == []
    commit(repo)
    work(repo)
    assert_carried(repo, made)


def test_a_squash_onto_a_branch_that_moved_on(repo: Scratch, client: Client) -> None:
    made = on_topic(repo, client)
    repo.commit("mine", {"mine.py": "my_own = 'work'\n"})
    squash(repo)
    commit(repo)
    work(repo)
    assert_carried(repo, made)


def test_a_squash_with_a_conflict_that_was_settled(repo: Scratch, client: Client) -> None:
    made = on_topic(repo, client)
    repo.commit("mine", {"one.py": "my_own = 'work'\n"})
    repo.git("merge", "-q", "--squash", "topic", check=False)
    repo.write("one.py", "my_own = 'work'\n" + FILES["one.py"])
    repo.git("add", "-A")
    commit(repo)
    work(repo)
    assert_carried(repo, made)


def test_a_squash_of_what_this_branch_had_in_part(repo: Scratch, client: Client) -> None:
    many = "".join(f"number_{n} = {n}\n" for n in range(99))
    repo.git("checkout", "-q", "-b", "topic")
    client.talk.write("many.py", many)
    client.commit("many")
    made = commit_each(client)
    work(repo)
    repo.git("checkout", "-q", "main")
    repo.commit("the same", {"many.py": many, "mine.py": "my_own = 'work'\n"})
    squash(repo)
    commit(repo)
    work(repo)
    assert {origins(repo)[seq] for seq in (2, 3, 4)} == set(made)


def test_a_squash_of_a_branch_that_had_merged_this_one(repo: Scratch, client: Client) -> None:
    made = on_topic(repo, client)
    mine = repo.commit("mine", {"mine.py": "my_own = 'work'\n"})
    repo.git("checkout", "-q", "topic")
    repo.git("merge", "-q", "--no-edit", "main")
    repo.git("checkout", "-q", "main")
    squash(repo)
    commit(repo)
    work(repo)
    assert_carried(repo, made)
    assert records_of(repo, mine) == []


def test_a_squash_of_a_session_that_nothing_local_knows(repo: Scratch, client: Client) -> None:
    made = on_topic(repo, client)
    forget_session(repo, client)
    squash(repo)
    assert waiting(repo) == ["post-merge"]
    work(repo)
    commit(repo)
    assert waiting(repo) == ["post-commit"]
    work(repo)
    assert_carried(repo, made)
    repo.commit("another", {"mine.py": "my_own = 'work'\n"})
    assert waiting(repo) == []


@pytest.mark.parametrize("command", ["merge --squash topic", "reset --soft topic^"])
def test_commits_whose_capture_still_waits_are_waited_for(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("gitsession.capture.worker.PATIENCE", 0.1)
    repo.git("checkout", "-q", "-b", "topic")
    client.talk.write("one.py", FILES["one.py"])
    call = client.talk.call("Bash", command="git commit && make")
    client.run("git add -A && git commit -qm one")
    made = repo.head()
    repo.git("checkout", "-q", *(["main"] if "merge" in command else ["-b", "new"]))
    repo.git(*command.split())
    commit(repo)
    work(repo)
    assert waiting(repo) == ["post-commit", "post-commit"]
    client.talk.result(call, "made")
    work(repo)
    assert origins(repo) == {1: made}


def test_a_commit_that_waits_ends_no_squash_after_it(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = on_topic(repo, client)
    monkeypatch.setattr("gitsession.capture.worker.PATIENCE", 0.1)
    client.talk.write("four.py", "def fourth_function():\n    return 4\n")
    call = client.talk.call("Bash", command="git commit && make")
    client.run("git add -A && git commit -qm four")
    squash(repo)
    work(repo)
    assert waiting(repo) == ["post-commit"]
    client.talk.result(call, "made")
    work(repo)
    commit(repo)
    work(repo)
    assert origins(repo, "HEAD^") == {4: None}
    assert_carried(repo, made)


def test_a_squash_by_the_agent_has_its_own_capture_too(repo: Scratch, client: Client) -> None:
    made = on_topic(repo, client)
    client.bash("git merge -q --squash topic")
    client.talk.say("squashed")
    client.bash("git commit -q -m all")
    work(repo)
    assert origins(repo) == {**dict(enumerate(made, 1)), 4: None}
    assert [r.evidence.by for r in records_of(repo) if r.evidence] == ["environment"] * 4


def test_a_squash_by_the_agent_in_one_command(repo: Scratch, client: Client) -> None:
    made = on_topic(repo, client)
    client.bash("git merge -q --squash topic && git commit -q -m all")
    work(repo)
    assert origins(repo) == {**dict(enumerate(made, 1)), 4: None}


def test_a_squash_by_the_agent_ties_nothing_to_the_merge_it_stands_on(
    repo: Scratch, client: Client
) -> None:
    made = on_topic(repo, client)
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("mine", {"mine.py": "my_own = 'work'\n"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    client.bash("git merge -q --squash topic")
    client.talk.say("squashed")
    commit(repo)
    work(repo)
    assert origins(repo, "HEAD^") == {}
    assert_carried(repo, made)


def test_two_squashes_in_one_commit(repo: Scratch, client: Client) -> None:
    for name, text in list(FILES.items())[:2]:
        repo.git("checkout", "-q", "-b", name, "main")
        client.talk.write(name, text)
        client.commit(name)
    work(repo)
    repo.git("checkout", "-q", "main")
    one, two = repo.git("rev-parse", "one.py", "two.py").split()
    squash(repo, "one.py")
    squash(repo, "two.py")
    commit(repo)
    work(repo)
    assert origins(repo) == {1: one, 2: two}


def test_a_squash_in_a_linked_work_tree(repo: Scratch, client: Client, tmp_path: Path) -> None:
    made = on_topic(repo, client)
    forget_session(repo, client)
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Scratch(tmp_path / "linked")
    squash(linked)
    work(linked)
    repo.commit("in the other work tree", {"mine.py": "my_own = 'work'\n"})
    assert waiting(repo) == []
    commit(linked)
    work(linked)
    assert_carried(linked, made)


def test_a_squash_amended(repo: Scratch, client: Client) -> None:
    made = on_topic(repo, client)
    squash(repo)
    between = commit(repo)
    repo.git("commit", "-q", "--amend", "-m", "better")
    work(repo)
    assert origins(repo, between) == dict(enumerate(made, 1))
    assert origins(repo) == {1: between, 2: between, 3: between}


def test_a_squash_amended_into_the_commit_before(repo: Scratch, client: Client) -> None:
    repo.commit("mine", {"mine.py": "my_own = 'work'\n"})
    made = on_topic(repo, client)
    squash(repo)
    repo.git("commit", "-q", "--amend", "-m", "with all of it")
    work(repo)
    assert_carried(repo, made)


# -- squashes that were given up ------------------------------------------------------------


@pytest.mark.parametrize("between", [True, False], ids=["seen", "unseen"])
@pytest.mark.parametrize(
    "files",
    [{"mine.py": "my_own = 'work'\n"}, dict.fromkeys(FILES, "my_own = 'work'\n")],
    ids=["other files", "the same files"],
)
def test_after_a_squash_given_up(
    repo: Scratch, client: Client, between: bool, files: dict[str, str]
) -> None:
    on_topic(repo, client)
    squash(repo)
    if between:
        work(repo)
    repo.git("reset", "-q", "--hard")
    repo.commit("something else", files)
    work(repo)
    assert records_of(repo) == []
    assert squashes.find(common_of(repo), common_of(repo)) == ()


def test_a_squash_given_up_is_forgotten_at_the_next_commit(repo: Scratch, client: Client) -> None:
    on_topic(repo, client)
    squash(repo)
    repo.git("reset", "-q", "--hard")
    repo.commit("something else", {"mine.py": "my_own = 'work'\n"})
    repo.commit("the same by chance", FILES)
    work(repo)
    assert records_of(repo) == []


def test_a_squash_given_up_and_the_same_committed_elsewhere(repo: Scratch, client: Client) -> None:
    repo.commit("mine", {"mine.py": "my_own = 'work'\n"})
    on_topic(repo, client)
    squash(repo)
    repo.git("reset", "-q", "--hard")
    repo.git("checkout", "-q", "-b", "elsewhere", "HEAD^")
    repo.commit("the same by chance", FILES)
    work(repo)
    assert records_of(repo) == []


def test_a_squash_of_which_next_to_nothing_was_committed(repo: Scratch, client: Client) -> None:
    on_topic(repo, client)
    squash(repo)
    repo.git("reset", "-q")
    repo.git("add", "one.py")
    commit(repo)
    work(repo)
    assert records_of(repo) == []


# -- resets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False], ids=["session known", "session forgotten"])
@pytest.mark.parametrize(
    "commands",
    [
        ["reset -q --soft HEAD~3"],
        ["reset -q HEAD~3", "add -A"],
        ["reset -q --soft HEAD~1", "reset -q --soft HEAD~2"],
        ["reset -q --soft HEAD~3", "reset -q", "add -A"],
        ["reset -q --soft HEAD~3", "checkout -q -b clean"],
    ],
    ids=["soft", "mixed", "twice", "then unstaged", "then another branch"],
)
def test_what_was_reset_and_committed_again(
    repo: Scratch, client: Client, known: bool, commands: list[str]
) -> None:
    made = commit_each(client)
    work(repo)
    if not known:
        forget_session(repo, client)
    for command in commands:
        repo.git(*command.split())
    commit(repo)
    work(repo)
    assert_carried(repo, made)


def test_an_amend_after_a_reset_has_all(repo: Scratch, client: Client) -> None:
    made = commit_each(client)
    repo.git("reset", "-q", "--soft", "HEAD~2")
    repo.git("commit", "-q", "--amend", "-m", "all of it")
    work(repo)
    assert_carried(repo, made)


def test_a_commit_of_something_else_after_a_reset(repo: Scratch, client: Client) -> None:
    commit_each(client)
    work(repo)
    repo.git("reset", "-q", "--soft", "HEAD~3")
    repo.write("one.py", "my_own = 'work'\n")
    repo.git("add", "-A")
    commit(repo)
    work(repo)
    assert records_of(repo) == []


def test_a_commit_after_a_hard_reset(repo: Scratch, client: Client) -> None:
    commit_each(client)
    work(repo)
    repo.git("reset", "-q", "--hard", "HEAD~3")
    repo.commit("something else", {"mine.py": "my_own = 'work'\n"})
    work(repo)
    assert records_of(repo) == []


def test_a_merge_made_again_has_only_what_is_gone(repo: Scratch, client: Client) -> None:
    on_topic(repo, client)
    client.bash("git merge -q --no-ff -m merge topic")
    work(repo)
    merge = repo.head()
    repo.git("reset", "-q", "--hard", "HEAD^")
    repo.git("merge", "-q", "--no-ff", "-m", "again", "topic")
    work(repo)
    assert origins(repo) == {4: merge}


def test_only_the_first_commit_after_a_reset_is_told_of(repo: Scratch, client: Client) -> None:
    commit_each(client)
    forget_session(repo, client)
    time.sleep(PAUSE)
    repo.git("reset", "-q", "--hard", "HEAD~3")
    time.sleep(PAUSE)
    repo.commit("something else", {"mine.py": "my_own = 'work'\n"})
    assert waiting(repo) == ["post-commit"]
    work(repo)
    repo.commit("and more", {"mine.py": "my_own = 'other work'\n"})
    assert waiting(repo) == []


# -- whatever happens -----------------------------------------------------------------------

Scenario = Callable[[Scratch], None]


def by_squash(repo: Scratch) -> None:
    """The user squashes the branch into the other one."""
    repo.git("checkout", "-q", "main")
    squash(repo)
    commit(repo)


def by_reset(repo: Scratch) -> None:
    """The user makes one commit of three."""
    repo.git("reset", "-q", "--soft", "HEAD~3")
    commit(repo)


@pytest.mark.parametrize("scenario", [by_squash, by_reset])
def test_in_a_repository_with_sha256(tmp_path: Path, scenario: Scenario) -> None:
    repo = Scratch.create(tmp_path / "sha256", object_format="sha256")
    set_up(repo)
    client = Client.start(repo)
    client.prompt("write a program")
    repo.git("checkout", "-q", "-b", "topic")
    made = commit_each(client)
    work(repo)
    scenario(repo)
    work(repo)
    assert_carried(repo, made)


@pytest.mark.parametrize("scenario", [by_squash, by_reset])
def test_events_handled_twice_change_nothing(
    repo: Scratch, client: Client, scenario: Scenario
) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    made = commit_each(client)
    work(repo)
    scenario(repo)
    events = spool.read(folder.spool(common_of(repo)))
    kept = {event.path: event.path.read_bytes() for event in events}
    work(repo)
    tips = repo.git("for-each-ref")
    for path, data in kept.items():
        path.write_bytes(data)
        work(repo)
    assert repo.git("for-each-ref") == tips
    assert origins(repo) == dict(enumerate(made, 1))


# -- deciding -------------------------------------------------------------------------------


def name(letter: str) -> Oid:
    return Oid(letter * 40)


def log(*entries: str) -> list[Move]:
    """A reflog, newest first, from `letter action`."""
    return [Move(new=name(entry[0]), action=entry[2:]) for entry in entries]


@pytest.mark.parametrize(
    ("moves", "found"),
    [
        (["n commit: x", "a reset: moving to a", "c commit: c", "a commit: a"], "c"),
        (["n commit: x", "a reset: moving to a", "b reset: moving to b", "c commit: c"], "bc"),
        (["n commit: x", "a checkout: moving", "a reset: moving to a", "c commit: c"], "c"),
        (["n commit: x", "a reset: moving to HEAD", "a commit: a", "0 commit: 0"], ""),
        (["n commit: x", "a commit: a", "b reset: moving to b", "c commit: c"], ""),
        (["n commit: x", "a checkout: moving", "c reset: moving to c", "d commit: d"], ""),
        (["m commit: y", "n commit: x", "a reset: moving to a", "c commit: c"], "c"),
        (["n reset: moving to n", "a reset: moving to a", "c commit: c"], ""),
        (["n commit (initial): x"], ""),
        (["n commit: x", "a reset: moving to a"], ""),
        ([], ""),
    ],
)
def test_where_head_was_before_resets(moves: list[str], found: str) -> None:
    assert before_resets(log(*moves), name("n")) == [name(letter) for letter in found]


def files(**touched: tuple[str, int]) -> Files:
    return {path: Touched(became=words, lines=lines) for path, (words, lines) in touched.items()}


def lines(**added: str) -> list[FileChange]:
    return [FileChange(path=path, added=tuple(text.split())) for path, text in added.items()]


@pytest.mark.parametrize(
    ("ours", "wrote", "have", "held"),
    [
        ({"a": ("new", 9), "b": ("new", 1)}, {}, {}, True),
        ({"a": ("new", 9), "c": ("mine", 99)}, {}, {}, True),
        ({"b": ("new", 1)}, {}, {}, False),
        ({"c": ("mine", 99)}, {}, {}, False),
        ({}, {}, {}, False),
        ({"a": ("mixed", 9)}, {"a": "first second third"}, {"a": "mine first second"}, True),
        ({"a": ("mixed", 9)}, {"a": "first second third"}, {"a": "mine first"}, False),
        ({"a": ("mixed", 9)}, {"a": "first"}, {"b": "first"}, False),
        ({"a": ("mixed", 9)}, {}, {"a": "first"}, False),
    ],
)
def test_whether_a_commit_holds_what_was_squashed(
    ours: Mapping[str, tuple[str, int]],
    wrote: Mapping[str, str],
    have: Mapping[str, str],
    held: bool,
) -> None:
    theirs = files(a=("new", 9), b=("new", 1))
    assert holds(theirs, files(**ours), lines(**wrote), lines(**have)) == held


def test_nothing_is_held_by_nothing() -> None:
    assert not holds({}, files(a=("new", 1)), [], [])


def test_lines_are_compared_where_both_changed_a_file_differently() -> None:
    theirs = files(a=("new", 1), b=("new", 1), c=("new", 1))
    assert unlike(theirs, files(a=("new", 5), b=("mine", 1), d=("mine", 1))) == ["b"]


def test_the_list_of_a_squash_is_read() -> None:
    body = f"commit {name('a')}\ncommit\ncommit x\n{name('c')}\ncommit {'b' * 64}\n"
    assert parse_squashed(body.encode()) == (name("a"), Oid("b" * 64))
    assert parse_squashed(b"") == ()


def test_touched_files_are_read() -> None:
    out = (
        b":100644 100755 1111 2222 M\0a b\0:000000 100644 0000 3333 A\0\xff\0"
        b"2\t1\ta b\0-\t-\t\xff\0"
    )
    assert parse_touched(out) == {"a b": ("100755 2222", 3), "\udcff": ("100644 3333", 0)}
    assert parse_touched(b"") == {}
