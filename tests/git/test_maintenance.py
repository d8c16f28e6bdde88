"""Our loose objects are packed before git would do it in the user's foreground."""

from __future__ import annotations

import hashlib
import zlib

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
