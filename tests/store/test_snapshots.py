"""A session's snapshots: what is kept, what isn't, and which one is a turn's state."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsession.errors import Moved
from gitsession.git import refs, worktree
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Swap
from gitsession.git.worktree import Taken
from gitsession.ids import Oid, SessionId
from gitsession.model import Author, Turn
from gitsession.store import moments, snapshots, spool
from gitsession.store.snapshots import snapshot_at
from gitsession.store.states import Draft, Moment, Snapshot, parse, stamp
from tests.scratch import Scratch

WHO = Author(name="Ann", email="ann@example.com")
SESSION = SessionId("one")
OID = Oid("a" * 40)
BEGAN = 1_800_000_000.0


@pytest.fixture
def repo(scratch: Scratch) -> Iterator[Plumbing]:
    with discover(scratch.path) as found:
        yield found


def keep(
    repo: Plumbing, at: float = BEGAN, moment: Moment = "end", session: str = SESSION
) -> Oid | None:
    """Keep the present state of the work tree."""
    taken = worktree.take(repo, snapshots.side_index(repo.common_dir, repo.git_dir))
    draft = Draft(session=SessionId(session), moment=moment, at=at, worktree=str(repo.work_tree))
    return snapshots.write(repo, taken, draft, WHO)


# -- writing and reading --------------------------------------------------------------------


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_a_chain_of_states(tmp_path: Path, form: str) -> None:
    scratch = Scratch.create(tmp_path / "repo", object_format=form)
    with discover(scratch.path) as repo:
        first = keep(repo, moment="start")
        scratch.write("a", "x")
        second = keep(repo, BEGAN + 1.5)
        head = scratch.commit("mine", {"a": "x"})
        third = keep(repo, BEGAN + 2)
        found = snapshots.read_all(repo, SESSION)
        assert [one.oid for one in found] == [first, second, third]
        assert [one.moment for one in found] == ["start", "end", "end"]
        assert found[1].tree == found[2].tree != found[0].tree
        assert found[2] == snapshots.find_last(repo, SESSION)
        assert found[2] == Snapshot(
            oid=third or OID, tree=repo.get_commit(head).tree, moment="end", session=SESSION,
            at="2027-01-15T08:00:02.000Z", head=Oid(head), branch="main",
            worktree=str(scratch.path),
        )  # fmt: skip
        assert repo.get_commit(third or "").parents == (second, head)
        assert snapshots.read_all(repo, SessionId("other")) == []


def test_nothing_new_is_not_written(repo: Plumbing, scratch: Scratch) -> None:
    scratch.write("a", "x")
    assert keep(repo)
    count = scratch.git("count-objects")
    assert keep(repo, BEGAN + 9) is None
    assert scratch.git("count-objects") == count
    # The same files on another commit are another state.
    scratch.git("commit", "-q", "--allow-empty", "-m", "empty")
    assert keep(repo)


def test_what_only_a_snapshot_leads_to_is_kept(repo: Plumbing, scratch: Scratch) -> None:
    head = scratch.commit("gone soon", {"a": "x"})
    keep(repo)
    scratch.git("reset", "-q", "--hard", "HEAD^")
    scratch.git("reflog", "expire", "--expire=now", "--all")
    scratch.git("gc", "-q", "--prune=now")
    assert scratch.git("cat-file", "-t", head) == "commit"
    (found,) = snapshots.read_all(repo, SESSION)
    assert found.head == head


def test_before_the_first_commit(tmp_path: Path) -> None:
    scratch = Scratch.create(tmp_path / "repo", commit=False)
    with discover(scratch.path) as repo:
        keep(repo)
        scratch.write("a", "x")
        keep(repo)
        found = snapshots.read_all(repo, SESSION)
    assert [(one.head, one.branch) for one in found] == [(None, "main")] * 2


def test_a_ref_that_moved_meanwhile_is_tried_again(
    repo: Plumbing, scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[int] = []

    def swap(self: Plumbing, swaps: list[Swap]) -> None:
        if len(moved) < 2:
            moved.append(1)
            raise Moved("moved")
        monkeypatch.undo()
        self.swap(swaps)

    monkeypatch.setattr(Plumbing, "swap", swap)
    assert keep(repo)
    assert len(moved) == 2


def test_any_id_and_any_path_come_back(repo: Plumbing) -> None:
    odd = SessionId("../odd/ü id")
    taken = Taken(
        tree=repo.get_commit("HEAD").tree, head=None, branch="a: b",
        left_out=tuple(f"\\n\n{n}\udcff: \r" for n in range(30)),
    )  # fmt: skip
    draft = Draft(
        session=odd, moment="start", at=BEGAN, worktree="/a\n\nHead: x", prompt="p", ended=BEGAN - 1
    )
    snapshots.write(repo, taken, draft, Author(name="", email=""))
    (found,) = snapshots.read_all(repo, odd)
    assert (found.session, found.branch, found.worktree) == (odd, "a: b", "/a\n\nHead: x")
    assert found.left_out == taken.left_out[:20]
    assert (found.head, found.prompt, found.ended) == (None, "p", "2027-01-15T07:59:59.000Z")
    assert "and 10 more files" in (repo.get_commit(found.oid).message)


def test_what_is_no_snapshot_ends_the_chain(repo: Plumbing, scratch: Scratch) -> None:
    keep(repo)
    made = scratch.git("commit-tree", "HEAD^{tree}", "-p", refs.snapshots(SESSION), "-m", "mine")
    scratch.git("update-ref", refs.snapshots(SESSION), made)
    assert snapshots.read_all(repo, SESSION) == []
    scratch.write("a", "x")
    assert keep(repo)
    assert len(snapshots.read_all(repo, SESSION)) == 1


@given(text=st.text())
def test_any_text_is_a_snapshot_or_none(text: str) -> None:
    found = parse(f"{OID} {OID}\n{text}")
    assert found is None or found.oid == OID


def test_the_states_of_work_trees_are_made_apart(tmp_path: Path) -> None:
    common = tmp_path / ".git"
    places = {
        snapshots.side_index(common, git_dir)
        for git_dir in (common, common / "worktrees" / "main", common / "worktrees" / ".git")
    }
    assert len(places) == 3


# -- which one ------------------------------------------------------------------------------


def turns(*starts: float) -> list[Turn]:
    """Turns that began so many seconds after the first."""
    return [
        Turn(number=n, prompt="x", started_at=stamp(BEGAN + start))
        for n, start in enumerate(starts, 1)
    ]


def state(name: str, moment: Moment, at: float, ended: float | None = None) -> Snapshot:
    """A state by a name, so many seconds after the first turn began."""
    return Snapshot(
        oid=OID, tree=Oid(name), moment=moment, at=stamp(BEGAN + at),
        ended="" if ended is None else stamp(BEGAN + ended),
    )  # fmt: skip


def states(found: list[Snapshot], talk: list[Turn]) -> list[str]:
    """The state at 0 and at the end of each turn."""
    every = [snapshot_at(found, talk, n) for n in range(len(talk) + 1)]
    return [one.tree if one else "" for one in every]


def test_each_turn_ends_as_its_end_was_kept() -> None:
    found = [
        state("s1", "start", 0.05), state("e1", "end", 5),
        state("s2", "start", 9.95, ended=5), state("e2", "end", 15),
    ]  # fmt: skip
    assert states(found, turns(0, 10)) == ["s1", "e1", "e2"]


def test_what_the_user_did_between_turns_belongs_to_none() -> None:
    found = [state("s1", "start", 0), state("s2", "start", 10, ended=5), state("e2", "end", 15)]
    # The first turn ended as it began; then the user changed something.
    assert states(found, turns(0, 10)) == ["s1", "s1", "e2"]


def test_an_interrupted_turn_ends_where_the_next_one_starts() -> None:
    found = [state("s1", "start", 0), state("s2", "start", 10), state("e2", "end", 15),
             state("s3", "start", 20, ended=15), state("s4", "start", 30, ended=15)]  # fmt: skip
    assert states(found, turns(0, 10, 20, 30)) == ["s1", "s2", "e2", "s4", "s4"]


def test_turns_that_change_nothing_have_no_states_of_their_own() -> None:
    found = [state("s1", "start", 0), state("e2", "end", 15)]
    assert states(found, turns(0, 10, 20, 30)) == ["s1", "s1", "e2", "e2", "e2"]


def test_clocks_may_differ_a_little_and_turns_be_short() -> None:
    found = [
        state("s1", "start", -0.08), state("e1", "end", 0.33),
        state("s2", "start", 0.36, ended=0.33), state("e2", "end", 0.62),
        state("s3", "barrier", 0.7, ended=0.62), state("e3", "end", 1.0),
    ]  # fmt: skip
    assert states(found, turns(0, 0.3, 0.6)) == ["s1", "e1", "e2", "e3"]


def test_a_turn_may_be_shorter_than_clocks_differ() -> None:
    found = [
        state("s1", "start", -0.01), state("e1", "end", 0.06),
        state("s2", "start", 9.99, ended=0.06), state("s3", "start", 20, ended=10.02),
    ]  # fmt: skip
    assert states(found, turns(0, 10, 20)) == ["s1", "e1", "s2", "s3"]


def test_a_rewind_is_no_part_of_a_turn() -> None:
    found = [state("s1", "start", 0), state("e1", "end", 5), state("r", "rewind", 8)]
    assert states(found, turns(0)) == ["s1", "e1"]
    assert states(found, turns(0, 10)) == ["s1", "e1", "e1"]


def test_what_was_never_kept_is_not_found() -> None:
    late = [state("s3", "start", 20), state("e3", "end", 25)]
    assert states(late, turns(0, 10, 20)) == ["", "", "s3", "e3"]
    assert states([], turns(0)) == ["", ""]
    assert snapshot_at(late, turns(0, 10, 20), 4) is None
    assert snapshot_at(late, [], 0) is None
    lost = [msgspec.structs.replace(turns(0)[0], started_at="?")]
    assert snapshot_at(late, lost, 1) is None


# -- expiry ---------------------------------------------------------------------------------


def test_old_sessions_are_dropped_as_a_whole(repo: Plumbing, scratch: Scratch) -> None:
    for name in ("one", "two", "three"):
        keep(repo, session=name)
    now = float(scratch.git("log", "-1", "--format=%ct", refs.snapshots(SESSION)))
    active = [SessionId("two")]
    assert snapshots.expire(repo, days=30, active=active, now=now + 29 * 86400) == []
    dropped = snapshots.expire(repo, days=30, active=active, now=now + 31 * 86400)
    assert dropped == ["refs/snapshots/one", "refs/snapshots/three"]
    assert list(repo.refs(refs.SNAPSHOTS)) == ["refs/snapshots/two"]


# -- moments that wait ----------------------------------------------------------------------


def test_moments_are_due_until_they_are_kept(tmp_path: Path) -> None:
    event = spool.write(tmp_path / "gitsession" / "spool", "agent", word="prompt")
    waiting = tmp_path / "gitsession" / "snapping"
    waiting.mkdir()
    (waiting / f"start.{event.name}").touch()
    (waiting / "end.of-no-event").touch()
    (waiting / "nonsense").touch()
    [(due, told)] = moments.all_due(tmp_path)
    assert (due.moment, told.path) == ("start", event)
    (waiting / f"start.{event.name}").rename(waiting / f"barrier.{event.name}")
    found = moments.find(tmp_path, told)
    assert found is not None and found.moment == "barrier"
    moments.finish(tmp_path, told)
    moments.finish(tmp_path, told)
    assert moments.all_due(tmp_path) == []
    assert len(list(waiting.iterdir())) == 2
    for path in waiting.iterdir():
        os.utime(path, (0, 0))
    assert moments.all_due(tmp_path) == []
    assert list(waiting.iterdir()) == []


def test_ends_are_remembered_for_a_while(tmp_path: Path) -> None:
    assert moments.last_end(tmp_path, SESSION) is None
    moments.note_end(tmp_path, SESSION, BEGAN)
    assert moments.last_end(tmp_path, SESSION) == BEGAN
    moments.forget_ends(tmp_path, days=1)
    assert moments.last_end(tmp_path, SESSION) == BEGAN
    (path,) = (tmp_path / "gitsession" / "ended").iterdir()
    os.utime(path, (0, 0))
    moments.forget_ends(tmp_path, days=1)
    assert moments.last_end(tmp_path, SESSION) is None
