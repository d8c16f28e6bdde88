"""A session that was captured in one clone goes on in another, and comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitsession.agents import claude_code
from gitsession.git import refs
from gitsession.ids import SessionId
from gitsession.store import records
from tests.e2e.client import new_id
from tests.e2e.machine import Machine
from tests.e2e.scenario import Ground, bash, delegate, program, steps, wait_until, write
from tests.e2e.test_fork_transcripts import Bench, _check
from tests.scratch import Scratch

pytestmark = pytest.mark.e2e


@pytest.fixture
def origin(bare_ground: Ground, tmp_path: Path) -> Scratch:
    repo = bare_ground.repo
    repo.git("clone", "-q", "--bare", str(repo.path), str(tmp_path / "origin.git"))
    return Scratch(tmp_path / "origin.git")


def machine(ground: Ground, origin: Scratch, name: str, email: str = "") -> Machine:
    """A clone of the shared repository on a machine of its own, set up."""
    folder = origin.path.parent
    origin.git("clone", "-q", str(origin.path), str(folder / name / "work"))
    made = Machine(ground, folder / name / "work", folder / name / "home", email)
    made.session("init")
    return made


def publish(here: Machine, origin: Scratch, session: str) -> None:
    """Push, and wait until the session is there as it is here."""
    here.run("push", "-q", "origin", "HEAD")
    here.session("push")
    ref = refs.session(SessionId(session))
    wait_until(
        lambda: here.repo.git("rev-parse", ref) == origin.git("rev-parse", ref, check=False),
        lambda: str(here.noted()),
    )


def turns_of(here: Machine, session: str) -> list[int]:
    """The turns in each capture of a session, by its ref."""
    ref = refs.session(SessionId(session))
    names = here.repo.git("ls-tree", "--name-only", f"{ref}:captures").splitlines()
    seqs = sorted(int(name.partition(".")[0]) for name in names if name.endswith(".json"))
    lines = [here.repo.git("cat-file", "-p", f"{ref}:captures/{seq}.json") for seq in seqs]
    found = [records.readable(records.decode_note(line.encode()))[0] for line in lines]
    return [record.turns for record in found]


def say(here: Machine, prompt: str, session: str, *flags: str) -> None:
    """One turn of the plain client."""
    here.claude.finish(here.claude.start(here.repo.path, prompt, *flags, "--verbose"))
    here.settle()
    assert here.transcript(session).is_file()


def test_a_session_goes_on_elsewhere_and_comes_back(bare_ground: Ground, origin: Scratch) -> None:
    api, session = bare_ground.api, new_id()
    ann, bob = (machine(bare_ground, origin, name) for name in ("a", "b-elsewhere"))
    api.on("subtask", *steps(bash("seq 9"), last="Looked."))
    api.on(
        "Write a login",
        *steps(
            write(ann.repo.path / "login.py", program("login")),
            bash("seq 1 30000"),
            delegate("subtask: look at it"),
            bash("git add login.py && git commit -qm 'Add a login'"),
        ),
    )
    say(ann, "Write a login", session, "--session-id", session)
    say(ann, "Is it good?", session, "-r", session)
    original = ann.transcript(session).read_bytes()
    publish(ann, origin, session)

    # Another machine: nothing of the session is there but what its clone can fetch.
    bob.run("pull", "-q")
    bob.session("fetch")
    told = json.loads(bob.session("resume", session[:8], "--no-launch", "--json"))
    place = bob.transcript(session)
    assert (told["session"], told["parent"], told["transcript"]) == (session, None, str(place))
    assert (told["turn"], told["worktree"]) == (2, str(bob.repo.path))
    placed = place.read_bytes()
    assert [t.prompt for t in claude_code.read_turns(placed.splitlines()) if t.number] == [
        "Write a login", "Is it good?"
    ]  # fmt: skip
    assert f'"file_path":"{bob.repo.path}/login.py"'.encode() in placed
    sides = claude_code.side_sources(str(place))
    assert sorted(side.kind for side in sides) == ["result", "subagent"]
    (large,) = [Path(side.path) for side in sides if side.kind == "result"]
    assert str(large).encode() in placed
    assert large.read_text().split() == [str(n) for n in range(1, 30001)]

    api.on(
        "go on elsewhere",
        *steps(
            write(bob.repo.path / "logout.py", program("logout")),
            bash("git add logout.py && git commit -qm 'Add a logout'"),
        ),
    )
    bob.session("resume", session[:8], "--prompt", "go on elsewhere")
    sent = Bench(bob.repo.path, bob.claude, api).sent("go on elsewhere")
    _check(sent, placed.splitlines(keepends=True))
    assert place.read_bytes().startswith(placed)
    assert sum(turns_of(bob, session)) == 3
    publish(bob, origin, session)

    # Back again: both have all of it, and what was here stays as it was.
    ann.run("pull", "-q")
    ann.session("fetch", session)
    assert turns_of(ann, session) == turns_of(bob, session)
    assert "go on elsewhere" in ann.session("show", session)
    assert "Add a logout" in ann.session("log")
    assert ann.transcript(session).read_bytes() == original
    ann.session("resume", "--prompt", "and back")
    back = ann.transcript(session).read_bytes()
    assert back.startswith(original)
    sent = Bench(ann.repo.path, ann.claude, api).sent("and back")
    cut = claude_code.cut(back.splitlines(keepends=True), turn=3)
    _check(sent, cut.lines)
    assert sum(turns_of(ann, session)) == 4
    assert "nothing wrong" in ann.session("verify", "--all")
    ann.repo.git("fsck", "--strict", "--no-dangling", "--no-progress")
    assert ann.noted() is None and bob.noted() is None


def test_a_file_that_went_another_way_stays(bare_ground: Ground, origin: Scratch) -> None:
    api, session = bare_ground.api, new_id()
    ann, bob = (machine(bare_ground, origin, name) for name in ("a", "b"))
    say(ann, "One", session, "--session-id", session)
    publish(ann, origin, session)
    bob.session("fetch")
    bob.session("resume", session, "--prompt", "Two of b")
    publish(bob, origin, session)
    # What the worker hasn't been told of can't have been captured.
    ann.claude.env["GIT_SESSION_DISABLE"] = "1"
    say(ann, "Two of a", session, "-r", session)
    del ann.claude.env["GIT_SESSION_DISABLE"]
    original = ann.transcript(session).read_bytes()
    ann.session("fetch", session)
    told = json.loads(ann.session("resume", session, "--no-launch", "--json"))
    assert told["parent"] == session
    assert any("never captured" in remark for remark in told["remarks"])
    done = ann.run("session", "resume", session, "--prompt", "go on")
    assert "a fork of" in done.stderr
    assert ann.transcript(session).read_bytes() == original
    sent = json.dumps(Bench(ann.repo.path, ann.claude, api).sent("go on"))
    assert "Two of b" in sent and "Two of a" not in sent
    (fork,) = [s for s in ann.repo.git("for-each-ref", "--format=%(refname)", refs.SESSIONS)
               .split() if not s.endswith(session)]  # fmt: skip
    head = json.loads(ann.repo.git("cat-file", "-p", f"{fork}:session.json"))
    assert head["parent"]["session"] == session
    assert head["parent"]["turn"] == 2


def test_an_earlier_moment_sends_just_what_was_said_by_then(
    bare_ground: Ground, origin: Scratch
) -> None:
    session = new_id()
    ann = machine(bare_ground, origin, "a")
    for number, prompt in enumerate(("One", "Two", "Three")):
        say(ann, prompt, session, "-r" if number else "--session-id", session)
    original = ann.transcript(session).read_bytes()
    ann.session("resume", "--last", "--at", "2", "--prompt", "otherwise")
    sent = Bench(ann.repo.path, ann.claude, bare_ground.api).sent("otherwise")
    lines = original.splitlines(keepends=True)
    _check(sent, claude_code.cut(lines, turn=2).lines)
    assert ann.transcript(session).read_bytes() == original
    done = ann.run("session", "resume", session, "--at", new_id(), "--print", ok=False)
    assert done.returncode == 1
    assert "no prompt named" in done.stderr and "did you mean" in done.stderr
    # Staged copies are gone once their forks are there.
    assert len(list(ann.transcript(session).parent.glob("*.jsonl"))) == 2


def test_somebody_elses_session_asks_first(bare_ground: Ground, origin: Scratch) -> None:
    session = new_id()
    ann = machine(bare_ground, origin, "a", "ann@example.com")
    bob = machine(bare_ground, origin, "b", "bob@example.com")
    ann.claude.env |= {"GIT_AUTHOR_EMAIL": "ann@example.com"}
    say(ann, "Do as I say", session, "--session-id", session)
    publish(ann, origin, session)
    bob.session("fetch")
    done = bob.run("session", "resume", "--prompt", "go on", ok=False)
    assert done.returncode == 1
    assert "ann@example.com" in done.stderr and "Do as I say" in done.stderr
    assert not bob.transcript(session).exists()
    bob.session("resume", "--prompt", "go on", "--yes")
    assert bob.transcript(session).is_file()
