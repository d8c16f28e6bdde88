"""Going on with a session: as itself where nobody loses anything by it, else as a fork."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from gitsession.actions import forget, resume, sync
from gitsession.actions.forget import Request
from gitsession.actions.import_sessions import import_sessions
from gitsession.actions.resume import Found, Ready, Wish
from gitsession.agents import claude_code
from gitsession.agents.base import Launch
from gitsession.errors import NotFound, SessionError, Usage
from gitsession.ids import SessionId
from gitsession.store import forks, registry
from tests.agents.claude_samples import DATA, answer, lines_of, user
from tests.client import Client, captures, common_of, set_up, work
from tests.conversation import Conversation
from tests.scratch import Scratch

SAMPLE = "thinking"
SESSION = SessionId(str(json.loads(lines_of(SAMPLE)[0])["sessionId"]))


def capture(scratch: Scratch, folder: Path, name: str = SAMPLE) -> SessionId:
    """Capture a recorded session as another machine would; its file isn't where ours are."""
    session = claude_code.session_of(str(DATA / f"{name}.jsonl"))
    assert session
    source = folder / f"{session}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    source.write_bytes(b"".join(lines_of(name)))
    assert import_sessions(scratch.path, [source]).failures == ()
    registry.drop(common_of(scratch), session)
    source.unlink()
    return session


def put(folder: Path, lines: Sequence[bytes], session: SessionId = SESSION) -> Path:
    """The agent's own file of a session, on this machine."""
    place = claude_code.place_of(folder, session, os.environ)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"".join(lines))
    return place


def go(scratch: Scratch, name: str = "", **wish: str) -> tuple[Found, Ready, Launch]:
    """All of it but the agent."""
    wanted = Wish(name=name, launches=False, **wish)
    looked = resume.look(scratch.path, wanted)
    return looked, *resume.prepare(scratch.path, looked, wanted)


def texts(place: str) -> list[str]:
    """The prompts in a transcript."""
    told = Path(place).read_bytes().splitlines()
    return [turn.prompt for turn in claude_code.read_turns(told) if turn.number]


def is_fork(scratch: Scratch, ready: Ready, turn: int) -> bool:
    """Whether a new session goes on from a staged copy, with its lineage kept."""
    made = forks.find(common_of(scratch), ready.session)
    assert made is not None
    copy = Path(ready.transcript).stem
    return (
        (ready.parent, made.session, made.turn) == (SESSION, SESSION, turn)
        and made.commit == scratch.head()
        and ready.command[1:] == ("-r", copy, "--fork-session", "--session-id", ready.session)
    )


# -- as itself ----------------------------------------------------------------------------


def test_what_was_captured_elsewhere_is_put_where_the_agent_looks(
    scratch: Scratch, tmp_path: Path
) -> None:
    capture(scratch, tmp_path / "elsewhere")
    _, ready, launch = go(scratch, SESSION[:8])
    place = claude_code.place_of(scratch.path, SESSION, os.environ)
    assert (ready.session, ready.parent, ready.turn) == (SESSION, None, 3)
    assert (ready.transcript, ready.worktree) == (str(place), str(scratch.path))
    assert ready.command[1:] == ("-r", SESSION)
    assert launch.cwd == str(scratch.path)
    assert texts(str(place)) == [t.prompt for t in claude_code.read_turns(lines_of(SAMPLE))
                                 if t.number]  # fmt: skip
    folders = {json.loads(raw).get("cwd") for raw in place.read_bytes().splitlines()}
    assert folders <= {str(scratch.path), None}
    known = registry.find(common_of(scratch), SESSION)
    assert known is not None
    assert (known.source, known.scanned) == (str(place), place.stat().st_size)


