"""A disk without room, here or on the remote: nothing is lost, and it goes on later."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gitsession.actions import install, publish, status
from gitsession.errors import SessionError
from gitsession.git import refs
from gitsession.store import outbox
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a small file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> Path:
    """Leave no room."""
    filler = place / "filler"
    handle = os.open(filler, os.O_WRONLY | os.O_CREAT, 0o600)
    with suppress(OSError):
        while os.write(handle, bytes(4096)):
            pass
    os.close(handle)
    return filler


def noise(size: int) -> str:
    """A text that doesn't get smaller."""
    return os.urandom(size // 2).hex()


def test_a_remote_without_room_gets_it_later(tmp_path: Path, small: Path) -> None:
    origin = make_origin(small / "origin.git")
    ann = Clone.of(origin, tmp_path / "ann")
    filler = fill(small)
    ann.capture("s1", noise(200_000), branch="main")
    publish.publish(ann.path / ".git", pushed="origin")
    assert "space" in status.status(ann.path).sharing.reason
    assert outbox.is_marked(ann.path / ".git")
    filler.unlink()
    publish.publish(ann.path / ".git", pushed="origin")
    assert origin.git("for-each-ref", "refs/sessions/s1") != ""
    assert status.status(ann.path).sharing.unpushed == ()


def test_a_clone_without_room_keeps_its_own_and_fetches_later(tmp_path: Path, small: Path) -> None:
    origin = make_origin(tmp_path / "origin.git")
    ann = Clone.of(origin, tmp_path / "ann")
    bob = Clone.of(origin, small / "bob")
    bob.capture("own", "bob's", commit=bob.scratch.head())
    ann.capture("s1", noise(400_000), commit=ann.scratch.head())
    ann.sync()
    before = bob.git("for-each-ref", refs.SESSIONS, refs.INDEX)
    filler = fill(small)
    with pytest.raises((SessionError, OSError)):
        bob.fetch("s1")
    assert bob.git("for-each-ref", refs.SESSIONS, refs.INDEX) == before
    filler.unlink()
    bob.sync()
    assert bob.fetch("s1") == ()
    assert len(bob.texts("s1")[0]) == 400_000
    assert bob.texts("own") == ["bob's"]
    bob.check()


def test_the_user_still_sees_what_is_here(tmp_path: Path, small: Path) -> None:
    origin = make_origin(tmp_path / "origin.git")
    bob = Clone.of(origin, small / "bob")
    install.install(bob.path, shared=False, agent="claude-code", push=True)
    bob.capture("own", "bob's", commit=bob.scratch.head())
    fill(small)
    done = subprocess.run(
        ["git", "-C", str(bob.path), "push", "-q", "origin", "HEAD:refs/heads/other"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert "session" not in done.stderr
    assert bob.texts("own") == ["bob's"]
    assert bob.prompts() == {"own": ["bob's"]}
    assert Scratch(bob.path).head()
