from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsession.store import spool

lines = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=20)
names = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", min_size=1, max_size=8)


@given(
    event=st.sampled_from(["post-commit", "post-merge", "post-rewrite", "agent"]),
    word=lines, ref=lines, cwd=lines, args=lines,
    env=st.dictionaries(names, lines.filter(bool), max_size=3),
    body=st.binary(max_size=200),
)  # fmt: skip
def test_what_is_written_is_read(
    event: str, word: str, ref: str, cwd: str, args: str, env: dict[str, str], body: bytes
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "spool"
        spool.write(folder, event, word=word, ref=ref, cwd=cwd, args=args, env=env, body=body)
        [found] = spool.read(folder)
        assert (found.event, found.word, found.ref, found.cwd) == (event, word, ref, cwd)
        assert (found.args, found.env, found.body) == (args, env, body)


@given(body=st.binary(max_size=60), cut=st.integers(min_value=1, max_value=5))
def test_a_torn_event_is_left_alone(body: bytes, cut: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = spool.write(Path(name), "agent", body=body)
        path.write_bytes(path.read_bytes()[:-cut])
        assert spool.read(Path(name)) == []
        assert path.exists()


@given(data=st.binary(max_size=300))
def test_any_bytes_are_an_event_or_none(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name, "x.event").write_bytes(data + b"\nend\n")
        assert len(spool.read(Path(name))) <= 1


@pytest.mark.parametrize("data", [b"event agent\nword pro", b"nonsense\n\nend\n"])
def test_what_was_torn_a_day_ago_is_removed(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.event"
    path.write_bytes(data)
    os.utime(path, times=(0, time.time() - spool.TORN_AFTER - 60))
    assert spool.read(tmp_path) == []
    assert not path.exists()


def test_events_come_oldest_first(tmp_path: Path) -> None:
    for number in (3, 1, 2):
        path = spool.write(tmp_path, "agent", head=str(number))
        os.utime(path, ns=(0, number * 10**9))
    assert [event.at for event in spool.read(tmp_path)] == [1.0, 2.0, 3.0]


def test_a_dropped_event_is_gone_and_may_be_dropped_again(tmp_path: Path) -> None:
    assert spool.is_empty(tmp_path)
    spool.write(tmp_path, "post-commit")
    assert not spool.is_empty(tmp_path)
    [event] = spool.read(tmp_path)
    spool.drop(event)
    spool.drop(event)
    assert spool.is_empty(tmp_path)


def test_two_events_of_one_process_are_two_files(tmp_path: Path) -> None:
    assert spool.write(tmp_path, "agent") != spool.write(tmp_path, "agent")
    assert len(spool.read(tmp_path)) == 2


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    path = spool.write(tmp_path / "spool", "agent")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_value_with_a_newline_is_left_out(tmp_path: Path) -> None:
    spool.write(tmp_path, "agent", cwd="/a\nword evil", env={"HOME": "/h\n"})
    [found] = spool.read(tmp_path)
    assert (found.cwd, found.word, found.env) == ("", "", {})


def test_a_huge_body_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "LIMIT", 100)
    spool.write(tmp_path, "post-rewrite", args="rebase", body=b"x" * 1000)
    [found] = spool.read(tmp_path)
    assert found.args == "rebase"
    assert 0 < len(found.body) < 100


def test_links_other_files_and_a_missing_folder_are_no_events(tmp_path: Path) -> None:
    path = spool.write(tmp_path / "elsewhere", "agent")
    (tmp_path / "link.event").symlink_to(path)
    (tmp_path / "note").write_text("x")
    assert spool.read(tmp_path) == []
    assert spool.read(tmp_path / "missing") == []
    assert spool.is_empty(tmp_path / "missing")


def test_it_is_light_to_import() -> None:
    code = (
        "import sys, gitsession.store.spool\n"
        "print(*{'msgspec', 'click', 'pygit2', 'git', 'subprocess', 'json'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