def test_what_is_said_after_it_is_all_that_is_captured_again(
    scratch: Scratch, tmp_path: Path
) -> None:
    set_up(scratch)
    capture(scratch, tmp_path / "elsewhere")
    _, ready, _ = go(scratch, SESSION)
    client = Client(repo=scratch, talk=Conversation(Path(ready.transcript), scratch.path, SESSION))
    client.fire("session-start", source="resume")
    client.prompt("and on")
    client.talk.write("on.py", "def go_on():\n    return True\n")
    client.end()
    work(scratch)
    first, second = captures(scratch, SESSION)
    assert (first.turns, second.turns, second.prompt) == (3, 1, "and on")
    # What it wrote after that is known, though the file is another one than was captured.
    scratch.git("add", "-A")
    assert [trace.path for known in registry.all_known(common_of(scratch))
            for trace in known.traces] == ["on.py"]  # fmt: skip


@pytest.mark.parametrize("more", [(), (user("four", uuid="p4", promptSource="typed"),)])
def test_the_agents_own_file_is_left_alone(
    scratch: Scratch, tmp_path: Path, more: tuple[bytes, ...]
) -> None:
    capture(scratch, tmp_path / "elsewhere")
    place = put(scratch.path, [*lines_of(SAMPLE), *more])
    before = place.read_bytes()
    _, ready, _ = go(scratch, SESSION)
    assert (ready.session, ready.parent, ready.transcript) == (SESSION, None, str(place))
    assert ready.command[1:] == ("-r", SESSION)
    assert place.read_bytes() == before


def test_a_file_that_lacks_what_was_captured_elsewhere_gets_it(
    scratch: Scratch, tmp_path: Path
) -> None:
    capture(scratch, tmp_path / "elsewhere")
    end = claude_code.cut(lines_of(SAMPLE), turn=1).lines
    place = put(scratch.path, [*end, b'{"type":"mode","mode":"normal"}\n'])
    before = place.read_bytes()
    _, ready, _ = go(scratch, SESSION)
    assert (ready.session, ready.transcript) == (SESSION, str(place))
    assert place.read_bytes().startswith(before)
    assert len(texts(str(place))) == 3
    whole = claude_code.cut(place.read_bytes().splitlines(keepends=True))
    assert whole.leaf == claude_code.cut(lines_of(SAMPLE)).leaf
    assert any("put behind" in remark for remark in ready.remarks)
    _, again, _ = go(scratch, SESSION)
    assert again.remarks == ()


def test_a_session_is_resumed_in_the_work_tree_that_it_is_of(
    scratch: Scratch, tmp_path: Path
) -> None:
    capture(scratch, tmp_path / "elsewhere")
    scratch.git("worktree", "add", "-q", str(tmp_path / "linked"))
    put(tmp_path / "linked", lines_of(SAMPLE))
    _, ready, launch = go(scratch, SESSION)
    assert ready.parent is None
    assert launch.cwd == str(tmp_path / "linked")


# -- as a fork ----------------------------------------------------------------------------


def test_a_file_that_went_another_way_stays_and_a_fork_goes_on(
    scratch: Scratch, tmp_path: Path
) -> None:
    capture(scratch, tmp_path / "elsewhere")
    place = put(scratch.path, [*lines_of(SAMPLE)[:20], user("own", uuid="own")])
    before = place.read_bytes()
    _, ready, _ = go(scratch, SESSION)
    assert is_fork(scratch, ready, 3)
    assert any("never captured" in remark for remark in ready.remarks)
    assert place.read_bytes() == before
    assert len(texts(ready.transcript)) == 3


def test_a_file_of_another_checkout_stays_and_a_fork_goes_on_here(
    scratch: Scratch, tmp_path: Path
) -> None:
    capture(scratch, tmp_path / "elsewhere")
    other = Scratch.create(tmp_path / "other")
    place = put(other.path, lines_of(SAMPLE))
    before = place.read_bytes()
    _, ready, _ = go(scratch, SESSION)
    assert is_fork(scratch, ready, 3)
    assert any("another folder" in remark for remark in ready.remarks)
    assert place.read_bytes() == before


