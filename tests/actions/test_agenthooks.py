from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsession.actions import agenthooks, jsontext
from gitsession.agents.base import HookEntry
from gitsession.errors import NotFound, Unreadable

HOOKS = (
    HookEntry(event="SessionStart", word="session-start", timeout=5),
    HookEntry(event="Stop", word="turn-ended", timeout=5),
)
AGENT = "claude-code"
ODD = (
    '{ "permissions": {"allow":["a",\n "b"]},\n\n\t"hooks" : {\n'
    '\t\t"Stop":[ {"hooks": [{"type":"command","command":"say done"}]} ],\n'
    '\t\t"Other": []\n\t}, "x": 1.0e3\n  }'
)


def commands(text: str, event: str) -> list[str]:
    groups = json.loads(text).get("hooks", {}).get(event, [])
    return [entry["command"] for group in groups for entry in group["hooks"]]


def test_an_empty_file_becomes_settings_of_ours() -> None:
    text = agenthooks.add("", HOOKS, AGENT)
    assert text.endswith("}\n")
    assert json.loads(text)["hooks"]["Stop"] == [
        {
            "hooks": [
                {
                    "type": "command",
                    "command": agenthooks.command_line(AGENT, "turn-ended"),
                    "timeout": 5,
                }
            ]
        }
    ]


@pytest.mark.parametrize(
    "text",
    ["{}", "{}\n", ODD, ODD.replace("\n", "\r\n"), '{"a":1}', '{\n    "a": [],\n    "b": {}\n}\n'],
)
def test_nothing_else_changes(text: str) -> None:
    added = agenthooks.add(text, HOOKS, AGENT)
    assert agenthooks.missing(added, HOOKS, AGENT) == []
    assert agenthooks.add(added, HOOKS, AGENT) == added
    taken = agenthooks.take_out(added)
    assert taken == text
    assert commands(added, "Stop")[:-1] == commands(text, "Stop")
    assert list(json.loads(added))[: len(json.loads(text))] == list(json.loads(text))


def test_indentation_and_line_ends_are_the_files_own() -> None:
    text = '{\r\n\t"a": 1\r\n}\r\n'
    added = agenthooks.add(text, HOOKS, AGENT)
    assert added.startswith(
        '{\r\n\t"a": 1,\r\n\t"hooks": {\r\n\t\t"SessionStart": [\r\n\t\t\t{\r\n'
    )
    assert "\n" not in added.replace("\r\n", "")


def test_an_entry_that_is_not_as_it_should_be_is_replaced() -> None:
    old = agenthooks.add("{}", HOOKS, AGENT).replace("2>/dev/null; d=", "; d=")
    assert agenthooks.missing(old, HOOKS, AGENT) == ["SessionStart", "Stop"]
    new = agenthooks.add(old, HOOKS, AGENT)
    assert commands(new, "Stop") == [agenthooks.command_line(AGENT, "turn-ended")]


def test_an_event_that_is_no_longer_needed_is_taken_out() -> None:
    text = agenthooks.add(agenthooks.add("{}", HOOKS, AGENT), HOOKS[:1], AGENT)
    assert list(json.loads(text)["hooks"]) == ["SessionStart"]


def test_an_entry_beside_somebody_elses_goes_alone() -> None:
    ours = agenthooks.command_line(AGENT, "turn-ended")
    entries = [{"command": "a"}, {"command": ours}, {"command": "b"}, {"command": ours}]
    text = json.dumps({"hooks": {"Stop": [{"matcher": "x", "hooks": entries}]}})
    assert json.loads(agenthooks.take_out(text)) == {
        "hooks": {"Stop": [{"matcher": "x", "hooks": [{"command": "a"}, {"command": "b"}]}]}
    }


@pytest.mark.parametrize(
    "text",
    [
        "// x\n{}",
        "[]",
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        "{",
        '{"hooks": {}, "hooks": {}}',
    ],
)
def test_what_could_only_be_guessed_at_is_refused(text: str) -> None:
    for act in (agenthooks.take_out, lambda given: agenthooks.add(given, HOOKS, AGENT)):
        with pytest.raises(Unreadable) as caught:
            act(text)
        assert caught.value.hint


@pytest.mark.parametrize(
    "text", ['{"hooks": {"Stop": [1, {"hooks": 2}, {"hooks": [3, {"command": 4}]}, null]}}']
)
def test_entries_of_unknown_shape_stay(text: str) -> None:
    assert agenthooks.take_out(agenthooks.add(text, HOOKS, AGENT)) == text


def test_an_unknown_agent_has_no_settings() -> None:
    with pytest.raises(NotFound):
        agenthooks.file_name("nobody", shared=False)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    settings=st.dictionaries(
        st.text(max_size=5).filter(lambda k: k != "hooks"), json_values, max_size=4
    ),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    escaped=st.booleans(),
)
def test_any_settings_come_back(
    settings: dict[str, Any], indent: int | str | None, escaped: bool
) -> None:
    text = json.dumps(settings, indent=indent, ensure_ascii=escaped)
    added = agenthooks.add(text, HOOKS, AGENT)
    parsed = json.loads(added)
    assert list(parsed.pop("hooks")) == ["SessionStart", "Stop"]
    assert parsed == settings
    assert agenthooks.take_out(added) == text


@given(value=json_values, indent=st.sampled_from([None, 2]))
def test_every_value_is_found_where_it_stands(value: object, indent: int | None) -> None:
    text = " " + json.dumps(value, indent=indent) + "\n"
    node = jsontext.parse(text)
    assert jsontext.value(text, node) == value
    if isinstance(value, dict):
        assert {
            k: jsontext.value(text, c) for k, c in zip(node.keys, node.children, strict=True)
        } == value
    if isinstance(value, list):
        assert [jsontext.value(text, child) for child in node.children] == value
