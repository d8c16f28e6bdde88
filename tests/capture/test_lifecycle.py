"""Sessions from their start to their end, and on: nothing of them is ever missing or double."""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path

import pytest

from gitsession.actions.capture import capture_transcript, capture_waiting
from gitsession.actions.import_sessions import import_sessions
from gitsession.actions.reindex import reindex
from gitsession.actions.status import status
from gitsession.store import folder, registry, spool
from tests.client import (
    Client,
    captures,
    check,
    common_of,
    is_untouched,
    raw,
    records_of,
    set_up,
    tied,
    waiting,
    work,
)
from tests.conversation import Conversation
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
    client.talk.say("written")
    return client


def kinds(repo: Scratch, client: Client) -> list[str]:
    """What each capture of a session was for."""
    return [record.reason or record.kind for record in captures(repo, client.session)]


# -- checkpoints ----------------------------------------------------------------------------


@pytest.mark.parametrize(("told", "reason"), [("other", "end"), ("clear", "clear")])
def test_what_is_left_at_the_end_is_a_checkpoint(
    repo: Scratch, client: Client, told: str, reason: str
) -> None:
    client.commit()
    client.talk.say("one more thing")
    client.end(told)
    work(repo)
    assert kinds(repo, client) == ["commit", reason]
    assert raw(repo, client.session) == client.talk.path.read_bytes()
    assert waiting(repo) == []


def test_a_last_line_without_a_newline_is_whole_at_the_end(repo: Scratch, client: Client) -> None:
    client.talk.path.write_bytes(client.talk.path.read_bytes().removesuffix(b"\n"))
    client.end()
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_before_a_compaction_all_is_captured(repo: Scratch, client: Client) -> None:
    client.fire("compacting", trigger="auto")
    work(repo)
    assert kinds(repo, client) == ["compact"]
    assert raw(repo, client.session) == client.talk.path.read_bytes()
    client.talk.line("system", subtype="compact_boundary")
    client.prompt("go on")
    client.end()
    work(repo)
    assert kinds(repo, client) == ["compact", "end"]
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_a_session_in_which_nobody_spoke_is_none(repo: Scratch) -> None:
    client = Client.start(repo)
    client.talk.note("mode", mode="normal")
    client.end()
    work(repo)
    assert is_untouched(repo)
    assert registry.all_known(common_of(repo)) == []


def test_an_end_with_nothing_new_captures_nothing(repo: Scratch, client: Client) -> None:
    client.commit()
    client.end()
    work(repo)
    assert kinds(repo, client) == ["commit"]
    assert registry.all_known(common_of(repo)) == []


def test_an_ended_session_is_kept_in_mind_while_its_work_is_not_committed(
    repo: Scratch, client: Client
) -> None:
    client.end()
    work(repo)
    (known,) = registry.all_known(common_of(repo))
    assert (known.state, [trace.path for trace in known.traces]) == ("ended", ["app.py"])
    repo.git("add", "-A")
    repo.git("commit", "-qm", "by hand")
    client.end()
    work(repo)
    assert registry.all_known(common_of(repo)) == []


# -- going on -------------------------------------------------------------------------------


def test_a_resumed_session_continues_its_chain(repo: Scratch, client: Client) -> None:
    client.end()
    work(repo)
    client.fire("session-start", source="resume")
    client.prompt("go on")
    client.talk.write("b.py", "import os\n")
    client.commit()
    client.end()
    work(repo)
    assert kinds(repo, client) == ["end", "commit"]
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_a_fork_does_not_repeat_what_it_inherited(repo: Scratch, client: Client) -> None:
    client.end()
    work(repo)
    fork = Client.start(repo, source="fork")
    own = fork_of(client, fork)
    fork.prompt("another way")
    fork.end()
    work(repo)
    assert raw(repo, fork.session) == fork.talk.path.read_bytes()[own:]
    (record,) = captures(repo, fork.session)
    assert record.parent is not None
    assert (record.parent.session, record.parent.turn) == (client.session, 1)


