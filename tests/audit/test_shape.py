"""A session's tree has the form that the format gives it."""

from __future__ import annotations

import json

import pytest

from tests.audit.ground import REF, Ground


def test_files_that_no_session_has(ground: Ground) -> None:
    ground.put("captures/link", b"/etc/passwd", mode="120000")
    assert f"error: {REF}: 'captures/link' is no plain file" in ground.said()
    ground.put("captures/link", b"#!/bin/sh", mode="100755")
    assert f"error: {REF}: 'captures/link' is no plain file" in ground.said()
    ground.put("captures/link", b"x")
    assert f"warning: {REF}: 'captures/link' is no file that a session has" in ground.said()
    ground.put("a/b/c/d/e/f/g/h/i", b"x")
    assert f"error: {REF}: it can't be read: its folders are too deep" in ground.said()


def test_a_record_that_is_gone(ground: Ground) -> None:
    ground.put("captures/2.json", None)
    said = ground.said()
    text = "'captures/2.jsonl.zst' belongs to no capture: it has no record"
    assert f"error: {REF}: {text}" in said
    assert any("is missing since, and no tombstone names it" in x for x in said)
    assert any("the session has no capture" in x for x in said)


def test_lines_that_are_gone(ground: Ground) -> None:
    ground.put("captures/2.jsonl.zst", None)
    assert f"error: {REF} capture 2: its lines are missing" in ground.said()


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"seq": 7}, "its record says to be of capture 7"),
        ({"session": "s2"}, "it holds a record of another session: s2"),
        ({"v": 9, "seq": "x"}, "a record of version 9, which this version doesn't know"),
        ({"seq": "x"}, "a record that can't be read: "),
    ],
)
def test_records_that_do_not_belong_there(
    ground: Ground, fields: dict[str, object], what: str
) -> None:
    ground.edit("captures/2.json", lambda record: record.update(fields))
    assert any(x.partition(": ")[2].startswith(f"{REF} capture 2: {what}") for x in ground.said())


def test_a_record_of_another_capture(ground: Ground) -> None:
    one, two = ground.read("captures/1.json"), ground.read("captures/2.json")
    ground.put("captures/2.json", f"{two}\n{one}\n".encode())
    said = ground.said()
    name = json.loads(one)["id"]
    assert f"error: {REF} capture 2: it holds a record of another capture: {name}" in said
    ground.put("captures/2.json", b"\n")
    assert f"error: {REF} capture 2: it has no record" in ground.said()


def test_a_record_in_the_wrong_folder(ground: Ground) -> None:
    files = ground.files()
    files["captures/0/2.json"] = files.pop("captures/2.json")
    ground.write(files, parent=ground.git("rev-parse", f"{REF}^"))
    assert f"error: {REF}: 'captures/0/2.json' is not where capture 2 belongs" in ground.said()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (None, "it has no session.json"),
        (b"{", "session.json can't be read"),
        (b'{"v":1,"session":"s2","agent":"a"}', "session.json is of another session: s2"),
        (b'{"v":2,"session":"s1","agent":"a"}', "it is of format 2, which this version"),
    ],
)
def test_a_head_that_is_wrong(ground: Ground, data: bytes | None, what: str) -> None:
    ground.put("session.json", data)
    assert any(x.partition(": ")[2].startswith(f"{REF}: {what}") for x in ground.said())


def test_refs_that_lead_to_no_session(ground: Ground) -> None:
    blob = ground.blob(b"x")
    ground.git("update-ref", "refs/sessions/blob", blob)
    ground.git("update-ref", "refs/sessions/code", "HEAD")
    said = ground.said()
    assert f"error: refs/sessions/blob: it can't be read: {blob} is not a commit" in said
    assert "error: refs/sessions/code: it has no session.json" in said
    assert "error: refs/sessions/code: it holds no capture" in said
    assert ground.said("s1") == []


def test_a_session_in_an_archive_is_checked_too(ground: Ground) -> None:
    tree = ground.git("rev-parse", f"{REF}^{{tree}}")
    made = ground.git("mktree", stdin=f"040000 tree {tree}\ts1\n")
    archive = "refs/sessions/archive/2026-11"
    ground.git("update-ref", archive, ground.git("commit-tree", "-m", "x", made))
    assert ground.said() == []
    ground.git("update-ref", "-d", REF)
    assert ground.said() == ground.said("s1") == []
    ground.put("s1/captures/2.json", None, ref=archive)
    text = "'captures/2.jsonl.zst' belongs to no capture: it has no record"
    assert f"error: {archive}:s1: {text}" in ground.said("s1")
    ground.put("odd", b"x", ref=archive)
    assert f"error: {archive}: 'odd' in it is no session" in ground.said()