def test_a_file_that_lacks_something_and_is_open_stays(scratch: Scratch, tmp_path: Path) -> None:
    capture(scratch, tmp_path / "elsewhere")
    place = put(scratch.path, claude_code.cut(lines_of(SAMPLE), turn=1).lines)
    known = registry.Known(
        session=SESSION, agent="claude-code", source=str(place), pid=os.getpid(),
        cwd=str(scratch.path),
    )  # fmt: skip
    registry.save(common_of(scratch), known)
    before = place.read_bytes()
    _, ready, _ = go(scratch, SESSION)
    assert is_fork(scratch, ready, 3)
    assert any("is open here" in remark for remark in ready.remarks)
    assert place.read_bytes() == before


def test_a_file_that_lacks_what_was_rewound_elsewhere_stays(
    scratch: Scratch, tmp_path: Path
) -> None:
    """Its own branch would be the one that the agent takes."""
    capture(scratch, tmp_path / "elsewhere", "rewind-interrupt")
    session = claude_code.session_of(str(DATA / "rewind-interrupt.jsonl"))
    assert session
    lines = lines_of("rewind-interrupt")
    cut = claude_code.cut(lines)
    gone = [raw for raw in lines if (u := claude_code.parse_line(raw).uuid)
            and u not in {claude_code.parse_line(x).uuid for x in cut.lines}]  # fmt: skip
    assert gone
    first = json.loads(next(x for x in cut.lines if claude_code.parse_line(x).prompt))["parentUuid"]
    del first
    leaf = {"type": "last-prompt", "leafUuid": claude_code.parse_line(gone[-1]).uuid,
            "explicit": True, "sessionId": session}  # fmt: skip
    kept = lines[: lines.index(gone[-1]) + 1]
    place = put(scratch.path, [*kept, json.dumps(leaf).encode() + b"\n"], session)
    before = place.read_bytes()
    _, ready, _ = go(scratch, session)
    assert ready.parent == session
    assert any("another way" in remark for remark in ready.remarks)
    assert place.read_bytes() == before


# -- a moment of it -----------------------------------------------------------------------


@pytest.mark.parametrize("how", ["option", "name", "uuid"])
def test_an_earlier_moment_is_a_fork(scratch: Scratch, tmp_path: Path, how: str) -> None:
    capture(scratch, tmp_path / "elsewhere")
    turns = claude_code.read_turns(lines_of(SAMPLE))
    third = next(turn.uuid for turn in turns if turn.number == 3)
    if how == "name":
        _, ready, _ = go(scratch, f"{SESSION}@2")
    else:
        _, ready, _ = go(scratch, SESSION, at="2" if how == "option" else third)
    assert is_fork(scratch, ready, 2)
    assert texts(ready.transcript) == [turn.prompt for turn in turns if 0 < turn.number < 3]


def test_the_last_turn_is_the_end(scratch: Scratch, tmp_path: Path) -> None:
    capture(scratch, tmp_path / "elsewhere")
    _, ready, _ = go(scratch, SESSION, at="3")
    assert (ready.session, ready.parent) == (SESSION, None)


def test_before_the_first_prompt_is_a_fresh_start_with_it(scratch: Scratch, tmp_path: Path) -> None:
    capture(scratch, tmp_path / "elsewhere")
    _, ready, _ = go(scratch, SESSION, at="0")
    assert ready.parent == SESSION
    assert ready.transcript == ""
    assert ready.command[1:] == ("--session-id", ready.session, "--", "one")
    _, ready, _ = go(scratch, SESSION, at="0", prompt="otherwise")
    assert ready.command[1:] == ("-p", "--session-id", ready.session, "--", "otherwise")