def test_a_fork_of_a_session_that_is_not_captured_yet_waits_for_nothing(
    repo: Scratch, client: Client
) -> None:
    fork = Client.start(repo, source="fork")
    own = fork_of(client, fork)
    fork.prompt("another way")
    fork.end()
    work(repo)
    assert raw(repo, fork.session) == fork.talk.path.read_bytes()[own:]
    client.end()
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_a_fork_of_an_unknown_session_keeps_what_it_inherited(repo: Scratch) -> None:
    unknown = Conversation.begin(Path(os.environ["HOME"]), repo.path)
    unknown.prompt("somewhere else")
    unknown.say("done")
    fork = Client.start(repo, source="fork")
    fork_of(Client(repo=repo, talk=unknown), fork)
    unknown.path.unlink()
    fork.prompt("another way")
    fork.end()
    work(repo)
    assert raw(repo, fork.session) == fork.talk.path.read_bytes()


def fork_of(parent: Client, fork: Client) -> int:
    """Copy a session's chained lines as the client does; gives back where the fork's own begin."""
    text = parent.talk.path.read_text().replace(
        f'"sessionId":"{parent.session}"',
        f'"sessionId":"{fork.session}","requestSessionId":"{parent.session}"',
    )
    fork.talk.path.write_text(text)
    return len(text)


# -- the client dies ------------------------------------------------------------------------


def test_what_a_killed_client_left_is_taken_at_the_next_start(repo: Scratch) -> None:
    process = subprocess.Popen(["sleep", "600"])
    killed = Client.start(repo, pid=process.pid)
    killed.prompt("write")
    killed.talk.write("a.py", "import os\n")
    work(repo)
    assert is_untouched(repo)
    process.kill()
    process.wait()
    Client.start(repo)
    work(repo)
    assert kinds(repo, killed) == ["end"]
    assert raw(repo, killed.session) == killed.talk.path.read_bytes()


def test_a_running_client_is_left_alone_by_another_start(repo: Scratch, client: Client) -> None:
    Client.start(repo)
    work(repo)
    assert is_untouched(repo)


def test_a_session_whose_transcript_is_gone_is_forgotten_in_peace(
    repo: Scratch, client: Client
) -> None:
    client.talk.path.unlink()
    client.stop()
    client.end()
    work(repo)
    assert is_untouched(repo)
    assert waiting(repo) == []


# -- by hand --------------------------------------------------------------------------------


def test_capture_takes_all_that_waits(repo: Scratch, client: Client) -> None:
    client.commit()
    client.talk.say("more")
    client.end()
    outcome = capture_waiting(repo.path)
    assert outcome.failures == ()
    assert waiting(repo) == []
    assert kinds(repo, client) == ["commit", "end"]
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_capture_does_not_wait_for_a_call_that_goes_on(repo: Scratch, client: Client) -> None:
    client.talk.call("Bash", command="git commit && sleep 1000")
    client.run("git add -A && git commit -qm work")
    capture_waiting(repo.path)
    assert len(records_of(repo)) == 1
    assert client.talk.path.read_bytes().startswith(raw(repo, client.session))


def test_a_transcript_is_captured_by_name_and_only_its_new_lines(
    repo: Scratch, client: Client
) -> None:
    first = capture_transcript(repo.path, client.talk.path, task="T-1").record
    assert first is not None
    assert (first.kind, first.task, first.commit) == ("task", "T-1", None)
    assert capture_transcript(repo.path, client.talk.path).record is None
    client.talk.say("more")
    second = capture_transcript(repo.path, client.talk.path, commit="HEAD").record
    assert second is not None
    assert (second.seq, second.commit) == (2, repo.head())
    assert records_of(repo) == [second]
    assert raw(repo, client.session) == client.talk.path.read_bytes()
    check(repo)


def test_a_large_capture_is_kept_and_warned_about(repo: Scratch, client: Client) -> None:
    repo.git("config", "session.warnSize", "1k")
    outcome = capture_transcript(repo.path, client.talk.path)
    assert outcome.record is not None
    assert len(outcome.warnings) == 1
    assert "warnSize" in outcome.warnings[0]


