"""Content ties a commit to a session; names of files and trifles do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsession.capture import match
from gitsession.capture.match import Match
from gitsession.git.repository import FileChange
from gitsession.store.registry import Trace

LOGIN = ("def login(user):", "    return check(user)")
LOGOUT = ("def logout(session):", "    session.destroy()")


def trace(*added: str, removed: tuple[str, ...] = (), path: str = "app.py", at: int = 1) -> Trace:
    """What a session wrote."""
    return Trace(path=path, offset=at, added=match.marks(added), removed=match.marks(removed))


def change(*added: str, removed: tuple[str, ...] = (), path: str = "app.py") -> FileChange:
    """What a commit did."""
    return FileChange(path=path, added=added, removed=removed)


def one(given: Trace, *changes: FileChange) -> Match | None:
    """Whether a single trace is in a commit."""
    found = match.match([given], changes)
    return found[0] if found else None


def test_the_whole_of_an_edit() -> None:
    found = one(trace(*LOGIN), change(*LOGIN))
    assert found is not None
    assert found.lines == 2
    assert match.is_spent(found.rest)


def test_an_edit_among_the_users_own_lines() -> None:
    own = tuple(f"my_own_line_{number} = {number}" for number in range(200))
    found = one(trace(*LOGIN), change(*own, *LOGIN))
    assert found is not None
    assert match.is_spent(found.rest)


def test_a_part_of_an_edit_leaves_the_rest() -> None:
    found = one(trace(*LOGIN, *LOGOUT), change(*LOGIN))
    assert found is not None
    assert found.rest.added == match.marks(LOGOUT)
    again = one(found.rest, change(*LOGOUT))
    assert again is not None
    assert match.is_spent(again.rest)


@pytest.mark.parametrize(
    "changes",
    [
        (),
        (change(*LOGIN, path="other.py"),),
        (change("class Form:", "    template = None"),),
        (change(removed=LOGIN),),
        (change("}", ")", "    pass", "else:"),),
    ],
    ids=["nothing", "another file", "other content", "only taken away", "trifles"],
)
def test_what_ties_nothing(changes: tuple[FileChange, ...]) -> None:
    given = trace(*LOGIN, "    pass", "}", ")", *LOGOUT)
    assert one(given, *changes) is None


def test_white_space_makes_no_difference() -> None:
    found = one(trace(*LOGIN), change("\tdef login( user ):\r", "return   check(user)  "))
    assert found is not None
    assert match.is_spent(found.rest)


def test_a_deletion_needs_all_of_what_it_took() -> None:
    taken = trace(removed=LOGIN)
    assert one(taken, change(removed=LOGIN)) is not None
    assert one(taken, change(removed=(*LOGIN, *LOGOUT))) is not None
    assert one(taken, change(removed=LOGIN[:1])) is None
    assert one(taken, change(*LOGIN)) is None


def test_a_replacement_is_told_by_what_it_wrote() -> None:
    found = one(trace(*LOGIN, removed=LOGOUT), change(*LOGIN))
    assert found is not None
    assert match.is_spent(found.rest)


def test_a_short_edit_ties_when_it_is_all_there_is() -> None:
    assert one(trace("x = 1"), change("x = 1")) is not None
    assert one(trace("x = 1"), change("x = 1", "y = 2")) is not None
    assert one(trace("}"), change("}")) is not None
    assert one(trace("}"), change("}", "return")) is None


def test_several_edits_that_are_most_of_a_commit_belong_to_it_together() -> None:
    traces = [trace("a = 1"), trace("b = 2", at=2), trace("c = 3", at=3)]
    found = match.match(traces, [change("a = 1", "b = 2", "c = 3")])
    assert [m.index for m in found] == [0, 1, 2]


def test_a_line_without_content_marks_nothing() -> None:
    assert match.marks(["", "  ", "\t"]) == ()
    assert match.marks(["a", " a", "a "]) == (match.mark("a"),)


def test_marks_are_bounded() -> None:
    assert len(match.marks(str(number) for number in range(60_000))) == 50_000


lines = st.lists(st.text("ab c(){}\n=.", max_size=8), max_size=6).map(tuple)
traces = st.builds(
    lambda added, removed, path: trace(*added, removed=removed, path=path),
    lines, lines, st.sampled_from(["a", "b"]),
)  # fmt: skip
changes = st.builds(
    lambda added, removed, path: change(*added, removed=removed, path=path),
    lines, lines, st.sampled_from(["a", "b"]),
)  # fmt: skip


@given(st.lists(traces, max_size=3), st.lists(changes, max_size=2, unique_by=lambda c: c.path))
def test_what_is_left_is_less_and_was_there(given: list[Trace], made: list[FileChange]) -> None:
    for found in match.match(given, made):
        before = given[found.index]
        assert found.lines > 0
        assert set(found.rest.added) <= set(before.added)
        assert set(found.rest.removed) <= set(before.removed)
        assert len(found.rest.added) + len(found.rest.removed) < (
            len(before.added) + len(before.removed)
        )


@given(lines)
def test_an_edit_committed_as_it_is_is_always_found_and_spent(added: tuple[str, ...]) -> None:
    given = trace(*added)
    if given.added:
        found = one(given, change(*added))
        assert found is not None
        assert match.is_spent(found.rest)


@given(st.text())
def test_any_line_has_a_mark_that_json_can_hold(line: str) -> None:
    assert 0 <= match.mark(line) < 1 << 63
    assert match.mark(line) == match.mark("  " + line + "\t")
