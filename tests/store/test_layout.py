"""Paths inside a session's tree are safe, and lead back to what they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsession.store import layout


@given(st.integers(1, 10**8))
def test_a_record_path_leads_back_to_its_number(seq: int) -> None:
    folder, _, path = layout.record(seq).partition("/")
    assert folder == layout.CAPTURES
    assert layout.seq_of(path) == seq


@given(st.integers(1, 10**8))
def test_a_segment_is_no_record_and_lies_beside_it(seq: int) -> None:
    path = layout.segment(seq)
    assert layout.seq_of(path.removeprefix(layout.CAPTURES + "/")) is None
    assert path.removesuffix(".jsonl.zst") == layout.record(seq).removesuffix(".json")


@pytest.mark.parametrize(
    ("seq", "path"),
    [
        (1, "captures/1.json"),
        (99, "captures/99.json"),
        (100, "captures/1/100.json"),
        (199, "captures/1/199.json"),
        (12345, "captures/123/12345.json"),
    ],
)
def test_the_first_hundred_lie_open_and_the_others_in_folders(seq: int, path: str) -> None:
    assert layout.record(seq) == path


def test_no_folder_has_the_name_of_a_file() -> None:
    paths = [p for seq in range(1, 1200) for p in (layout.record(seq), layout.segment(seq))]
    folders = {path.rpartition("/")[0] for path in paths}
    assert not folders & set(paths)
    assert len(set(paths)) == len(paths)


@pytest.mark.parametrize(
    "path", ["x.json", "1.jsonl.zst", "1", "1.json/x", "a/1.json", "-1.json", "1234567890.json", ""]
)
def test_other_paths_have_no_number(path: str) -> None:
    assert layout.seq_of(path) is None


@given(st.text())
def test_any_name_becomes_one_plain_component(name: str) -> None:
    plain = layout.safe(name)
    assert plain
    assert plain.strip(".")
    assert "/" not in plain
    assert len(plain) <= 151
    assert plain.isascii()
    assert layout.safe(plain) == plain


@pytest.mark.parametrize("name", ["..", ".", "", "../../x", "a/b", "/etc/passwd", ".git", "a\0b"])
def test_no_name_leads_out_of_its_folder(name: str) -> None:
    for path in (layout.subagent(name, 1), layout.result(name)):
        parts = path.split("/")
        assert ".." not in parts
        assert "" not in parts
        assert ".git" not in parts
        assert len(parts) == path.count("/") + 1


def test_known_paths() -> None:
    assert layout.subagent("agent-a1", 3) == "subagents/agent-a1/3.jsonl.zst"
    assert layout.result("b7.txt") == "results/b7.txt.zst"


@given(st.sets(st.integers(100, 199)))
def test_the_numbers_in_a_folder_are_read_from_its_tree(seqs: set[int]) -> None:
    names = sorted(f"{seq}{end}" for seq in seqs for end in (".json", ".jsonl.zst"))
    tree = b"".join(b"100644 %s\0%s" % (name.encode(), bytes(20)) for name in names)
    assert set(layout.seqs_in(tree)) == seqs
    assert layout.seqs_in(b"40000 1.json\0" + bytes(20)) == ()
