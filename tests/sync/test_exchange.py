"""Clones that push and fetch hold the same, whoever was first."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitsession import config
from gitsession.actions.reindex import reindex
from gitsession.git import refs
from gitsession.git.repository import Draft
from gitsession.store import layout
from gitsession.sync.fold import fold_index
from gitsession.sync.remote import remote_of
from gitsession.sync.transport import Line
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin


@pytest.fixture(params=["sha1", "sha256"])
def origin(tmp_path: Path, request: pytest.FixtureRequest) -> Scratch:
    """What everybody shares."""
    return make_origin(tmp_path / "origin.git", object_format=request.param)


@pytest.fixture
def ann(origin: Scratch, tmp_path: Path) -> Clone:
    """One clone."""
    return Clone.of(origin, tmp_path / "ann")


@pytest.fixture
def bob(origin: Scratch, tmp_path: Path) -> Clone:
    """Another one."""
    return Clone.of(origin, tmp_path / "bob")


def test_what_one_captured_the_other_reads(ann: Clone, bob: Clone) -> None:
    ann.capture("s1", "first")
    ann.capture("s1", "second")
    ann.sync()
    assert bob.fetch() == ()
    assert bob.prompts() == {"s1": ["first", "second"]}
    assert bob.index_tree() == ann.index_tree()
    assert bob.texts("s1") == []
    assert bob.fetch("s1") == ()
    assert bob.texts("s1") == ["first", "second"]
    bob.check()


def test_nothing_new_sends_and_changes_nothing(ann: Clone, bob: Clone, origin: Scratch) -> None:
    ann.capture("s1", "first")
    ann.sync()
    before = origin.git("for-each-ref")
    ann.sync()
    bob.sync()
    assert origin.git("for-each-ref") == before
    with bob.open() as repo:
        assert bob.exchange(repo).unpushed() == []


def test_both_capture_and_end_with_the_same_index(ann: Clone, bob: Clone) -> None:
    head = ann.scratch.head()
    ann.capture("s1", "by ann", commit=head)
    bob.capture("s2", "by bob", commit=head)
    assert ann.push() == []
    # Bob's push is refused, for he doesn't know of Ann's: it fetches, merges and pushes again.
    assert bob.push() == []
    ann.sync()
    assert ann.index_tree() == bob.index_tree()
    assert ann.prompts() == bob.prompts() == {"s1": ["by ann"], "s2": ["by bob"]}
    for clone in (ann, bob):
        clone.check()


def test_the_index_has_no_side_branches(ann: Clone, bob: Clone) -> None:
    for turn in range(3):
        ann.capture("s1", f"ann {turn}")
        bob.capture("s2", f"bob {turn}")
        ann.sync()
        bob.sync()
    assert bob.git("rev-list", "--merges", refs.INDEX) == ""


def test_a_session_continued_on_two_machines_keeps_both(ann: Clone, bob: Clone) -> None:
    ann.capture("s1", "begun")
    ann.sync()
    bob.fetch("s1")
    ann.capture("s1", "on ann's")
    bob.capture("s1", "on bob's")
    ann.capture("s1", "on ann's again")
    ann.sync()
    bob.sync()
    ann.sync()
    whole = ["begun", "on ann's", "on bob's", "on ann's again"]
    for clone in (ann, bob):
        assert clone.texts("s1") == whole
        assert clone.prompts() == {"s1": whole}
        clone.check()
    assert ann.git("rev-parse", "refs/sessions/s1") == bob.git("rev-parse", "refs/sessions/s1")
    assert ann.index_tree() == bob.index_tree()
    ann.capture("s1", "after")
    ann.sync()
    bob.sync()
    assert bob.texts("s1") == [*whole, "after"]


def test_a_session_here_that_was_continued_there_comes_along(ann: Clone, bob: Clone) -> None:
    ann.capture("s1", "first")
    ann.sync()
    bob.fetch("s1")
    ann.capture("s1", "second")
    ann.sync()
    bob.sync()
    assert bob.texts("s1") == ["first", "second"]


def test_everything_can_be_fetched(ann: Clone, bob: Clone) -> None:
    for name in ("s1", "s2", "s3"):
        ann.capture(name, name)
    ann.sync()
    assert bob.fetch(everything=True) == ()
    assert [bob.texts(name) for name in ("s1", "s2", "s3")] == [["s1"], ["s2"], ["s3"]]


def test_an_index_that_git_notes_arranged_otherwise_is_the_same(ann: Clone, bob: Clone) -> None:
    head = ann.scratch.head()
    ann.capture("s1", "one", commit=head)
    ann.sync()
    # `git notes` writes its own fan-out: here, none.
    other = ann.scratch.commit("second", {"a": "b"})
    ann.git("notes", "--ref=sessions", "add", "-m", '{"v":9,"x":"kept"}', other)
    assert ann.git("ls-tree", "-r", "--name-only", refs.INDEX).split() != []
    ann.push()
    bob.capture("s2", "two", commit=head)
    bob.sync()
    ann.sync()
    assert ann.index_tree() == bob.index_tree()
    assert ann.prompts() == {"s1": ["one"], "s2": ["two"]}
    assert ann.git("notes", "--ref=sessions", "show", other) == '{"v":9,"x":"kept"}'


def test_a_clone_with_the_index_alone_loses_nothing_by_a_rebuild(ann: Clone, bob: Clone) -> None:
    ann.capture("s1", "first", commit=ann.scratch.head())
    ann.capture("s2", "other")
    ann.sync()
    bob.fetch("s1")
    ann.capture("s1", "second")
    ann.sync()
    # Bob has the index of both, half of one session and nothing of the other.
    with bob.open() as repo:
        line = Line(repo, remote_of("origin"), watched=False)
        line.fetch([f"+{refs.INDEX}*:{refs.seen('origin', refs.INDEX)}*"])
        fold_index(repo, remote_of("origin"), config.load(bob.path))
    before = bob.index_tree()
    assert before == ann.index_tree()
    reindex(bob.path)
    assert bob.index_tree() == before


def test_a_record_that_only_reached_its_session_ref_is_entered_by_whoever_fetches_it(
    ann: Clone, bob: Clone
) -> None:
    ann.capture("s1", "first", commit=ann.scratch.head())
    ann.git("push", "-q", "origin", "refs/sessions/s1")
    assert bob.fetch(everything=True) == ()
    assert bob.prompts() == {"s1": ["first"]}
    bob.sync()
    ann.sync()
    assert ann.index_tree() == bob.index_tree()


def test_a_remote_that_went_on_without_a_capture_takes_none_from_us(ann: Clone, bob: Clone) -> None:
    ann.capture("s1", "first")
    ann.capture("s1", "second")
    ann.sync()
    bob.fetch("s1")
    with bob.open() as repo:
        tip = repo.resolve("refs/sessions/s1")
        assert tip is not None
        gone = (layout.record(2), layout.segment(2))
        (bad,) = repo.write(
            [Draft(message="x\n", parents=(tip,), removes=gone)], config.load(bob.path).author
        )
    bob.git("push", "-q", "origin", f"{bad}:refs/sessions/s1")
    ann.fetch("s1")
    assert ann.texts("s1") == ["first", "second"]
    ann.sync()
    bob.fetch("s1")
    assert bob.texts("s1") == ["first", "second"]
