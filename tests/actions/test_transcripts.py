"""A session's transcript, put together from what is stored and from the agent's own file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gitsession.actions import forget, transcripts
from gitsession.actions.forget import Request
from gitsession.actions.import_sessions import import_sessions
from gitsession.actions.placing import put
from gitsession.actions.transcripts import Transcript
from gitsession.agents import claude_code
from gitsession.agents.base import Adapter
from gitsession.errors import NotFound, SessionError, Unreadable
from gitsession.git.plumbing import Plumbing, discover
from gitsession.ids import SessionId
from gitsession.model import Turn
from gitsession.store import sessions
from tests.agents.claude_samples import DATA, NAMES, answer, call, lines_of, user
from tests.scratch import Scratch

ADAPTER: Adapter = claude_code
FORKS = {"simple-03-forked", "rewind-interrupt-branch"}


@pytest.fixture
def repo(scratch: Scratch) -> Iterator[Plumbing]:
    with discover(scratch.path) as found:
        yield found


def session_of(name: str) -> SessionId:
    found = claude_code.session_of(str(DATA / f"{name}.jsonl"))
    assert found
    return found


def capture(scratch: Scratch, folder: Path, name: str) -> SessionId:
    """Capture a recorded session as another machine would; its file isn't where ours are."""
    session = session_of(name)
    source = folder / f"{session}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    source.write_bytes(b"".join(lines_of(name)))
    if (DATA / name).is_dir():
        subagents = folder / session / "subagents"
        subagents.mkdir(parents=True)
        for path in (DATA / name / "subagents").iterdir():
            (subagents / path.name).write_bytes(path.read_bytes())
    done = import_sessions(scratch.path, [source])
    assert done.failures == ()
    return session


def assemble(repo: Plumbing, session: SessionId) -> Transcript:
    return transcripts.assemble(repo, sessions.open_session(repo, session))


def local(session: SessionId, lines: Sequence[bytes]) -> Path:
    """The client's own file of a session, on this machine."""
    path = claude_code.place_of(Path("/work"), session, os.environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def prompts(turns: Sequence[Turn]) -> list[str]:
    return [turn.prompt for turn in turns if turn.number]


# -- what is stored -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n not in ("simple-03-forked", "rewind-interrupt-branch")]
)
def test_a_session_captured_elsewhere_is_whole(
    scratch: Scratch, repo: Plumbing, tmp_path: Path, name: str
) -> None:
    session = capture(scratch, tmp_path / "elsewhere", name)
    found = assemble(repo, session)
    assert (found.session, found.agent, found.standing) == (session, "claude-code", "alone")
    assert [json.loads(x) for x in found.lines] == [json.loads(x) for x in lines_of(name)]
    beside = sorted(path.stem for path in (DATA / name / "subagents").glob("*.jsonl"))
    assert [side.name for side in found.sides] == beside
    for turn in range(1, max(t.number for t in claude_code.read_turns(lines_of(name))) + 1):
        whole = claude_code.cut(lines_of(name), turn=turn)
        assert transcripts.cut(found, turn=turn).turns == whole.turns
        assert transcripts.cut(found, turn=turn).leaf == whole.leaf


def test_a_large_result_comes_along(scratch: Scratch, repo: Plumbing, tmp_path: Path) -> None:
    beside = tmp_path / "elsewhere" / session_of("large") / "tool-results"
    beside.mkdir(parents=True)
    (beside / "b30vox3d0.txt").write_bytes(b"1\n2\n")
    found = assemble(repo, capture(scratch, tmp_path / "elsewhere", "large"))
    assert [(s.kind, s.name, s.data) for s in found.sides] == [
        ("result", "b30vox3d0.txt", b"1\n2\n")
    ]


