"""A session only ever grows, unless a tombstone says why not."""

from __future__ import annotations

import json

import zstandard

from gitsession import config
from gitsession.ids import CaptureId, SessionId
from gitsession.store import codec, tombstones
from gitsession.store.tombstones import Tombstone
from gitsession.sync.bury import bury
from tests.audit.ground import INDEX, REF, Ground


def test_lines_that_were_changed_and_changed_back(ground: Ground) -> None:
    """The tip is right; what is wrong is how it came about."""
    path = "captures/1.jsonl.zst"
    good = ground.files()
    before = ground.git("rev-parse", REF)
    ground.put(path, codec.pack(b'{"said":"ONE"}\n'), on=before)
    ground.write(good, parent=ground.git("rev-parse", REF))
    assert [x.rpartition(": ")[2] for x in ground.said()] == [
        "capture 1 has other lines since (main)",
        "capture 1 has other lines since (main)",
    ]


def test_the_same_lines_packed_otherwise_are_the_same(ground: Ground) -> None:
    before = ground.files()["captures/1.jsonl.zst"]
    packer = zstandard.ZstdCompressor(level=1, write_content_size=False, write_checksum=True)
    data = packer.compress(b'{"said":"one"}\n')
    ground.put("captures/1.jsonl.zst", data, on=ground.git("rev-parse", REF))
    assert ground.files()["captures/1.jsonl.zst"] != before
    assert all(x.startswith("warning: ") and "bytes are stored" in x for x in ground.said())


def test_a_capture_that_is_missing(ground: Ground) -> None:
    files = {path: x for path, x in ground.files().items() if not path.startswith("captures/2")}
    ground.write(files, parent=ground.git("rev-parse", REF))
    at = ground.git("rev-parse", REF)[:12]
    said = ground.said()
    lost = [x for x in said if x.startswith(f"error: {REF} commit {at}: capture 2 (")]
    assert [x.endswith("is missing since, and no tombstone names it") for x in lost] == [True]
    assert any("the session has no capture" in x for x in said)


def test_a_record_line_that_is_missing(ground: Ground) -> None:
    path = "captures/1.json"
    text = ground.read(path)
    tied = {**json.loads(text), "commit": ground.second}
    line = json.dumps(tied, sort_keys=True, separators=(",", ":"))
    ground.put(path, f"{text}\n{line}\n".encode(), on=ground.git("rev-parse", REF))
    assert [x.rpartition(": ")[2] for x in ground.said()] == [
        f"the index lacks its record at {ground.second[:12]}"
    ]
    ground.put(path, f"{text}\n".encode(), on=ground.git("rev-parse", REF))
    what = f"capture 1 lost its record of commit {ground.second[:12]}"
    assert [x.rpartition(": ")[2] for x in ground.said()] == [what]


def test_a_large_output_that_is_missing(ground: Ground) -> None:
    path = "results/b1.txt.zst"
    ground.put(path, codec.pack(b"large\n"), on=ground.git("rev-parse", REF))
    assert ground.said() == []
    ground.put(path, None, on=ground.git("rev-parse", REF))
    assert [x.rpartition(": ")[2] for x in ground.said()] == [f"{path!r} was taken out"]


def test_captures_that_change_their_place_are_the_same(ground: Ground) -> None:
    """As when somebody else's captures come between."""
    files = ground.files()
    files["captures/4.jsonl.zst"] = files.pop("captures/3.jsonl.zst")
    text = ground.read("captures/3.json").replace('"seq":3', '"seq":4')
    del files["captures/3.json"]
    files["captures/4.json"] = ("100644", ground.blob(text.encode() + b"\n"))
    ground.write(files, parent=ground.git("rev-parse", REF))
    assert [x.rpartition(", ")[2] for x in ground.said()] == [
        "session s1 capture 3: in its session it is capture 4"
    ]


