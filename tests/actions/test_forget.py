"""What is forgotten leaves every place here, and what goes on after it is captured as before."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from gitsession.actions import forget
from gitsession.actions import gc as gc_action
from gitsession.actions.forget import Request
from gitsession.actions.import_sessions import import_sessions
from gitsession.actions.verify import verify
from gitsession.commands.forget import command
from gitsession.errors import Ambiguous, NotFound, SessionError, Usage
from gitsession.git import refs
from gitsession.store import folder, registry, spool
from tests.client import (
    Client,
    captures,
    check,
    common_of,
    is_untouched,
    raw,
    records_of,
    session_refs,
    set_up,
    tied,
    work,
)
from tests.scratch import Scratch
from tests.sync.test_forget import holders

SECRET = 'p"ä\\ss/word 🔑 <nobody>'
MARKER = b"[REDACTED:forgotten-text]"


@pytest.fixture(params=["sha1", "sha256"])
def repo(tmp_path: Path, request: pytest.FixtureRequest) -> Scratch:
    """A repository after init."""
    repo = Scratch.create(tmp_path / "repo", object_format=request.param)
    set_up(repo)
    return repo


@pytest.fixture
def client(repo: Scratch) -> Client:
    """A session with two captures, a subagent, a large output, and a secret in each of them."""
    client = Client.start(repo)
    client.prompt(f"write a program; the word is {SECRET}")
    client.talk.think(f"they said {SECRET}, I should not repeat it")
    client.talk.write("one.py", "def first_function():\n    return 1\n")
    client.talk.result(client.talk.call("Bash", command="cat x"), json.dumps({"word": SECRET}))
    beside = client.talk.path.with_suffix("") / "tool-results"
    beside.mkdir(parents=True)
    (beside / "b1.txt").write_text(f"large\n{SECRET}\n" * 100)
    client.talk.say("the output is in tool-results/b1.txt")
    sub = client.talk.subagent("a1")
    sub.prompt("look")
    sub.say(f"seen {SECRET}")
    client.commit("one")
    work(repo)
    client.prompt("go on")
    client.talk.write("two.py", "def second_function():\n    return 2\n")
    client.commit("two")
    work(repo)
    assert len(captures(repo, client.session)) == 2
    return client


def run(where: Path, monkeypatch: pytest.MonkeyPatch, *args: str, given: str = "") -> Result:
    """Run the command in a folder."""
    monkeypatch.chdir(where)
    return CliRunner().invoke(command, args, input=given)


def pieces(text: str) -> list[str]:
    """How a text may stand in an object."""
    once = json.dumps(text)[1:-1]
    return [text, once, json.dumps(once)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]]


def is_nowhere(repo: Scratch, text: str = SECRET) -> None:
    """No ref leads to it, and no object holds it once git has cleaned up."""
    for piece in pieces(text):
        assert holders(repo, piece) == [], piece
    check(repo)
    repo.git("gc", "-q", "--prune=now")
    for piece in pieces(text):
        assert holders(repo, piece, reachable=False) == [], piece


def has_no_findings(repo: Scratch) -> None:
    """The audit finds nothing wrong."""
    assert verify(repo.path, everything=True).findings == ()


# -- a session --------------------------------------------------------------------------------


def test_a_session_is_gone_and_not_captured_again(repo: Scratch, client: Client) -> None:
    client.prompt("one more")
    done = forget.carry_out(repo.path, Request(name=client.session[:8]))
    assert done.sessions == (client.session,)
    assert done.transcripts == (str(client.talk.path),)
    assert len(done.commits) == 2
    assert session_refs(repo) == []
    assert registry.find(common_of(repo), client.session) is None  # type: ignore[arg-type]
    assert all(event.event != "agent" for event in spool.read(folder.spool(common_of(repo))))
    # It is still active, commits, and ends.
    client.talk.write("three.py", "def third_function():\n    return 3\n")
    client.commit("three")
    client.stop()
    client.end()
    work(repo, final=True)
    assert session_refs(repo) == []
    assert records_of(repo) == []
    assert import_sessions(repo.path, (client.talk.path,)).records == ()
    is_nowhere(repo)
    has_no_findings(repo)


def test_another_session_of_the_same_commit_stays(repo: Scratch, client: Client) -> None:
    other = Client.start(repo)
    other.prompt("and you")
    other.talk.write("four.py", "def fourth_function():\n    return 4\n")
    other.commit("four")
    other.end()
    work(repo)
    forget.carry_out(repo.path, Request(name=client.session))
    assert session_refs(repo) == [f"refs/sessions/{other.session}"]
    assert [record.session for record in records_of(repo)] == [other.session]
    assert raw(repo, other.session) == other.talk.path.read_bytes()


def test_a_fork_of_it_does_not_bring_it_back(repo: Scratch, client: Client) -> None:
    forget.carry_out(repo.path, Request(name=client.session))
    fork = Client.start(repo, source="fork")
    for line in client.lines():
        entry = json.loads(line)
        if "uuid" in entry:
            entry["forkedFrom"] = {"sessionId": client.session, "messageUuid": entry["uuid"]}
            entry["sessionId"] = fork.session
            with fork.talk.path.open("a") as file:
                file.write(json.dumps(entry, separators=(",", ":")) + "\n")
    fork.prompt("something new")
    fork.talk.say("done")
    fork.end()
    work(repo, final=True)
    assert b"something new" in raw(repo, fork.session)
    is_nowhere(repo)


def test_doing_it_again_changes_nothing_and_finishes_what_was_left(
    repo: Scratch, client: Client
) -> None:
    tip = repo.git("rev-parse", f"refs/sessions/{client.session}")
    forget.carry_out(repo.path, Request(name=client.session))
    index = repo.git("rev-parse", refs.INDEX)
    # As if it had been killed before the refs were gone.
    repo.git("update-ref", f"refs/sessions/{client.session}", tip)
    repo.git("update-ref", f"refs/session-remotes/origin/sessions/{client.session}", tip)
    done = forget.carry_out(repo.path, Request(name=client.session))
    assert done.again
    assert repo.git("rev-parse", refs.INDEX) == index
    is_nowhere(repo)


# -- a capture --------------------------------------------------------------------------------


def test_a_capture_is_emptied_and_the_session_goes_on(repo: Scratch, client: Client) -> None:
    first, second = captures(repo, client.session)
    lines = client.talk.path.read_bytes()
    done = forget.carry_out(repo.path, Request(name=first.id[:6]))
    assert done.captures == (first.id,)
    is_nowhere(repo)
    assert raw(repo, client.session) == lines[first.offset : second.offset]
    # What goes on comes after it: no forgotten line, subagent's line or output comes back.
    client.prompt("once more")
    sub = client.talk.subagent("a1")
    sub.say("new of the subagent")
    client.talk.say("bye")
    client.end()
    work(repo, final=True)
    assert raw(repo, client.session) == client.talk.path.read_bytes()[first.offset :]
    assert holders(repo, "new of the subagent")
    is_nowhere(repo)
    has_no_findings(repo)


def test_a_transcript_that_was_replaced_does_not_bring_it_back(
    repo: Scratch, client: Client
) -> None:
    first, _ = captures(repo, client.session)
    forget.carry_out(repo.path, Request(name=first.id))
    # A line was taken away in front: offsets say nothing any more.
    lines = [*client.lines()]
    client.talk.path.write_bytes(b"".join(lines[1:]))
    client.prompt("once more")
    client.end()
    work(repo, final=True)
    assert b"once more" in raw(repo, client.session)
    is_nowhere(repo)


def test_a_commit_names_its_captures_and_says_what_else_they_belong_to(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.talk.write("three.py", "def third_function():\n    return 3\n")
    client.talk.write("four.py", "def fourth_function():\n    return 4\n")
    client.bash("git add three.py && git commit -qm three; git add four.py && git commit -qm four")
    work(repo)
    three = repo.git("rev-parse", "HEAD^")
    assert [c for c in tied(repo, client.session).values() if len(c) == 2]
    told = run(repo.path, monkeypatch, "HEAD^", "--dry-run")
    assert "belong to commits other than" in told.output
    done = forget.carry_out(repo.path, Request(name="HEAD^"))
    assert (done.named_by, len(done.commits)) == (three, 2)
    assert records_of(repo, "HEAD") == records_of(repo, "HEAD^") == []
    assert len(records_of(repo, "HEAD~2")) == 1
    with pytest.raises(SessionError, match="no capture is tied"):
        forget.carry_out(repo.path, Request(name="HEAD^"))


# -- a text -----------------------------------------------------------------------------------


def test_a_text_goes_and_everything_else_stays(repo: Scratch, client: Client) -> None:
    before = captures(repo, client.session)
    done = forget.carry_out(repo.path, Request(name=client.session, text=SECRET + "\n"))
    assert done.captures == (before[0].id,)
    after = captures(repo, client.session)
    assert (after[0].id != before[0].id, after[1]) == (True, before[1])
    assert after[0].prompt == "write a program; the word is [REDACTED:forgotten-text]"
    assert after[0].redactions["forgotten-text"] >= 3
    lines = raw(repo, client.session).splitlines()
    assert len(lines) == len([*client.lines()])
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert sum(MARKER in line for line in lines) == 2
    # A thought that was signed can't be changed; it is dropped, as at capture.
    assert b"I should not repeat it" not in b"".join(lines)
    is_nowhere(repo)
    has_no_findings(repo)
    assert [r.id for r in records_of(repo, "HEAD^")] == [after[0].id]
    client.prompt("once more")
    client.end()
    work(repo, final=True)
    assert raw(repo, client.session).splitlines()[: len(lines)] == lines
    assert len(captures(repo, client.session)) == 3
    is_nowhere(repo)


def test_only_the_words_of_a_record_change(repo: Scratch, client: Client) -> None:
    repo.git("switch", "-q", "-c", "fix-the-leaked-name")
    client.talk.write("three.py", "def third_function():\n    return 3\n")
    client.commit("three")
    work(repo)
    before = captures(repo, client.session)
    assert any(record.branch == "fix-the-leaked-name" for record in records_of(repo))
    done = forget.carry_out(repo.path, Request(name=client.session, text="fix-the-leaked-name"))
    assert len(done.captures) == 1
    assert len(captures(repo, client.session)) == len(before)
    for piece in pieces("fix-the-leaked-name"):
        assert holders(repo, piece) == []
    has_no_findings(repo)


def test_todays_rules_find_what_those_of_the_capture_did_not(repo: Scratch, client: Client) -> None:
    repo.git("config", "session.redactRule", "our-word <nob[a-z]+>")
    forget.carry_out(repo.path, Request(rule="our-word", all_sessions=True))
    assert holders(repo, "<nobody>") == []
    assert b"[REDACTED:our-word]" in raw(repo, client.session)
    with pytest.raises(NotFound, match="no rule named 'our-wort'") as caught:
        forget.carry_out(repo.path, Request(rule="our-wort", all_sessions=True))
    assert "our-word" in (caught.value.hint or "")


def test_a_text_of_several_lines(repo: Scratch) -> None:
    client = Client.start(repo)
    key = "-----BEGIN A THING-----\nabcdefgh\nijklmnop\n-----END A THING-----"
    client.prompt(f"use this:\n{key}\nplease")
    client.talk.say("it says: " + json.dumps({"key": key}))
    client.end()
    work(repo, final=True)
    assert b"ijklmnop" in raw(repo, client.session)
    forget.carry_out(repo.path, Request(name=client.session, text=key))
    assert raw(repo, client.session).count(MARKER) == 2
    is_nowhere(repo, "ijklmnop")
    assert captures(repo, client.session)[0].prompt == f"use this: {MARKER.decode()} please"


def test_an_archive_loses_it_too(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.end()
    work(repo, final=True)
    registry.drop(common_of(repo), client.session)  # type: ignore[arg-type]
    other = Client.start(repo)
    other.prompt("I stay")
    other.end()
    work(repo, final=True)
    registry.drop(common_of(repo), other.session)  # type: ignore[arg-type]
    gc_action.gc(repo.path, older_than=0, push=False)
    assert all(ref.startswith(refs.ARCHIVE) for ref in session_refs(repo))
    first = captures(repo, client.session)[0]
    forget.carry_out(repo.path, Request(name=client.session, text=SECRET))
    is_nowhere(repo)
    assert captures(repo, client.session)[0].id != first.id
    forget.carry_out(repo.path, Request(name=client.session))
    assert captures(repo, client.session) == []
    assert b"I stay" in raw(repo, other.session)
    check(repo)


# -- the command ------------------------------------------------------------------------------


def test_a_dry_run_changes_nothing(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = repo.git("for-each-ref"), objects_of(repo)
    for args in ([client.session], ["HEAD"], [client.session, "--text", SECRET]):
        told = run(repo.path, monkeypatch, *args, "--dry-run")
        assert told.exit_code == 0, told.output
        assert f"refs/sessions/{client.session}" in told.output
    assert (repo.git("for-each-ref"), objects_of(repo)) == before


def objects_of(repo: Scratch) -> list[str]:
    """Every object there is."""
    every = repo.git("cat-file", "--batch-check=%(objectname)", "--batch-all-objects")
    return every.splitlines()


def test_nobody_to_ask_is_a_refusal(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run(repo.path, monkeypatch, client.session)
    assert isinstance(told.exception, SessionError)
    assert "--yes" in (told.exception.hint or "")
    assert len(captures(repo, client.session)) == 2


def test_what_cannot_be_reached_is_said(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run(repo.path, monkeypatch, client.session, "--yes")
    assert told.exit_code == 0, told.output
    for words in (str(client.talk.path), "git gc --prune=now", "git session sync", "GitHub"):
        assert words in told.output
    assert is_untouched_but_for_stones(repo)


def is_untouched_but_for_stones(repo: Scratch) -> bool:
    """Whether the index holds tombstones and nothing else."""
    paths = repo.git("ls-tree", "-r", "--name-only", refs.INDEX).split()
    return not session_refs(repo) and all(path.startswith("forgotten/") for path in paths)


def test_a_text_from_standard_input_and_json(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = [client.session, "--text-file", "-", "--yes", "--json"]
    told = run(repo.path, monkeypatch, *args, given=SECRET + "\n")
    assert told.exit_code == 0, told.output
    found = msgspec.json.decode(told.output, type=dict[str, object])
    assert found["sessions"] == []
    assert len(found["captures"]) == 1  # type: ignore[arg-type]
    assert SECRET not in told.output
    is_nowhere(repo)


def test_what_does_not_match_is_an_error(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run(repo.path, monkeypatch, client.session, "--text", "never said", "--yes")
    assert isinstance(told.exception, SessionError)
    assert told.exception.exit_code == 1
    for name, kind in (("nothing-such", NotFound), ("README", NotFound)):
        with pytest.raises(kind) as caught:
            forget.look(repo.path, Request(name=name))
        assert client.session in (caught.value.hint or "")


def test_two_sessions_that_begin_so_are_named(repo: Scratch) -> None:
    for name in ("same-1", "same-2"):
        client = Client.start(repo, session=name)
        client.prompt("hello")
        client.end()
    work(repo, final=True)
    with pytest.raises(Ambiguous) as caught:
        forget.look(repo.path, Request(name="same"))
    assert "session same-1, session same-2" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "request_",
    [
        Request(),
        Request(name="x", text="four", rule="jwt"),
        Request(name="x", all_sessions=True),
        Request(all_sessions=True),
        Request(all_sessions=True, text="abc"),
    ],
)
def test_a_call_that_makes_no_sense(scratch: Scratch, request_: Request) -> None:
    with pytest.raises(Usage):
        forget.look(scratch.path, request_)


def test_a_repository_without_sessions(scratch: Scratch) -> None:
    assert is_untouched(scratch)
    with pytest.raises(NotFound):
        forget.look(scratch.path, Request(name="s1"))