def test_a_fork_has_what_it_goes_on_from(scratch: Scratch, repo: Plumbing, tmp_path: Path) -> None:
    parent = capture(scratch, tmp_path / "elsewhere", "simple-02-resumed")
    fork = capture(scratch, tmp_path / "elsewhere", "simple-03-forked")
    own = list(sessions.segment_lines(repo, sessions.open_session(repo, fork), 1))
    found = assemble(repo, fork)
    assert found.parent is not None
    assert found.parent.session == parent
    assert len(own) < len(found.lines)
    assert prompts(claude_code.read_turns(found.lines)) == [
        "say hello", "second prompt", "third prompt"
    ]  # fmt: skip
    # Its own turns are numbered as `show` does, where what it inherited isn't.
    assert found.inherited == 2
    assert transcripts.cut(found, turn=1).turns == (1,)
    assert transcripts.cut(found, turn=0).prompt == "third prompt"
    assert prompts(claude_code.read_turns(transcripts.cut(found, turn=0).lines)) == [
        "say hello", "second prompt"
    ]  # fmt: skip
    with pytest.raises(NotFound) as error:
        transcripts.cut(found, turn=2)
    assert error.value.hint == "the turns here are 1 to 1"


def test_a_fork_whose_parent_is_not_here_is_refused(
    scratch: Scratch, repo: Plumbing, tmp_path: Path
) -> None:
    parent = capture(scratch, tmp_path / "elsewhere", "simple-02-resumed")
    fork = capture(scratch, tmp_path / "elsewhere", "simple-03-forked")
    scratch.git("update-ref", "-d", f"refs/sessions/{parent}")
    with pytest.raises(Unreadable, match="the beginning of this session is in its parent"):
        assemble(repo, fork)
    local(parent, lines_of("simple-02-resumed"))
    assert len(claude_code.read_turns(assemble(repo, fork).lines)) == 3


def test_what_was_forgotten_is_counted(scratch: Scratch, repo: Plumbing, tmp_path: Path) -> None:
    session = capture(scratch, tmp_path / "elsewhere", "thinking")
    record = sessions.last_record(repo, sessions.open_session(repo, session))
    assert record is not None
    forget.carry_out(scratch.path, Request(name=record.id))
    found = assemble(repo, session)
    assert found.forgotten == 1
    with pytest.raises(SessionError, match="nothing was said"):
        transcripts.cut(found)


def test_a_session_that_is_not_here(repo: Plumbing) -> None:
    with pytest.raises(Unreadable, match="is not here"):
        assemble(repo, SessionId("unknown"))


# -- the agent's own file -----------------------------------------------------------------


def test_the_agents_own_file_is_taken_where_it_holds_as_much(
    scratch: Scratch, repo: Plumbing, tmp_path: Path
) -> None:
    session = capture(scratch, tmp_path / "elsewhere", "thinking")
    lines = lines_of("thinking")
    path = local(session, lines)
    found = assemble(repo, session)
    assert (found.standing, found.source, found.lines) == ("same", str(path), tuple(lines))
    assert found.stamp is not None
    assert found.stamp.size == path.stat().st_size


def test_a_session_in_progress_has_more_than_its_captures(
    scratch: Scratch, repo: Plumbing, tmp_path: Path
) -> None:
    session = capture(scratch, tmp_path / "elsewhere", "thinking")
    last = claude_code.cut(lines_of("thinking")).leaf
    more = [user("four", uuid="p4", parentUuid=last, promptSource="typed"),
            answer({"type": "text", "text": "Working."}, id="m4", uuid="a4", parentUuid="p4"),
            answer(call("Bash", id="t4"), id="m5", uuid="c4", parentUuid="a4")]  # fmt: skip
    local(session, [*lines_of("thinking"), *more, b'{"type":"user","uuid":"torn'])
    found = assemble(repo, session)
    assert found.standing == "ahead"
    now = transcripts.cut(found)
    assert (now.turns, now.leaf) == ((1, 2, 3, 4), "a4")
    assert now.remark
    with pytest.raises(SessionError, match="turn 4 isn't finished"):
        transcripts.cut(found, turn=4)
    assert transcripts.cut(found, turn=3).leaf == last


@pytest.mark.parametrize(("standing", "extra"), [("behind", b""), ("apart", user("x", uuid="own"))])
def test_what_is_stored_is_taken_where_it_holds_more(
    scratch: Scratch, repo: Plumbing, tmp_path: Path, standing: str, extra: bytes
) -> None:
    session = capture(scratch, tmp_path / "elsewhere", "thinking")
    path = local(session, [*lines_of("thinking")[:20], extra])
    found = assemble(repo, session)
    assert (found.standing, found.source) == (standing, str(path))
    assert len(found.lines) == len(lines_of("thinking"))


