"""Our loose objects and packs stay few, so that git has nothing to do in the user's foreground."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsession.errors import GitFailed
from gitsession.git import maintenance
from tests.scratch import Scratch


def fill(scratch: Scratch) -> list[str]:
    """Write loose objects where git samples them, until it is time."""
    made = []
    for number in range(12 * 256):
        data = f"blob {len(str(number))}\0{number}".encode()
        name = hashlib.sha1(data).hexdigest()
        if name.startswith("17"):
            path = scratch.path / ".git" / "objects" / name[:2] / name[2:]
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(data))
            made.append(name)
    assert maintenance.is_due(scratch.path / ".git")
    return made


def test_a_small_repository_is_left_alone(scratch: Scratch) -> None:
    assert not maintenance.is_due(scratch.path / ".git")


def test_packing_keeps_every_object_and_prunes_nothing(scratch: Scratch) -> None:
    common = scratch.path / ".git"
    made = fill(scratch)
    maintenance.pack_loose(common)
    assert not maintenance.is_due(common)
    checked = scratch.git("cat-file", "--batch-check", stdin="\n".join(made) + "\n")
    assert len(checked.splitlines()) == len(made)
    assert "missing" not in checked


def test_somebody_elses_lock_is_respected(scratch: Scratch) -> None:
    common = scratch.path / ".git"
    (common / "objects" / "maintenance.lock").touch()
    maintenance.pack_loose(common)
    assert (common / "objects" / "maintenance.lock").exists()


def test_a_missing_repository_is_not_due(scratch: Scratch) -> None:
    assert not maintenance.is_due(scratch.path / "nothing")


def packs(scratch: Scratch, kind: str = "*") -> list[Path]:
    return sorted((scratch.path / ".git" / "objects" / "pack").glob(f"{kind}.pack"))


def make_packs(scratch: Scratch, count: int, start: int = 0) -> list[str]:
    """Packs as the task makes them, of objects that no ref leads to."""
    made = []
    for number in range(start, start + count):
        oid = scratch.git("hash-object", "-w", "--stdin", stdin=f"{number} " * 100)
        scratch.git("pack-objects", "-q", ".git/objects/pack/loose", stdin=oid + "\n")
        made.append(oid)
    scratch.git("prune-packed", "-q")
    return made


def are_all_there(scratch: Scratch, oids: Sequence[str]) -> bool:
    found = scratch.git("cat-file", "--batch-check", stdin="\n".join(oids) + "\n")
    return len(found.splitlines()) == len(oids) and "missing" not in found


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_small_packs_become_one_without_losing_an_object(
    tmp_path: Path, object_format: str
) -> None:
    scratch = Scratch.create(tmp_path / "r", object_format=object_format)
    scratch.git("repack", "-adq")
    theirs = packs(scratch, "pack-*")
    made = make_packs(scratch, 6)
    maintenance.roll_up(scratch.path / ".git")
    assert len(packs(scratch, "loose-*")) == 1
    assert packs(scratch, "pack-*") == theirs
    assert are_all_there(scratch, made)
    scratch.git("fsck", "--strict")


def test_rolling_up_again_changes_nothing(scratch: Scratch) -> None:
    make_packs(scratch, 6)
    maintenance.roll_up(scratch.path / ".git")
    before = packs(scratch)
    maintenance.roll_up(scratch.path / ".git")
    assert packs(scratch) == before


def test_a_few_packs_are_left_alone(scratch: Scratch) -> None:
    make_packs(scratch, 3)
    before = packs(scratch)
    maintenance.roll_up(scratch.path / ".git")
    assert packs(scratch) == before


@pytest.mark.parametrize("mark", [".keep", ".promisor", ".mtimes"])
def test_a_pack_that_is_marked_is_not_touched(scratch: Scratch, mark: str) -> None:
    make_packs(scratch, 6)
    marked = packs(scratch, "loose-*")[2]
    marked.with_suffix(mark).touch()
    maintenance.roll_up(scratch.path / ".git")
    assert marked in packs(scratch)
    assert len(packs(scratch, "loose-*")) == 2


@pytest.mark.parametrize("sign", ["gc.pid", "objects/pack/multi-pack-index"])
def test_nothing_is_rolled_up_while_somebody_counts_on_the_packs(
    scratch: Scratch, sign: str
) -> None:
    make_packs(scratch, 6)
    before = packs(scratch)
    (scratch.path / ".git" / sign).touch()
    maintenance.roll_up(scratch.path / ".git")
    assert packs(scratch) == before


def test_a_damaged_pack_ends_it_and_no_other_is_deleted(scratch: Scratch) -> None:
    make_packs(scratch, 6)
    broken = packs(scratch, "loose-*")[3]
    broken.chmod(0o600)
    broken.write_bytes(b"\0" * 100)
    before = packs(scratch)
    with pytest.raises(GitFailed):
        maintenance.roll_up(scratch.path / ".git")
    assert packs(scratch) == before
    maintenance.pack_loose(scratch.path / ".git")
    assert set(packs(scratch)) >= set(before)


def test_packs_stay_few_and_objects_stay_there(scratch: Scratch) -> None:
    made: list[str] = []
    for number in range(20):
        made += make_packs(scratch, 1, start=number)
        maintenance.roll_up(scratch.path / ".git")
        assert len(packs(scratch, "loose-*")) <= 6
    assert are_all_there(scratch, made)


def test_a_large_pack_is_left_as_it_is(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    make_packs(scratch, 6)
    monkeypatch.setattr(maintenance, "_LARGE", 10)
    before = packs(scratch)
    maintenance.roll_up(scratch.path / ".git")
    assert packs(scratch) == before


@given(st.lists(st.integers(1, 10**9), max_size=40).map(sorted))
def test_what_is_left_outweighs_all_that_is_smaller(sizes: list[int]) -> None:
    count = maintenance.crowd(sizes)
    for number in range(max(count, 1), len(sizes)):
        assert sizes[number] > 2 * sum(sizes[:number])


def test_one_large_pack_is_not_written_anew_for_small_ones() -> None:
    assert maintenance.crowd([1, 1, 1, 1, 100]) == 4
    assert maintenance.crowd([1, 1, 1, 1, 8]) == 5
    assert maintenance.crowd([5]) == maintenance.crowd([]) == 0
