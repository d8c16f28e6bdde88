"""The worker has nothing to do for a session that was forgotten, and goes on with the others."""

from __future__ import annotations

from gitsession.git import refs
from gitsession.git.plumbing import discover
from gitsession.git.repository import Put, Update
from gitsession.ids import SessionId
from gitsession.model import Author
from gitsession.store import tombstones
from gitsession.store.tombstones import Tombstone
from tests.client import Client, captures, raw, records_of, session_refs, set_up, waiting, work
from tests.scratch import Scratch


def lay_stone(repo: Scratch, session: str) -> None:
    """Put a tombstone into the index, as a sync does."""
    stone = Tombstone(v=tombstones.VERSION, session=SessionId(session))
    path, data = tombstones.path_of(stone.session), tombstones.encode([stone])
    with discover(repo.path) as found:
        update = Update(
            ref=refs.INDEX,
            old=found.resolve(refs.INDEX),
            message="forgotten\n",
            puts=(Put(path=path, data=data),),
        )
        found.apply([update], Author(name="Ann", email="ann@example.com"))


def test_a_session_with_a_tombstone_is_not_captured(scratch: Scratch) -> None:
    set_up(scratch)
    client, other = Client.start(scratch), Client.start(scratch)
    for one in (client, other):
        one.prompt("write a program")
    lay_stone(scratch, client.session)
    client.talk.write("one.py", "def first_function():\n    return 1\n")
    client.commit("one")
    assert records_of(scratch) == []
    # By hand, so that only what it holds tells whose work it is.
    client.talk.write("two.py", "def second_function():\n    return 2\n")
    client.stop()
    work(scratch)
    scratch.commit("two", {"two.py": "def second_function():\n    return 2\n"})
    other.talk.write("three.py", "def third_function():\n    return 3\n")
    other.commit("three")
    for one in (client, other):
        one.end()
    work(scratch, final=True)
    assert session_refs(scratch) == [f"refs/sessions/{other.session}"]
    assert [record.session for record in records_of(scratch)] == [other.session]
    assert raw(scratch, other.session) == other.talk.path.read_bytes()
    assert waiting(scratch) == []


def test_another_session_in_the_same_file_of_tombstones_is(scratch: Scratch) -> None:
    set_up(scratch)
    client = Client.start(scratch)
    lay_stone(scratch, "another")
    client.prompt("hello")
    client.end()
    work(scratch, final=True)
    assert len(captures(scratch, client.session)) == 1
