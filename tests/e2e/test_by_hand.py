"""Commits that people make themselves of what the agent wrote: tied by content, and only then."""

from __future__ import annotations

import pytest

from tests.e2e.scenario import Ground, Tied, bash, program, write

pytestmark = pytest.mark.e2e


def _wrote(ground: Ground, *names: str, text: str = "") -> None:
    """Have the client write files, and end."""
    calls = [write(ground.repo.path / name, text or program(name[:-3])) for name in names]
    ground.turn("write " + " ".join(names), *calls)
    assert ground.story() == ["end"]


def _by_content(ground: Ground, seq: int = 1) -> list[Tied]:
    return [Tied(ground.session, seq, "content")]


def test_after_the_session_has_ended(ground: Ground) -> None:
    _wrote(ground, "whole.py", "part.py", "left.py", "right.py")
    whole = ground.by_hand("the whole file", "whole.py")
    assert ground.ties(whole) == _by_content(ground)
    assert ground.records(whole)[0].evidence.files == ("whole.py",)  # type: ignore[union-attr]

    ground.repo.git("add", "-N", "part.py")
    half = program("part", 1)
    ground.repo.write("part.py", half)
    some = ground.by_hand("a part of it", "part.py")
    ground.repo.write("part.py", program("part"))
    rest = ground.by_hand("the rest of it", "part.py")
    left, right = (ground.by_hand(f"{side} half", f"{side}.py") for side in ("left", "right"))
    for commit in (some, rest, left, right):
        assert ground.ties(commit) == _by_content(ground), ground.repo.git("show", commit)
    assert ground.story() == ["commit"] or ground.story() == ["end"]
    ground.check()


def test_hunks_picked_with_add_p(ground: Ground) -> None:
    old = "\n".join(f"line number {n} of the old text" for n in range(40)) + "\n"
    ground.repo.commit("ground", {"long.txt": old})
    new = program("top", 1) + old + program("bottom", 1)
    _wrote(ground, "long.txt", text=new)
    ground.repo.git("add", "-p", stdin="y\nn\n")
    top = ground.commit("the first hunk")
    assert "bottom" not in ground.repo.git("show", top)
    ground.repo.git("add", "-p", stdin="y\n")
    bottom = ground.commit("the second hunk")
    assert ground.ties(top) == ground.ties(bottom) == _by_content(ground)
    ground.check()


def test_stashed_while_something_else_is_committed(ground: Ground) -> None:
    _wrote(ground, "work.py")
    ground.repo.git("stash", "-u")
    other = ground.repo.commit("something else", {"other.py": program("other")})
    ground.settle()
    ground.repo.git("stash", "pop")
    work = ground.by_hand("the work")
    assert ground.ties(other) == []
    assert ground.ties(work) == _by_content(ground)
    ground.check()


def test_what_the_session_did_not_write_is_not_tied_to_it(ground: Ground) -> None:
    _wrote(ground, "work.py")
    other = ground.by_hand("another file", ground.repo.write("mine.py", program("mine")).name)
    ground.repo.write("work.py", program("quite_different"))
    same_name = ground.by_hand("the same file, other content", "work.py")
    assert ground.ties(other) == ground.ties(same_name) == []
    ground.check()


def test_amended_later(ground: Ground) -> None:
    _wrote(ground, "work.py")
    first = ground.by_hand("the work")
    ground.repo.git("commit", "-q", "--amend", "-m", "the work, in better words")
    ground.settle()
    (carried,) = ground.records(ground.repo.head())
    assert (carried.session, carried.seq, carried.rewritten_from) == (ground.session, 1, first)
    assert ground.ties(first) == _by_content(ground)
    ground.check()


def test_rebased_onto_another_branch(ground: Ground) -> None:
    ground.repo.git("checkout", "-q", "-b", "topic")
    ground.turn(
        "two commits",
        bash("echo 1 >one; git add . && git commit -qm one"),
        bash("echo 2 >two; git add . && git commit -qm two"),
    )
    old = [ground.find("one"), ground.find("two")]
    ground.repo.git("checkout", "-q", "main")
    ground.repo.commit("meanwhile", {"other.txt": "other\n"})
    ground.repo.git("rebase", "-q", "main", "topic")
    ground.settle()
    for seq, (rev, was) in enumerate(zip(("HEAD~1", "HEAD"), old, strict=True), 1):
        (carried,) = ground.records(ground.repo.git("rev-parse", rev))
        assert (carried.session, carried.seq, carried.rewritten_from) == (ground.session, seq, was)
    ground.check()


def test_a_commit_without_any_session(ground: Ground) -> None:
    commit = ground.by_hand("mine", ground.repo.write("mine.py", program("mine")).name)
    assert ground.ties(commit) == []
    assert ground.sessions() == []
    ground.check()
