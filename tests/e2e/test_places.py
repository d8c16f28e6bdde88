"""Work trees, submodules, folders below the top: a commit belongs to the repository it is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.scenario import Ground, Tied, bash, program, write
from tests.scratch import Scratch

pytestmark = pytest.mark.e2e


def _add_worktree(ground: Ground) -> Path:
    path = ground.repo.path.parent / "linked"
    ground.repo.git("worktree", "add", "-q", "-b", "linked", str(path))
    return path


def test_a_client_in_a_linked_work_tree(ground: Ground) -> None:
    linked = ground.at(_add_worktree(ground))
    linked.turn(
        "commit and write",
        bash("echo 1 >one; git add . && git commit -qm 'in the work tree'"),
        write(linked.repo.path / "work.py", program("work")),
    )
    hand = linked.by_hand("by hand in the work tree")
    assert ground.ties(ground.find("in the work tree")) == [Tied(linked.session, 1, "environment")]
    assert ground.records(ground.find("in the work tree"))[0].branch == "linked"
    assert ground.ties(hand) == [Tied(linked.session, 2, "content")]
    assert linked.story() == ["commit", "end"]
    linked.check()
    ground.check()


def test_a_client_in_the_main_tree_commits_in_a_linked_one(ground: Ground) -> None:
    _add_worktree(ground)
    ground.turn(
        "elsewhere",
        bash("echo 1 >../linked/one; git -C ../linked add . && git -C ../linked commit -qm there"),
    )
    assert ground.ties(ground.find("there")) == [Tied(ground.session, 1, "environment")]
    assert ground.records(ground.find("there"))[0].branch == "linked"
    ground.check()


def test_a_client_below_the_top(ground: Ground) -> None:
    ground.repo.commit("ground", {"deep/down/README": "here\n"})
    below = ground.repo.path / "deep" / "down"
    ground.turn(
        "commit from below",
        write(below / "low.py", program("low")),
        bash("git add . && git commit -qm 'from below'"),
        write(below / "rest.py", program("rest")),
        cwd=below,
    )
    hand = ground.by_hand("the rest")
    assert ground.ties(ground.find("from below")) == [Tied(ground.session, 1, "environment")]
    assert ground.records(ground.find("from below"))[0].files == ("deep/down/low.py",)
    assert ground.ties(hand) == [Tied(ground.session, 2, "content")]
    ground.check()


def test_a_commit_in_a_submodule_goes_to_the_submodule(ground: Ground, tmp_path: Path) -> None:
    inner = Scratch.create(tmp_path / "inner")
    add = ["submodule", "add", "-q", str(inner.path), "module"]
    ground.repo.git("-c", "protocol.file.allow=always", *add)
    ground.by_hand("add a module")
    module = ground.at(ground.repo.path / "module")
    module.init()
    ground.turn(
        "commit in the module",
        bash("cd module && echo 1 >one && git add . && git commit -qm inside"),
        bash("cd .. ; git add module && git commit -qm 'move the module on'"),
    )
    module.settle()
    inside, outside = module.find("inside"), ground.find("move the module on")
    assert module.ties(inside) == [Tied(ground.session, 1, "environment")]
    assert ground.ties(outside) == [Tied(ground.session, 1, "environment")]
    assert ground.ties(inside) == []
    assert ground.raw() == ground.transcript().read_bytes()
    ground.check()
    module.check()


def test_a_repository_with_sha256(bare_ground: Ground, tmp_path: Path) -> None:
    long = Scratch.create(tmp_path / "long", object_format="sha256")
    ground = bare_ground.at(long.path)
    ground.init()
    ground.turn(
        "commit and write",
        bash("echo 1 >one; git add . && git commit -qm one"),
        write(long.path / "work.py", program("work")),
    )
    hand = ground.by_hand("by hand")
    assert len(hand) == 64
    assert ground.ties(ground.find("one")) == [Tied(ground.session, 1, "environment")]
    assert ground.ties(hand) == [Tied(ground.session, 2, "content")]
    assert ground.raw() == ground.transcript().read_bytes()
    ground.check()


def test_hooks_elsewhere_go_on_working(bare_ground: Ground) -> None:
    ground = bare_ground
    theirs = ground.repo.write(".husky/post-commit", "#!/bin/sh\necho ran >>.git/theirs\n")
    theirs.chmod(0o755)
    ground.by_hand("ground")
    ground.repo.git("config", "core.hooksPath", ".husky")
    ground.init()
    ground.turn("commit", bash("echo 1 >one; git add . && git commit -qm one"))
    assert (ground.common / "theirs").read_text() == "ran\n"
    assert ground.ties(ground.find("one")) == [Tied(ground.session, 1, "environment")]
    ground.check()
