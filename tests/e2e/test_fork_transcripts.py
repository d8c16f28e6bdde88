"""The real client, resumed at every turn of every recorded conversation, sends just those turns."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from gitsession import agents
from gitsession.actions import transcripts
from gitsession.actions.import_sessions import import_sessions
from gitsession.actions.placing import put
from gitsession.agents import claude_blocks, claude_code, claude_prompts
from gitsession.agents.base import Cut, Side
from gitsession.git.plumbing import discover
from gitsession.ids import SessionId
from gitsession.model import Block, Message, Opaque, Text, ToolCall, ToolResult
from gitsession.store import sessions
from tests.agents.claude_samples import NAMES, lines_of, subagents_of
from tests.e2e.client import BINARY, Claude, new_id
from tests.e2e.fake_anthropic import FakeAnthropic, Json, Step, blocks_of, text
from tests.e2e.scenario import Ground

pytestmark = pytest.mark.e2e

_FILLER = "No response requested."
"""What the client says for the model where a conversation was left without an answer."""
_REMINDER = "<system-reminder>"
_CONTINUED = "This session is being continued from a previous conversation"
_SUMMARISE = "CRITICAL: Respond with TEXT ONLY"
_NOT_HERE = "[Tool references removed - tools no longer available]"
_AT_ONCE = 3


@dataclass
class Bench:
    """A folder, and the client that is to resume conversations in it."""

    folder: Path
    claude: Claude
    api: FakeAnthropic

    def place(
        self,
        cut: Cut,
        parent: str,
        fork: SessionId,
        *,
        roots: Mapping[str, str] | None = None,
        sides: Sequence[Side] = (),
    ) -> SessionId:
        """Put a cut where the client will look for it; gives back its id."""
        copy = SessionId(new_id())
        done = put(
            agents.get("claude-code"), cut.lines, sides,
            folder=self.folder, session=copy, env=self.claude.env,
            parent=SessionId(parent), roots=roots, staged_for=fork,
        )  # fmt: skip
        assert done.placed == "placed"
        return copy

    def start(
        self, prompt: str, session: SessionId, resume: SessionId | None
    ) -> subprocess.Popen[bytes]:
        """Run the client as it is launched."""
        env = {**self.claude.env, "CLAUDE_BIN": str(BINARY)}
        how = claude_code.launch(
            self.folder, session, env, resume=resume, prompt=prompt, headless=True
        )
        return subprocess.Popen(
            how.argv, cwd=how.cwd, env=how.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def finish(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the client."""
        with process:
            out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, out.decode()

    def sent(self, prompt: str, *, compacted: bool = False) -> list[Json]:
        """The messages that came before a prompt, in the request that had it first."""
        found = self._before(prompt)
        begins = [b.get("text", "") for m in found[:1] for b in blocks_of(m)]
        if not compacted and any(words.startswith(_CONTINUED) for words in begins):
            # The client found it too long, and had it summarised first: as it did then.
            return self._before(_SUMMARISE)
        return found

    def _before(self, words: str) -> list[Json]:
        for messages in self.api.conversations():
            for number, message in enumerate(messages):
                for at, block in enumerate(blocks_of(message)):
                    if block.get("text", "").strip().startswith(words):
                        return [*messages[:number], {**message, "content": blocks_of(message)[:at]}]
        raise AssertionError(f"{words!r} was never sent")

    def transcript(self, session: str) -> list[bytes]:
        """A session's lines as the client has them."""
        found = claude_code.find_source(SessionId(session), self.claude.env)
        assert found
        return Path(found).read_bytes().splitlines(keepends=True)


@pytest.fixture
def bench(bare_ground: Ground) -> Bench:
    # Nothing that a client plays by itself: an answer to every prompt.
    bare_ground.api.on("", Step((text("Fine."),)))
    return Bench(bare_ground.repo.path, bare_ground.claude, bare_ground.api)


# -- what was sent, and what was to be ----------------------------------------------------


def _plain(block: Block) -> Block | None:
    """A block as both sides can tell it."""
    if isinstance(block, ToolResult):
        words = block.text.strip().removeprefix(_NOT_HERE)
        return ToolResult(id=block.id, text=words, failed=block.failed)
    if isinstance(block, Text):
        words = claude_prompts.show(block.text)
        left_out = not words or words == _FILLER or words.startswith(_REMINDER)
        return None if left_out else Text(text=words)
    if isinstance(block, ToolCall) and block.name == "Task":
        # The client has another name for it by now.
        return msgspec.structs.replace(block, name="Agent")
    # A tool that was looked up is one that this client doesn't have.
    return None if isinstance(block, Opaque) and b'"tool_reference"' in block.raw else block


