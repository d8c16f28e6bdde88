"""A session on a branch of its own, whose turns are commits, which become one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitsession.git import refs
from gitsession.store import records
from tests.e2e.machine import Machine
from tests.e2e.scenario import Ground, bash, program, steps, wait_until, write
from tests.scratch import Scratch

pytestmark = pytest.mark.e2e


@pytest.fixture
def here(bare_ground: Ground, tmp_path: Path) -> Machine:
    repo = bare_ground.repo
    repo.git("clone", "-q", "--bare", str(repo.path), str(tmp_path / "origin.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    made = Machine(bare_ground, repo.path, bare_ground.claude.home)
    made.session("init")
    return made


def subjects(here: Machine, branch: str) -> list[str]:
    return here.repo.git("log", "--reverse", "--format=%s", f"main..{branch}").splitlines()


def test_turns_are_commits_and_become_one(here: Machine, tmp_path: Path) -> None:
    api, top = here.api, here.repo.path
    origin = Scratch(tmp_path / "origin.git")
    here.repo.write("mine", "not committed yet\n")
    api.on("Write a login", *steps(write(top / "login.py", program("login"))))
    api.on("Why so", *steps(bash("cat login.py")))
    api.on("Log out, too", *steps(bash("echo out >logout; rm mine"), bash("echo more >>logout")))
    api.on("Commit it", *steps(bash("echo 1 >one; git add one; git commit -qm 'One by hand'")))
    here.session("start", "Log in!", "--autocommit", "--prompt", "Write a login\n\nwith care")
    branch = "session/Log-in"
    assert here.repo.git("symbolic-ref", "--short", "HEAD") == branch
    for prompt in ("Why so?", "Log out, too", "Commit it"):
        here.session("resume", "--prompt", prompt)
    assert subjects(here, branch) == [
        "Turn 1: Write a login with care", "Turn 3: Log out, too", "One by hand"
    ]  # fmt: skip
    assert here.repo.git("status", "--porcelain") == ""
    wait_until(
        lambda: origin.git("rev-parse", branch, check=False) == here.repo.git("rev-parse", "HEAD^"),
        lambda: str(here.noted()),
    )
    (session,) = here.repo.git("for-each-ref", "--format=%(refname)", refs.SESSIONS).split()
    for rev, turn in (("HEAD~2", 1), ("HEAD~1", 3)):
        note = here.repo.git("notes", f"--ref={refs.INDEX}", "show", rev)
        found = [r for r in records.readable(records.decode_note(note.encode())) if r.commit]
        assert [(r.session, r.branch) for r in found] == [(session.rpartition("/")[2], branch)]
        assert f"Turn {turn}" in here.repo.git("log", "-1", "--format=%s", rev)

    # Published already: not without being told so.
    done = here.run("session", "squash", ok=False)
    assert done.returncode == 1 and "on a remote already" in done.stderr
    tree = here.repo.git("rev-parse", "HEAD^{tree}")
    told = json.loads(here.session("squash", "-m", "Log in and out", "--yes", "--json"))
    assert told["commit"] == here.repo.head()
    assert subjects(here, branch) == ["Log in and out"]
    assert here.repo.git("rev-parse", "HEAD^{tree}") == tree
    shown = here.session("show", "HEAD")
    for words in ("Write a login", "Why so?", "Log out, too", "Commit it"):
        assert words in shown
    assert "nothing wrong" in here.session("verify", "--all")
    here.repo.git("fsck", "--strict", "--no-dangling", "--no-progress")
    assert here.noted() is None


def test_in_a_work_tree_of_its_own(here: Machine) -> None:
    here.api.on("Write there", *steps(bash("echo 1 >there")))
    words = ["start", "--worktree", "--autocommit", "--prompt", "Write there"]
    done = here.run("session", *words)
    assert "on branch session/" in done.stderr
    (branch,) = here.repo.git("for-each-ref", "--format=%(refname:short)",
                              "refs/heads/session").split()  # fmt: skip
    assert subjects(here, branch) == ["Turn 1: Write there"]
    assert here.repo.git("status", "--porcelain") == ""
    short = branch.rpartition("/")[2]
    assert (here.repo.path.parent / f"{here.repo.path.name}-{short}" / "there").is_file()
    assert here.noted() is None