def test_a_history_with_a_merge_or_a_gap(ground: Ground) -> None:
    tree = ground.git("rev-parse", f"{REF}^{{tree}}")
    old = ground.git("rev-parse", f"{REF}^")
    made = ground.git("commit-tree", "-m", "x", "-p", REF, "-p", old, tree)
    ground.git("update-ref", REF, made)
    assert ground.said() == [f"error: {REF} commit {made[:12]}: it has more than one parent"]
    nowhere = "1" * len(made)
    text = f"tree {tree}\nparent {nowhere}\nauthor a <b> 1 +0000\ncommitter a <b> 1 +0000\n\nx\n"
    made = ground.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text)
    (ground.scratch.path / ".git" / REF).write_text(f"{made}\n")
    what = f"its history can't be read: object {nowhere} is not in the repository"
    assert f"error: {REF}: {what}" in ground.said()


def test_captures_out_of_order(ground: Ground) -> None:
    ground.edit("captures/2.json", lambda x: x.update(captured_at="2999-01-01T00:00:00.000Z"))
    assert any(
        x.startswith(f"error: {REF} capture 3: it was captured at ") and "before capture 2" in x
        for x in ground.said()
    )


def test_a_capture_that_is_there_twice(ground: Ground) -> None:
    files = ground.files()
    text = ground.read("captures/3.json").replace('"seq":3', '"seq":4')
    files["captures/4.json"] = ("100644", ground.blob(text.encode() + b"\n"))
    files["captures/4.jsonl.zst"] = files["captures/3.jsonl.zst"]
    ground.write(files, parent=ground.git("rev-parse", REF))
    assert f"error: {REF} capture 3: another capture has the same id" in ground.said()


def test_a_fork_whose_records_say_otherwise(ground: Ground) -> None:
    ground.edit(
        "captures/2.json", lambda fields: fields.update(parent={"session": "s0", "turn": 3})
    )
    what = "its record and session.json don't agree on what it is a fork of"
    assert f"error: {REF} capture 2: {what}" in ground.said()


def test_somebody_elses_name(ground: Ground) -> None:
    files, parent = ground.files(), ground.git("rev-parse", f"{REF}^")
    ground.edit("captures/3.json", lambda x: x["author"].update(name="Ann"))
    what = "it is by Dev <dev@example.com>, and its record says Ann <dev@example.com>"
    assert any(x.startswith("warning: ") and x.endswith(what) for x in ground.said())
    ground.write(files, parent=parent)
    assert ground.said() == []


# -- forgotten ------------------------------------------------------------------------------


def put_stone(ground: Ground, capture: str | None = None) -> Tombstone:
    """Put a tombstone into the index."""
    named = CaptureId(capture) if capture else None
    stone = Tombstone(v=1, session=SessionId("s1"), capture=named)
    ground.put(tombstones.path_of(stone.session), tombstones.encode([stone]), ref=INDEX)
    return stone


def test_what_was_forgotten_and_is_still_here(ground: Ground) -> None:
    put_stone(ground)
    said = ground.said()
    assert f"error: {REF}: it was forgotten, and is still here" in said
    assert sum(x.endswith("it was forgotten, and its record is still there") for x in said) == 3
    assert all("forgotten" in x for x in said)


def test_a_capture_that_was_forgotten(ground: Ground) -> None:
    name = json.loads(ground.read("captures/2.json"))["id"]
    stone = put_stone(ground, capture=name)
    assert f"error: {REF} capture 2: it was forgotten, and is still here" in ground.said()
    with ground.clone.open() as repo:
        bury(repo, tombstones.named_by([stone]), config.load(ground.scratch.path))
    said = ground.said()
    assert [x.rpartition(": ")[2] for x in said] == [
        "it was forgotten, and its record is still there"
    ]
    note = ground.note(ground.first)
    kept = [x for x in ground.read(note, INDEX).splitlines() if name not in x]
    ground.put(note, "\n".join([*kept, ""]).encode(), ref=INDEX)
    assert ground.said() == []
