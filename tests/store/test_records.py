"""Records are canonical, forward compatible, and merge in any order to the same note."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsession.errors import Unreadable
from gitsession.ids import CaptureId, Oid, SessionId
from gitsession.model import RECORD_VERSION, Agent, Foreign, Record
from gitsession.store import records
from tests import strategies

OLD, NEW = Oid("a" * 40), Oid("b" * 40)


def record(**fields: object) -> Record:
    """A record with as little in it as can be."""
    plain = Record(
        v=RECORD_VERSION,
        id=CaptureId("1" * 40),
        session=SessionId("s"),
        seq=1,
        kind="commit",
        agent=Agent(name="claude-code"),
        captured_at="2026-11-18T12:00:00.000Z",
    )
    return msgspec.structs.replace(plain, **fields)


@given(strategies.records)
def test_a_record_comes_back_as_it_was(given: Record) -> None:
    line = records.encode(given)
    back = records.decode(line)
    assert back == given
    assert isinstance(back, Record)
    assert records.encode(back) == line


@given(strategies.records)
def test_the_bytes_are_canonical(given: Record) -> None:
    line = records.encode(given)
    assert b"\n" not in line
    fields = json.loads(line)
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert list(fields) == sorted(fields)
    assert json.loads(canonical) == fields
    assert len(canonical.encode()) == len(line)


def test_what_is_empty_is_left_out() -> None:
    assert records.encode(record()) == (
        b'{"agent":{"name":"claude-code"},"captured_at":"2026-11-18T12:00:00.000Z","id":"'
        + b"1" * 40
        + b'","kind":"commit","seq":1,"session":"s","v":1}'
    )


def test_fields_of_a_later_version_stay() -> None:
    line = records.encode(record())[:-1] + b',"zzz":{"b":[1,null],"a":2}}'
    back = records.decode(line)
    assert isinstance(back, Record)
    assert back.unknown == {"zzz": {"b": [1, None], "a": 2}}
    again = records.encode(records.carry(back, old=OLD, new=NEW))
    assert json.loads(again)["zzz"] == {"a": 2, "b": [1, None]}


def test_a_field_named_unknown_stays_too() -> None:
    line = records.encode(record())[:-1] + b',"unknown":7}'
    back = records.decode(line)
    assert isinstance(back, Record)
    assert json.loads(records.encode(back))["unknown"] == 7


def test_a_known_field_can_not_be_overridden_by_an_unknown_one() -> None:
    given = record(unknown={"seq": 9, "zzz": 1})
    assert json.loads(records.encode(given))["seq"] == 1


def test_a_later_version_is_told_and_kept() -> None:
    line = records.encode(record(v=2))
    (found,) = records.decode_note(line)
    assert records.encode_note([found]) == line + b"\n"


def test_a_later_version_that_cannot_be_read_is_kept_whole() -> None:
    line = b'{"v":2,"id":[1],"whatever":"x"}'
    (found,) = records.decode_note(line + b"\n")
    assert found == Foreign(raw=line, v=2)
    assert not records.readable([found])
    assert line in records.merge_note(line, [record()])


@given(st.binary())
def test_any_bytes_are_decoded_and_kept(note: bytes) -> None:
    lines = records.decode_note(note)
    again = records.encode_note(lines)
    assert records.encode_note(records.decode_note(again)) == again
    kept = {line.raw for line in lines if isinstance(line, Foreign)}
    assert kept <= {line.strip() for line in again.split(b"\n")} | kept
    assert {x for x in note.split(b"\n") if x.strip()} == kept or any(
        isinstance(line, Record) for line in lines
    )


@pytest.mark.parametrize("line", [b"", b"null", b"[]", b"{", b'"x"', b"{}", b"\xff", b"[" * 9000])
def test_what_is_no_record_is_foreign(line: bytes) -> None:
    assert isinstance(records.decode(line), Foreign)


def test_a_line_too_long_to_be_a_record_is_kept_whole() -> None:
    line = b'{"v":1,"prompt":"' + b"x" * (1 << 20) + b'"}'
    (found,) = records.decode_note(line)
    assert isinstance(found, Foreign)
    assert records.encode_note([found]) == line + b"\n"


def test_a_note_beyond_measure_is_refused() -> None:
    with pytest.raises(Unreadable):
        records.decode_note(b"x" * ((64 << 20) + 1))


def test_a_version_that_is_no_number_is_no_version() -> None:
    assert records.decode(b'{"v":"2"}') == Foreign(raw=b'{"v":"2"}')


# -- merging --------------------------------------------------------------------------------


def test_the_same_capture_on_another_commit_is_another_record() -> None:
    one, two = record(commit=OLD), record(commit=NEW)
    note = records.merge_note(records.merge_note(b"", [one]), [two])
    assert len(records.decode_note(note)) == 2


def test_of_two_records_of_the_same_the_one_that_says_more_is_kept() -> None:
    less, more = record(commit=OLD, seq=3), record(commit=OLD, summary="told")
    for first, second in ((less, more), (more, less)):
        note = records.merge_note(records.merge_note(b"", [first]), [second])
        (found,) = records.decode_note(note)
        assert isinstance(found, Record)
        assert (found.summary, found.seq) == ("told", 3)


def test_where_a_record_was_carried_from_stays() -> None:
    plain = record(commit=NEW)
    carried = records.carry(record(commit=OLD), old=OLD, new=NEW)
    for order in ([plain, carried], [carried, plain]):
        (found,) = records.join(order)
        assert isinstance(found, Record)
        assert found.rewritten_from == OLD


groups = st.lists(strategies.plain_records, max_size=3)


@given(st.binary(), groups)
def test_merging_twice_changes_nothing(note: bytes, group: list[Record]) -> None:
    once = records.merge_note(note, group)
    assert records.merge_note(once, group) == once


any_lines = st.lists(
    strategies.plain_records | st.sampled_from([Foreign(raw=b"x"), Foreign(raw=b"{}")]), max_size=6
)


@given(any_lines, any_lines, any_lines)
def test_joining_is_commutative_associative_and_idempotent(
    one: list[Record | Foreign], two: list[Record | Foreign], three: list[Record | Foreign]
) -> None:
    whole = records.encode_note(records.join([*one, *two, *three]))
    for lines in (
        [*records.join([*one, *two]), *three],
        [*one, *records.join([*two, *three])],
        [*three, *two, *one],
        [*records.join([*one, *two, *three]), *two],
    ):
        assert records.encode_note(records.join(lines)) == whole


@given(groups, groups)
def test_nothing_is_lost_in_a_merge(one: list[Record], two: list[Record]) -> None:
    note = records.merge_note(records.merge_note(b"", one), two)
    found = {(r.id, r.commit) for r in records.decode_note(note) if isinstance(r, Record)}
    assert found == {(r.id, r.commit) for r in [*one, *two]}


# -- the rest -------------------------------------------------------------------------------


def test_a_carried_record_says_where_it_comes_from() -> None:
    carried = records.carry(record(commit=OLD), old=OLD, new=NEW)
    assert (carried.commit, carried.rewritten_from) == (NEW, OLD)


def test_readable_records_come_oldest_first() -> None:
    late, early = record(seq=2), record(seq=1)
    first = record(seq=9, captured_at="2026-11-18T11:00:00.000Z")
    assert records.readable([late, Foreign(raw=b"x"), early, first]) == [first, early, late]