@pytest.mark.parametrize(
    ("at", "hint"), [("9", "the turns here are 1 to 3"), ("0badcafe-0", "did you mean: ")]
)
def test_an_unknown_moment_is_an_error(
    scratch: Scratch, tmp_path: Path, at: str, hint: str
) -> None:
    capture(scratch, tmp_path / "elsewhere")
    with pytest.raises(NotFound) as error:
        go(scratch, SESSION, at=at)
    assert (error.value.hint or "").startswith(hint)
    assert not claude_code.place_of(scratch.path, SESSION, os.environ).exists()
    with pytest.raises(Usage):
        go(scratch, f"{SESSION}@1", at="2")


def test_what_was_forgotten_is_not_gone_on_from(scratch: Scratch, tmp_path: Path) -> None:
    capture(scratch, tmp_path / "elsewhere")
    (record,) = captures(scratch, SESSION)
    forget.carry_out(scratch.path, Request(name=record.id))
    with pytest.raises(SessionError, match="forgotten"):
        go(scratch, SESSION)


# -- which one ----------------------------------------------------------------------------


def test_without_a_name_it_is_the_latest_of_this_folder(scratch: Scratch, tmp_path: Path) -> None:
    set_up(scratch)
    with pytest.raises(SessionError, match="no session was held here"):
        go(scratch)
    capture(scratch, tmp_path / "elsewhere")
    assert go(scratch)[1].session == SESSION
    # A session that no hook has told of, and of which nothing was captured.
    talk = Conversation.begin(Path(os.environ["HOME"]), scratch.path)
    talk.prompt("unheard")
    talk.say("yes")
    assert go(scratch)[1].session == talk.session
    # One in which nobody spoke, and another folder's, are none.
    Conversation.begin(Path(os.environ["HOME"]), scratch.path).note("mode", mode="normal")
    other = Conversation.begin(Path(os.environ["HOME"]), tmp_path / "other")
    other.prompt("elsewhere")
    assert go(scratch)[1].session == talk.session
    assert go(scratch, talk.session[:8])[1].command[1:] == ("-r", talk.session)
    with pytest.raises(NotFound):
        go(scratch, other.session)


def test_a_session_of_another_work_tree_is_not_this_folders_latest(
    scratch: Scratch, tmp_path: Path
) -> None:
    set_up(scratch)
    capture(scratch, tmp_path / "elsewhere")
    scratch.git("worktree", "add", "-q", str(tmp_path / "linked"))
    client = Client.start(Scratch(tmp_path / "linked"))
    client.prompt("there")
    client.talk.say("yes")
    client.end()
    work(scratch)
    assert go(scratch)[1].session == SESSION


def test_a_commit_names_its_session(scratch: Scratch) -> None:
    set_up(scratch)
    client = Client.start(scratch)
    client.prompt("write")
    client.talk.write("a.py", "import os\n")
    commit = client.commit()
    client.prompt("more")
    client.talk.say("done")
    client.end()
    work(scratch)
    _, ready, _ = go(scratch, commit)
    # The whole session goes on, not what the commit holds of it.
    assert (ready.session, ready.parent, ready.turn) == (client.session, None, 2)


def test_what_only_the_remote_has_is_fetched_with_its_parent(
    scratch: Scratch, tmp_path: Path
) -> None:
    """A clone has the index alone: a fork's lines come from two sessions."""
    scratch.git("clone", "-q", "--bare", str(scratch.path), str(tmp_path / "origin.git"))
    scratch.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    parent = capture(scratch, tmp_path / "elsewhere", "simple-02-resumed")
    fork = capture(scratch, tmp_path / "elsewhere", "simple-03-forked")
    sync.push(scratch.path, report=None)
    Scratch(tmp_path / "origin.git").git("clone", "-q", ".", str(tmp_path / "clone"))
    clone = Scratch(tmp_path / "clone")
    sync.fetch(clone.path, (), everything=False, report=None)
    assert clone.git("for-each-ref", "refs/sessions") == ""
    _, ready, _ = go(clone, fork[:10])
    assert (ready.session, ready.turn) == (fork, 1)
    assert texts(ready.transcript) == ["say hello", "second prompt", "third prompt"]
    assert {Path(ref).name for ref in clone.git("for-each-ref", "--format=%(refname)",
            "refs/sessions").split()} == {parent, fork}  # fmt: skip