def test_a_forks_own_file_counts_its_turns_as_what_is_stored_does(
    scratch: Scratch, repo: Plumbing, tmp_path: Path
) -> None:
    capture(scratch, tmp_path / "elsewhere", "simple-02-resumed")
    fork = capture(scratch, tmp_path / "elsewhere", "simple-03-forked")
    local(fork, lines_of("simple-03-forked"))
    found = assemble(repo, fork)
    assert (found.standing, found.inherited) == ("same", 2)
    assert transcripts.cut(found, turn=1).turns == (1,)
    unknown = transcripts.read_local(ADAPTER, fork, found.source)
    assert unknown.inherited == 2


# -- putting it where the agent looks -----------------------------------------------------


def test_a_fork_is_put_with_its_subagents(scratch: Scratch, repo: Plumbing, tmp_path: Path) -> None:
    found = assemble(repo, capture(scratch, tmp_path / "elsewhere", "subagent"))
    copy, fork = (SessionId(f"{n}0000000-0000-0000-0000-000000000000") for n in (1, 2))
    done = put(
        ADAPTER, transcripts.cut(found, turn=1).lines, found.sides,
        folder=scratch.path, session=copy, env=os.environ, parent=found.session, staged_for=fork,
        roots=transcripts.find_roots(found, str(scratch.path)),
    )  # fmt: skip
    assert done.placed == "placed"
    assert done.place == claude_code.place_of(scratch.path, copy, os.environ)
    (agent,) = claude_code.read_sides(str(done.place))
    assert b'"toolUseId"' in agent.about
    told = [*done.place.read_bytes().splitlines(), *agent.data.splitlines()]
    entries = [json.loads(raw) for raw in told]
    assert {entry["sessionId"] for entry in entries} == {copy}
    assert {entry["cwd"] for entry in entries if "cwd" in entry} == {str(scratch.path)}
    origin = claude_code.parent_of(told)
    assert origin is not None
    assert origin.session == found.session


# -- pure ---------------------------------------------------------------------------------


def test_what_a_file_lacks_comes_behind_what_it_has() -> None:
    one, two, three = (user(x, uuid=x) for x in ("1", "2", "3"))
    caught = transcripts.catch_up(ADAPTER, [one.rstrip(b"\n")], [one, b"{}\n", two, three])
    assert caught == (one, two, three)
    assert transcripts.compare(ADAPTER, caught, [one, two]) == "ahead"
    assert transcripts.compare(ADAPTER, [], [one]) == "behind"
    assert transcripts.compare(ADAPTER, [one, two], [two, three]) == "apart"
    assert transcripts.compare(ADAPTER, [one], [b"{}\n", one]) == "same"


def _transcript(lines: Sequence[bytes], *files: str) -> Transcript:
    return Transcript(
        session=SessionId("s"), agent="claude-code", lines=tuple(lines), files=tuple(files)
    )


@pytest.mark.parametrize(
    ("lines", "files", "roots"),
    [
        ([], (), {}),
        ([user("x", cwd="/home/ann/p/sub"), user("y", cwd="/tmp")], (), {"/home/ann/p/sub": "/w"}),
        ([user("x", cwd="/w")], (), {}),
        ([user("x", cwd="/home/ann/p/sub"),
          answer(call("Write", file_path="/home/ann/p/sub/a.py", content="x"))],
         ("sub/a.py",), {"/home/ann/p": "/w"}),
        ([answer(call("Write", file_path="C:\\ann\\p\\sub\\a.py", content="x"))],
         ("sub/a.py",), {"C:\\ann\\p": "/w"}),
        ([answer(call("Write", file_path=f"/{who}/a.py", content="x")) for who in "awt"],
         ("a.py",), {"/a": "/w", "/t": "/w"}),
    ],
)  # fmt: skip
def test_where_the_repository_was_is_told_by_edits(
    lines: list[bytes], files: tuple[str, ...], roots: dict[str, str]
) -> None:
    assert transcripts.find_roots(_transcript(lines, *files), "/w") == roots
