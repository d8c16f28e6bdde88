"""The index is notes that git itself reads, whoever laid them out."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitsession.git import notes, refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Put, Update
from gitsession.ids import Oid
from gitsession.model import Author
from tests.scratch import Scratch

DEV = Author(name="Dev", email="dev@example.com")


def save(repo: Plumbing, given: dict[Oid, bytes]) -> Oid:
    """Write notes as the ledger does."""
    (made,) = repo.apply([notes.plan(repo, repo.resolve(refs.INDEX), given, "notes\n")], DEV)
    return made


@pytest.fixture(params=["sha1", "sha256"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Scratch:
    """A repository with three commits, in each object format."""
    scratch = Scratch.create(tmp_path / "place", object_format=request.param)
    scratch.commit("second", {"a": "1\n"})
    scratch.commit("third", {"a": "2\n"})
    return scratch


def commits(place: Scratch) -> list[Oid]:
    """All commits, newest first."""
    return [Oid(line) for line in place.git("rev-list", "main").split()]


def test_git_reads_what_we_write(place: Scratch) -> None:
    every = commits(place)
    with discover(place.path) as repo:
        save(repo, {commit: f"note of {commit}\n".encode() for commit in every})
    for commit in every:
        assert place.git("notes", "--ref=sessions", "show", commit) == f"note of {commit}"
    listed = place.git("notes", "--ref=sessions", "list").splitlines()
    assert {line.split()[1] for line in listed} == set(every)
    assert place.git("fsck", "--strict") == ""


def test_we_read_what_git_writes(place: Scratch) -> None:
    head = commits(place)[0]
    place.git("notes", "--ref=sessions", "add", "-m", "by git", head)
    with discover(place.path) as repo:
        assert notes.read(repo, head) == b"by git\n"


def test_a_commit_without_a_note_has_an_empty_one(place: Scratch) -> None:
    with discover(place.path) as repo:
        assert notes.read(repo, commits(place)[0]) == b""


@pytest.mark.parametrize("cuts", [(), (2,), (2, 4)])
def test_a_note_in_any_layout_is_read_and_replaced(place: Scratch, cuts: tuple[int, ...]) -> None:
    head, other, _ = commits(place)
    path, at = "", 0
    for cut in cuts:
        path, at = path + head[at:cut] + "/", cut
    path += head[at:]
    put = Put(path=path, data=b"old\n")
    with discover(place.path) as repo:
        repo.apply([Update(ref=refs.INDEX, old=None, message="x\n", puts=(put,))], DEV)
        assert notes.read(repo, head) == b"old\n"
        save(repo, {head: b"new\n", other: b"more\n"})
        assert notes.read(repo, head) == b"new\n"
        names = repo.git("ls-tree", "-r", "--name-only", refs.INDEX).decode().split()
    assert sorted(names) == sorted([notes.path_of(head), notes.path_of(other)])
    assert place.git("notes", "--ref=sessions", "show", head) == "new"
    assert place.git("notes", "--ref=sessions", "show", other) == "more"


def test_a_note_written_again_takes_the_old_ones_place(place: Scratch) -> None:
    head, other, _ = commits(place)
    with discover(place.path) as repo:
        first = save(repo, {head: b"1\n", other: b"2\n"})
        second = save(repo, {head: b"3\n"})
        assert repo.get_commit(second).parents == (first,)
        assert notes.read(repo, head) == b"3\n"
        assert notes.read(repo, other) == b"2\n"
        assert notes.read(repo, head, ref=first) == b"1\n"


def test_a_path_leads_back_to_its_commit(place: Scratch) -> None:
    for commit in commits(place):
        assert notes.commit_of(notes.path_of(commit)) == commit


def test_a_large_note_is_written(place: Scratch) -> None:
    head = commits(place)[0]
    note = b"x" * 200_000 + b"\n"
    with discover(place.path) as repo:
        save(repo, {head: note})
        assert notes.read(repo, head) == note
