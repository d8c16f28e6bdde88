"""Whatever bytes a remote has where an index or a session should be, ours stays as it was."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitsession import config
from gitsession.git import refs
from gitsession.git.repository import Draft, Put, Swap
from gitsession.ids import SessionId
from gitsession.model import Record
from gitsession.store import contents, index_union, layout, records, tombstones
from gitsession.store.tombstones import Forgotten, Tombstone
from gitsession.sync.fold import fold_index
from gitsession.sync.fold_sessions import fold_sessions
from gitsession.sync.remote import remote_of
from tests import strategies
from tests.scratch import Scratch
from tests.sync.clones import Clone

PLACES = [f"aa/{'a' * 38}", "b" * 40, f"cc/cc/{'c' * 36}", "forgotten/s", "later/file", "aa", "x y"]
REMOTE = remote_of("origin")
FEW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

notes = st.lists(strategies.plain_records, max_size=3).map(records.encode_note)
stones = st.just(tombstones.encode([Tombstone(v=1, session=SessionId("other"))]))


def mutated(data: bytes, at: int, what: bytes) -> bytes:
    """The bytes with a few of them replaced."""
    at = at % (len(data) + 1)
    return data[:at] + what + data[at + len(what) :]


junk = st.builds(
    mutated, notes | stones | st.binary(max_size=40), st.integers(0, 999), st.binary(max_size=4)
)
files = st.dictionaries(st.sampled_from(PLACES), notes | stones | junk, max_size=4)


# -- the union ------------------------------------------------------------------------------


@given(files, files, files)
def test_uniting_is_commutative_associative_and_idempotent(
    one: dict[str, bytes], two: dict[str, bytes], three: dict[str, bytes]
) -> None:
    def unite(*sides: dict[str, bytes]) -> dict[str, bytes]:
        whole: dict[str, bytes] = {}
        for side in sides:
            whole = index_union.unite(whole, side, Forgotten())
        return whole

    whole = unite(one, two, three)
    assert unite(three, one, two) == whole
    assert unite(one, unite(two, three)) == whole
    assert unite(whole, whole, two) == whole


@given(files, files)
def test_no_record_of_either_is_lost(one: dict[str, bytes], two: dict[str, bytes]) -> None:
    whole = index_union.unite(one, two, Forgotten())
    assert list(index_union.only_in(one, whole)) == list(index_union.only_in(two, whole)) == []


# -- what a remote has ----------------------------------------------------------------------


@pytest.fixture
def ann(scratch: Scratch) -> Clone:
    """A clone with a session of its own."""
    clone = Clone(scratch)
    clone.capture("mine", "one", commit=scratch.head())
    clone.capture("mine", "two")
    return clone


def show_remote(clone: Clone, ref: str, puts: dict[str, bytes]) -> None:
    """Let a remote be seen to have these files."""
    with clone.open() as repo:
        listed = tuple(Put(path=path, data=data) for path, data in puts.items())
        (tip,) = repo.write([Draft(message="x\n", puts=listed)], config.load(clone.path).author)
        name = refs.seen(REMOTE.slug, ref)
        repo.swap([Swap(ref=name, old=repo.resolve(name), new=tip)])


def without_folders_in_files(puts: dict[str, bytes]) -> dict[str, bytes]:
    """What a tree can hold: no name is that of a file and of a folder."""
    return {p: d for p, d in puts.items() if not any(q.startswith(p + "/") for q in puts)}


@FEW
@given(puts=files)
def test_any_index_leaves_ours_whole(ann: Clone, puts: dict[str, bytes]) -> None:
    show_remote(ann, refs.INDEX, without_folders_in_files(puts))
    with ann.open() as repo:
        fold_index(repo, REMOTE, config.load(ann.path))
    assert ann.prompts()["mine"] == ["one", "two"]
    assert ann.texts("mine") == ["one", "two"]


def tree_of(clone: Clone) -> dict[str, bytes]:
    """The files of the session, as a remote could have them."""
    with clone.open() as repo:
        names = clone.git("ls-tree", "-r", "--name-only", "refs/sessions/mine").splitlines()
        return {name: repo.read(f"refs/sessions/mine:{name}") or b"" for name in names}


@FEW
@given(data=st.data())
def test_any_session_leaves_ours_whole(ann: Clone, data: st.DataObject) -> None:
    puts = tree_of(ann)
    for name in data.draw(st.lists(st.sampled_from(sorted(puts)), max_size=3)):
        at, what = data.draw(st.integers(0, 999)), data.draw(st.binary(max_size=4))
        puts[name] = mutated(puts[name], at, what)
    if data.draw(st.booleans()):
        puts.pop(data.draw(st.sampled_from([layout.HEAD, layout.record(2), layout.segment(1)])))
    show_remote(ann, "refs/sessions/mine", puts)
    with ann.open() as repo:
        here = config.load(ann.path)
        fold_sessions(repo, REMOTE, ["refs/sessions/mine"], Forgotten(), here)
    have = [record.prompt for record in kept(ann)]
    assert {"one", "two"} <= set(have)


def kept(clone: Clone) -> list[Record]:
    """The records of the session as it is here now."""
    with clone.open() as repo:
        tip = repo.resolve("refs/sessions/mine")
        assert tip is not None
        return contents.read(repo, tip).records