def _said(messages: Sequence[Message]) -> Iterator[tuple[str, Block]]:
    for message in messages:
        for block in message.blocks:
            if not message.subagent and (plain := _plain(block)) is not None:
                yield message.role, plain


def _told(messages: Sequence[Json]) -> Iterator[tuple[str, Block]]:
    for message in messages:
        raw = msgspec.Raw(json.dumps(message["content"]).encode())
        for block in claude_blocks.read_content(raw) if message["role"] != "system" else ():
            plain = _plain(block)
            if plain is not None:
                yield message["role"], plain


def _expected(lines: Sequence[bytes]) -> tuple[list[tuple[str, Block]], set[Block | str]]:
    """What two people said, since the last compaction; and what the client may add."""
    turns = claude_code.read_turns(lines)
    messages = [message for turn in turns for message in turn.messages]
    entries = [json.loads(line) for line in lines]
    start = 0
    kept: list[Message] = []
    for entry in entries:
        if entry.get("subtype") == "compact_boundary":
            kept = _preserved(messages, entry, entries)
        if entry.get("isCompactSummary"):
            start = next(n for n, m in enumerate(messages) if m.uuid == entry["uuid"])
    everything = [*kept, *messages[start:]]
    theirs = [m for m in everything if m.role == "system"]
    words = {b.text for _, b in _said(theirs) if isinstance(b, Text)}
    return list(_said([m for m in everything if m.role != "system"])), set(words)


def _preserved(messages: list[Message], boundary: Json, entries: list[Json]) -> list[Message]:
    """What the client goes on sending of what it summarised."""
    part = boundary["compactMetadata"].get("preservedSegment")
    if part is None:
        return []
    uuids = [entry.get("uuid") for entry in entries]
    inside = uuids[uuids.index(part["headUuid"]) : uuids.index(part["tailUuid"]) + 1]
    return [message for message in messages if message.uuid in inside]


def _check(sent: Sequence[Json], lines: Sequence[bytes]) -> None:
    expected, words = _expected(lines)
    told = [pair for pair in _told(sent)
            if not (isinstance(pair[1], Text) and pair[1].text in words)]  # fmt: skip
    assert told == [pair for pair in expected
                    if not (isinstance(pair[1], Text) and pair[1].text in words)]  # fmt: skip


# -- tests --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_fork_at_every_turn_sends_just_those_turns(bench: Bench, name: str) -> None:
    lines = lines_of(name)
    own = claude_code.session_of(str(Path(__file__).parent.parent / f"data/claude/{name}.jsonl"))
    assert own
    original = claude_code.place_of(bench.folder, own, bench.claude.env)
    claude_code.install(original, lines)
    count = max(turn.number for turn in claude_code.read_turns(lines))
    todo = list(range(1, count + 1))
    while todo:
        started = []
        for turn in todo[:_AT_ONCE]:
            cut = claude_code.cut(lines, turn=turn)
            fork = SessionId(new_id())
            copy = bench.place(cut, own, fork)
            started.append((turn, cut, fork, bench.start(f"go on from {turn}.", fork, copy)))
        del todo[:_AT_ONCE]
        for turn, cut, fork, process in started:
            bench.finish(process)
            sent = bench.sent(f"go on from {turn}.", compacted=cut.compacted)
            _check(sent, cut.lines)
            parent = claude_code.parent_of(bench.transcript(fork))
            assert parent is not None
            assert parent.session == own
    assert original.read_bytes() == b"".join(lines)
    assert len(claude_code.sweep(bench.folder, bench.claude.env)) == count


@pytest.mark.parametrize("name", ["simple-02-resumed", "tui-03-after-clear-and-compact"])
def test_a_fork_before_the_first_prompt_is_a_fresh_start(bench: Bench, name: str) -> None:
    cut = claude_code.cut(lines_of(name), turn=0)
    session = SessionId(new_id())
    bench.finish(bench.start(cut.prompt, session, None))
    assert list(_told(bench.sent(cut.prompt))) == []
    assert claude_code.read_turns(bench.transcript(session))[0].prompt == cut.prompt