def test_an_import_ties_what_the_results_name_and_runs_twice_for_nothing(
    scratch: Scratch,
) -> None:
    talk = Conversation.begin(Path(os.environ["HOME"]), scratch.path)
    talk.prompt("write")
    talk.write("a.py", "import os\n")
    commit = scratch.commit("a", {"a.py": "import os\n"})
    talk.bash("git commit", f"[main {commit[:7]}] a\n 1 file changed\n")
    talk.say("done")
    first = import_sessions(scratch.path)
    assert [record.commit for record in first.records] == [commit, None]
    assert raw(scratch, talk.session) == talk.path.read_bytes()
    tips = scratch.git("for-each-ref")
    assert import_sessions(scratch.path).records == ()
    assert scratch.git("for-each-ref") == tips
    check(scratch)


@pytest.mark.parametrize("many", [0, 500], ids=["by libgit2", "by git"])
def test_reindex_rebuilds_the_same_index(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr("gitsession.actions.reindex._MANY", many)
    client.commit()
    work(repo)
    repo.git("commit", "-q", "--amend", "-m", "better")
    client.end()
    work(repo)
    before = repo.git("ls-tree", "-r", "refs/notes/sessions")
    assert reindex(repo.path).changed == 0
    assert repo.git("ls-tree", "-r", "refs/notes/sessions") == before
    note = repo.git("notes", "--ref=sessions", "show", "HEAD@{1}")
    repo.git("notes", "--ref=sessions", "remove", "HEAD@{1}")
    assert reindex(repo.path).changed == 1
    assert repo.git("notes", "--ref=sessions", "show", "HEAD@{1}") == note
    check(repo)


# -- what was captured before ---------------------------------------------------------------


def test_a_commit_of_the_agent_whose_conversation_is_captured_gets_that_capture(
    repo: Scratch, client: Client
) -> None:
    client.end()
    work(repo)
    repo.git("add", "-A")
    client.run("git commit -qm 'in its shell, after its end'")
    work(repo)
    assert tied(repo, client.session) == {1: [None, records_of(repo)[0].commit]}


def test_an_event_from_the_future_keeps_no_worker_waiting(repo: Scratch, client: Client) -> None:
    work(repo)
    client.talk.call("Bash", command="git commit && sleep 1000")
    client.run("git add -A && git commit -qm work")
    client.end()
    for event in spool.read(folder.spool(common_of(repo))):
        os.utime(event.path, (event.at + 7200, event.at + 7200))
    work(repo)
    assert waiting(repo) == []
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_status_tells_what_goes_on(repo: Scratch, client: Client) -> None:
    client.stop()
    assert [wait.event for wait in status(repo.path).waiting][-1:] == ["agent turn-ended"]
    work(repo)
    (active,) = status(repo.path).sessions
    assert (active.session, active.state, active.files) == (client.session, "active", ("app.py",))
    assert status(repo.path).last_error == ""


def test_events_that_make_no_sense_are_passed_over(repo: Scratch, client: Client) -> None:
    where = folder.spool(common_of(repo))
    for body in (b"", b"{", b"[]", b"\xff", b'{"session_id": 7}'):
        spool.write(where, "agent", word="turn-ended", agent="claude-code", body=body)
        spool.write(where, "post-rewrite", body=body)
    spool.write(where, "agent", word="no-such-word", agent="claude-code", body=b"{}")
    spool.write(where, "agent", word="prompt", agent="no-such-agent", body=b"{}")
    spool.write(where, "post-commit", head="f" * 40)
    spool.write(where, "post-commit", head="nonsense")
    spool.write(where, "no-such-event")
    spool.write(
        where, "post-commit", head=repo.head(), git_dir="/nonexistent",
        env={"CLAUDE_CODE_SESSION_ID": str(uuid.uuid4()), "HOME": "/nonexistent"},
    )  # fmt: skip
    work(repo)
    assert waiting(repo) == []
    assert is_untouched(repo)
