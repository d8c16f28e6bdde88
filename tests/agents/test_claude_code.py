"""Hooks, files and lines of Claude Code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsession import agents
from gitsession.agents import claude_code
from gitsession.agents.base import Edit, EventName, Line
from gitsession.ids import SessionId
from gitsession.model import Parent, Tokens
from tests.agents.claude_samples import (
    DATA,
    NAMES,
    SESSION,
    answer,
    call,
    line,
    lines_of,
    result,
    subagents_of,
    user,
)  # fmt: skip

PROMPTS = {
    "api-error": ["apierr"],
    "auto-compact": ["hi", "big one", "after"],
    "bg-subagent": ["use two background agents"],
    "commits": [
        "plain commit", "add and commit", "cd and commit", "git -C", "amend", "script",
        "nothing to commit", "two commits", "heredoc", "other repo", "two calls", "background",
        "prepush fail",
    ],
    "compact-headless": ["hi", "hi"],
    "files": ["files please"],
    "image": ["image please"],
    "interrupt-text": ["hi", "slow now", "hi again"],
    "interrupt-tool": ["toolint now", "hi"],
    "large": ["large output"],
    "mcp": ["use mcp"],
    "parallel": ["parallel calls"],
    "permission": ["ask permission", "ask again"],
    "rename": ["hi", "hi"],
    "rewind-interrupt": [
        "first prompt", "second prompt", "third prompt", "rewound prompt", "slow text", "slowtool",
    ],
    "rewind-interrupt-branch": ["first prompt", "rewound prompt", "slowtool", "forked prompt"],
    "rewind-then-exit": ["first prompt", "second prompt", "third prompt"],
    "simple-01-first": ["say hello"],
    "simple-02-resumed": ["say hello", "second prompt"],
    "simple-03-forked": ["say hello", "second prompt", "third prompt"],
    "skill": ["skill please"],
    "slash-command": ["/sess:fork abc123"],
    "subagent": ["use a subagent please"],
    "thinking": ["one", "two", "three"],
    "tui-01-before-clear": ["first prompt", "second prompt"],
    "tui-02-original": ["first prompt", "second prompt"],
    "tui-03-after-clear-and-compact": ["after clear", "after compact"],
}  # fmt: skip


def parsed(name: str) -> list[Line]:
    return [claude_code.parse_line(raw) for raw in lines_of(name)]


def test_the_adapter_matches_the_protocol() -> None:
    adapter = agents.get("claude-code")
    assert (adapter.NAME, adapter.TITLE) == ("claude-code", "Claude Code")
    assert {hook.event for hook in adapter.HOOKS} == {
        "SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "StopFailure", "SubagentStop",
        "SessionEnd",
    }  # fmt: skip
    assert all(hook.timeout > 0 for hook in adapter.HOOKS)


# -- prompts ------------------------------------------------------------------------------


def test_every_recording_has_its_prompts() -> None:
    found = {name: [p.prompt for p in parsed(name) if p.prompt is not None] for name in NAMES}
    assert found == PROMPTS


@pytest.mark.parametrize(
    ("raw", "prompt"),
    [
        (user("hello"), "hello"),
        (user([{"type": "text", "text": "hello"}]), "hello"),
        (user([{"type": "text", "text": "look"}, {"type": "image", "source": {}}]), "look"),
        (user([{"type": "image", "source": {}}]), "[image]"),
        (user([{"type": "text", "text": "<ide_opened_file>x"}, {"type": "text", "text": "go"}]),
         "go"),
        (user("hello", isMeta=True), None),
        (user("hello", isSidechain=True), None),
        (user("This session is being continued", isCompactSummary=True), None),
        (user([{"type": "tool_result", "tool_use_id": "t", "content": "x"}]), None),
        (user("rejected", toolUseResult="Error: no"), None),
        (user("<command-name>/clear</command-name>"), None),
        (user("<local-command-stdout>Bye</local-command-stdout>"), None),
        (user("<bash-input>ls</bash-input>"), None),
        (user("<bash-stdout>x</bash-stdout>", turnOrigin="human"), None),
        (user("<task-notification>done", promptSource="system", turnOrigin="task"), None),
        (user([{"type": "text", "text": "[Request interrupted by user for tool use]"}]), None),
        (user("[Request interrupted by user is odd", promptSource="typed"),
         "[Request interrupted by user is odd"),
        (user("<command-message>review</command-message>\n<command-name>/review</command-name>\n"
              "<command-args>foo</command-args>"), "/review foo"),
        (user("<command-name>/review</command-name>", turnOrigin="human"), "/review"),
        (user(""), None),
        (user(7), None),
        (line(type="user", message="plain"), None),
        (line(type="assistant", message={"role": "user", "content": "hello"}), None),
    ],
)  # fmt: skip
def test_a_prompt_is_what_the_user_said(raw: bytes, prompt: str | None) -> None:
    assert claude_code.parse_line(raw).prompt == prompt


# -- lines --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"\n", b"{", b"null", b"[]", b"7", b'"x"', b"\xff\xfe", b"[" * 100_000,
        b'{"a":' * 100_000, b'{"type":"user","uuid":"u"', b"\xef\xbb\xbf{}",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_empty_line(raw: bytes) -> None:
    assert claude_code.parse_line(raw) == Line()


def test_fields_of_a_wrong_type_cost_only_themselves() -> None:
    raw = line(
        type="assistant",
        cwd=7,
        gitBranch=["x"],
        isSidechain="no",
        version="2.1",
        message={
            "id": "m",
            "model": {"not": "text"},
            "usage": {"input_tokens": 3, "output_tokens": "many"},
            "content": [
                7,
                None,
                {"type": 8},
                call("Bash", command="ls"),
                call("Edit", file_path=7),
            ],
        },
    )
    found = claude_code.parse_line(raw)
    assert (found.cwd, found.branch, found.version, found.message) == ("", "", "2.1", "m")
    assert found.tokens == Tokens(input=3)
    assert [(c.name, c.command) for c in found.calls] == [("Bash", "ls"), ("Edit", "")]


def test_bad_bytes_and_half_surrogates_are_mended() -> None:
    raw = b'{"type":"user","message":{"content":"a\xffb\\ud83d c \\ud83d\\ude00 \\\\ud83d"}}'
    assert claude_code.parse_line(raw).prompt == "a\ufffdb\ufffd c \U0001f600 \\ud83d"


def test_a_huge_line_is_read() -> None:
    text = "x" * 50_000_000
    found = claude_code.parse_line(result({"stdout": "done", "interrupted": False}, content=text))
    assert found.outcomes[0].id == "t1"


def test_a_response_tells_model_tokens_and_place() -> None:
    usage = {
        "input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 4,
    }  # fmt: skip
    raw = answer({"type": "text", "text": "hi"}, usage=usage, cwd="/w", gitBranch="main")
    found = claude_code.parse_line(raw)
    assert found.tokens == Tokens(input=1, output=2, cache_read=3, cache_write=4)
    assert (found.model, found.message, found.cwd, found.branch) == ("m", "m1", "/w", "main")
    assert found.speaks
    assert claude_code.parse_line(user("x", gitBranch="HEAD")).branch == ""


def test_the_clients_own_answers_have_no_model() -> None:
    (error,) = [p for p in parsed("api-error") if p.message]
    assert (error.model, error.tokens) == ("", None)


def test_bookkeeping_does_not_speak() -> None:
    speaking = [p for p in parsed("files") if p.speaks]
    assert len(speaking) == 8
    assert not claude_code.parse_line(line(type="progress", data={})).speaks


@pytest.mark.parametrize(
    ("block", "edits"),
    [
        (call("Write", file_path="a", content="1\n2\n"), [Edit(path="a", added=("1", "2"))]),
        (call("Edit", file_path="a", old_string="x\nold\ny", new_string="x\nnew\ny"),
         [Edit(path="a", added=("new",), removed=("old",))]),
        (call("MultiEdit", file_path="a", edits=[{"old_string": "o", "new_string": "n"},
                                                 {"old_string": "p", "new_string": "q"}]),
         [Edit(path="a", added=("n", "q"), removed=("o", "p"))]),
        (call("NotebookEdit", notebook_path="n.ipynb", new_source="x = 1"),
         [Edit(path="n.ipynb", added=("x = 1",))]),
        (call("Read", file_path="a"), []),
        (call("Write", content="no path"), []),
    ],
)  # fmt: skip
def test_calls_say_what_they_mean_to_write(block: dict[str, Any], edits: list[Edit]) -> None:
    (found,) = claude_code.parse_line(answer(block)).calls
    assert list(found.edits) == edits


def test_calls_say_what_they_run() -> None:
    raw = answer(call("Bash", command="git commit"), call("Task", "t2", prompt="go"))
    shell, task = claude_code.parse_line(raw).calls
    assert (shell.command, shell.delegates) == ("git commit", False)
    assert (task.name, task.delegates) == ("Task", True)
    assert claude_code.parse_line(answer(call("Agent"))).calls[0].delegates


PATCH = [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2,
          "lines": [" one", "-two", "+2", "\\ No newline at end of file"]}]  # fmt: skip


@pytest.mark.parametrize(
    ("told", "edits"),
    [
        ({"filePath": "a", "structuredPatch": PATCH},
         [Edit(path="a", added=("2",), removed=("two",))]),
        ({"type": "create", "filePath": "a", "content": "x\ny", "structuredPatch": []},
         [Edit(path="a", added=("x", "y"))]),
        ({"type": "update", "filePath": "a", "content": "x", "structuredPatch": []},
         [Edit(path="a")]),
        ({"filePath": "a", "structuredPatch": []}, []),
        ({"notebook_path": "n", "new_source": "b", "original_file": "[\n a\n]",
          "updated_file": "[\n b\n]"}, [Edit(path="n", added=(" b",), removed=(" a",))]),
        ({"notebook_path": "n", "new_source": "b"}, [Edit(path="n", added=("b",))]),
        ({"filePath": "a", "structuredPatch": [7, {"lines": [8]}]}, []),
        ({"filePath": 7, "type": "create", "content": "x"}, []),
        ("Error: no", []),
        ([{"type": "text", "text": "x"}], []),
        (None, []),
    ],
)  # fmt: skip
def test_results_say_what_they_wrote(told: Any, edits: list[Edit]) -> None:
    (found,) = claude_code.parse_line(result(told)).outcomes
    assert list(found.edits) == edits


@pytest.mark.parametrize(
    ("told", "commits"),
    [
        ({"stdout": "", "gitOperation": {"commit": {"sha": "abc1234"}}}, ("abc1234",)),
        ({"stdout": "[main abc1234] x\n 1 file\n[main def5678] y",
          "gitOperation": {"commit": {"sha": "abc1234"}}}, ("abc1234", "def5678")),
        ({"stdout": "ok\n[detached HEAD abc1234] x"}, ("abc1234",)),
        ({"stdout": "[main (root-commit) abc1234] x"}, ("abc1234",)),
        ({"stdout": "a [main abc1234] x"}, ()),
        ({"stdout": "[warn something] x"}, ()),
        ("Error: Exit code 1\n[main abc1234] x", ("abc1234",)),
        ({"stdout": "abc1234 x", "gitOperation": 7}, ()),
    ],
)  # fmt: skip
def test_results_name_commits(told: Any, commits: tuple[str, ...]) -> None:
    assert claude_code.parse_line(result(told)).outcomes[0].commits == commits


def test_a_subagents_commits_are_named_by_its_answers() -> None:
    (said,) = subagents_of("subagent").values()
    named = [sha for raw in said for o in claude_code.parse_line(raw).outcomes for sha in o.commits]
    assert named == ["344fcfc"]


def test_a_result_fails_by_its_error_or_by_interruption() -> None:
    def failed(raw: bytes) -> bool:
        return claude_code.parse_line(raw).outcomes[0].failed

    assert failed(result("Error", failed=True))
    assert failed(result({"stdout": "", "interrupted": True}))
    assert not failed(result({"stdout": "", "interrupted": False}))


def test_the_recorded_commits_are_named() -> None:
    named = [sha for p in parsed("commits") for o in p.outcomes for sha in o.commits]
    assert named == [
        "b2d32af", "494ded6", "5ab26c2", "5097066", "44d53ab", "251879e", "dc7eafc", "11bfe76",
    ]  # fmt: skip
    typed = parsed("tui-03-after-clear-and-compact")
    assert [sha for p in typed for o in p.outcomes for sha in o.commits] == ["2dec645"]


@pytest.mark.parametrize("name", NAMES)
def test_every_result_has_its_call(name: str) -> None:
    lines = parsed(name)
    calls = [c.id for p in lines for c in p.calls]
    results = [o.id for p in lines for o in p.outcomes if o.id.startswith("toolu_")]
    assert sorted(calls) == sorted(results)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_a_line(raw: bytes) -> None:
    assert isinstance(claude_code.parse_line(raw), Line)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ("uuid", "cwd", "message", "toolUseResult", "isMeta", "forkedFrom", "timestamp",
          "attachment", "data", "content", "subtype", "promptSource")  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries({"type": st.sampled_from(["user", "assistant"])},
                             optional=dict.fromkeys(FIELDS, JSON)), JSON)  # fmt: skip
def test_any_object_gives_a_line(fields: dict[str, Any], content: Any) -> None:
    fields.setdefault("message", {"content": content})
    assert isinstance(claude_code.parse_line(json.dumps(fields).encode()), Line)


# -- forks and seals ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("simple-03-forked", ("09475358-c7b6-4597-a833-8ffc2e043a17", 2)),
        ("rewind-interrupt-branch", ("7bca9878-13f9-4a8a-97a2-1c7278df8ba1", 3)),
        ("simple-02-resumed", None),
        ("tui-03-after-clear-and-compact", None),
    ],
)
def test_a_fork_names_its_parent(name: str, parent: tuple[str, int] | None) -> None:
    expected = Parent(session=SessionId(parent[0]), turn=parent[1]) if parent else None
    assert claude_code.parent_of(lines_of(name)) == expected


THOUGHT = {"type": "thinking", "thinking": "the key is k3y", "signature": "c2ln"}


def test_changed_thinking_is_dropped_and_nothing_else() -> None:
    kept = {"type": "thinking", "thinking": "fine", "signature": "c2lnMg=="}
    hidden = {"type": "redacted_thinking", "data": "AAAA"}
    words = {"type": "text", "text": "k3y"}
    before = answer(kept, THOUGHT, hidden, words, extra={"a": [1, 2]})
    after = claude_code.drop_broken_seals(before, before.replace(b"k3y", b"***"))
    rest = answer(kept, hidden, words, extra={"a": [1, 2]}).replace(b"k3y", b"***")
    assert json.loads(after) == json.loads(rest)
    head, tail = rest.split(b'"content": [')[0], rest[rest.index(b"]}, ") :]
    assert after.startswith(head)
    assert after.endswith(tail)


def test_a_line_with_only_changed_thinking_stays_without_it() -> None:
    before = answer(THOUGHT)
    after = claude_code.drop_broken_seals(before, before.replace(b"k3y", b"***"))
    assert json.loads(after)["message"]["content"] == []
    assert after.endswith(b"\n")


def test_unchanged_thinking_stays_when_the_rest_of_the_line_changes() -> None:
    before = answer(THOUGHT, {"type": "text", "text": "secret"})
    after = before.replace(b"secret", b"***")
    assert claude_code.drop_broken_seals(before, after) == after


def test_content_that_occurs_twice_is_cut_in_the_message() -> None:
    before = answer(THOUGHT)
    content = json.dumps([THOUGHT]).encode()
    before = b'{"copy":' + content + b"," + before[1:]
    after = claude_code.drop_broken_seals(before, before.replace(b"k3y", b"***"))
    assert json.loads(after)["message"]["content"] == []


@settings(deadline=None)
@given(st.binary(max_size=100), st.binary(max_size=100))
def test_seals_of_any_bytes(before: bytes, after: bytes) -> None:
    assert isinstance(claude_code.drop_broken_seals(before, b'{"signature"' + after), bytes)


# -- events and files ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "word", "reason"),
    [
        ("SessionStart-fork", "session-start", "fork"),
        ("SessionStart-startup", "session-start", "startup"),
        ("SessionEnd-clear", "session-end", "clear"),
        ("PreCompact-auto", "compacting", "auto"),
        ("Stop", "turn-ended", ""),
        ("StopFailure", "turn-ended", ""),
        ("SubagentStop", "subagent-ended", ""),
        ("UserPromptSubmit", "prompt", ""),
        ("PostToolUse-Bash", "tool-used", ""),
    ],
)
def test_payloads_of_the_real_client(name: str, word: EventName, reason: str) -> None:
    payload = (DATA / "hooks" / f"{name}.json").read_bytes()
    event = claude_code.parse_event(word, payload)
    assert event is not None
    assert (event.name, event.reason, event.cwd) == (word, reason, "/home/dev/project")
    assert event.source.endswith(f"{event.session}.jsonl")


def test_a_start_after_a_compaction_tells_of_the_compaction() -> None:
    payload = (DATA / "hooks" / "SessionStart-compact.json").read_bytes()
    event = claude_code.parse_event("session-start", payload)
    assert event is not None
    assert (event.name, event.reason) == ("compacting", "compact")


@pytest.mark.parametrize("payload", [b"", b"{}", b"[]", b'{"session_id":7}', b"\xff", b"nonsense"])
def test_what_is_no_payload_is_no_event(payload: bytes) -> None:
    assert claude_code.parse_event("prompt", payload) is None


def test_the_session_is_in_the_environment() -> None:
    assert claude_code.detect({"CLAUDE_CODE_SESSION_ID": SESSION}) == SESSION
    assert claude_code.detect({"CLAUDECODE": "1"}) is None
    assert claude_code.detect({"CLAUDE_CODE_SESSION_ID": ""}) is None


def place(home: Path, slug: str, name: str, *lines: bytes) -> Path:
    path = home / ".claude" / "projects" / slug / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def test_a_session_is_found_by_its_id_and_the_newest_wins(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    assert claude_code.find_source(SessionId(SESSION), env) is None
    old = place(tmp_path, "-a", SESSION, user("old"))
    new = place(tmp_path, "-b", SESSION, user("new"))
    os.utime(old, (1, 1))
    assert claude_code.find_source(SessionId(SESSION), env) == str(new)
    moved = {"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
    assert claude_code.find_source(SessionId(SESSION), moved) == str(new)
    for name in ("../-a/" + SESSION, "*", "", "a.b", "-x"):
        assert claude_code.find_source(SessionId(name), env) is None
    assert claude_code.find_source(SessionId(SESSION), {}) is None


def test_sources_belong_to_a_folder_by_their_own_word(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(work)
    first = line(type="queue-operation")
    inside = place(tmp_path, "-x", "s1", first, user("a", cwd=str(work)))
    below = place(tmp_path, "-x", "s2", user("a", cwd=str(work / "sub")))
    linked = place(tmp_path, "-y", "s3", b"broken\n", user("a", cwd=str(tmp_path / "link")))
    place(tmp_path, "-x", "s4", user("a", cwd=str(tmp_path / "work-other")))
    place(tmp_path, "-x", "s5", first)
    place(tmp_path, "-x", "s6", user("a", cwd="\0"))
    place(tmp_path, "-x", "agent-1", user("a", cwd=str(work), isSidechain=True))
    expected = sorted([str(inside), str(below), str(linked)])
    assert sorted(claude_code.list_sources(work, env)) == expected
    assert sorted(claude_code.list_sources(tmp_path / "link", env)) == expected
    assert claude_code.list_sources(work / "sub", env) == [str(below)]


def test_the_session_of_a_source(tmp_path: Path) -> None:
    named = place(tmp_path, "-x", "other-name", b"broken\n", user("a"))
    assert claude_code.session_of(str(named)) == SESSION
    silent = place(tmp_path, "-x", "s5", b'{"type":"file-history-snapshot"}\n')
    assert claude_code.session_of(str(silent)) == "s5"
    assert claude_code.session_of(str(tmp_path / "absent.jsonl")) == "absent"


def test_side_sources_are_plain_files_in_order(tmp_path: Path) -> None:
    main = place(tmp_path, "-x", SESSION, user("a"))
    beside = main.with_suffix("")
    for name in (
        "subagents/agent-b.jsonl", "subagents/agent-a.jsonl", "subagents/agent-a.meta.json",
        "subagents/.hidden.jsonl", "tool-results/r1.txt", "tool-results/sub/r2.txt",
    ):  # fmt: skip
        (beside / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / name).write_text("x")
    (beside / "tool-results" / "link.txt").symlink_to("/etc/hosts")
    found = [(s.kind, s.name) for s in claude_code.side_sources(str(main))]
    assert found == [("subagent", "agent-a"), ("subagent", "agent-b"), ("result", "r1.txt")]
    assert claude_code.side_sources(str(tmp_path / "absent.jsonl")) == []
