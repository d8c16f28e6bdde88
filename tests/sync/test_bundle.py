"""Sessions are handed over in a file, where no network leads."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitsession.actions import bundle
from gitsession.errors import NotFound, SessionError
from gitsession.git import refs
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin


@pytest.fixture(params=["sha1", "sha256"])
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Clone, Clone]:
    """Two clones that will not meet again."""
    origin = make_origin(tmp_path / "origin.git", object_format=request.param)
    return Clone.of(origin, tmp_path / "ann"), Clone.of(origin, tmp_path / "bob")


def test_a_bundle_carries_all_sessions_and_the_index(
    pair: tuple[Clone, Clone], tmp_path: Path
) -> None:
    ann, bob = pair
    ann.capture("s1", "one", commit=ann.scratch.head())
    ann.capture("s2", "two")
    bob.capture("s2", "bob's own")
    done = bundle.export(ann.path, (), tmp_path / "all.bundle")
    assert set(done.refs) == {"refs/sessions/s1", "refs/sessions/s2", refs.INDEX}
    for _ in range(2):
        assert bundle.take(bob.path, tmp_path / "all.bundle").warnings == ()
        assert bob.prompts() == {"s1": ["one"], "s2": ["two", "bob's own"]}
        assert bob.texts("s2") == ["two", "bob's own"]
        assert bob.git("for-each-ref", refs.REMOTES) == ""
    bob.check()


def test_a_bundle_of_one_session_holds_no_other(pair: tuple[Clone, Clone], tmp_path: Path) -> None:
    ann, bob = pair
    ann.capture("s1", "one", commit=ann.scratch.head())
    ann.capture("s2", "two")
    bundle.export(ann.path, ["HEAD"], tmp_path / "one.bundle")
    bundle.take(bob.path, tmp_path / "one.bundle")
    assert bob.texts("s1") == ["one"]
    assert bob.prompts() == {"s1": ["one"]}
    assert bob.texts("s2") == []


def test_what_is_no_bundle_or_no_session_is_said(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("# v2 git bundle\nnonsense\n")
    with pytest.raises(SessionError, match="x"):
        bundle.take(scratch.path, tmp_path / "x")
    with pytest.raises(SessionError, match="no git bundle"):
        bundle.take(scratch.path, scratch.path / "README")
    with pytest.raises(SessionError, match="no sessions"):
        bundle.export(scratch.path, (), tmp_path / "y")
    with pytest.raises(NotFound):
        bundle.export(scratch.path, ["nothing"], tmp_path / "y")
    with pytest.raises(NotFound):
        bundle.export(scratch.path, ["HEAD"], tmp_path / "y")
    assert not (tmp_path / "y").exists()
