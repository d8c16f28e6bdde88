"""Where transcripts belong, how they come there, and what changes in them on the way."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsession.agents import claude_code, claude_paths
from gitsession.agents.base import Side, Stamp
from gitsession.errors import SessionError
from gitsession.ids import SessionId
from tests.agents.claude_samples import (
    NAMES,
    SESSION,
    answer,
    call,
    line,
    lines_of,
    result,
    subagents_of,
    user,
)

NEW = SessionId("99999999-8888-7777-6666-555555555555")
OLD = SessionId(SESSION)
LONG = "/" + "/".join(f"part-{n}" for n in range(40))


# -- where --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/dev/project", "-home-dev-project"),
        ("/a.b", "-a-b"),
        ("/a_b", "-a-b"),
        ("/a-b", "-a-b"),
        ("/A b", "-A-b"),
        ("/a--b//c", "-a--b--c"),
        ("/.hidden/x", "--hidden-x"),
        ("/caf\u00e9", "-caf-"),
        ("/cafe\u0301", "-cafe-"),
        ("/\u65e5\u672c", "---"),
        ("/\U0001f600", "---"),
        ("/new\nline", "-new-line"),
        ("/" + "a" * 199, "-" + "a" * 199),
        ("/" + "a" * 200, "-" + "a" * 199 + "-b6ymvl"),
        (LONG, "-" + LONG[1:200].replace("/", "-") + "-puuebe"),
        ("/" + "\U0001f600" * 120, "-" * 200 + "-fp2zqh"),
    ],
)
def test_a_folder_has_the_clients_name(folder: str, name: str) -> None:
    assert claude_paths.encode_project(folder) == name


def test_a_place_is_that_of_the_real_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    places = {
        claude_code.place_of(tmp_path / name, NEW, {"HOME": "/home/ann"})
        for name in ("real", "link")
    }
    name = claude_paths.encode_project(os.path.realpath(tmp_path / "real"))
    assert places == {Path(f"/home/ann/.claude/projects/{name}/{NEW}.jsonl")}
    other = claude_code.place_of(tmp_path, NEW, {"HOME": "/home/ann", "CLAUDE_CONFIG_DIR": "/c"})
    assert other.parts[:3] == ("/", "c", "projects")


@pytest.mark.parametrize("session", ["", "..", "../../x", "a/b", "-x", "x" * 36, f"{NEW}\n"])
def test_what_is_no_session_of_the_client_has_no_place(session: str) -> None:
    with pytest.raises(SessionError, match="named by UUIDs"):
        claude_code.place_of(Path("/"), SessionId(session), {"HOME": "/h"})


def test_without_a_home_there_is_no_place() -> None:
    with pytest.raises(SessionError, match="HOME"):
        claude_code.place_of(Path("/"), NEW, {})


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "a\nb", "x" * 300])
def test_what_is_no_name_has_no_place_beside(name: str) -> None:
    with pytest.raises(SessionError, match="can't be the name"):
        claude_code.side_place(Path("/p/s.jsonl"), Side(kind="result", name=name, data=b""))


# -- what changes -------------------------------------------------------------------------


def prepared(raw: bytes, **how: Any) -> dict[str, Any]:
    (out,) = claude_code.prepare([raw], **{"session": OLD, **how})
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_where_nothing_changes_every_byte_stays(name: str) -> None:
    lines = lines_of(name)
    session = claude_code.session_of(
        str(Path(__file__).parent.parent / f"data/claude/{name}.jsonl")
    )
    assert session
    same = list(claude_code.prepare(lines, session=session, roots={"/elsewhere": "/here"}))
    assert same == [raw for raw in lines if raw in same]
    assert [t.messages for t in claude_code.read_turns(same)] == [
        t.messages for t in claude_code.read_turns(lines)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_another_session_differs_in_its_names_alone(name: str) -> None:
    lines = claude_code.cut(lines_of(name)).lines
    changed = list(claude_code.prepare(lines, session=NEW, parent=OLD))
    for before, after in zip(map(json.loads, lines), map(json.loads, changed), strict=True):
        assert after.pop("sessionId") == NEW
        assert after.pop("forkedFrom") == {"sessionId": OLD, "messageUuid": before["uuid"]}
        assert after == {k: v for k, v in before.items() if k not in ("sessionId", "forkedFrom")}
    origin = claude_code.parent_of(changed)
    assert origin is not None
    assert origin.session == OLD


def test_values_keep_their_bytes() -> None:
    raw = (b'{"sessionId": "old", "type":"user", "n":1.50, "big":123456789012345678901234567890,'
           b' "s":"\\u00e9\\/", "deep":{"a" : [1,  2]}}\n')  # fmt: skip
    (out,) = claude_code.prepare([raw], session=NEW)
    assert out == (b'{"sessionId":"%s","type":"user","n":1.50,"big":123456789012345678901234567890,'
                   b'"s":"\\u00e9\\/","deep":{"a" : [1,  2]}}\n' % NEW.encode())  # fmt: skip


ROOTS = {"/home/ann/project": "/work/bob", "/home/ann/project/sub": "/elsewhere", "C:\\ann": "/c"}


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/home/ann/project", "/work/bob"),
        ("/home/ann/project/", "/work/bob/"),
        ("/home/ann/project/a/b.py", "/work/bob/a/b.py"),
        ("/home/ann/project/sub/b.py", "/elsewhere/b.py"),
        ("/home/ann/project2/b.py", "/home/ann/project2/b.py"),
        ("/x/home/ann/project", "/x/home/ann/project"),
        ("C:\\ann\\a\\b.py", "/c/a/b.py"),
        ("a/b.py", "a/b.py"),
    ],
)
def test_a_path_that_is_a_value_is_mapped(path: str, there: str) -> None:
    found = prepared(line(type="user", cwd=path), roots=ROOTS)
    assert found["cwd"] == there
    asked = prepared(answer(call("Edit", file_path=path)), roots=ROOTS)
    assert asked["message"]["content"][0]["input"] == {"file_path": there}
    told = prepared(result({"filePath": path, "filenames": [path, 1], "a": [{"path": path}]}),
                    roots=ROOTS)  # fmt: skip
    assert told["toolUseResult"] == {
        "filePath": there, "filenames": [there, 1], "a": [{"path": there}]
    }  # fmt: skip


def test_paths_are_found_however_they_are_spelled() -> None:
    for ascii_only in (True, False):
        entry = {"cwd": "/h/\u00e9/x", "type": "user"}
        raw = json.dumps(entry, ensure_ascii=ascii_only).encode()
        assert prepared(raw, roots={"/h/\u00e9/": "/new"})["cwd"] == "/new/x"


def test_free_text_is_left_alone() -> None:
    words = "look at /home/ann/project/a.py"
    lines = [
        user(words),
        answer({"type": "text", "text": words}),
        answer(call("Bash", command="cat /home/ann/project/a.py")),
        answer(call("Write", content="/home/ann/project", file_path="/x")),
        result({"stdout": "/home/ann/project/a.py"}, content="/home/ann/project/a.py"),
        user([{"type": "tool_result", "tool_use_id": "t", "content": [
            {"type": "text", "text": "/home/ann/project"}]}]),
    ]  # fmt: skip
    assert list(claude_code.prepare(lines, session=OLD, roots=ROOTS)) == lines


OUTPUT = "<persisted-output>\nOutput too large (2KB). Full output saved to: {}\n\nPreview:\n1\n"


def test_a_large_result_is_where_it_was_put() -> None:
    old, new = "/home/ann/.claude/projects/-p/s/tool-results/b1.txt", "/home/bob/results/b1.txt"
    for content in (OUTPUT.format(old), [{"type": "text", "text": OUTPUT.format(old)}]):
        raw = result({"persistedOutputPath": old, "stdout": "1"}, content=content)
        found = prepared(raw, results={"b1.txt": new})
        assert found["toolUseResult"]["persistedOutputPath"] == new
        (block,) = found["message"]["content"]
        text = block["content"] if isinstance(content, str) else block["content"][0]["text"]
        assert text == OUTPUT.format(new)
        assert prepared(raw, results={"other.txt": new}) == json.loads(raw)


def test_signed_thinking_is_never_touched() -> None:
    block = {"type": "thinking", "thinking": "see /home/ann/project", "signature": "abc"}
    raw = answer(block, call("Edit", file_path="/home/ann/project/a"), uuid="u")
    found = prepared(raw, session=NEW, parent=OLD, roots=ROOTS)
    assert found["message"]["content"][0] == block
    assert found["message"]["content"][1]["input"] == {"file_path": "/work/bob/a"}


def test_signed_thinking_that_would_change_goes() -> None:
    odd = {"type": "thinking", "thinking": "x", "signature": "abc", "path": "/home/ann/project/a"}
    found = prepared(answer(odd, call("Edit", id="t9")), roots=ROOTS)
    assert [block["type"] for block in found["message"]["content"]] == ["tool_use"]


@pytest.mark.parametrize(
    "raw",
    [b"{", b"[1]\n", b"\xff\n", b'"x"\n', b"{}", b"", b"\n", b'{"uuid":"u","type":1}',
     line(type="mode"), line(type="permission-mode", permissionMode="acceptEdits"),
     line(type="queue-operation"), line(type="worktree-state")],
)  # fmt: skip
def test_what_is_no_part_of_the_conversation_stays_behind(raw: bytes) -> None:
    assert list(claude_code.prepare([raw], session=NEW, parent=OLD, roots=ROOTS)) == []


def test_halves_of_characters_do_not_keep_a_line_from_its_session() -> None:
    found = prepared(b'{"sessionId":"x","type":"user","text":"a\\ud83d"}', session=NEW)
    assert found["sessionId"] == NEW


def test_depth_without_end_is_left_alone() -> None:
    value = b"[" * 500 + b'"/home/ann/project"' + b"]" * 500
    raw = b'{"type":"user","a":' + value + b"}\n"
    (out,) = claude_code.prepare([raw], session=NEW, parent=OLD, roots=ROOTS)
    assert value in out
    deeper = raw.replace(b"[", b"[" * 100).replace(b"]", b"]" * 100)
    assert list(claude_code.prepare([deeper], session=NEW, roots=ROOTS)) in ([], [deeper])


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["cwd", "path", "content", "text", "x"]), inner, max_size=3
        ),
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=6), JSON, max_size=4))
def test_mapping_there_and_back_is_nothing(entry: dict[str, Any]) -> None:
    entry = {**entry, "type": "user", "cwd": "/a/b", "inner": {"path": "/a/b/c", "note": "/a/b"}}
    raw = msgspec.json.encode(entry) + b"\n"
    (there,) = claude_code.prepare([raw], session=OLD, roots={"/a/b": "/z\u00e9\n"})
    assert json.loads(there)["inner"] == {"path": "/z\u00e9\n/c", "note": "/a/b"}
    (back,) = claude_code.prepare([there], session=OLD, roots={"/z\u00e9\n": "/a/b"})
    assert (
        json.loads(back) == json.loads(raw) | {"sessionId": OLD}
        if "sessionId" in entry
        else (json.loads(raw))
    )


def test_of_what_lies_beside_only_what_is_named_goes_along() -> None:
    sides = [
        Side(kind="subagent", name="agent-a1", data=b'{"toolUseResult":{"agentId":"b2"}}'),
        Side(kind="subagent", name="agent-b2", data=b'"r1.txt"'),
        Side(kind="subagent", name="agent-c3", data=b""),
        Side(kind="result", name="r1.txt", data=b""),
        Side(kind="result", name="r2.txt", data=b"a1"),
    ]
    lines = [result({"agentId": "a1"})]
    names = [side.name for side in claude_code.select(lines, sides)]
    assert names == ["agent-a1", "agent-b2", "r1.txt"]
    assert claude_code.select([], sides) == ()


def test_subagents_are_described_by_the_calls_that_began_them() -> None:
    for name in ("subagent", "bg-subagent"):
        sides = [Side(kind="subagent", name=agent, data=b"".join(told))
                 for agent, told in subagents_of(name).items()]  # fmt: skip
        (side,) = claude_code.select(lines_of(name), sides)
        about = json.loads(side.about)
        assert (about["agentType"], about["toolUseId"][:11]) == ("general-purpose", "toolu_fake2"
                if name == "subagent" else "toolu_faked")  # fmt: skip
        known = msgspec.structs.replace(sides[0], about=b"{}")
        assert claude_code.select(lines_of(name), [known]) == (known,)


# -- putting it there ---------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return claude_code.place_of(tmp_path, NEW, {"HOME": str(tmp_path / "home")})


SIDES = (
    Side(kind="subagent", name="agent-a1", data=b"{}\n", about=b"{1}"),
    Side(kind="result", name="r1.txt", data=b"one\n"),
)


def files_of(place: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(place.parent)): p.read_bytes()
        for p in sorted(place.parent.rglob("*"))
        if p.is_file()
    }


def test_a_transcript_is_placed_with_what_lies_beside_it(place: Path) -> None:
    assert claude_code.install(place, [b"1\n", b"2\n"], SIDES) == "placed"
    assert files_of(place) == {
        f"{NEW}.jsonl": b"1\n2\n",
        f"{NEW}/subagents/agent-a1.jsonl": b"{}\n",
        f"{NEW}/subagents/agent-a1.meta.json": b"{1}",
        f"{NEW}/tool-results/r1.txt": b"one\n",
    }
    assert claude_code.read_sides(str(place)) == SIDES
    for path in place.parent.rglob("*"):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted


def test_another_transcript_is_never_overwritten(place: Path) -> None:
    claude_code.install(place, [b"theirs\n"])
    assert claude_code.install(place, [b"ours\n"], SIDES) == "taken"
    assert files_of(place) == {f"{NEW}.jsonl": b"theirs\n"}


def test_the_same_transcript_is_there_already(place: Path) -> None:
    claude_code.install(place, [b"ours\n"])
    before = place.stat()
    assert claude_code.install(place, [b"ours\n"], SIDES) == "same"
    assert (place.stat().st_ino, place.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert len(files_of(place)) == 4


def test_what_lies_beside_a_transcript_already_stays(place: Path) -> None:
    path = claude_code.side_place(place, SIDES[1])
    path.parent.mkdir(parents=True)
    path.write_bytes(b"theirs\n")
    claude_code.install(place, [b"ours\n"], SIDES)
    assert path.read_bytes() == b"theirs\n"


def test_a_transcript_is_replaced_only_as_it_was_seen(place: Path) -> None:
    claude_code.install(place, [b"old\n"])
    seen = claude_paths.stamp_of(place)
    assert claude_code.install(place, [b"old\n", b"new\n"], instead=seen) == "placed"
    assert claude_code.install(place, [b"newer\n"], instead=seen) == "taken"
    gone = Stamp(size=1, changed=1)
    assert claude_code.install(place.with_name("x.jsonl"), [b"x\n"], instead=gone) == "taken"
    assert files_of(place) == {f"{NEW}.jsonl": b"old\nnew\n"}


def test_a_link_is_never_followed(place: Path, tmp_path: Path) -> None:
    place.parent.mkdir(parents=True)
    target = tmp_path / "target"
    place.symlink_to(target)
    assert claude_code.install(place, [b"ours\n"]) == "taken"
    assert not target.exists()
    place.unlink()
    (tmp_path / "away").mkdir()
    place.with_suffix("").symlink_to(tmp_path / "away")
    with pytest.raises(SessionError, match="is a link"):
        claude_code.install(place, [b"ours\n"], SIDES)
    assert not place.exists()
    assert list((tmp_path / "away").iterdir()) == []


def test_a_transcript_that_comes_meanwhile_stays(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def come(*_: object) -> None:
        place.write_bytes(b"theirs\n")

    monkeypatch.setattr(claude_paths, "_install_sides", come)
    assert claude_code.install(place, [b"ours\n"]) == "taken"
    assert files_of(place) == {f"{NEW}.jsonl": b"theirs\n"}
    seen = claude_paths.stamp_of(place)
    monkeypatch.setattr(claude_paths, "_install_sides", lambda *_: place.write_bytes(b"newer\n"))
    assert claude_code.install(place, [b"ours\n"], instead=seen) == "taken"
    assert files_of(place) == {f"{NEW}.jsonl": b"newer\n"}


class _Killed(BaseException):
    """What a kill is to the code that it hits."""


@pytest.mark.parametrize("name", ["link", "fsync", "open", "replace"])
@pytest.mark.parametrize("at", range(1, 8))
def test_killed_at_any_step_nothing_is_there_by_half(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str, at: int
) -> None:
    real = getattr(os, name)
    calls = iter(range(1, 100))

    def kill(*args: Any, **more: Any) -> Any:
        if next(calls) == at:
            raise _Killed
        return real(*args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, kill)
        try:
            claude_code.install(place, [b"1\n", b"2\n"], SIDES)
            done = True
        except _Killed:
            done = False
    whole = {
        f"{NEW}.jsonl": b"1\n2\n",
        f"{NEW}/subagents/agent-a1.jsonl": b"{}\n",
        f"{NEW}/subagents/agent-a1.meta.json": b"{1}",
        f"{NEW}/tool-results/r1.txt": b"one\n",
    }
    left = files_of(place)
    assert left.items() <= whole.items()
    # The transcript comes last: what is there is resumed with all that lies beside it.
    assert f"{NEW}.jsonl" not in left or left == whole
    assert not done or left == whole
    assert claude_code.install(place, [b"1\n", b"2\n"], SIDES) in ("placed", "same")
    assert files_of(place) == whole


def test_lines_that_break_off_place_nothing(place: Path) -> None:
    def lines() -> Iterator[bytes]:
        yield b"1\n"
        raise SessionError("the rest isn't here")

    with pytest.raises(SessionError):
        claude_code.install(place, lines(), SIDES)
    assert files_of(place) == {}


# -- copies that are there to be forked ---------------------------------------------------


def test_a_staged_copy_goes_when_its_fork_is_there(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / "home")}
    copy, fork = (SessionId(f"{n}0000000-0000-0000-0000-000000000000") for n in (1, 2))
    staged, forked = (claude_code.place_of(tmp_path, s, env) for s in (copy, fork))
    lines = [user("hello", cwd=str(tmp_path))]
    own = list(claude_code.prepare(lines, session=copy, parent=OLD, staged_for=fork))
    claude_code.install(staged, own)
    assert claude_code.sweep(tmp_path, env) == []
    # It is nobody's session: whoever looks for sessions to import passes over it.
    assert claude_code.list_sources(tmp_path, env) == []
    claude_code.install(forked, claude_code.prepare(lines, session=fork, parent=OLD))
    assert claude_code.list_sources(tmp_path, env) == [str(forked)]
    assert claude_code.sweep(tmp_path, env) == [staged]
    assert (staged.exists(), forked.exists()) == (False, True)


def test_what_broke_off_long_ago_goes(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / "home")}
    folder = claude_code.place_of(tmp_path, NEW, env).parent
    folder.mkdir(parents=True)
    old, new = folder / ".new-1-a", folder / ".new-2-b"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    claude_code.sweep(tmp_path, env)
    assert list(folder.iterdir()) == [new]


def test_a_copy_that_somebody_went_on_with_is_a_session_and_stays(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path / "home")}
    copy, fork = (SessionId(f"{n}0000000-0000-0000-0000-000000000000") for n in (1, 2))
    staged, forked = (claude_code.place_of(tmp_path, s, env) for s in (copy, fork))
    lines = [user("hello", cwd=str(tmp_path))]
    claude_code.install(staged, claude_code.prepare(lines, session=copy, staged_for=fork))
    claude_code.install(forked, claude_code.prepare(lines, session=fork))
    with staged.open("ab") as file:
        file.write(user("go on", cwd=str(tmp_path)))
    assert claude_code.sweep(tmp_path, env) == []
    assert set(claude_code.list_sources(tmp_path, env)) == {str(staged), str(forked)}


# -- starting -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, ["claude", "--session-id", NEW]),
        ({"resume": NEW}, ["claude", "-r", NEW]),
        ({"resume": OLD}, ["claude", "-r", OLD, "--fork-session", "--session-id", NEW]),
        ({"resume": NEW, "prompt": "go", "headless": True},
         ["claude", "-p", "-r", NEW, "--", "go"]),
        ({"prompt": "--help"}, ["claude", "--session-id", NEW, "--", "--help"]),
    ],
)  # fmt: skip
def test_the_client_is_started_so(how: dict[str, Any], words: list[str]) -> None:
    found = claude_code.launch(Path("/work/tree"), NEW, {"PATH": "/bin"}, **how)
    assert (list(found.argv), found.cwd, found.env) == (words, "/work/tree", {"PATH": "/bin"})


def test_a_client_started_by_a_client_is_no_part_of_it() -> None:
    env = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x", "GIT_DIR": "/r/.git", "HOME": "/h",
           "CLAUDE_BIN": "/opt/claude", "CLAUDE_CONFIG_DIR": "/c"}  # fmt: skip
    found = claude_code.launch(Path("/w"), NEW, env)
    assert found.argv[0] == "/opt/claude"
    assert set(found.env) == {"HOME", "CLAUDE_BIN", "CLAUDE_CONFIG_DIR"}
