"""The local folder: the registry, heads, the lock and the journal."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest

from gitsession.ids import Oid, SessionId
from gitsession.store import folder, heads, journal, registry
from gitsession.store.lock import held
from gitsession.store.registry import Known, Trace

ONE = Known(session=SessionId("one"), agent="claude-code", source="/x.jsonl", started_at=2.0)


# -- the registry ---------------------------------------------------------------------------


def test_a_session_is_found_again(tmp_path: Path) -> None:
    trace = Trace(path="a", offset=1, added=(1 << 54, 2), removed=(3,), seq=4)
    known = msgspec.structs.replace(ONE, traces=(trace,), scanned_sides={"agent-1": 5}, pid=7)
    registry.save(tmp_path, known)
    assert registry.find(tmp_path, SessionId("one")) == known
    assert registry.find(tmp_path, SessionId("two")) is None


def test_sessions_come_oldest_first(tmp_path: Path) -> None:
    older = msgspec.structs.replace(ONE, session=SessionId("zz"), started_at=1.0)
    registry.save(tmp_path, ONE)
    registry.save(tmp_path, older)
    assert registry.all_known(tmp_path) == [older, ONE]


def test_a_forgotten_session_is_gone_and_forgetting_twice_is_fine(tmp_path: Path) -> None:
    registry.save(tmp_path, ONE)
    registry.drop(tmp_path, ONE.session)
    registry.drop(tmp_path, ONE.session)
    assert registry.all_known(tmp_path) == []


@pytest.mark.parametrize("name", ["../../escape", "a/b", "", "-x", ".", "x" * 300, "archive", "é"])
def test_any_id_is_a_file_of_the_folder(tmp_path: Path, name: str) -> None:
    known = msgspec.structs.replace(ONE, session=SessionId(name))
    registry.save(tmp_path, known)
    assert registry.find(tmp_path, SessionId(name)) == known
    (path,) = folder.sessions(tmp_path).iterdir()
    assert path.suffix == ".json"


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b'{"session":1}'])
def test_a_damaged_entry_is_passed_over(tmp_path: Path, data: bytes) -> None:
    registry.save(tmp_path, ONE)
    (folder.sessions(tmp_path) / "two.json").write_bytes(data)
    assert registry.find(tmp_path, SessionId("two")) is None
    assert registry.all_known(tmp_path) == [ONE]


def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    registry.save(tmp_path, ONE)
    (path,) = folder.sessions(tmp_path).iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sub" / "file"
    folder.write_atomic(path, b"old")

    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        folder.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


# -- heads ----------------------------------------------------------------------------------


def test_each_work_tree_has_a_head_of_its_own(tmp_path: Path) -> None:
    main, linked = tmp_path, tmp_path / "worktrees" / "linked"
    heads.save(tmp_path, main, Oid("a" * 40))
    heads.save(tmp_path, linked, Oid("b" * 64))
    assert heads.find(tmp_path, main) == "a" * 40
    assert heads.find(tmp_path, linked) == "b" * 64
    assert heads.find(tmp_path, tmp_path / "worktrees" / "other") is None


def test_work_trees_named_as_the_main_one_keep_apart(tmp_path: Path) -> None:
    common = tmp_path / ".git"
    for name in ("git", "main", ".git"):
        heads.save(common, common, Oid("a" * 40))
        heads.save(common, common / "worktrees" / name, Oid("b" * 40))
        assert heads.find(common, common) == "a" * 40


@pytest.mark.parametrize("data", [b"", b"main\n", b"\xff", b"a" * 39])
def test_a_damaged_head_is_none(tmp_path: Path, data: bytes) -> None:
    heads.save(tmp_path, tmp_path, Oid("a" * 40))
    (path,) = (folder.home(tmp_path) / "seen").iterdir()
    path.write_bytes(data)
    assert heads.find(tmp_path, tmp_path) is None


# -- the lock -------------------------------------------------------------------------------


def _ask_other(path: Path) -> bool:
    """Whether another process gets the lock."""
    child = os.fork()
    if not child:
        with held(path) as got:
            os._exit(0 if got else 1)
    return os.waitpid(child, 0)[1] == 0


def test_one_holder_at_a_time_across_processes(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "lock"
    with held(path) as got:
        assert got
        assert not _ask_other(path)
    assert _ask_other(path)


def test_one_holder_at_a_time_within_a_process(tmp_path: Path) -> None:
    with held(tmp_path / "lock"), held(tmp_path / "lock") as again:
        assert not again
    with held(tmp_path / "lock", wait=True) as got:
        assert got


# -- the journal ----------------------------------------------------------------------------


def test_the_newest_line_is_told(tmp_path: Path) -> None:
    assert journal.last(tmp_path) is None
    journal.note(tmp_path, "first")
    journal.note(tmp_path, "second\nline", details="Traceback\n  of it")
    assert (journal.last(tmp_path) or "").endswith(" second line")


def test_only_the_owner_reads_the_journal(tmp_path: Path) -> None:
    journal.note(tmp_path, "said")
    assert stat.S_IMODE(folder.log(tmp_path).stat().st_mode) == 0o600


def test_the_journal_is_bounded(tmp_path: Path) -> None:
    for number in range(400):
        journal.note(tmp_path, f"{number} " + "x" * 100_000, details="y" * 100_000)
    files = list(folder.home(tmp_path).glob("log*"))
    assert len(files) == 2
    assert sum(path.stat().st_size for path in files) < 3 << 20
    assert (journal.last(tmp_path) or "").split()[1] == "399"


def test_any_text_is_noted(tmp_path: Path) -> None:
    journal.note(tmp_path, "lone \udc80 \0 é", details="\udc80")
    assert "lone" in (journal.last(tmp_path) or "")