def test_a_fork_of_a_fork(bench: Bench) -> None:
    lines = lines_of("thinking")
    first, second = SessionId(new_id()), SessionId(new_id())
    copy = bench.place(claude_code.cut(lines, turn=2), new_id(), first)
    bench.finish(bench.start("branch off", first, copy))
    again = bench.transcript(first)
    assert [t.prompt for t in claude_code.read_turns(again)] == ["one", "two", "branch off"]
    for turn in (1, 3):
        cut = claude_code.cut(again, turn=turn)
        second = SessionId(new_id())
        copy = bench.place(cut, first, second)
        bench.finish(bench.start(f"branch off at {turn}", second, copy))
        _check(bench.sent(f"branch off at {turn}"), cut.lines)
        assert claude_code.parent_of(bench.transcript(second)) is not None
    assert bench.transcript(first) == again


def test_paths_of_another_machine_are_those_of_this_one(bench: Bench) -> None:
    here = str(bench.folder)
    cut = claude_code.cut(lines_of("files"), turn=1)
    fork = SessionId(new_id())
    copy = bench.place(cut, new_id(), fork, roots={"/home/dev/project": here})
    bench.finish(bench.start("go on", fork, copy))
    calls = [b for _, b in _told(bench.sent("go on")) if isinstance(b, ToolCall)]
    assert {str(c.input["file_path"]) for c in calls} == {f"{here}/n.txt"}
    assert bench.transcript(fork)


def test_large_results_are_where_the_conversation_says(bench: Bench) -> None:
    cut = claude_code.cut(lines_of("large"), turn=1)
    fork = SessionId(new_id())
    side = Side(kind="result", name="b30vox3d0.txt", data=b"1\n2\n3\n")
    copy = bench.place(cut, new_id(), fork, sides=[side])
    bench.finish(bench.start("go on", fork, copy))
    place = claude_code.side_place(claude_code.place_of(bench.folder, copy, bench.claude.env), side)
    (result,) = [b for _, b in _told(bench.sent("go on")) if isinstance(b, ToolResult)]
    assert f"saved to: {place}\n" in result.text
    assert place.read_bytes() == side.data


def test_a_session_captured_in_one_place_is_resumed_in_another(
    bench: Bench, tmp_path: Path
) -> None:
    here, lines = str(bench.folder), lines_of("files")
    own = SessionId(json.loads(lines[0])["sessionId"])
    captured = tmp_path / "elsewhere" / f"{own}.jsonl"
    captured.parent.mkdir()
    captured.write_bytes(b"".join(lines))
    assert import_sessions(bench.folder, [captured]).failures == ()
    with discover(bench.folder) as repo:
        stored = sessions.open_session(repo, own)
        found = transcripts.assemble(repo, stored, bench.claude.env)
    done = put(
        agents.get("claude-code"), transcripts.cut(found).lines, found.sides,
        folder=bench.folder, session=own, env=bench.claude.env,
        roots=transcripts.find_roots(found, here),
    )  # fmt: skip
    assert done.placed == "placed"
    place = done.place
    placed = place.read_bytes()
    bench.finish(bench.start("go on", own, own))
    _check(bench.sent("go on"), placed.splitlines(keepends=True))
    assert f'"file_path":"{here}/n.txt"' in placed.decode()
    assert place.read_bytes().startswith(placed)


FOLDERS = ["a.b_c -d", "caf\u00e9 cafe\u0301", "\U0001f600 new\nline", "deep/" + "long-name/" * 20]


@pytest.mark.parametrize("name", FOLDERS)
def test_the_client_looks_where_we_say(bench: Bench, name: str) -> None:
    bench.folder = bench.folder / name
    bench.folder.mkdir(parents=True)
    session = SessionId(new_id())
    bench.finish(bench.start("hello", session, None))
    assert claude_code.place_of(bench.folder, session, bench.claude.env).is_file()


def test_a_session_is_resumed_under_its_own_id(bench: Bench) -> None:
    lines = lines_of("subagent")
    own = SessionId(new_id())
    sides = [Side(kind="subagent", name=name, data=b"".join(told))
             for name, told in subagents_of("subagent").items()]  # fmt: skip
    done = put(
        agents.get("claude-code"), lines, sides,
        folder=bench.folder, session=own, env=bench.claude.env,
    )  # fmt: skip
    place = done.place
    placed = place.read_bytes()
    bench.finish(bench.start("go on", own, own))
    _check(bench.sent("go on"), lines)
    assert place.read_bytes().startswith(placed)
    assert [s.name for s in claude_code.side_sources(str(place))] == [s.name for s in sides]
