"""The segment of a commit ends with the call that made it, and tears no call apart."""

from __future__ import annotations

import pytest

from gitsession.agents.base import Call, Line, Outcome
from gitsession.capture.cut import Cut, find_cut, seconds
from tests.conversation import stamp

COMMIT = "abcdef0123456789" + "0" * 24
NOON = 1_700_000_000.0


def said(at: float | None) -> Line:
    """An answer at some second."""
    return Line(at=stamp(NOON + at) if at is not None else None, speaks=True)


def begun(at: float, *ids: str, name: str = "Bash") -> Line:
    """Calls that begin; `Task` delegates, and only `Bash` is a shell."""
    calls = [
        Call(id=i, name=name, command="x" if name == "Bash" else "", delegates=name == "Task")
        for i in ids
    ]
    return Line(at=stamp(NOON + at), calls=tuple(calls))


def ended(at: float, *ids: str, commits: tuple[str, ...] = ()) -> Line:
    """Calls that end."""
    return Line(at=stamp(NOON + at), outcomes=tuple(Outcome(id=i, commits=commits) for i in ids))


def cut(*lines: Line, at: float = 10.0, start: int = 0, until: float | None = None) -> Cut:
    """The cut for a commit made at a second, in lines of length one."""
    numbered = enumerate(lines, start + 1)
    last = NOON + (until if until is not None else at)
    return find_cut(numbered, start=start, since=NOON + at, until=last, commit=COMMIT)


CASES: dict[str, tuple[list[Line], Cut]] = {
    "no lines": ([], Cut(end=0)),
    "only words before it": ([said(1), said(2)], Cut(end=2)),
    "words after it": ([said(1), said(20)], Cut(end=1, reached=True)),
    "a call that made it": (
        [said(1), begun(9, "a"), ended(11, "a"), said(12)],
        Cut(end=3, made_here=True, reached=True),
    ),
    "a call that still runs": (
        [said(1), begun(9, "a")],
        Cut(end=1, made_here=True, running=True),
    ),
    "a call that began later": (
        [said(1), begun(20, "a")],
        Cut(end=1, reached=True),
    ),
    "a call that was over": ([begun(1, "a"), ended(2, "a")], Cut(end=2)),
    "a call that was over, and one after": (
        [begun(1, "a"), ended(2, "a"), begun(20, "b"), ended(21, "b")],
        Cut(end=2, reached=True),
    ),
    "a reader that ran meanwhile": (
        [begun(9, "a", name="Read"), ended(11, "a"), said(12)],
        Cut(end=0, reached=True),
    ),
    "two siblings, the second still open": (
        [begun(9, "a"), begun(9, "b", name="Read"), ended(11, "a")],
        Cut(end=0, made_here=True, running=True, reached=True),
    ),
    "two siblings, both over": (
        [begun(9, "a"), begun(9, "b", name="Read"), ended(11, "a"), ended(12, "b"), said(13)],
        Cut(end=4, made_here=True, reached=True),
    ),
    "a result that names it wins over time": (
        [begun(9, "a"), ended(11, "a", commits=("abcdef0",)), begun(9, "b"), ended(11, "b")],
        Cut(end=2, made_here=True, named=True, reached=True),
    ),
    "a background call names it later": (
        [begun(1, "a"), ended(2, "a"), said(12), ended(15, "a", commits=(COMMIT,)), said(16)],
        Cut(end=4, made_here=True, named=True, reached=True),
    ),
    "a background call that names nothing": (
        [begun(1, "a"), ended(2, "a"), said(9), said(12)],
        Cut(end=3, reached=True),
    ),
    "a subagent runs on": (
        [begun(1, "t", name="Task"), said(5), said(12)],
        Cut(end=2, reached=True),
    ),
    "a shell beside a running subagent": (
        [begun(1, "t", name="Task"), begun(9, "a"), ended(11, "a"), said(12)],
        Cut(end=3, made_here=True, reached=True),
    ),
    "a name too short to be one": (
        [begun(1, "a"), ended(2, "a", commits=("abc",)), said(20)],
        Cut(end=2, reached=True),
    ),
    "lines without a time": (
        [said(None), begun(9, "a"), said(None), ended(11, "a"), said(None)],
        Cut(end=4, made_here=True, reached=True),
    ),
    "clocks that differ a little": (
        [begun(10.04, "a"), ended(10.2, "a"), said(11)],
        Cut(end=2, reached=True),
    ),
    "the call before, while the line of ours is on its way": (
        [begun(9, "a"), ended(9.98, "a")],
        Cut(end=2),
    ),
    "a call that follows at once": (
        [begun(9, "a"), ended(10.01, "a"), begun(10.03, "b"), ended(11, "b"), said(12)],
        Cut(end=2, made_here=True, reached=True),
    ),
    "a call that was just over, and one that runs": (
        [begun(9, "a"), ended(9.98, "a"), begun(9.99, "b")],
        Cut(end=2, made_here=True, running=True),
    ),
    "bookkeeping just after it": (
        [said(1), said(None), said(10.02)],
        Cut(end=1),
    ),
    "the last of two calls that fit": (
        [begun(9, "a"), ended(9.98, "a"), begun(9.99, "b"), ended(11, "b"), said(12)],
        Cut(end=4, made_here=True, reached=True),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "found"), CASES.values(), ids=CASES)
def test_where_the_cut_is(lines: list[Line], found: Cut) -> None:
    assert cut(*lines) == found


def test_an_answer_given_later_is_the_same() -> None:
    lines = [said(1), begun(9, "a"), ended(11, "a"), said(12)]
    more = [begun(20, "b"), ended(21, "b"), said(22), begun(30, "c")]
    assert cut(*lines).end == cut(*lines, *more).end == 3


def test_the_cut_is_never_before_the_start() -> None:
    assert cut(start=7).end == 7
    assert cut(begun(9, "a"), start=7).end == 7


@pytest.mark.parametrize(
    ("at", "found"),
    [
        ("2026-11-18T12:00:00.500Z", 1795003200.5),
        ("2026-11-18T13:00:00.500+01:00", 1795003200.5),
        (None, None), ("", None), ("yesterday", None), ("2026-13-40T00:00:00Z", None),
    ],
)  # fmt: skip
def test_time_stamps(at: str | None, found: float | None) -> None:
    assert seconds(at) == found
