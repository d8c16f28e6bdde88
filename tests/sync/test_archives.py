"""Clones that fold their sessions at the same time hold the same archives, and lose nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gitsession import config
from gitsession.actions import gc as action
from gitsession.actions.reindex import reindex
from gitsession.git import refs
from gitsession.git.repository import Draft, Link, Put, Swap
from gitsession.ids import Oid, SessionId
from gitsession.store import archives
from gitsession.store.tombstones import Forgotten
from gitsession.sync.fold_archives import fold_archives
from gitsession.sync.remote import remote_of
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin

MAY, JUNE, JULY = (f"2026-0{month}-10T12:00:00.000Z" for month in (5, 6, 7))


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


def gc(clone: Clone, *, push: bool = True) -> action.Collected:
    """Fold whatever may be, however young, and expect no complaint."""
    done = action.gc(clone.path, older_than=0, push=push)
    assert done.warnings == ()
    return done


def session_refs(where: Clone | Scratch) -> list[str]:
    """The sessions that have a ref of their own."""
    found = where.git("for-each-ref", "--format=%(refname)", refs.SESSIONS).split()
    return [ref.removeprefix(refs.SESSIONS) for ref in found if refs.is_session(ref)]


def trees(where: Clone | Scratch) -> dict[str, str]:
    """What each archive holds, as one name."""
    out = where.git("for-each-ref", "--format=%(refname) %(tree)", refs.ARCHIVE)
    return dict(line.removeprefix(refs.ARCHIVE).split() for line in out.splitlines())


def sync_all(clone: Clone) -> None:
    """Fetch everything, and push."""
    assert clone.fetch(everything=True) == ()
    assert clone.push() == []


def begin(ann: Clone, bob: Clone, *names: str, at: str = MAY) -> None:
    """Sessions that both have."""
    for name in names:
        ann.capture(name, f"{name} begun", at=at)
    ann.sync()
    assert bob.fetch(everything=True) == ()


def test_what_one_folded_opens_in_the_other(ann: Clone, bob: Clone, origin: Scratch) -> None:
    ann.capture("s1", "one", at=MAY)
    ann.capture("s2", "two", at=JUNE)
    ann.sync()
    done = gc(ann)
    assert [one.month for one in done.folded] == ["2026-05", "2026-06"]
    assert sorted(done.dropped) == ["refs/sessions/s1", "refs/sessions/s2"]
    assert session_refs(origin) == session_refs(ann) == []
    assert bob.fetch(everything=True) == ()
    assert (bob.texts("s1"), bob.texts("s2")) == (["one"], ["two"])
    assert session_refs(bob) == []
    assert trees(bob) == trees(ann) == trees(origin)
    for clone in (ann, bob):
        clone.check()


def test_both_fold_without_knowing(ann: Clone, bob: Clone, origin: Scratch) -> None:
    begin(ann, bob, "s1", "s2", "s3")
    bob.capture("s4", "bob's", at=MAY)
    bob.sync()
    gc(ann, push=False)
    gc(bob, push=False)
    assert trees(ann) != trees(bob)
    gc(ann)
    gc(bob)
    sync_all(ann)
    assert trees(ann) == trees(bob) == trees(origin)
    assert session_refs(origin) == session_refs(ann) == session_refs(bob) == []
    assert [ann.texts(f"s{n}")[0] for n in range(1, 5)] == [
        "s1 begun", "s2 begun", "s3 begun", "bob's",
    ]  # fmt: skip
    for clone in (ann, bob):
        clone.check()


def test_a_folded_session_is_not_pushed_back(ann: Clone, bob: Clone, origin: Scratch) -> None:
    begin(ann, bob, "s1")
    gc(ann)
    bob.sync()
    assert session_refs(origin) == []
    sync_all(bob)
    assert session_refs(bob) == session_refs(origin) == []
    assert "sessions/s1" not in bob.git("for-each-ref")
    assert bob.texts("s1") == ["s1 begun"]


def test_what_went_on_meanwhile_stays_and_is_pushed(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    begin(ann, bob, "s1")
    bob.capture("s1", "more", at=MAY)
    gc(ann)
    sync_all(bob)
    assert session_refs(bob) == session_refs(origin) == ["s1"]
    ann.sync()
    assert ann.texts("s1") == bob.texts("s1") == ["s1 begun", "more"]
    gc(bob)
    sync_all(ann)
    assert session_refs(origin) == session_refs(ann) == []
    assert ann.texts("s1") == ["s1 begun", "more"]
    assert trees(ann) == trees(bob) == trees(origin)
    assert list(trees(ann)) == ["2026-05"]


def test_what_was_pushed_meanwhile_is_not_taken_off(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    begin(ann, bob, "s1")
    bob.capture("s1", "more", at=JUNE)
    bob.sync()
    # Ann doesn't know of it: her archive goes out, and the remote keeps what has more.
    with ann.open() as repo:
        settings = config.load(ann.path)
        found = action.survey(repo, remote_of("origin"), action.days_ago(0))
        assert action.fold(repo, found.closed, Forgotten(), settings) == list(found.closed)
        exchange = ann.exchange(repo)
        exchange.push()
        dropped = exchange.drop_archived()
    assert dropped.held == ()
    sync_all(ann)
    assert ann.texts("s1") == bob.texts("s1") == ["s1 begun", "more"]
    gc(ann)
    sync_all(bob)
    assert list(trees(bob)) == ["2026-05", "2026-06"]
    assert bob.texts("s1") == ["s1 begun", "more"]
    assert session_refs(origin) == []


def test_two_who_went_on_from_the_archive_keep_both(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    begin(ann, bob, "s1")
    gc(ann)
    assert bob.fetch(everything=True) == ()
    ann.capture("s1", "ann's", at=JUNE)
    bob.capture("s1", "bob's", at=JULY)
    ann.sync()
    gc(ann)
    bob.sync()
    gc(bob)
    for clone in (ann, bob, ann):
        sync_all(clone)
    whole = ["s1 begun", "ann's", "bob's"]
    assert ann.texts("s1") == bob.texts("s1") == whole
    assert ann.prompts() == bob.prompts() == {"s1": whole}
    assert trees(ann) == trees(bob) == trees(origin)
    assert [*trees(ann)] == ["2026-05", "2026-06", "2026-07"]


def test_the_everyday_sync_follows_an_archived_session(ann: Clone, bob: Clone) -> None:
    begin(ann, bob, "s1")
    gc(ann)
    assert bob.fetch(everything=True) == ()
    ann.capture("s1", "more", at=JUNE)
    ann.sync()
    bob.sync()
    assert bob.texts("s1") == ["s1 begun", "more"]
    ann.capture("s1", "and more", at=JULY)
    ann.sync()
    gc(ann)
    # Its ref has gone before Bob hears of it: he takes the archive.
    bob.sync()
    assert bob.texts("s1") == ["s1 begun", "more", "and more"]
    bob.check()


def test_a_fetch_prunes_nothing_of_ours(ann: Clone, bob: Clone, origin: Scratch) -> None:
    begin(ann, bob, "s1", "s2")
    bob.capture("s3", "not pushed")
    bob.git("update-ref", "refs/session-remotes/other/sessions/s9", "HEAD")
    bob.git("update-ref", "refs/heads/topic", "HEAD")
    bob.git("update-ref", "refs/remotes/origin/old", "HEAD")
    origin.git("update-ref", "-d", "refs/sessions/s1")
    assert bob.fetch(everything=True) == ()
    assert session_refs(bob) == ["s1", "s2", "s3"]
    kept = bob.git("for-each-ref", "--format=%(refname)").split()
    assert "refs/session-remotes/other/sessions/s9" in kept
    assert {"refs/heads/topic", "refs/remotes/origin/old"} <= {*kept}
    assert "refs/session-remotes/origin/sessions/s1" not in kept
    # What the remote lost is sent again.
    sync_all(bob)
    assert session_refs(origin) == ["s1", "s2", "s3"]


def test_a_remote_that_keeps_its_refs_harms_nothing(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    begin(ann, bob, "s1")
    refuse = origin.path / "hooks" / "update"
    refuse.parent.mkdir(exist_ok=True)
    refuse.write_text("#!/bin/sh\ncase $3 in *[!0]*) ;; *) exit 1 ;; esac\n")
    refuse.chmod(0o755)
    done = action.gc(ann.path, older_than=0)
    assert len(done.warnings) == 1
    assert "1 refs of archived sessions" in done.warnings[0]
    assert session_refs(origin) == ["s1"]
    assert ann.push() == []
    for clone in (ann, bob, ann):
        sync_all(clone)
        assert session_refs(clone) == []
        assert clone.texts("s1") == ["s1 begun"]
    refuse.unlink()
    assert gc(bob).dropped == ("refs/sessions/s1",)
    assert session_refs(origin) == []


def test_a_stranger_archive_is_looked_at(ann: Clone, bob: Clone, origin: Scratch) -> None:
    begin(ann, bob, "s1", "s2", "s3")
    gc(ann)
    month = refs.archive("2026-05")
    with ann.open() as repo:
        tip = Oid(str(repo.resolve(month)))
        tree = Oid(str(repo.resolve(f"{tip}:s1")))
        blob = Oid(str(repo.resolve(f"{tip}:s1/session.json")))
        links = (
            Link(path="another", oid=tree, mode="040000"),
            Link(path="file", oid=blob),
            Link(path="s2/captures/1.json", oid=blob, mode="120000"),
            Link(path="archive", oid=tree, mode="040000"),
        )
        puts = (Put(path="s3/session.json", data=b'{"v":1,"session":1}'),)
        (bad,) = repo.write(
            [Draft(message="x\n", parents=(tip,), links=links, puts=puts)],
            config.load(ann.path).author,
        )
        ann.git("push", "-q", "origin", f"{bad}:{month}", f"{tip}:refs/sessions/archive/odd")
    before = session_refs(bob)
    warnings = bob.fetch(everything=True)
    assert len(warnings) == 6
    for name in ("'another'", "'file'", "'s2'", "'archive'", "'s3'", "archive/odd"):
        assert any(name in warning for warning in warnings), (name, warnings)
    with bob.open() as repo:
        assert archives.entries(repo, repo.resolve(month)) == {"s1": tree}
    assert before == ["s1", "s2", "s3"]
    assert session_refs(bob) == ["s2", "s3"]
    bob.check()


def test_what_was_forgotten_does_not_come_back_in_an_archive(ann: Clone, bob: Clone) -> None:
    begin(ann, bob, "s1", "s2")
    second = ann.capture("s2", "secret", at=MAY)
    ann.sync()
    gc(ann)
    gone = Forgotten(
        sessions=frozenset({SessionId("s1")}),
        captures=frozenset({second.id}),
        partly=frozenset({SessionId("s2")}),
    )
    with bob.open() as repo:
        month = refs.archive("2026-05")
        repo.swap([Swap(ref=r, old=oid, new=None) for r, oid in repo.refs(refs.SESSIONS).items()])
        bob.git("fetch", "-q", "origin", f"{month}:{refs.seen('origin', month)}")
        settings = config.load(bob.path)
        taken = fold_archives(repo, remote_of("origin"), [month], gone, settings)
        assert taken.changed == (month,)
        assert [*archives.entries(repo, repo.resolve(month))] == ["s2"]
    assert bob.texts("s1") == []
    assert "secret" not in "".join(bob.texts("s2"))
    assert bob.texts("s2")[0] == "s2 begun"


def test_a_rebuilt_index_knows_the_archived(ann: Clone) -> None:
    head = ann.scratch.head()
    ann.capture("s1", "one", commit=head, at=MAY)
    ann.capture("s1", "two", at=JUNE)
    ann.capture("s2", "three", at=JUNE)
    ann.sync()
    before, told = ann.index_tree(), ann.prompts()
    gc(ann)
    ann.capture("s1", "four", at=JULY)
    ann.sync()
    gc(ann)
    with ann.open() as repo:
        repo.swap([Swap(ref=refs.INDEX, old=repo.resolve(refs.INDEX), new=None)])
    done = reindex(ann.path)
    assert (done.sessions, done.unreadable) == (2, ())
    assert ann.prompts() == {**told, "s1": ["one", "two", "four"]}
    assert ann.index_tree() != before
    assert reindex(ann.path).changed == 0


def test_any_number_of_clones_in_any_order(tmp_path: Path) -> None:
    dice = random.Random(1)
    origin = make_origin(tmp_path / "origin.git")
    clones = [Clone.of(origin, tmp_path / f"clone{n}") for n in range(3)]
    taken: dict[str, list[str]] = {}
    for step in range(45):
        clone = dice.choice(clones)
        match dice.choice(["capture", "capture", "capture", "sync", "all", "gc", "gc alone"]):
            case "capture":
                name = f"s{dice.randrange(5)}"
                # Months apart, so that a session that goes on comes into another archive.
                at = f"2026-{1 + step // 5:02}-10T12:{step:02}:00.000Z"
                taken.setdefault(name, []).append(clone.capture(name, f"text {step}", at=at).prompt)
            case "sync":
                clone.sync()
            case "all":
                sync_all(clone)
            case "gc":
                gc(clone)
            case _:
                gc(clone, push=False)
    for rounds in range(2):
        for clone in (*clones, *clones, *clones):
            sync_all(clone)
            if rounds:
                gc(clone)
        for clone in clones:
            assert trees(clone) == trees(origin)
            assert clone.index_tree() == clones[0].index_tree()
            # Only gc takes refs off the remote.
            assert session_refs(clone) == session_refs(clones[0])
            assert {*session_refs(clone)} <= {*session_refs(origin)}
            for name, texts in taken.items():
                assert sorted(clone.texts(name)) == sorted(texts), (name, rounds)
    assert session_refs(origin) == []
    for clone in clones:
        clone.check()
    assert trees(origin)
