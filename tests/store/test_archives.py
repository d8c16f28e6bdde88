"""Archived sessions are read as those that have a ref, and have one again when they go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitsession.errors import Ambiguous, Moved, NotFound, Unreadable
from gitsession.git import refs
from gitsession.git.library import open_library
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Link, Repository, Swap
from gitsession.ids import CaptureId, Oid, SessionId
from gitsession.model import Agent, Author, Record
from gitsession.query import names
from gitsession.store import archive_union, archives, contents, sessions
from gitsession.store.tombstones import Forgotten
from tests.scratch import Scratch
from tests.sync.clones import Clone

ANN = Author(name="Ann", email="ann@example.com")
NOTHING = Forgotten()


@pytest.fixture(params=["sha1", "sha256"])
def ann(tmp_path: Path, request: pytest.FixtureRequest) -> Clone:
    """A repository without a remote."""
    return Clone(Scratch.create(tmp_path / "repo", object_format=request.param))


def record(at: str) -> Record:
    return Record(
        v=1, id=CaptureId("a" * 40), session=SessionId("s"), seq=1, kind="checkpoint",
        agent=Agent(name="claude-code"), captured_at=at,
    )  # fmt: skip


def fold(repo: Plumbing, month: str, *slugs: str) -> None:
    """Move sessions into an archive, whatever it holds."""
    ref = refs.archive(month)
    tips = {slug: Oid(str(repo.resolve(refs.SESSIONS + slug))) for slug in slugs}
    entries = {slug: Oid(str(repo.resolve(f"{tip}^{{tree}}"))) for slug, tip in tips.items()}
    old = repo.resolve(ref)
    (new,) = repo.write([archive_union.draft("x\n", old, entries)], ANN)
    drops = [Swap(ref=refs.SESSIONS + slug, old=tip, new=None) for slug, tip in tips.items()]
    repo.swap([Swap(ref=ref, old=old, new=new), *drops])


def test_the_month_is_that_of_the_newest_capture() -> None:
    moments = ["2026-07-31T23:59:59.999Z", "2026-08-01T00:00:00Z", "2026-06-01T00:00:00.000Z"]
    assert archives.month_of(map(record, moments)) == "2026-08"


@pytest.mark.parametrize(
    "at", ["", "2026-13-01T00:00:00Z", "2026-08-01T00:00:00+02:00", "../../x", "2026-08-01"]
)
def test_a_moment_that_is_none_has_no_month(at: str) -> None:
    with pytest.raises(Unreadable):
        archives.month_of([record(at)])


@pytest.mark.parametrize("name", ["2026-8", "2026-00", "x", "2026-08/x", "", "2026-08\n"])
def test_only_months_are_archives(name: str) -> None:
    assert archives.is_archive(refs.archive("2026-08"))
    assert not archives.is_archive(refs.ARCHIVE + name)
    assert not refs.is_session(refs.archive("2026-08"))


def test_where_a_session_is_begins_with_the_newest() -> None:
    one, two = Oid("1" * 40), Oid("2" * 40)
    found = archives.by_session({"2026-07": {"a": one, "b": one}, "2026-08": {"a": two}})
    assert list(found["a"].items()) == [("2026-08", two), ("2026-07", one)]
    assert found["b"] == {"2026-07": one}


def test_an_archived_session_reads_the_same(ann: Clone) -> None:
    for text in ("one", "two"):
        ann.capture("s1", text)
    with ann.open() as repo:
        before = sessions.get_session(repo, "s1")
        fold(repo, "2026-08", "s1")
        after = sessions.get_session(repo, "s1")
        assert (after.ref, after.head, after.seqs) == (before.ref, before.head, before.seqs)
        assert after.archived and not before.archived
        assert sessions.last_record(repo, after) == sessions.last_record(repo, before)
        assert contents.read(repo, Oid(str(after.tip))) == contents.read(repo, Oid(str(before.tip)))
    assert ann.texts("s1") == ["one", "two"]
    ann.check()


def test_a_beginning_finds_it_and_two_are_ambiguous(ann: Clone) -> None:
    for name in ("abc1", "abc2", "abd"):
        ann.capture(name, name)
    with ann.open() as repo:
        fold(repo, "2026-08", "abc1")
        fold(repo, "2026-09", "abd")
        assert sessions.get_session(repo, "abd").archived
        assert sessions.get_session(repo, "abc1").archived
        with pytest.raises(Ambiguous):
            sessions.get_session(repo, "abc")
        with pytest.raises(NotFound):
            sessions.get_session(repo, "archive")
        with pytest.raises(NotFound):
            sessions.get_session(repo, "2026-08")


def test_what_was_captured_last_names_sessions_and_no_archives(ann: Clone) -> None:
    for name in ("one", "two", "three"):
        ann.capture(name, name)
    with ann.open() as repo:
        fold(repo, "2026-08", "one")
        fold(repo, "2026-09", "two")
        assert [*names.recent(repo)] == ["three", "two", "one"]
        assert [*names.recent(repo, 2)] == ["three", "two"]
        target = names.get_target(repo, "two").session
        assert target is not None and target.archived


def test_libgit2_reads_the_same(tmp_path: Path) -> None:
    ann = Clone(Scratch.create(tmp_path / "plain"))
    ann.capture("s1", "one")
    with ann.open() as repo:
        fold(repo, "2026-08", "s1")
        library = open_library(repo.git_dir, repo.common_dir, repo.work_tree)
        assert library is not None
        inner: Repository = library
        assert sessions.open_ref(inner, "refs/sessions/s1") == sessions.open_ref(
            repo, "refs/sessions/s1"
        )
        assert archives.every_copy(inner) == archives.every_copy(repo)
        library.close()


def test_the_newest_archive_is_read(ann: Clone) -> None:
    ann.capture("s1", "one")
    with ann.open() as repo:
        fold(repo, "2026-07", "s1")
    ann.capture("s1", "two")
    with ann.open() as repo:
        fold(repo, "2026-10", "s1")
        assert len(archives.every_copy(repo)) == 2
        assert archives.find_slugs(repo, "") == ["s1"]
    assert ann.texts("s1") == ["one", "two"]


def test_going_on_makes_a_ref_again(ann: Clone) -> None:
    ann.capture("s1", "one")
    with ann.open() as repo:
        fold(repo, "2026-08", "s1")
        stored = sessions.open_session(repo, SessionId("s1"))
        fresh = sessions.unfold(repo, stored, ANN)
        assert repo.resolve("refs/sessions/s1") == fresh.tip
        assert repo.resolve(f"{fresh.tip}^{{tree}}") == stored.tip
        assert repo.get_commit(str(fresh.tip)).parents == ()
        assert sessions.unfold(repo, fresh, ANN) == fresh
        with pytest.raises(Moved):
            sessions.unfold(repo, stored, ANN)
    assert ann.capture("s1", "two").seq == 2
    ann.check()


def test_odd_entries_of_an_archive_are_no_sessions(ann: Clone) -> None:
    ann.capture("s1", "one")
    with ann.open() as repo:
        tree = Oid(str(repo.resolve("refs/sessions/s1^{tree}")))
        blob = Oid(str(repo.resolve("refs/sessions/s1:session.json")))
        draft = archive_union.draft("x\n", None, {"good": tree, "archive": tree, "-x": tree})
        (odd,) = repo.write([draft], ANN)
        assert archives.entries(repo, odd) == {"good": tree}
        links = (Link(path="file", oid=blob),)
        (plain,) = repo.write([type(draft)(message="x\n", links=links)], ANN)
        assert archives.entries(repo, plain) == {}


def test_what_has_grown_takes_the_place_of_what_it_grew_from(ann: Clone) -> None:
    trees = []
    for text in ("one", "two"):
        ann.capture("s1", text)
        trees.append(Oid(ann.git("rev-parse", "refs/sessions/s1^{tree}")))
    with ann.open() as repo:
        assert archive_union.meet(repo, "s1", trees, NOTHING) == trees[1]
        assert archive_union.meet(repo, "s1", reversed(trees), NOTHING) == trees[1]
        assert archive_union.meet(repo, "s1", trees[:1], NOTHING) == trees[0]
        forgotten = Forgotten(sessions=frozenset({SessionId("s1")}))
        assert archive_union.meet(repo, "s1", trees, forgotten) is None
