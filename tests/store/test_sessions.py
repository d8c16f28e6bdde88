"""Sessions are read from their refs, whatever state those are in."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from gitsession.errors import Ambiguous, NotFound, Unreadable
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Put, Update
from gitsession.ids import Oid, SessionId
from gitsession.model import Author, Foreign
from gitsession.store import codec, layout, records, sessions
from tests.scratch import Scratch
from tests.store.test_records import record

DEV = Author(name="Dev", email="dev@example.com")


@pytest.fixture
def repo(scratch: Scratch) -> Iterator[Plumbing]:
    """A repository to keep sessions in."""
    with discover(scratch.path) as opened:
        yield opened


def pack(data: bytes) -> bytes:
    """Compress as captures are."""
    out = io.BytesIO()
    with codec.writer(out) as packed:
        packed.write(data)
    return out.getvalue()


def keep(repo: Plumbing, name: str, *seqs: int, extra: tuple[Put, ...] = ()) -> Oid:
    """Keep a session with these captures."""
    session = SessionId(name)
    head = sessions.Head(v=1, session=session, agent="claude-code")
    puts = [Put(path=layout.HEAD, data=sessions.encode_head(head)), *extra]
    for seq in seqs:
        line = records.encode(record(session=session, seq=seq)) + b"\n"
        puts.append(Put(path=layout.record(seq), data=line))
        puts.append(Put(path=layout.segment(seq), data=pack(f"line {seq}\n".encode())))
    ref = refs.session(session)
    old = repo.resolve(ref)
    return repo.apply([Update(ref=ref, old=old, message="x\n", puts=tuple(puts))], DEV)[0]


def test_a_session_that_is_not_kept_has_no_tip(repo: Plumbing) -> None:
    stored = sessions.open_session(repo, SessionId("none"))
    assert (stored.tip, stored.seqs, stored.next_seq) == (None, (), 1)
    assert sessions.last_record(repo, stored) is None


def test_its_captures_are_counted_beyond_the_folders(repo: Plumbing) -> None:
    tip = keep(repo, "one", 1, 2, 99, 100, 101, 250)
    stored = sessions.open_session(repo, SessionId("one"))
    assert stored.tip == tip
    assert stored.seqs == (1, 2, 99, 100, 101, 250)
    assert stored.next_seq == 251
    last = sessions.last_record(repo, stored)
    assert last is not None
    assert last.seq == 250
    assert list(sessions.segment_lines(repo, stored, 100)) == [b"line 100\n"]


def test_a_prefix_finds_its_session_and_two_are_told(repo: Plumbing) -> None:
    keep(repo, "abc1", 1)
    keep(repo, "abd2", 1)
    assert sessions.get_session(repo, "abc").ref == refs.session(SessionId("abc1"))
    with pytest.raises(Ambiguous) as ambiguous:
        sessions.get_session(repo, "ab")
    assert "abc1" in str(ambiguous.value.hint)
    for name in ("x", "", "*", "ab*", "../notes", "-a", "abc1x"):
        with pytest.raises(NotFound):
            sessions.get_session(repo, name)


def test_an_exact_name_is_never_ambiguous(repo: Plumbing) -> None:
    keep(repo, "abc", 1)
    keep(repo, "abcd", 1)
    assert sessions.get_session(repo, "abc").ref.endswith("/abc")


@pytest.mark.parametrize(
    "name", ["-x", "a b", "../../heads/main", "archive", "é", "x" * 200, "a.lock"]
)
def test_an_odd_id_is_kept_under_a_safe_name(repo: Plumbing, name: str) -> None:
    keep(repo, name, 1)
    stored = sessions.open_session(repo, SessionId(name))
    assert stored.head is not None
    assert stored.head.session == name
    assert refs.slug_of(stored.ref).startswith("x-")


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b'{"v":1}'])
def test_a_session_without_a_readable_head_says_so(repo: Plumbing, data: bytes) -> None:
    keep(repo, "one", 1, extra=())
    ref = refs.session(SessionId("one"))
    put = Put(path=layout.HEAD, data=data)
    repo.apply([Update(ref=ref, old=repo.resolve(ref), message="x\n", puts=(put,))], DEV)
    with pytest.raises(Unreadable, match="no readable session"):
        sessions.open_ref(repo, ref)


def test_a_ref_to_something_else_says_so(repo: Plumbing, scratch: Scratch) -> None:
    scratch.git("update-ref", "refs/sessions/one", scratch.head())
    with pytest.raises(Unreadable):
        sessions.open_session(repo, SessionId("one"))


def test_missing_content_says_where_it_may_be(repo: Plumbing) -> None:
    line = records.encode(record(session=SessionId("one"))) + b"\n"
    keep(repo, "one", extra=(Put(path=layout.record(1), data=line),))
    stored = sessions.open_session(repo, SessionId("one"))
    with pytest.raises(Unreadable) as missing:
        sessions.segment_blob(repo, stored, 1)
    assert "fetch" in str(missing.value.hint)
    with pytest.raises(Unreadable, match="lacks the record"):
        sessions.record_lines(repo, stored, 2)


def test_a_record_of_a_later_version_is_passed_on(repo: Plumbing) -> None:
    put = Put(path=layout.record(1), data=b'{"v":9}\n')
    keep(repo, "one", extra=(put,))
    stored = sessions.open_session(repo, SessionId("one"))
    assert sessions.record_lines(repo, stored, 1) == [Foreign(raw=b'{"v":9}', v=9)]
    assert sessions.find_record(repo, stored, 1) is None


def test_subagents_lines_come_in_order(repo: Plumbing) -> None:
    puts = tuple(
        Put(path=layout.subagent(name, seq), data=pack(f"{name} {seq}\n".encode()))
        for name in ("agent-a", "agent-b")
        for seq in (2, 10, 9)
    )
    keep(repo, "one", 10, extra=puts)
    stored = sessions.open_session(repo, SessionId("one"))
    lines = sessions.subagent_lines(repo, stored)
    assert lines["agent-a"] == [b"agent-a 2\n", b"agent-a 9\n", b"agent-a 10\n"]
    assert sessions.subagent_lines(repo, stored, 9)["agent-b"] == [b"agent-b 9\n"]
    assert sessions.count_subagent_lines(repo, stored, "agent-b") == 3
    assert sessions.count_subagent_lines(repo, stored, "agent-c") == 0
