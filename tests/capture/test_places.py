"""A file that a tool named is found in the repository, in whichever work tree it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitsession.capture.places import Places
from tests.scratch import Scratch


@pytest.fixture
def places(scratch: Scratch) -> Places:
    """The places of a repository."""
    return Places(scratch.path / ".git", (scratch.path,))


def test_absolute_and_relative_names(scratch: Scratch, places: Places) -> None:
    top = str(scratch.path)
    assert places.relative(f"{top}/sub/file", "/") == "sub/file"
    assert places.relative("file", f"{top}/sub") == "sub/file"
    assert places.relative("../file", f"{top}/sub") == "file"
    assert places.relative("./a/../file", top) == "file"
    assert places.relative(f"{top}/é\n ", top) == "é\n "


@pytest.mark.parametrize("path", ["", "a\0b", "/etc/passwd", "../outside", "/"])
def test_what_is_elsewhere_is_nowhere(scratch: Scratch, places: Places, path: str) -> None:
    assert places.relative(path, str(scratch.path)) is None


def test_gits_own_folder_is_no_place(scratch: Scratch, places: Places) -> None:
    assert places.relative(".git/config", str(scratch.path)) is None
    assert places.relative(".gitignore", str(scratch.path)) == ".gitignore"


def test_a_linked_work_tree_is_ours(scratch: Scratch, places: Places, tmp_path: Path) -> None:
    scratch.git("worktree", "add", "-q", str(tmp_path / "linked"))
    assert places.relative("sub/file", str(tmp_path / "linked")) == "sub/file"


def test_a_submodule_and_a_nested_repository_are_not(
    scratch: Scratch, places: Places, tmp_path: Path
) -> None:
    other = Scratch.create(tmp_path / "other")
    scratch.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "sub"
    )
    Scratch.create(scratch.path / "nested")
    assert places.relative("sub/file", str(scratch.path)) is None
    assert places.relative("nested/file", str(scratch.path)) is None


def test_a_submodules_own_places(scratch: Scratch, tmp_path: Path) -> None:
    other = Scratch.create(tmp_path / "other")
    scratch.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "sub"
    )
    inner = Places(scratch.path / ".git" / "modules" / "sub")
    assert inner.relative("file", str(scratch.path / "sub")) == "file"
    assert inner.relative("file", str(scratch.path)) is None


def test_a_way_through_a_link_is_followed(scratch: Scratch, places: Places, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(scratch.path)
    assert places.relative("sub/file", str(tmp_path / "link")) == "sub/file"
    outside = tmp_path / "outside"
    outside.mkdir()
    (scratch.path / "away").symlink_to(outside)
    assert places.relative("away/file", str(scratch.path)) is None


def test_a_link_that_is_a_file_is_a_file_of_ours(
    scratch: Scratch, places: Places, tmp_path: Path
) -> None:
    (scratch.path / "link").symlink_to(tmp_path / "gone")
    assert places.relative("link", str(scratch.path)) == "link"


def test_a_folder_that_is_gone_is_found_by_those_above(scratch: Scratch, places: Places) -> None:
    assert places.relative("gone/deep/file", str(scratch.path)) == "gone/deep/file"


def test_a_broken_git_file_is_passed_by(scratch: Scratch, places: Places) -> None:
    (scratch.path / "odd").mkdir()
    (scratch.path / "odd" / ".git").write_bytes(b"\xff\xfe")
    assert places.relative("odd/file", str(scratch.path)) is None
