"""The conversation that Claude Code's lines tell."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsession.agents import claude_code
from gitsession.model import (
    Block,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
)  # fmt: skip
from tests.agents.claude_samples import (
    NAMES,
    answer,
    call,
    line,
    lines_of,
    result,
    subagents_of,
    user,
)  # fmt: skip


def turns_of(name: str) -> list[Turn]:
    return claude_code.read_turns(lines_of(name), subagents=subagents_of(name))


def only(*lines: bytes) -> tuple[Message, ...]:
    (turn,) = claude_code.read_turns(lines)
    return turn.messages


@pytest.mark.parametrize("name", NAMES)
def test_turns_agree_with_the_prompts_of_the_lines(name: str) -> None:
    prompts = [
        p.prompt for p in map(claude_code.parse_line, lines_of(name)) if p.prompt is not None
    ]
    turns = turns_of(name)
    assert [turn.prompt for turn in turns if turn.number] == prompts
    assert [turn.number for turn in turns if turn.number] == list(range(1, len(prompts) + 1))
    for turn in turns:
        assert turn.messages
        assert turn.started_at <= turn.ended_at
        assert turn.number == 0 or turn.messages[0].role == "user"


@pytest.mark.parametrize("name", NAMES)
def test_every_call_and_result_is_told_once(name: str) -> None:
    blocks = [b for turn in turns_of(name) for m in turn.messages for b in m.blocks]
    calls = [b.id for b in blocks if isinstance(b, ToolCall)]
    results = [b.id for b in blocks if isinstance(b, ToolResult)]
    assert len(set(calls)) == len(calls)
    assert sorted(calls) == sorted(results)


def test_the_lines_of_a_response_are_one_message() -> None:
    (_, two, _) = turns_of("thinking")
    kinds = [[type(block) for block in message.blocks] for message in two.messages]
    assert kinds == [[Text], [Thinking, Text, ToolCall], [ToolResult], [Text]]
    assert two.messages[1].model == "claude-opus-5-5"


def test_parallel_calls_keep_their_results() -> None:
    (turn,) = turns_of("parallel")
    sizes = [len(m.blocks) for m in turn.messages]
    assert len(turn.messages[1].blocks) == 4
    assert sizes == [1, 4, 1, 1, 1, 1]


def test_edits_carry_a_unified_diff() -> None:
    (turn,) = turns_of("files")
    results = [b for m in turn.messages for b in m.blocks if isinstance(b, ToolResult)]
    assert results[0].diff == (
        "--- /dev/null\n+++ /home/dev/project/n.txt\n@@ -0,0 +1,2 @@\n+line one\n+line two\n"
    )
    assert results[1].diff == (
        "--- /home/dev/project/n.txt\n+++ /home/dev/project/n.txt\n"
        "@@ -1,2 +1,2 @@\n line one\n-line two\n+line 2\n"
    )
    assert (results[2].diff, results[2].failed) == ("", True)


def test_edits_of_a_subagent_are_taken_from_its_calls() -> None:
    (turn,) = turns_of("subagent")
    diffs = [b.diff for m in turn.messages for b in m.blocks if isinstance(b, ToolResult)]
    path = "/home/dev/project/sub.txt"
    assert [d for d in diffs if d] == [f"--- {path}\n+++ {path}\n@@ -0,0 +0,1 @@\n+from sub\n"]


def test_a_notebook_is_compared() -> None:
    told = {"notebook_path": "n", "original_file": "a\nb\n", "updated_file": "a\nc\n"}
    block = only(user("x"), result(told))[1].blocks[0]
    assert isinstance(block, ToolResult)
    assert block.diff == "--- n\n+++ n\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"


def test_images_are_known_by_kind_and_size() -> None:
    (turn,) = turns_of("image")
    (result, image) = turn.messages[2].blocks
    assert isinstance(result, ToolResult)
    assert image == Image(media_type="image/png", size=2002)


def test_errors_and_summaries_are_the_systems() -> None:
    (turn,) = turns_of("api-error")
    assert [m.role for m in turn.messages] == ["user", "system"]
    summaries = [
        m
        for turn in turns_of("auto-compact")
        for m in turn.messages
        if isinstance(m.blocks[0], Text) and m.blocks[0].text.startswith("This session is being")
    ]
    assert [m.role for m in summaries] == ["system"]


def test_what_comes_before_the_first_prompt_is_turn_0() -> None:
    zero, one, two = turns_of("tui-03-after-clear-and-compact")
    assert (zero.number, zero.prompt) == (0, "")
    assert [m.blocks for m in zero.messages][1] == (Text(text="/clear"),)
    typed = [m for m in one.messages if m.role == "user"]
    assert typed[1].blocks == (
        Text(text="!echo bang > b.txt && git add b.txt && git commit -m 'bang commit'"),
    )
    assert two.prompt == "after compact"


def test_a_slash_command_is_shown_as_typed() -> None:
    (turn,) = turns_of("slash-command")
    assert turn.messages[0].blocks == (Text(text="/sess:fork abc123"),)
    assert turn.messages[1].role == "system"


@pytest.mark.parametrize(("name", "after"), [("subagent", 1), ("bg-subagent", 1)])
def test_subagents_speak_behind_their_call(name: str, after: int) -> None:
    (turn,) = turns_of(name)
    who = [m.subagent for m in turn.messages]
    (agent,) = subagents_of(name)
    count = who.count(agent)
    assert count == 6
    assert who[after + 1 : after + 1 + count] == [agent] * count
    assert any(isinstance(b, ToolCall) and b.name == "Task" for b in turn.messages[after].blocks)


def test_a_subagent_without_a_known_call_ends_its_turn() -> None:
    first, second = (
        user("one", timestamp="2026-01-01T00:00:00Z"),
        user("two", timestamp="2026-01-01T01:00:00Z"),
    )
    said = answer({"type": "text", "text": "hi"}, timestamp="2026-01-01T00:30:00Z")
    one, two = claude_code.read_turns([first, second], subagents={"agent-x": [said]})
    assert [m.subagent for m in one.messages] == ["", "agent-x"]
    assert one.ended_at == "2026-01-01T00:30:00Z"
    assert len(two.messages) == 1


def test_subagents_that_begin_each_other_do_not_loop() -> None:
    def spawns(agent: str, id: str) -> list[bytes]:
        return [answer(call("Task", id), id=id), result({"agentId": agent}, id=id)]

    others = {"agent-a": spawns("b", "t1"), "agent-b": spawns("a", "t2")}
    (turn,) = claude_code.read_turns([user("go")], subagents=others)
    assert len(turn.messages) == 5


def test_nested_subagents_follow_their_own_calls() -> None:
    main = [user("go"), answer(call("Task", "t1")), result({"agentId": "a"}, id="t1")]
    outer = [answer(call("Agent", "t2"), id="m2"), result({"agentId": "b"}, id="t2")]
    inner = [answer({"type": "text", "text": "deep"}, id="m3")]
    (turn,) = claude_code.read_turns(main, subagents={"agent-b": inner, "agent-a": outer})
    who = [m.subagent for m in turn.messages]
    assert who == ["", "", "agent-a", "agent-b", "agent-a", ""]


def test_nothing_disappears() -> None:
    blocks: list[Block] = [
        block
        for message in only(
            user("go"),
            b"not json\n",
            answer({"type": "strange", "x": 1}, 7),
            line(type="user", message="no object"),
            line(type="user", message={"content": {"odd": 1}}),
            user([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "ref"}]}]),
        )[1:]
        for block in message.blocks
    ]
    opaque = [block.raw for block in blocks if isinstance(block, Opaque)]
    assert opaque[0] == b"not json\n"
    assert opaque[1:3] == [b'{"type": "strange", "x": 1}', b"7"]
    assert b"no object" in opaque[3]
    assert opaque[4:] == [b'{"odd": 1}', b'{"type": "ref"}']


def test_bookkeeping_is_left_out() -> None:
    assert len(only(user("go"), line(type="progress", data={}), line(type="new-kind"), b"\n")) == 1


def test_words_queued_meanwhile_are_the_users() -> None:
    typed = line(type="attachment", attachment={"type": "queued_command", "prompt": "and this"})
    told = line(
        type="attachment",
        attachment={"type": "queued_command", "prompt": "x", "commandMode": "task-notification"},
    )
    messages = only(user("go"), typed, told)
    assert [m.role for m in messages] == ["user", "user", "system"]
    assert messages[1].blocks == (Text(text="and this"),)


def test_no_lines_no_turns() -> None:
    assert claude_code.read_turns([]) == []
    assert claude_code.read_turns([b"\n"], subagents={"agent-a": []}) == []


PARTS = st.sampled_from(["user", "assistant", "system", "attachment", "progress", "x"])
CONTENT = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image"])},
            optional=dict.fromkeys(
                ("text", "id", "content", "input", "source", "tool_use_id"), inner
            ),
        )
    ),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(PARTS, CONTENT, CONTENT) | st.binary(max_size=20), max_size=4))
def test_anything_gives_turns(things: list[tuple[str, Any, Any] | bytes]) -> None:
    lines = [
        thing
        if isinstance(thing, bytes)
        else json.dumps(
            {"type": thing[0], "message": {"content": thing[1]}, "toolUseResult": thing[2],
             "subtype": "local_command", "content": thing[1], "attachment": thing[1]}
        ).encode()
        for thing in things
    ]  # fmt: skip
    turns = claude_code.read_turns(lines, subagents={"agent-a": lines})
    assert all(isinstance(turn, Turn) for turn in turns)
