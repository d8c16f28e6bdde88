"""Each way in which an agent commits: captured once, in order, and to the right commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.scenario import Ground, Tied, bash, delegate, program, steps, write

pytestmark = pytest.mark.e2e


def _by_shell(ground: Ground, seq: int) -> list[Tied]:
    return [Tied(ground.session, seq, "environment")]


def _until(command: str) -> str:
    """Try until it works, for a while: another client may hold git's lock."""
    return f"for try in $(seq 200); do ({command}) && break; sleep 0.05; done"


def test_every_way_to_commit_in_one_work_tree(ground: Ground) -> None:
    repo = ground.repo.path
    ground.repo.git("config", "alias.ci", "commit -q")
    ground.repo.write("save.sh", "git add -A\ngit commit -qm 'by a script'\n")
    ground.repo.write("sub/README", "below\n")
    ground.by_hand("ground")
    ground.turn(
        "commit in every way",
        bash("echo 1 >one; git add one"),
        bash("git commit -qm plain"),
        bash("echo 2 >two; git add . && git commit -m 'add and commit'"),
        bash("cd sub && echo 3 >three && git add . && git commit -m 'in a subfolder'"),
        bash(f"cd / && echo 4 >{repo}/four && git -C {repo} add four && "
             f"git -C {repo} commit -qm 'git -C'"),
        bash("echo 5 >five; git add five; git ci -m 'by an alias'"),
        bash("echo 6 >six; sh save.sh"),
        bash("echo 7 >seven; git add . && git commit -qm 'one of two'; "
             "echo 8 >eight; git add . && git commit -qm 'two of two'"),
        bash("git checkout -qb side && echo 9 >nine && git add . && git commit -qm 'aside' && "
             "git checkout -q main && git merge -q --no-ff -m 'a merge' side"),
        bash("echo 10 >ten; git add . && git commit -qm 'but the call fails' && false"),
    )  # fmt: skip
    subjects = [
        "plain", "add and commit", "in a subfolder", "git -C", "by an alias", "by a script",
    ]  # fmt: skip
    for seq, subject in enumerate(subjects, 1):
        assert ground.ties(ground.find(subject)) == _by_shell(ground, seq), subject
    for subject in ("one of two", "two of two"):
        assert ground.ties(ground.find(subject)) == _by_shell(ground, 7), subject
    for subject in ("aside", "a merge"):
        assert ground.ties(ground.find(subject)) == _by_shell(ground, 8), subject
    assert ground.ties(ground.find("but the call fails")) == _by_shell(ground, 9)
    assert ground.story() == ["commit"] * 9 + ["end"]
    assert ground.raw() == ground.transcript().read_bytes()
    ground.check()


def test_a_segment_ends_with_the_call_that_made_the_commit(ground: Ground) -> None:
    ground.turn(
        "two commits, and words between",
        bash("echo 1 >one; git add . && git commit -qm first-of-all"),
        bash("echo between"),
        bash("echo 2 >two; git add . && git commit -qm second-of-all"),
        bash("echo afterwards"),
    )
    first, second, rest = (ground.segment(seq) for seq in (1, 2, 3))
    assert b"first-of-all" in first and b"echo between" not in first
    assert b"echo between" in second and b"echo afterwards" not in second
    assert b"echo afterwards" in rest
    for segment in (first, second):
        assert b'"tool_result"' in segment.splitlines()[-1]
    assert ground.raw() == ground.transcript().read_bytes()


def test_a_commit_among_parallel_calls_tears_none_apart(ground: Ground) -> None:
    ground.turn(
        "at once",
        [
            bash("echo 1 >one; git add . && git commit -qm parallel"),
            bash("echo beside"),
        ],
    )
    assert ground.ties(ground.find("parallel")) == _by_shell(ground, 1)
    assert ground.segment(1).count(b'"tool_result"') == 2
    assert ground.raw() == ground.transcript().read_bytes()


def test_a_subagent_commits(ground: Ground) -> None:
    mine = "echo 1 >one; git add . && git commit -qm 'by a subagent'"
    ground.api.on("subtask", *steps(bash(mine), bash("echo subagent-goes-on")))
    ground.turn("delegate", delegate("subtask: commit"), bash("echo main-goes-on"))
    assert ground.ties(ground.find("by a subagent")) == _by_shell(ground, 1)
    kept = ground.stored("subagents")
    assert kept[0].endswith("/1.jsonl.zst"), kept
    (own,) = Path(ground.transcript().with_suffix(""), "subagents").glob("*.jsonl")
    stored = b"".join(ground.unpack(f"subagents/{name}") for name in kept)
    assert stored == own.read_bytes()
    assert ground.raw() == ground.transcript().read_bytes()


def test_a_commit_in_the_background(ground: Ground) -> None:
    ground.turn(
        "in the background",
        bash("echo 1 >one; git add . && git commit -qm background", run_in_background=True),
        bash("until git log -1 --format=%s | grep -q background; do sleep 0.1; done"),
    )
    assert ground.ties(ground.find("background")) == _by_shell(ground, 1)
    ground.check()


def test_a_commit_that_ran_no_hook_is_found_when_the_turn_ends(ground: Ground) -> None:
    ground.turn(
        "past the hooks",
        bash("echo 1 >one; git add . && git -c core.hooksPath=/dev/null commit -qm unhooked"),
    )
    (tie,) = ground.ties(ground.find("unhooked"))
    assert (tie.session, tie.seq) == (ground.session, 1)
    assert tie.by in ("turn", "named")
    assert ground.raw() == ground.transcript().read_bytes()


def test_what_is_no_commit_captures_nothing(ground: Ground) -> None:
    hook = ground.common / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\n[ ! -e refuse ]\n")
    hook.chmod(0o755)
    before = ground.repo.head()
    ground.turn(
        "no commit",
        bash("echo 1 >one; touch refuse; git add one; git commit -qm refused; rm -f refuse"),
        bash("echo 'git commit -m nothing'"),
        bash("git reset -q; rm one; git commit -m 'nothing changed'"),
        bash("git commit -q --allow-empty -m 'an empty one'"),
    )
    assert ground.ties(before) == []
    assert ground.ties(ground.find("an empty one")) == []
    assert ground.story() == ["end"]
    ground.check()


def test_two_sessions_at_once_in_one_work_tree(ground: Ground) -> None:
    pair = [ground.at(ground.repo.path) for _ in range(2)]
    running = []
    for name, other, side in (("left", "right", pair[0]), ("right", "left", pair[1])):
        meet = _until(f"cd .git && touch {name} && [ -e {other} ]")
        save = _until(f"git add {name}.py && git commit -qm 'by {name}' {name}.py")
        path = ground.repo.path / f"{name}.py"
        ground.api.on(name, *steps(bash(meet), write(path, program(name)), bash(save)))
        running.append(ground.claude.start(ground.repo.path, name, *side.flags()))
    for process in running:
        ground.claude.finish(process)
    ground.settle()
    for name, side in (("left", pair[0]), ("right", pair[1])):
        assert ground.ties(ground.find(f"by {name}")) == _by_shell(side, 1), name
        assert side.raw() == side.transcript().read_bytes()
    ground.check()
