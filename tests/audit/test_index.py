"""The index says what the session refs say."""

from __future__ import annotations

import json

import pytest

from gitsession.store import tombstones
from tests.audit.ground import INDEX, REF, Ground


def test_a_record_that_the_index_lacks(ground: Ground) -> None:
    ground.put(ground.note(ground.second), None, ref=INDEX)
    what = f"the index lacks its record at {ground.second[:12]}"
    (found,) = ground.findings()
    assert (found.where, found.what) == (f"{REF} capture 3", what)
    assert "reindex" in found.hint
    assert ground.said("s1") == [f"error: {REF} capture 3: {what}"]


def test_an_index_that_is_not_there(ground: Ground) -> None:
    ground.git("update-ref", "-d", INDEX)
    assert ground.said() == [f"error: {INDEX}: there is no index here"]


def test_a_record_too_many(ground: Ground) -> None:
    note = ground.note(ground.second)
    record = json.loads(ground.read(note, INDEX))
    more = [{**record, "id": "0" * 40}, {**record, "session": "s9", "id": "1" * 40}]
    lines = [json.dumps(x, sort_keys=True, separators=(",", ":")) for x in (record, *more)]
    ground.put(note, "\n".join([*lines, ""]).encode(), ref=INDEX)
    where = f"index, note of {ground.second[:12]}, session s1 capture 3"
    assert ground.said() == [f"error: {where}: the session has no capture {'0' * 40}"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"prompt": "x"}, "error: the session's own record says otherwise: prompt"),
        ({"unheard": 1}, "error: the session's own record says otherwise: unknown"),
        ({"seq": 9}, "warning: in its session it is capture 3"),
        ({"seq": 9, "rewritten_from": "0" * 40}, None),
    ],
)
def test_a_record_that_says_otherwise(
    ground: Ground, fields: dict[str, object], said: str | None
) -> None:
    ground.edit(ground.note(ground.second), lambda record: record.update(fields), ref=INDEX)
    found = [f"{x.level}: {x.what}" for x in ground.findings()]
    assert found == ([said] if said else [])


def test_a_record_of_another_commit(ground: Ground) -> None:
    """As git itself copies notes, where the user has set notes.rewriteRef."""
    third = ground.scratch.commit("third", {"c": "d"})
    ground.git("notes", "--ref=sessions", "copy", ground.second, third)
    where = f"index, note of {third[:12]}, session s1 capture 3"
    what = f"the record belongs to commit {ground.second[:12]}"
    assert ground.said() == [f"warning: {where}: {what}"]


def test_a_tie_that_the_session_does_not_have(ground: Ground) -> None:
    third = ground.scratch.commit("third", {"c": "d"})
    text = ground.read(ground.note(ground.second), INDEX).replace(ground.second, third)
    ground.put(ground.note(third), f"{text}\n".encode(), ref=INDEX)
    where = f"index, note of {third[:12]}, session s1 capture 3"
    what = "the session doesn't have this record of its capture"
    assert ground.said() == [f"error: {where}: {what}"]
    ground.edit(
        ground.note(third), lambda record: record.update(rewritten_from=ground.second), ref=INDEX
    )
    assert ground.said() == []
    ground.edit(ground.note(third), lambda record: record.update(id="0" * 40), ref=INDEX)
    assert ground.said() == [f"error: {where}: the session has no capture {'0' * 40}"]


def test_lines_that_are_no_records(ground: Ground) -> None:
    note = ground.note(ground.second)
    text = ground.read(note, INDEX)
    ground.put(note, f'{text}\nhello\n{{"v":7}}\n'.encode(), ref=INDEX)
    where = f"index, note of {ground.second[:12]}"
    assert ground.said() == [
        f"error: {where}: a record that can't be read: b'hello'",
        f"warning: {where}: a record of version 7, which this version doesn't know",
    ]
    assert len(ground.said("HEAD")) == 2
    assert ground.said("s1") == []


def test_files_that_do_not_belong_there(ground: Ground) -> None:
    note = ground.note(ground.second)
    text = ground.read(note, INDEX).encode() + b"\n"
    ground.put("odd", b"x", ref=INDEX)
    assert ground.said() == [f"warning: {INDEX} 'odd': it is no note and no tombstone"]
    ground.put("odd", b"x", mode="120000", ref=INDEX)
    assert ground.said() == [f"error: {INDEX} 'odd': it is no plain file"]
    ground.put("odd", None, ref=INDEX)
    ground.put(ground.second, text, ref=INDEX)
    assert len(ground.said()) == 1
    assert ground.said()[0].endswith("the commit has a second note")
    ground.put(note, None, ref=INDEX)
    assert ground.said() == []


def test_notes_of_what_is_no_commit_or_not_here(ground: Ground) -> None:
    blob = ground.blob(b"x")
    ground.put(ground.note(blob), b'{"v":7}\n', ref=INDEX)
    nowhere = "1" * len(blob)
    ground.put(ground.note(nowhere), b'{"v":7}\n', ref=INDEX)
    said = ground.said()
    assert f"warning: index, note of {blob[:12]}: it is on a blob, not on a commit" in said
    assert not any("not on a commit" in x and nowhere[:12] in x for x in said)


def test_tombstones_that_are_odd(ground: Ground) -> None:
    ground.put("forgotten/s7", b'hello\n{"v":1,"session":"s8"}\n', ref=INDEX)
    where = f"warning: {INDEX} 'forgotten/s7'"
    assert sorted(ground.said()) == [
        f"{where}: it holds a tombstone that can't be read",
        f"{where}: it holds the tombstone of another session",
    ]


def test_a_large_output_that_was_forgotten(ground: Ground) -> None:
    path = "results/b1.txt.zst"
    ground.put(path, b"", on=ground.git("rev-parse", REF))
    blob = ground.files()[path][1]
    line = json.dumps({"v": 1, "session": "s1", "blobs": [blob]})
    ground.put(f"{tombstones.FOLDER}/s1", line.encode() + b"\n", ref=INDEX)
    assert f"error: {REF} {path!r}: it was forgotten, and is still here" in ground.said()


def test_an_index_that_is_no_tree_of_notes(ground: Ground) -> None:
    tree = ground.git("mktree", stdin=f"100644 blob {ground.blob(b'x')}\tx\n")
    for name in "abcdefghi":
        tree = ground.git("mktree", stdin=f"040000 tree {tree}\t{name}\n")
    ground.git("update-ref", INDEX, ground.git("commit-tree", "-m", "x", tree))
    assert ground.said() == [f"error: {INDEX}: it can't be read: its folders are too deep"]
