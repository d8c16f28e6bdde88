"""What is stored is compared with what the records say of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitsession.store import codec
from tests.audit.ground import REF, Ground

SEGMENT = "captures/2.jsonl.zst"
WHERE = f"error: {REF} capture 2"
GOOD = b'{"said":"two"}\n'


def test_other_lines(ground: Ground) -> None:
    ground.put(SEGMENT, codec.pack(b'{"said":"TWO"}\n'))
    assert any(x.startswith(f"{WHERE}: its lines are not those of its") for x in ground.said())
    assert any("capture 2 has other lines since (main)" in x for x in ground.said())


def test_an_altered_id(ground: Ground) -> None:
    ground.edit("captures/2.json", lambda fields: fields.update(id="0" * 40))
    said = ground.said()
    assert any(x.startswith(WHERE) and x.endswith(f"not {'0' * 40}") for x in said)
    assert any("capture 2" in x and "is missing since" in x for x in said)
    assert any("the session has no capture" in x for x in said)


def test_an_altered_offset(ground: Ground) -> None:
    ground.edit("captures/2.json", lambda fields: fields.update(offset=1))
    assert any(x.startswith(f"{WHERE}: its lines are not those") for x in ground.said())


def test_altered_sizes(ground: Ground) -> None:
    ground.edit("captures/2.json", lambda fields: fields.update(raw_size=7, size=8))
    said = ground.said("s1")
    assert f"{WHERE}: it has 15 bytes, and its record says 7" in said
    stored = len(codec.pack(GOOD))
    assert f"warning: {REF} capture 2: {stored} bytes are stored, and its record says 8" in said


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (codec.pack(GOOD)[:-5], "its end is missing"),
        (codec.pack(GOOD)[:-1] + b"\0", "is damaged"),
        (GOOD, "is damaged"),
        (b"", "its end is missing"),
        (codec.pack(b"a" * (8 << 20)), "unpacks to more than"),
    ],
    ids=["truncated", "checksum", "plain", "empty", "bomb"],
)
def test_what_does_not_unpack(ground: Ground, data: bytes, why: str) -> None:
    ground.put(SEGMENT, data)
    assert any(x.startswith(f"{WHERE}: its lines: ") and why in x for x in ground.said())


def test_lines_that_are_no_json_are_a_warning(ground: Ground) -> None:
    ground.put(SEGMENT, codec.pack(b'{"said":"two"}\n{"cut\n\n[1,\n'))
    expected = "its lines: 2 lines are no JSON, the first is line 2"
    assert f"warning: {REF} capture 2: {expected}" in ground.said()


@pytest.mark.parametrize("damage", ["absent", "damaged"])
def test_a_missing_and_a_damaged_object(ground: Ground, damage: str) -> None:
    oid = ground.files()[SEGMENT][1]
    path = loosen(ground, oid)
    path.unlink()
    if damage == "absent":
        assert f"{WHERE}: its lines: object {oid} is not in the repository" in ground.said()
    else:
        path.write_bytes(b"no object")
        assert any(x.startswith(f"{WHERE}: its lines: object {oid} is") for x in ground.said())
        assert any("capture 2" in x for x in ground.said("s1"))


def loosen(ground: Ground, oid: str) -> Path:
    """Make all objects loose; gives back the file of one."""
    objects = ground.scratch.path / ".git" / "objects"
    for pack in [*(objects / "pack").glob("*.pack")]:
        data = pack.read_bytes()
        for file in pack.parent.glob(f"{pack.stem}.*"):
            file.unlink()
        unpack = ["git", "unpack-objects", "-q"]
        subprocess.run(unpack, cwd=ground.scratch.path, input=data, check=True)
    return objects / oid[:2] / oid[2:]


def test_a_subagents_lines_are_part_of_the_id(ground: Ground) -> None:
    ground.put("subagents/agent-a1/2.jsonl.zst", codec.pack(GOOD))
    assert any(x.startswith(f"{WHERE}: its lines are not those") for x in ground.said())


def test_a_large_output_that_is_damaged(ground: Ground) -> None:
    ground.put("results/b1.txt.zst", codec.pack(b"large\n" * 1000)[:-4])
    assert any("'results/b1.txt.zst': a stored segment is damaged" in x for x in ground.said())
    ground.put("results/b1.txt.zst", codec.pack(b"a" * (8 << 20)))
    assert any("'results/b1.txt.zst': a stored segment unpacks" in x for x in ground.said())


def test_a_capture_that_was_forgotten_holds_nothing(ground: Ground) -> None:
    ground.edit("captures/2.json", lambda fields: fields.update(redactions={"forgotten": 1}))
    said = ground.said()
    assert f"{WHERE}: it was forgotten, and yet it holds something" in said
    assert f"warning: {REF} capture 2: it is empty, and no tombstone tells of it" in said
