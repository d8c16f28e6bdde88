"""What a run of lines amounts to, counted once each."""

from __future__ import annotations

from gitsession.agents.base import Call, Edit, Line, Outcome
from gitsession.capture.digest import Digest, shorten
from gitsession.model import Tokens


def relative(path: str, cwd: str) -> str | None:
    """Everything below /repo is in the repository."""
    return path.removeprefix("/repo/") if path.startswith("/repo/") else None


def counted(*lines: Line) -> Digest:
    """A digest of lines."""
    digest = Digest(relative)
    for line in lines:
        digest.add(line)
    return digest


def test_nothing_amounts_to_nothing() -> None:
    digest = counted()
    assert (digest.messages, digest.turns, digest.tokens, digest.files) == (0, 0, None, ())


def test_the_first_and_the_last_that_have_a_name_and_a_time() -> None:
    digest = counted(Line(), Line(uuid="a", at="1"), Line(uuid="b"), Line(at="2"), Line())
    assert (digest.first, digest.last) == ("a", "b")
    assert (digest.started_at, digest.ended_at) == ("1", "2")


def test_the_lines_of_one_response_count_once() -> None:
    usage = Tokens(input=10, output=2)
    final = Tokens(input=10, output=50)
    lines = [
        Line(speaks=True, message="m1", tokens=usage, model="x"),
        Line(speaks=True, message="m1", tokens=final, model="x"),
        Line(speaks=True),
        Line(speaks=True, message="m2", tokens=usage, model="y"),
        Line(speaks=True, message="m1"),
    ]
    digest = counted(*lines)
    assert digest.messages == 3
    assert digest.tokens == Tokens(input=20, output=52)
    assert digest.models == ("x", "y")


def test_many_responses_are_all_counted() -> None:
    lines = [Line(speaks=True, message=f"m{i}", tokens=Tokens(output=1)) for i in range(500)]
    assert counted(*lines).tokens == Tokens(output=500)


def test_prompts_make_turns_and_the_first_is_quoted() -> None:
    digest = counted(Line(prompt="do\n  this " + "x" * 300), Line(prompt="and that"))
    assert digest.turns == 2
    assert shorten(digest.prompt).startswith("do this xxx")
    assert len(shorten(digest.prompt)) == 120


def test_a_file_counts_when_its_edit_succeeded() -> None:
    edit = Edit(path="/repo/a", added=("x",))
    meant = Call(id="1", name="Edit", edits=(edit,))
    other = Call(id="2", name="Edit", edits=(Edit(path="/repo/b"),))
    lines = [
        Line(calls=(meant, other)),
        Line(outcomes=(Outcome(id="1"),)),
        Line(outcomes=(Outcome(id="2", failed=True),)),
        Line(outcomes=(Outcome(id="3", edits=(Edit(path="/elsewhere/c"),)),)),
    ]
    digest = counted(*lines)
    assert digest.files == ("a",)
    assert digest.tools == {"Edit": 2}


def test_a_subagents_work_is_included() -> None:
    main = counted(Line(prompt="x", uuid="m"), Line(calls=(Call(id="1", name="Task"),)))
    side = counted(
        Line(prompt="y", uuid="s"),
        Line(speaks=True, message="m1", tokens=Tokens(input=3), model="small"),
        Line(calls=(Call(id="2", name="Bash"),)),
    )
    main.include(side)
    assert (main.turns, main.messages, main.tools) == (1, 1, {"Task": 1, "Bash": 1})
    assert (main.tokens, main.models, main.last) == (Tokens(input=3), ("small",), "m")


def test_words_are_shortened_to_one_line() -> None:
    assert shorten("a\n\tb") == "a b"
    assert shorten("x" * 200) == "x" * 119 + "…"
    assert shorten("") == ""
