"""Clones that have each other's captures have the same session, in whatever order they met."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gitsession.ids import CaptureId, Oid, SessionId
from gitsession.model import Agent, Foreign, Record
from gitsession.store import contents as trees
from gitsession.store import union
from gitsession.store.contents import Contents, Piece
from gitsession.store.sessions import Head
from gitsession.store.tombstones import Forgotten
from tests import strategies

HEAD = Head(v=1, session=SessionId("s"), agent="claude-code")
NOTHING = Forgotten()
BLOBS = [Oid("a" * 40), Oid("b" * 40)]
OF_COMMIT = {number: Oid(digit * 40) for number, digit in enumerate("abcdef")}


def piece(number: int, *, seq: int = 1, ties: tuple[int, ...] = (), blob: str = "a") -> Piece:
    """A capture that is the same wherever it is made, but for its number and its ties."""
    own = Record(
        v=1,
        id=CaptureId(str(number) * 40),
        session=SessionId("s"),
        seq=seq,
        kind="commit",
        agent=Agent(name="claude-code"),
        captured_at=f"2026-11-18T12:00:0{number}.000Z",
        commit=OF_COMMIT[number],
    )
    tied = [msgspec.structs.replace(own, commit=OF_COMMIT[at]) for at in ties if at != number]
    return Piece(own=own, ties=tuple(tied), files={"main": Oid(blob * 40)})


def session(*pieces: Piece, **others: Oid) -> Contents:
    return Contents(head=HEAD, pieces=pieces, others=others)


def numbers(contents: Contents) -> list[tuple[str, int]]:
    return [(p.own.id[0], p.own.seq) for p in contents.pieces]


pieces = st.builds(
    piece,
    st.integers(0, 5),
    seq=st.integers(1, 9),
    ties=st.lists(st.integers(0, 5), max_size=2, unique=True).map(tuple),
    blob=st.sampled_from("ab"),
)
stubs = pieces.map(trees.stub)
contents = st.builds(
    Contents,
    head=st.just(HEAD),
    pieces=st.lists(pieces | stubs, max_size=5, unique_by=lambda p: p.own.id).map(tuple),
    others=st.dictionaries(
        st.sampled_from(["results/x.zst", "y"]),
        st.sampled_from(BLOBS) | strategies.oids,
        max_size=2,
    ),
)
gone = st.sampled_from(
    [
        NOTHING,
        Forgotten(captures=frozenset({CaptureId("2" * 40), CaptureId("3" * 40)})),
        Forgotten(blobs=frozenset(BLOBS[:1])),
    ]
)


@given(contents, contents, contents, gone)
def test_joining_is_commutative_associative_and_idempotent(
    one: Contents, two: Contents, three: Contents, gone: Forgotten
) -> None:
    whole = union.join(union.join(one, two, gone), three, gone)
    assert union.join(three, union.join(two, one, gone), gone) == whole
    assert union.join(union.join(three, one, gone), two, gone) == whole
    assert union.join(whole, whole, gone) == whole
    assert union.join(whole, one, gone) == whole


@given(contents, contents)
def test_every_capture_and_every_tie_is_kept_once(one: Contents, two: Contents) -> None:
    whole = union.join(one, two, NOTHING)
    before = {(r.id, r.commit) for c in (one, two) for p in c.pieces if not p.is_stub
              for r in p.lines if isinstance(r, Record)}  # fmt: skip
    after = [(r.id, r.commit) for p in whole.pieces if not p.is_stub
             for r in p.lines if isinstance(r, Record)]  # fmt: skip
    assert sorted(after) == sorted(before)
    seqs = [p.own.seq for p in whole.pieces]
    assert seqs == sorted(set(seqs))
    assert all(isinstance(x, Foreign) or x.seq == p.own.seq for p in whole.pieces for x in p.lines)


def test_a_session_continued_on_two_machines_keeps_both_in_order_of_time() -> None:
    here = session(piece(0, seq=1), piece(2, seq=2), piece(5, seq=3))
    there = session(piece(0, seq=1), piece(4, seq=2))
    assert numbers(union.join(here, there, NOTHING)) == [("0", 1), ("2", 2), ("4", 3), ("5", 4)]


def test_a_longer_chain_is_the_whole_of_a_shorter_one() -> None:
    shorter = session(piece(0, seq=1))
    longer = session(piece(0, seq=1), piece(2, seq=2, ties=(3,)))
    assert union.join(shorter, longer, NOTHING) == longer


def test_what_was_forgotten_is_not_in_the_union() -> None:
    one = piece(2, seq=2)
    here = session(piece(0), one)
    there = trees.emptied(here, Forgotten(captures=frozenset({one.own.id})))
    gone = Forgotten(captures=frozenset({one.own.id}))
    assert union.join(here, there, gone) == there


def test_what_was_only_cleaned_takes_the_place_of_a_stub() -> None:
    secret = piece(2, seq=2)
    gone = Forgotten(captures=frozenset({secret.own.id}))
    cleaned = msgspec.structs.replace(
        secret, own=msgspec.structs.replace(secret.own, id=CaptureId("9" * 40))
    )
    here = trees.emptied(session(piece(0), secret), gone)
    there = session(piece(0), cleaned)
    assert union.join(here, there, gone) == there


def test_a_large_output_that_was_forgotten_keeps_its_place() -> None:
    gone = Forgotten(blobs=frozenset(BLOBS[:1]))
    here = Contents(head=HEAD, pieces=(), others={"results/x.zst": BLOBS[0]})
    empty = trees.emptied(here, gone)
    assert empty.others == {"results/x.zst": ""}
    assert union.join(here, empty, gone) == empty
    assert [put.path for put in trees.tree_of(empty)[0]] == ["session.json", "results/x.zst"]