def test_a_remote_that_cant_be_reached_is_told_of(scratch: Scratch, tmp_path: Path) -> None:
    scratch.git("clone", "-q", "--bare", str(scratch.path), str(tmp_path / "origin.git"))
    scratch.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    capture(scratch, tmp_path / "elsewhere")
    sync.push(scratch.path, report=None)
    Scratch(tmp_path / "origin.git").git("clone", "-q", ".", str(tmp_path / "clone"))
    clone = Scratch(tmp_path / "clone")
    sync.fetch(clone.path, (), everything=False, report=None)
    shutil.move(tmp_path / "origin.git", tmp_path / "gone.git")
    with pytest.raises(SessionError, match="isn't here"):
        go(clone)
    shutil.move(tmp_path / "gone.git", tmp_path / "origin.git")
    assert go(clone)[1].session == SESSION


# -- somebody else's ----------------------------------------------------------------------


def test_somebody_elses_session_is_told_with_its_last_prompts(
    scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as ann:
        ann.setenv("GIT_AUTHOR_NAME", "Ann")
        ann.setenv("GIT_AUTHOR_EMAIL", "ann@example.com")
        capture(scratch, tmp_path / "elsewhere")
    looked, _, _ = go(scratch, SESSION)
    assert looked.doubt is not None
    assert any("Ann <ann@example.com>" in reason for reason in looked.doubt.reasons)
    assert (
        looked.doubt.prompts[-1]
        == texts(str(claude_code.place_of(scratch.path, SESSION, os.environ)))[-1]
    )


def test_the_command_asks_before_it_goes_on_with_somebody_elses(
    scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from gitsession.commands.resume import command

    with monkeypatch.context() as ann:
        ann.setenv("GIT_AUTHOR_EMAIL", "ann@example.com")
        capture(scratch, tmp_path / "elsewhere")
    monkeypatch.chdir(scratch.path)
    place = claude_code.place_of(scratch.path, SESSION, os.environ)
    done = CliRunner().invoke(command, [SESSION, "--print"])
    assert isinstance(done.exception, SessionError)
    assert "nobody is here to ask" in done.exception.message
    assert "ann@example.com" in done.stderr
    assert not place.exists()
    done = CliRunner().invoke(command, [SESSION, "--no-launch", "--json", "--yes"])
    told = json.loads(done.stdout)
    assert (told["session"], told["parent"], told["transcript"]) == (SESSION, None, str(place))
    assert told["command"] == ["claude", "-r", SESSION]
    done = CliRunner().invoke(command, [SESSION, "--print", "--yes"])
    assert done.stdout == f"cd {scratch.path} && claude -r {SESSION}\n"


def test_a_placed_fork_captures_nothing_of_its_parent_again(
    scratch: Scratch, tmp_path: Path
) -> None:
    set_up(scratch)
    capture(scratch, tmp_path / "elsewhere", "simple-02-resumed")
    fork = capture(scratch, tmp_path / "elsewhere", "simple-03-forked")
    _, ready, _ = go(scratch, fork)
    assert (ready.session, ready.turn) == (fork, 1)
    assert len(texts(ready.transcript)) == 3
    client = Client(repo=scratch, talk=Conversation(Path(ready.transcript), scratch.path, fork))
    client.talk._last = claude_code.cut(list(client.lines())).leaf
    client.prompt("and on")
    client.talk.line(
        "assistant", message=json.loads(answer({"type": "text", "text": "ok"}))["message"]
    )
    client.end()
    work(scratch)
    assert [r.turns for r in captures(scratch, fork)] == [1, 1]
