"""What real captures make, and clones that share it, has nothing wrong in it; damage is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gitsession.actions.gc import gc
from gitsession.actions.verify import verify
from gitsession.commands.verify import command
from gitsession.errors import NotFound, SessionError
from tests.client import Client, captures, set_up, tied, work
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin


def run(where: Path, monkeypatch: pytest.MonkeyPatch, *args: str) -> Result:
    """Run the command in a folder."""
    monkeypatch.chdir(where)
    return CliRunner().invoke(command, args, catch_exceptions=False)


def worked_on(repo: Scratch) -> Client:
    """A session with a subagent, outputs, a secret, an amend, and a capture of two commits."""
    set_up(repo)
    client = Client.start(repo)
    client.prompt("write a program; the key is ghp_" + "Ab1" * 12)
    client.talk.write("one.py", "def first_function():\n    return 1\n")
    beside = client.talk.path.with_suffix("") / "tool-results"
    beside.mkdir(parents=True)
    (beside / "b1.txt").write_text("large\n" * 1000)
    sub = client.talk.subagent("a1")
    sub.prompt("look")
    sub.say("seen")
    client.commit("one")
    work(repo)
    client.bash("git commit -q --amend -m better")
    work(repo)
    client.talk.write("two.py", "def second_function():\n    return 2\n")
    client.talk.write("three.py", "def third_function():\n    return 3\n")
    client.bash("git add two.py && git commit -qm two; git add three.py && git commit -qm three")
    work(repo)
    (beside / "b2.txt").write_text("more\n" * 1000)
    sub.say("seen again")
    client.talk.say("good bye")
    client.end()
    work(repo)
    return client


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_what_is_captured_is_right(tmp_path: Path, form: str) -> None:
    repo = Scratch.create(tmp_path / "repo", object_format=form)
    client = worked_on(repo)
    assert any(len(commits) > 1 for commits in tied(repo, client.session).values())
    done = verify(repo.path, everything=True)
    assert done.findings == ()
    count = len(captures(repo, client.session))
    assert (done.checked.sessions, done.checked.captures) == (1, count)
    assert done.checked.notes >= 4
    for name in ("HEAD", client.session, client.session[:8], "HEAD~1"):
        assert verify(repo.path, [name]).findings == ()
    assert verify(repo.path).checked.captures == count


def test_what_was_archived_is_right(scratch: Scratch) -> None:
    client = worked_on(scratch)
    assert [x.slug for x in gc(scratch.path, older_than=0, push=False).folded] == [client.session]
    assert scratch.git("for-each-ref", f"refs/sessions/{client.session}") == ""
    for name in ("HEAD", client.session):
        done = verify(scratch.path, [name])
        assert (done.findings, done.checked.sessions) == ((), 1)
    again = Client.start(scratch, session=client.session)
    again.talk.path.write_bytes(client.talk.path.read_bytes())
    again.prompt("go on")
    again.talk.write("four.py", "def fourth_function():\n    return 4\n")
    again.commit("four")
    work(scratch)
    assert verify(scratch.path, everything=True).findings == ()


def test_other_sessions_are_left_alone(scratch: Scratch) -> None:
    worked_on(scratch)
    other = Client.start(scratch)
    other.prompt("and now something else")
    other.talk.write("other.py", "import os\n")
    other.commit("other")
    work(scratch)
    assert verify(scratch.path).checked.sessions == 1
    assert verify(scratch.path, everything=True).checked.sessions == 2
    assert verify(scratch.path, everything=True).findings == ()


def test_what_is_named_must_be_there(scratch: Scratch) -> None:
    with pytest.raises(SessionError, match="has no session"):
        verify(scratch.path)
    for name in ("nowhere", "-x", "", "a\nb"):
        with pytest.raises(NotFound):
            verify(scratch.path, [name])
    assert verify(scratch.path, everything=True).findings == ()


# -- shared ---------------------------------------------------------------------------------


@pytest.fixture(params=["sha1", "sha256"])
def origin(tmp_path: Path, request: pytest.FixtureRequest) -> Scratch:
    """What everybody shares."""
    made = make_origin(tmp_path / "origin.git", object_format=request.param)
    made.git("config", "uploadpack.allowFilter", "true")
    return made


@pytest.fixture
def ann(origin: Scratch, tmp_path: Path) -> Clone:
    """One clone."""
    return Clone.of(origin, tmp_path / "ann")


@pytest.fixture
def bob(origin: Scratch, tmp_path: Path) -> Clone:
    """Another one."""
    return Clone.of(origin, tmp_path / "bob")


def line(word: str) -> str:
    """A line as an agent has them."""
    return json.dumps({"said": word})


def test_a_session_continued_on_two_machines_is_right(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    head = ann.scratch.head()
    ann.capture("s1", line("begun"), commit=head)
    ann.sync()
    bob.fetch("s1")
    ann.capture("s1", line("on ann's"))
    bob.git("config", "user.name", "Bob")
    bob.capture("s1", line("on bob's"))
    ann.capture("s1", line("on ann's again"))
    ann.sync()
    bob.sync()
    ann.sync()
    ann.capture("s1", line("after"))
    ann.sync()
    bob.sync()
    for path in (ann.path, bob.path, origin.path):
        done = verify(path, everything=True)
        assert done.findings == ()
        assert done.checked.captures == 5


def test_a_clone_with_the_index_only_lacks_sessions_and_is_right(
    ann: Clone, bob: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.capture("s1", line("begun"), commit=ann.scratch.head())
    ann.sync()
    bob.fetch()
    done = verify(bob.path, everything=True)
    assert done.findings == ()
    assert (done.checked.sessions, done.checked.elsewhere) == (0, 1)
    shown = run(bob.path, monkeypatch)
    assert shown.exit_code == 0
    assert "not here: session s1 (`git session fetch s1` brings it)" in shown.output


def test_a_shallow_clone_says_what_it_lacks(
    ann: Clone, origin: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ann.scratch.head()
    second = ann.scratch.commit("second", {"a": "b"})
    ann.git("push", "-q", "origin", "main")
    ann.capture("s1", line("begun"), commit=first)
    ann.capture("s1", line("and on"), commit=second)
    ann.sync()
    clone = Clone.of(origin, tmp_path / "shallow", "--depth=1")
    clone.git("fetch", "-q", "--depth=1", "origin", "+refs/sessions/*:refs/sessions/*")
    clone.fetch()
    done = verify(clone.path, everything=True)
    assert done.findings == ()
    assert (done.checked.absent, done.checked.cut, done.checked.shallow) == (1, 1, True)
    shown = run(clone.path, monkeypatch, "--all")
    assert "not here: 1 commit of the index (a shallow clone)" in shown.output


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_a_partial_clone_fetches_nothing(
    ann: Clone, origin: Scratch, tmp_path: Path, kind: str
) -> None:
    ann.capture("s1", line("begun"), commit=ann.scratch.head())
    ann.capture("s1", line("and on"))
    ann.sync()
    clone = Clone.of(origin, tmp_path / "partial", f"--filter={kind}", "--no-checkout")
    for name in ("refs/sessions/*", "refs/notes/*"):
        clone.git("fetch", "-q", f"--filter={kind}", "origin", f"+{name}:{name}")
    listed = ["cat-file", "--batch-all-objects", "--batch-check", "--unordered"]
    before = sorted(clone.git(*listed).splitlines())
    done = verify(clone.path, everything=True)
    assert done.findings == ()
    assert done.checked.away == ("s1",)
    assert sorted(clone.git(*listed).splitlines()) == before
    # What was fetched whole can be checked, whatever else is missing.
    clone.scratch.git("cat-file", "--batch-check", stdin="".join(f"{x}\n" for x in objects_of(ann)))
    done = verify(clone.path, ["s1"])
    assert (done.findings, done.checked.captures) == ((), 2)


def objects_of(clone: Clone) -> list[str]:
    """All that belongs to a session and to the index."""
    names = ["refs/sessions/s1", "refs/notes/sessions"]
    return [x.split()[0] for x in clone.git("rev-list", "--objects", *names).splitlines()]


# -- the command ----------------------------------------------------------------------------


def test_what_is_wrong_is_printed_and_is_the_exit_code(
    ann: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.capture("s1", line("begun"), commit=ann.scratch.head())
    shown = run(ann.path, monkeypatch, "--all")
    assert (shown.exit_code, shown.output) == (0, "1 session, 1 capture, 1 note: nothing wrong\n")
    ann.git("update-ref", "-d", "refs/notes/sessions")
    shown = run(ann.path, monkeypatch, "s1")
    assert shown.exit_code == 4
    assert shown.output.splitlines() == [
        "error: refs/notes/sessions: there is no index here",
        "hint: `git session reindex` makes the index say what the session refs say",
        "1 session, 1 capture, 0 notes: 1 error",
    ]
    shown = run(ann.path, monkeypatch, "--all", "--json")
    assert shown.exit_code == 4
    (found,) = json.loads(shown.output)
    assert (found["level"], found["where"]) == ("error", "refs/notes/sessions")


def test_nothing_that_came_from_elsewhere_reaches_the_terminal(
    ann: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.capture("s1", line("begun"), commit=ann.scratch.head())
    ann.git("config", "user.name", "\x1b[31mMallory\x07")
    tree = ann.git("rev-parse", "refs/sessions/s1^{tree}")
    odd = ann.scratch.git(
        "hash-object", "-w", "--stdin", stdin='{"v":1,"session":"\\u001b]0;x\\u0007"}'
    )
    listed = ann.git("ls-tree", tree).splitlines()
    listed = [f"100644 blob {odd}\tsession.json" if "session.json" in x else x for x in listed]
    made = ann.scratch.git("mktree", stdin="\n".join([*listed, f"100644 blob {odd}\t\x1b[2Jx\n"]))
    ann.git("update-ref", "refs/sessions/s1", ann.git("commit-tree", "-m", "x", made))
    shown = run(ann.path, monkeypatch, "--all")
    assert shown.exit_code == 4
    assert not any(ord(char) < 32 and char != "\n" for char in shown.output)
    assert run(ann.path, monkeypatch, "--all", "--json").exit_code == 4


def test_names_and_everything_exclude_each_other(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scratch.path)
    with pytest.raises(SessionError, match="--all"):
        CliRunner().invoke(command, ["--all", "HEAD"], catch_exceptions=False)


def test_many_sessions_take_few_processes(ann: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = ann.path.parent / "trace"
    counts = []
    for name in ("s1", "s2", "s3", "s4"):
        ann.capture(name, line(name), commit=ann.scratch.head())
        trace.write_text("")
        monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
        assert verify(ann.path, everything=True).findings == ()
        monkeypatch.delenv("GIT_TRACE2_EVENT")
        counts.append(trace.read_text().count('"event":"start"'))
    assert counts[0] > 1
    assert len(set(counts)) == 1
