"""The conversation as it was at a moment, worked out by meaning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsession.agents import claude_code
from gitsession.agents.base import Cut
from gitsession.errors import NotFound, SessionError, Usage
from gitsession.model import Message, ToolCall, ToolResult
from tests.agents.claude_samples import NAMES, answer, call, line, lines_of, user


def words(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def said(uuid: str, parent: str | None, text: str = "", **more: Any) -> bytes:
    """An answer of the model."""
    return answer(words(text or f"answer {uuid}"), id=uuid, uuid=uuid, parentUuid=parent, **more)


def asked(uuid: str, parent: str | None, text: str = "", **more: Any) -> bytes:
    """A prompt."""
    return user(
        text or f"prompt {uuid}", uuid=uuid, parentUuid=parent, promptSource="typed", **more
    )


def used(uuid: str, parent: str, id: str, *, of: str) -> bytes:
    """A call, in a line of its own, of a response."""
    return answer(call("Bash", id=id, command="ls"), id=of, uuid=uuid, parentUuid=parent)


def got(uuid: str, parent: str, id: str) -> bytes:
    """A result."""
    block = {"type": "tool_result", "tool_use_id": id, "content": f"result {id}"}
    return user([block], uuid=uuid, parentUuid=parent, toolUseResult={})


def other(uuid: str, parent: str | None, **more: Any) -> bytes:
    return line(type="system", uuid=uuid, parentUuid=parent, **more)


def uuids(cut: Cut) -> str:
    return " ".join(json.loads(raw).get("uuid") or "-" for raw in cut.lines)


def spoken(lines: Sequence[bytes], turns: Sequence[int]) -> list[Message]:
    read = claude_code.read_turns(lines)
    return [m for turn in read if turn.number in turns for m in turn.messages]


# -- every recorded conversation ----------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_at_every_turn_holds_just_those_turns(name: str) -> None:
    lines = lines_of(name)
    count = max(turn.number for turn in claude_code.read_turns(lines))
    for turn in range(1, count + 1):
        cut = claude_code.cut(lines, turn=turn)
        assert cut.turns[-1] == turn
        own = claude_code.read_turns(cut.lines)
        mine = [m for one in own if one.number for m in one.messages]
        assert mine == spoken(lines, cut.turns)
        assert set(cut.lines) <= set(lines)
    assert claude_code.cut(lines, turn=count).lines == claude_code.cut(lines).lines


@pytest.mark.parametrize("name", NAMES)
def test_before_a_prompt_is_at_the_end_of_the_turn_that_it_followed(name: str) -> None:
    lines = lines_of(name)
    turns = [turn for turn in claude_code.read_turns(lines) if turn.number]
    for turn in turns:
        cut = claude_code.cut(lines, before=turn.uuid)
        assert cut.prompt == turn.prompt
        assert cut.fresh == (not cut.turns)
        assert turn.number not in cut.turns
        if cut.turns and cut.turns[-1] == turn.number - 1:
            assert cut == claude_code.cut(lines, turn=turn.number - 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_can_be_cut_again(name: str) -> None:
    lines = lines_of(name)
    whole = claude_code.cut(lines)
    assert claude_code.cut(whole.lines).lines == whole.lines
    for place, turn in enumerate(whole.turns, 1):
        again = claude_code.cut(whole.lines, turn=place)
        assert again.lines == claude_code.cut(lines, turn=turn).lines


@pytest.mark.parametrize("name", NAMES)
def test_every_call_in_a_cut_has_its_result(name: str) -> None:
    lines = lines_of(name)
    for turn in range(1, max(t.number for t in claude_code.read_turns(lines)) + 1):
        blocks = [b for m in spoken(claude_code.cut(lines, turn=turn).lines, range(99))
                  for b in m.blocks]  # fmt: skip
        calls = [b.id for b in blocks if isinstance(b, ToolCall)]
        assert sorted(calls) == sorted(b.id for b in blocks if isinstance(b, ToolResult))


def test_what_was_rewound_away_is_left_out() -> None:
    lines = lines_of("rewind-interrupt")
    found = {n: claude_code.cut(lines, turn=n).turns for n in range(1, 7)}
    assert found == {
        1: (1,), 2: (1, 2), 3: (1, 2, 3), 4: (1, 4), 5: (1, 4, 5), 6: (1, 4, 6)
    }  # fmt: skip
    assert claude_code.cut(lines).turns == (1, 4, 6)


def test_a_cut_before_a_compaction_is_as_it_was() -> None:
    lines = lines_of("auto-compact")
    before, after = (claude_code.cut(lines, turn=turn) for turn in (2, 3))
    assert (before.compacted, after.compacted) == (False, True)
    # The client goes on sending a part of what it summarised, and needs those lines.
    assert set(before.lines) < set(after.lines)


# -- moments ------------------------------------------------------------------------------

TALK = (asked("p1", None), said("a1", "p1"), asked("p2", "a1"), said("a2", "p2"))


def test_before_the_first_prompt_it_is_a_fresh_start() -> None:
    for cut in (claude_code.cut(TALK, turn=0), claude_code.cut(TALK, before="p1")):
        assert cut == Cut(fresh=True, prompt="prompt p1")


def test_a_prompt_after_a_rewind_to_the_start_is_a_fresh_start() -> None:
    cut = claude_code.cut([*TALK, asked("p3", None), said("a3", "p3")], before="p3")
    assert cut == Cut(fresh=True, prompt="prompt p3")


@pytest.mark.parametrize("turn", [-1, 3, 1000])
def test_a_turn_that_does_not_exist(turn: int) -> None:
    with pytest.raises(NotFound) as error:
        claude_code.cut(TALK, turn=turn)
    assert error.value.hint == "the turns here are 1 to 2"


@pytest.mark.parametrize("uuid", ["", "p", "a1", "p3", "00000000-0000-0000-0000-000000000000"])
def test_what_is_no_prompt_is_an_error(uuid: str) -> None:
    with pytest.raises(NotFound) as error:
        claude_code.cut(TALK, before=uuid)
    assert error.value.hint == "did you mean: p1, p2"


def test_a_turn_and_a_prompt_are_too_much() -> None:
    with pytest.raises(Usage):
        claude_code.cut(TALK, turn=1, before="p1")


@pytest.mark.parametrize("lines", [[], [b""], [b"{"], [line(type="mode")], [other("s", None)]])
def test_where_nothing_was_said(lines: list[bytes]) -> None:
    for turn in (None, 0):
        with pytest.raises(SessionError, match="nothing was said"):
            claude_code.cut(lines, turn=turn)
    with pytest.raises(NotFound):
        claude_code.cut(lines, turn=1)


# -- branches -----------------------------------------------------------------------------

PARALLEL = (
    asked("p1", None),
    used("c1", "p1", "t1", of="m"), used("c2", "c1", "t2", of="m"), used("c3", "c2", "t3", of="m"),
    got("r2", "c2", "t2"), got("r1", "c1", "t1"), got("r3", "c3", "t3"), said("a1", "r3"),
)  # fmt: skip


def test_parallel_calls_keep_their_results() -> None:
    assert uuids(claude_code.cut([*PARALLEL, asked("p2", "a1")], turn=1)) == (
        "p1 c1 c2 c3 r2 r1 r3 a1"
    )


def test_parallel_calls_of_an_older_client_hang_together_otherwise() -> None:
    lines = [asked("p1", None), used("c1", "p1", "t1", of="m"), got("r1", "c1", "t1"),
             used("c2", "c1", "t2", of="m"), got("r2", "c2", "t2"), other("s", "r2"),
             said("a1", "r1")]  # fmt: skip
    assert uuids(claude_code.cut(lines)) == "p1 c1 r1 c2 r2 s a1"


def test_a_rewind_between_parallel_calls_and_later_turns() -> None:
    lines = [*PARALLEL, asked("p2", "a1"), used("c4", "p2", "t4", of="n"), got("r4", "c4", "t4"),
             said("a2", "r4"), asked("p3", "a1"), said("a3", "p3")]  # fmt: skip
    assert uuids(claude_code.cut(lines, turn=3)) == "p1 c1 c2 c3 r2 r1 r3 a1 p3 a3"
    assert uuids(claude_code.cut(lines, turn=2)) == "p1 c1 c2 c3 r2 r1 r3 a1 p2 c4 r4 a2"


def test_a_rewind_into_the_middle_of_a_turn() -> None:
    more = [got("r1", "c1", "t1"), said("a2", "r1"), asked("p2", "a1"), said("a3", "p2")]
    lines = [*TALK[:2], used("c1", "a1", "t1", of="m"), *more]
    assert uuids(claude_code.cut(lines, turn=1)) == "p1 a1 c1 r1 a2"
    assert uuids(claude_code.cut(lines, turn=2)) == "p1 a1 p2 a3"
    assert uuids(claude_code.cut(lines, before="p2")) == "p1 a1"


def test_two_clients_at_once_have_a_branch_each() -> None:
    lines = [*TALK, asked("p3", "a2"), asked("p4", "a2"), said("a4", "p4"), said("a3", "p3")]
    assert uuids(claude_code.cut(lines, turn=3)) == "p1 a1 p2 a2 p3 a3"
    assert uuids(claude_code.cut(lines, turn=4)) == "p1 a1 p2 a2 p4 a4"


@pytest.mark.parametrize(
    ("leaf", "turns"),
    [
        ({"leafUuid": "a2"}, (1, 2)),
        ({"leafUuid": "a3"}, (1, 3)),
        ({"leafUuid": "a1"}, (1, 3)),
        ({"leafUuid": "a1", "explicit": True}, (1,)),
        ({"leafUuid": "gone"}, (1, 3)),
        ({"leafUuid": "00000000-0000-0000-0000-000000000000", "explicit": True}, (1, 3)),
        ({}, (1, 3)),
    ],
)
def test_the_session_as_it_is_now_follows_the_branch_that_the_client_would(
    leaf: dict[str, Any], turns: tuple[int, ...]
) -> None:
    lines = [
        *TALK,
        asked("p3", "a1"),
        said("a3", "p3"),
        line(type="last-prompt", uuid=None, **leaf),
    ]
    cut = claude_code.cut(lines)
    assert cut.turns == turns
    # The bookkeeping that led elsewhere is gone, so that the cut leads nowhere else.
    assert claude_code.cut(cut.lines).lines == cut.lines


def test_the_end_of_a_cut_is_named_where_it_is_not_last() -> None:
    lines = [*PARALLEL[:7], asked("p2", "r1"), said("a2", "p2")]
    cut = claude_code.cut(lines, before="p2")
    assert cut.leaf == "r1"
    assert uuids(cut) == "p1 c1 c2 c3 r2 r1 r3 -"
    assert json.loads(cut.lines[-1])["leafUuid"] == "r1"
    assert claude_code.cut(cut.lines).leaf == "r1"


def test_gaps_are_bridged() -> None:
    lines = [asked("p1", None), said("a1", "gone"), asked("p2", "lost"), said("a2", "p2")]
    assert uuids(claude_code.cut(lines, turn=1)) == "p1 a1"
    cut = claude_code.cut(lines, turn=2)
    assert uuids(cut) == "p1 a1 p2 a2"
    # The client ends where a parent is missing, so none is.
    assert [json.loads(raw)["parentUuid"] for raw in cut.lines] == [None, "p1", "a1", "p2"]


def test_lines_that_come_before_their_parents() -> None:
    lines = [asked("p1", None), got("r1", "c1", "t1"), used("c1", "p1", "t1", of="m"),
             said("a1", "r1"), asked("p2", "a1")]  # fmt: skip
    assert uuids(claude_code.cut(lines, turn=1)) == "p1 r1 c1 a1"


def test_lines_that_are_their_own_parents_end() -> None:
    lines = [
        asked("p1", "a1"),
        said("a1", "p1"),
        said("a2", "a2"),
        other("x", "y"),
        other("y", "x"),
    ]
    assert "p1 a1" in uuids(claude_code.cut(lines, turn=1))


def test_a_compaction_goes_on_from_what_it_names_or_from_what_is_before_it() -> None:
    for named in ("a1", "gone", None):
        boundary = other("b", None, subtype="compact_boundary", logicalParentUuid=named)
        summary = user("This session …", uuid="s", parentUuid="b", isCompactSummary=True)
        lines = [*TALK[:2], boundary, summary, asked("p2", "s"), said("a2", "p2")]
        cut = claude_code.cut(lines, turn=2)
        assert (uuids(cut), cut.turns, cut.compacted) == ("p1 a1 b s p2 a2", (1, 2), True)


def test_a_fork_that_begins_with_a_summary_is_no_fresh_start() -> None:
    boundary = other("b", None, subtype="compact_boundary", logicalParentUuid="gone")
    summary = user("This session …", uuid="s", parentUuid="b", isCompactSummary=True)
    cut = claude_code.cut([boundary, summary, asked("p1", "s"), said("a1", "p1")], turn=0)
    assert (uuids(cut), cut.fresh, cut.turns) == ("b s", False, ())


def test_what_older_clients_wrote_of_subagents_stays_with_its_turn() -> None:
    side = [user("task", uuid="x1", parentUuid=None, isSidechain=True),
            said("x2", "x1", isSidechain=True)]  # fmt: skip
    lines = [TALK[0], *side, TALK[1], *TALK[2:]]
    assert uuids(claude_code.cut(lines, turn=1)) == "p1 x1 x2 a1"
    assert uuids(claude_code.cut([*TALK[:3], *side, TALK[3]], turn=1)) == "p1 a1"


# -- turns that aren't finished -----------------------------------------------------------


def test_a_turn_in_progress_is_taken_up_to_its_last_complete_step() -> None:
    lines = [*TALK, asked("p3", "a2"), said("a3", "p3"), used("c1", "a3", "t1", of="m"),
             used("c2", "c1", "t2", of="m"), got("r1", "c1", "t1")]  # fmt: skip
    with pytest.raises(SessionError, match="turn 3 isn't finished"):
        claude_code.cut(lines, turn=3)
    cut = claude_code.cut(lines)
    assert (uuids(cut), cut.turns) == ("p1 a1 p2 a2 p3 a3", (1, 2, 3))
    assert cut.remark == "its last step isn't finished, and is left out"
    assert claude_code.cut([*lines, got("r2", "c2", "t2")], turn=3).leaf in ("r1", "r2")


def test_a_response_goes_as_a_whole() -> None:
    lines = [*TALK[:3], answer(words("Let me see."), id="m", uuid="a2", parentUuid="p2"),
             used("c1", "a2", "t1", of="m")]  # fmt: skip
    assert uuids(claude_code.cut(lines)) == "p1 a1 p2"


def test_a_turn_that_broke_off_long_ago_is_as_the_client_went_on_from_it() -> None:
    lines = [*TALK[:3], used("c1", "p2", "t1", of="m"), asked("p3", "c1"), said("a3", "p3")]
    assert uuids(claude_code.cut(lines, turn=2)) == "p1 a1 p2 c1"
    assert uuids(claude_code.cut(lines, turn=3)) == "p1 a1 p2 c1 p3 a3"


def test_calls_that_the_server_answered_are_complete() -> None:
    blocks = [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
              {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}]  # fmt: skip
    lines = [asked("p1", None), answer(*blocks, id="m", uuid="a1", parentUuid="p1")]
    assert claude_code.cut(lines, turn=1).remark == ""


# -- forks --------------------------------------------------------------------------------


def test_a_forks_lines_follow_those_that_it_goes_on_from() -> None:
    parent = [*TALK, asked("p3", "a2"), said("a3", "p3")]
    own = [line(type="mode", uuid=None), asked("q1", "a1"), said("b1", "q1")]
    found = claude_code.join(parent, own)
    assert found == (*TALK[:2], *own)
    assert claude_code.join(parent, TALK) == TALK


def test_a_fork_of_what_its_parent_does_not_have() -> None:
    with pytest.raises(SessionError, match="isn't in its parent"):
        claude_code.join(TALK, [asked("q1", "gone")])


# -- anything -----------------------------------------------------------------------------


def build(kind: str, uuid: str, parent: str | None, number: int) -> bytes:
    if kind == "asked":
        return asked(uuid, parent)
    if kind == "said":
        return said(uuid, parent)
    if kind == "used":
        return used(uuid, parent or "x", f"t{number}", of=f"m{number}")
    if kind == "got":
        return got(uuid, parent or "x", f"t{number}")
    return other(uuid, parent) if kind == "other" else b'{"uuid": 1\n'


LINES = st.lists(
    st.builds(
        build,
        st.sampled_from(["asked", "said", "used", "got", "other", "broken"]),
        st.sampled_from("abcdefgh"),
        st.sampled_from([None, *"abcdefgh"]),
        st.integers(0, 3),
    ),
    max_size=16,
)


@settings(max_examples=300)
@given(LINES, st.one_of(st.none(), st.integers(-1, 6)))
def test_any_lines_give_a_cut_or_the_reason_why_not(lines: list[bytes], turn: int | None) -> None:
    try:
        cut = claude_code.cut(lines, turn=turn)
    except SessionError as error:
        assert error.message
        return
    assert cut.fresh == (not cut.lines)
    names = uuids(cut).removesuffix(" -").split()
    assert len(set(names)) == len(names)
    read = [json.loads(raw) for raw in lines if raw.endswith(b"}\n")]
    assert set(names) <= {entry["uuid"] for entry in read}
    if turn:
        assert turn in cut.turns


@given(st.binary(max_size=200), st.integers(0, 2))
def test_any_bytes_give_a_cut_or_the_reason_why_not(data: bytes, turn: int) -> None:
    with pytest.raises(SessionError):
        claude_code.cut(data.splitlines(keepends=True), turn=turn)
