"""Git runs in an environment that says nothing but what we mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitsession.errors import GitFailed
from gitsession.git.plumbing import discover
from gitsession.git.run import clean_environment, failure, run
from tests.scratch import Scratch


def test_what_git_gives_its_hooks_is_left_out() -> None:
    base = {
        "GIT_DIR": "x", "GIT_INDEX_FILE": "x", "GIT_WORK_TREE": "x", "GIT_PREFIX": "x",
        "GIT_OBJECT_DIRECTORY": "x", "GIT_QUARANTINE_PATH": "x", "GIT_AUTHOR_DATE": "x",
        "GIT_REFLOG_ACTION": "x", "GIT_NAMESPACE": "x", "PATH": "p", "HOME": "h",
        "GIT_SSH_COMMAND": "s", "LC_ALL": "de_DE.UTF-8", "GIT_TRACE": "1",
    }  # fmt: skip
    assert clean_environment(base) == {
        "PATH": "p", "HOME": "h", "GIT_SSH_COMMAND": "s", "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0",
    }  # fmt: skip


def test_a_hooks_environment_leads_nowhere_else(
    scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Scratch.create(tmp_path / "other", commit=False)
    with monkeypatch.context() as patched:
        patched.setenv("GIT_DIR", str(other.path / ".git"))
        patched.setenv("GIT_WORK_TREE", str(other.path))
        patched.setenv("GIT_INDEX_FILE", "/nonexistent")
        patched.setenv("GIT_OBJECT_DIRECTORY", "/nonexistent")
        with discover(scratch.path) as repo:
            found = repo.resolve("HEAD")
    assert found == scratch.head()


def test_a_failure_says_gits_own_last_words(scratch: Scratch) -> None:
    with pytest.raises(GitFailed, match="git cat-file: Not a valid object name nothing"):
        run(["cat-file", "blob", "nothing"], cwd=scratch.path)


def test_a_failure_without_words_is_still_one() -> None:
    assert failure(["-c", "x=y", "fsck"], b"").message == "git fsck: no message"


def test_an_expected_exit_code_is_no_failure(scratch: Scratch) -> None:
    assert run(["config", "no.such"], cwd=scratch.path, ok=(0, 1)) == b""
    assert run(["cat-file", "blob", "nothing"], cwd=scratch.path, check=False) == b""


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="no folder"):
        run(["version"], cwd=tmp_path / "nothing")


def test_a_missing_git_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitFailed, match="git is not installed"):
        run(["version"], cwd=tmp_path)
