"""Repositories that are not the usual kind, and folders with odd names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitsession.actions.install import install
from tests.hooks.ground import (
    call_agent,
    commit,
    events,
    git_dir,
)
from tests.scratch import Scratch


@pytest.mark.parametrize("name", ["a b", "a\nb", "'\"$HOME`", "-n", "ünï"])
def test_odd_names_of_folders(tmp_path: Path, notes: Path, name: str) -> None:
    repo = Scratch.create(tmp_path / "under" / name)
    install(repo.path, shared=False, agent="claude-code", push=True)
    repo.git("worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked" / name))
    for path in (repo.path, tmp_path / "linked" / name):
        done = commit(Scratch(path))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = events(git_dir(repo))
    assert next(e.ref for e in found) == "refs/heads/main"
    odd = "\n" in name
    assert [e.cwd for e in found] == (
        ["", ""] if odd else [str(repo.path), str(tmp_path / "linked" / name)]
    )
    call_agent(repo, "turn-ended")
    assert len(events(git_dir(repo))) == 3


def test_a_linked_worktree_tells_the_common_spool(repo: Scratch, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Scratch(tmp_path / "linked")
    commit(linked)
    [event] = events(git_dir(repo))
    assert (event.head, event.ref) == (linked.head(), "refs/heads/linked")
    assert Path(event.git_dir) == git_dir(repo) / "worktrees" / "linked"


def test_sha256(tmp_path: Path, notes: Path) -> None:
    repo = Scratch.create(tmp_path / "repo", object_format="sha256")
    install(repo.path, shared=False, agent="claude-code", push=True)
    commit(repo)
    assert [len(e.head) for e in events(git_dir(repo))] == [64]


def test_a_submodule_has_a_spool_of_its_own(repo: Scratch, tmp_path: Path) -> None:
    other = Scratch.create(tmp_path / "other")
    repo.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "m"
    )
    inner = Scratch(repo.path / "m")
    install(inner.path, shared=False, agent="claude-code", push=True)
    commit(inner)
    [event] = events(git_dir(repo) / "modules" / "m")
    assert (event.head, event.ref) == (inner.head(), "refs/heads/main")
    assert os.path.realpath(event.git_dir) == str(git_dir(repo) / "modules" / "m")


def test_worktrees_of_a_bare_repository(repo: Scratch, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    Scratch(tmp_path / "bare.git").git("worktree", "add", "-q", str(tmp_path / "tree"), "main")
    tree = Scratch(tmp_path / "tree")
    install(tmp_path / "bare.git", shared=False, agent="claude-code", push=True)
    commit(tree)
    assert [e.head for e in events(tmp_path / "bare.git")] == [tree.head()]


def test_packed_refs_and_no_commit_yet(tmp_path: Path, repo: Scratch) -> None:
    repo.git("pack-refs", "--all")
    call_agent(repo, "turn-ended")
    assert [e.head for e in events(git_dir(repo))] == [repo.head()]
    unborn = Scratch.create(tmp_path / "unborn", commit=False)
    install(unborn.path, shared=False, agent="claude-code", push=True)
    call_agent(unborn, "session-start")
    assert [(e.head, e.ref) for e in events(git_dir(unborn))] == [("", "refs/heads/main")]
