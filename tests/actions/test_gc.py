"""`git session gc` on what a client left: fewer refs, and nothing else that anybody could see."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitsession import config
from gitsession.actions import gc as action
from gitsession.actions.reindex import reindex
from gitsession.capture.ledger import Ledger, Tie
from gitsession.errors import SessionError
from gitsession.git import refs
from gitsession.git.plumbing import discover
from gitsession.git.repository import Draft, Link, Put, Swap
from gitsession.ids import Oid, SessionId
from gitsession.model import Evidence
from gitsession.store import registry, sessions
from gitsession.store.tombstones import Forgotten
from tests.client import Client, captures, check, common_of, raw, session_refs, set_up, tied, work
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin

EXECUTABLE = Path(sys.executable).parent / "git-session"
OLD = "2026-05-10T12:00:00.000Z"


@pytest.fixture(params=["sha1", "sha256"])
def repo(tmp_path: Path, request: pytest.FixtureRequest) -> Scratch:
    """A repository after init."""
    scratch = Scratch.create(tmp_path / "repo", object_format=request.param)
    set_up(scratch)
    return scratch


@pytest.fixture
def client(repo: Scratch) -> Client:
    """A session with a commit and a rest, that has ended."""
    client = Client.start(repo)
    client.prompt("write a program")
    client.talk.write("app.py", "def login():\n    return check(password)\n")
    client.commit("login")
    client.prompt("and a test")
    client.talk.say("later")
    client.end()
    work(repo)
    return client


def run(repo: Scratch | Clone, *words: str) -> str:
    """Run the executable; what it says must not depend on the moment."""
    done = subprocess.run(
        [EXECUTABLE, *words], cwd=repo.path, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def look(repo: Scratch, client: Client) -> list[str]:
    """Everything that shows a session."""
    name = client.session
    asked = [["show"], ["show", name], ["show", name[:8]], ["show", f"{name}@1"], ["turns", name],
             ["show", "--json"], ["show", "--raw", name], ["log", "--json"]]  # fmt: skip
    # But for how long ago it was.
    return [re.sub(r" +\d+[sm]\b", "", run(repo, *words)) for words in asked]


def test_a_folded_session_shows_as_before(repo: Scratch, client: Client) -> None:
    before, lines = look(repo, client), raw(repo, client.session)
    assert run(repo, "gc", "--older-than", "0") == "folded 1 session into 1 archive\n"
    assert [*map(refs.is_session, session_refs(repo))] == [False]
    assert look(repo, client) == before
    assert raw(repo, client.session) == lines == client.talk.path.read_bytes()
    assert reindex(repo.path).changed == 0
    assert run(repo, "gc", "--older-than", "0") == "folded 0 sessions\n"
    check(repo)


def test_a_resumed_session_continues_after_its_archive(repo: Scratch, client: Client) -> None:
    action.gc(repo.path, older_than=0)
    client.fire("session-start", source="resume")
    client.prompt("go on")
    client.talk.write("b.py", "import os\n")
    client.commit()
    client.end()
    work(repo)
    found = captures(repo, client.session)
    assert [record.seq for record in found] == [1, 2, 3]
    assert [record.kind for record in found] == ["commit", "checkpoint", "commit"]
    assert raw(repo, client.session) == client.talk.path.read_bytes()
    assert refs.SESSIONS + client.session in session_refs(repo)
    done = action.gc(repo.path, older_than=0)
    assert len(done.folded) == 1
    assert raw(repo, client.session) == client.talk.path.read_bytes()
    assert [record.seq for record in captures(repo, client.session)] == [1, 2, 3]
    check(repo)


def test_an_archived_capture_can_be_tied_to_another_commit(repo: Scratch, client: Client) -> None:
    action.gc(repo.path, older_than=0)
    commit = repo.commit("later", {"c": "d"})
    with discover(repo.path) as found:
        ledger = Ledger(found, config.load(repo.path))
        tie = Tie(commit=Oid(commit), evidence=Evidence(by="manual"))
        assert ledger.tie(SessionId(client.session), 2, tie) is not None
    assert commit in tied(repo, client.session)[2]
    action.gc(repo.path, older_than=0)
    assert commit in tied(repo, client.session)[2]
    assert len(captures(repo, client.session)) == 2
    check(repo)


def test_a_session_under_way_stays(repo: Scratch) -> None:
    client = Client.start(repo)
    client.prompt("write")
    client.talk.write("a.py", "import os\n")
    client.commit()
    work(repo)
    known = registry.find(common_of(repo), SessionId(client.session))
    assert known is not None and known.state == "active"
    assert run(repo, "gc", "--older-than", "0") == "folded 0 sessions; 1 stays: active\n"
    assert session_refs(repo) == [refs.SESSIONS + client.session]


def test_young_sessions_stay_and_nobody_speaks_of_them(repo: Scratch, client: Client) -> None:
    assert run(repo, "gc") == "folded 0 sessions\n"
    assert session_refs(repo) == [refs.SESSIONS + client.session]
    repo.git("config", "session.archiveDays", "0")
    assert run(repo, "gc") == "folded 1 session into 1 archive\n"


def test_a_dry_run_lists_and_changes_nothing(repo: Scratch, client: Client) -> None:
    before = repo.git("for-each-ref")
    said = run(repo, "gc", "--older-than", "0", "--dry-run")
    assert said.startswith(f"would fold {client.session} into the archive of 20")
    assert said.endswith("would fold 1 session into 1 archive\n")
    assert repo.git("for-each-ref") == before


def test_what_was_not_pushed_stays(tmp_path: Path) -> None:
    origin = make_origin(tmp_path / "origin.git")
    ann = Clone.of(origin, tmp_path / "ann")
    ann.capture("s1", "one", at=OLD)
    ann.sync()
    ann.capture("s1", "two", at=OLD)
    ann.capture("s2", "three", at=OLD)
    assert run(ann, "gc") == "folded 0 sessions; 2 stay: not pushed yet\n"
    ann.sync()
    assert run(ann, "gc", "--no-push") == "folded 2 sessions into 1 archive\n"
    assert "refs/sessions/s1" in origin.git("for-each-ref")
    # What one left undone, the next one does.
    assert run(ann, "gc") == "folded 0 sessions; 2 refs fewer on the remote\n"
    assert origin.git("for-each-ref", "--format=%(refname)", refs.SESSIONS) == refs.archive(
        "2026-05"
    )


def test_automatic_push_that_is_off_leaves_the_remote_alone(tmp_path: Path) -> None:
    origin = make_origin(tmp_path / "origin.git")
    ann = Clone.of(origin, tmp_path / "ann")
    ann.capture("s1", "one", at=OLD)
    ann.sync()
    ann.git("config", "session.autoPush", "false")
    before = origin.git("for-each-ref")
    assert run(ann, "gc") == "folded 1 session into 1 archive\n"
    assert origin.git("for-each-ref") == before


def test_a_remote_that_is_away_is_a_warning(tmp_path: Path) -> None:
    origin = make_origin(tmp_path / "origin.git")
    ann = Clone.of(origin, tmp_path / "ann")
    ann.capture("s1", "one", at=OLD)
    ann.sync()
    origin.path.rename(tmp_path / "away.git")
    done = action.gc(ann.path)
    assert [one.slug for one in done.folded] == ["s1"]
    assert len(done.warnings) == 1 and "can't" in done.warnings[0]
    (tmp_path / "away.git").rename(origin.path)
    assert action.gc(ann.path).dropped == ("refs/sessions/s1",)
    assert ann.texts("s1") == ["one"]


def test_a_session_that_cannot_be_read_stays(tmp_path: Path) -> None:
    ann = Clone(Scratch.create(tmp_path / "repo"))
    ann.capture("s1", "one", at=OLD)
    ann.git("update-ref", "refs/sessions/odd", "HEAD")
    ann.git("update-ref", "refs/sessions/blob", "HEAD:README")
    # Others would not take these, so nobody would have them.
    ann.git("update-ref", "refs/sessions/another", "refs/sessions/s1")
    ann.capture("s3", "three", at=OLD)
    with ann.open() as repo:
        tip = Oid(ann.git("rev-parse", "refs/sessions/s1"))
        link = Link(path="results/.x", oid=Oid(ann.git("rev-parse", f"{tip}:session.json")))
        draft = Draft(message="x\n", parents=(tip,), links=(link,))
        (new,) = repo.write([draft], config.load(ann.path).author)
        repo.swap([Swap(ref="refs/sessions/s1", old=tip, new=new)])
    done = action.gc(ann.path)
    assert [one.slug for one in done.folded] == ["s3"]
    assert {*done.stay} == {(name, "unreadable") for name in ("another", "odd", "s1")}
    assert ann.texts("s1") == ["one"]


def hook(repo: Scratch, body: str) -> Path:
    """A hook that git runs when refs are about to move."""
    path = repo.path / ".git" / "hooks" / "reference-transaction"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n[ \"$1\" = prepared ] || exit 0\n"
                    f"grep -q refs/sessions/archive || exit 0\n{body}\n")  # fmt: skip
    path.chmod(0o755)
    return path


def test_killed_before_the_refs_move_nothing_has_happened(repo: Scratch, client: Client) -> None:
    before = repo.git("for-each-ref")
    # The hook's parent is git, whose parent is the program; git then gives up.
    path = hook(repo, "kill -9 $(ps -o ppid= -p $PPID); exit 1")
    done = subprocess.run(
        [EXECUTABLE, "gc", "--older-than", "0"], cwd=repo.path, capture_output=True, check=False
    )
    assert done.returncode == -9
    assert repo.git("for-each-ref") == before
    path.unlink()
    assert len(action.gc(repo.path, older_than=0).folded) == 1
    assert raw(repo, client.session) == client.talk.path.read_bytes()
    check(repo)


def test_a_transaction_that_git_refuses_is_an_error_and_no_loss(
    repo: Scratch, client: Client
) -> None:
    before = repo.git("for-each-ref")
    hook(repo, "exit 1")
    with pytest.raises(SessionError):
        action.gc(repo.path, older_than=0)
    assert repo.git("for-each-ref") == before


def test_a_capture_taken_meanwhile_is_kept(tmp_path: Path) -> None:
    ann = Clone(Scratch.create(tmp_path / "repo"))
    for name in ("s1", "s2"):
        ann.capture(name, "one", at=OLD)
    with ann.open() as repo:
        found = action.survey(repo, None, action.days_ago(0))
        assert [one.slug for one in found.closed] == ["s1", "s2"]
        ann.capture("s1", "two", at=OLD)
        folded = action.fold(repo, found.closed, Forgotten(), config.load(ann.path))
    assert [one.slug for one in folded] == ["s2"]
    assert ann.texts("s1") == ["one", "two"]
    assert ann.texts("s2") == ["one"]


def test_several_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    origin = make_origin(tmp_path / "origin.git")
    ann = Clone.of(origin, tmp_path / "ann")
    names = [f"s{number}" for number in range(12)]
    for number, name in enumerate(names):
        ann.capture(name, f"of {name}", at=f"2026-0{1 + number % 6}-10T12:00:00.000Z")
    ann.sync()
    bob = Clone.of(origin, tmp_path / "bob")
    assert bob.fetch(everything=True) == ()
    running = [
        subprocess.Popen(
            [EXECUTABLE, "gc"], cwd=clone.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )
        for clone in (ann, bob, ann, bob)
    ]  # fmt: skip
    for process in running:
        said, _ = process.communicate()
        assert process.returncode == 0, said
        assert said.startswith("folded "), said
    for clone in (ann, bob, ann):
        assert clone.fetch(everything=True) == ()
        assert action.gc(clone.path).warnings == ()
    assert not any(map(refs.is_session, session_refs(origin)))
    for clone in (ann, bob):
        assert session_refs(clone.scratch) == session_refs(origin)
        assert [clone.texts(name) for name in names] == [[f"of {name}"] for name in names]
        clone.check()


def copy_session(clone: Clone, name: str, number: int) -> None:
    """Make many more sessions that hold what one does."""
    with clone.open() as repo:
        tree = Oid(clone.git("rev-parse", f"refs/sessions/{name}:captures"))
        link = Link(path="captures", oid=tree, mode="040000")
        for start in range(number):
            head = sessions.Head(v=1, session=SessionId(f"t{start}"), agent="claude-code")
            put = Put(path="session.json", data=sessions.encode_head(head))
            draft = Draft(message="x\n", links=(link,), puts=(put,))
            (tip,) = repo.write([draft], config.load(clone.path).author)
            repo.swap([Swap(ref=f"refs/sessions/t{start}", old=None, new=tip)])


def test_many_sessions_take_as_many_processes_as_few(
    tmp_path: Path,
) -> None:
    counts = []
    trace = tmp_path / "trace"
    for number in (3, 60):
        ann = Clone(Scratch.create(tmp_path / f"repo{number}"))
        ann.capture("s0", "one", at=OLD)
        copy_session(ann, "s0", number)
        (Path(os.environ["HOME"]) / ".gitconfig").write_text(f"[trace2]\n\teventTarget = {trace}\n")
        trace.write_text("")
        done = action.gc(ann.path)
        (Path(os.environ["HOME"]) / ".gitconfig").unlink()
        assert len(done.folded) == number + 1
        assert len(session_refs(ann.scratch)) == 1
        counts.append(trace.read_text().count('"event":"start"'))
    assert counts[0] == counts[1] > 0
