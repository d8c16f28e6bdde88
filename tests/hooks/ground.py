"""What the tests of hooks stand on: a program that only takes notes, and pictures of folders."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from gitsession.store import spool
from tests.scratch import Scratch

SESSION = "0b5ad0b0-4ad1-4b3c-9f5e-7c0f4d4a7a11"
PAYLOAD = '{"session_id":"' + SESSION + '","prompt":"ünï"}'
SHELLS = [
    shell
    for shell in (["sh"], ["dash"], ["bash"], ["bash", "--posix"], ["busybox", "sh"], ["ksh"])
    if shutil.which(shell[0])
]
"""Every kind of sh that is here."""


def put_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `git-session` first on PATH that notes its arguments; give back where."""
    folder = tmp_path / "program"
    folder.mkdir()
    notes = folder / "notes"
    script = folder / "git-session"
    script.write_text(f'#!/bin/sh\necho "$*" >>"{notes}"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return notes


def wait_for(path: Path, lines: int = 1) -> list[str]:
    """The lines of a file that a detached program writes, once there are so many."""
    for _ in range(500):
        if path.exists() and len(found := path.read_text().splitlines()) >= lines:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{path} never got {lines} lines")


def add_hook(folder: Path, name: str, text: str) -> Path:
    """Write an executable hook of somebody else's."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def events(common: Path) -> list[spool.Spooled]:
    """What waits in a repository's spool."""
    return spool.read(common / "gitsession" / "spool")


def picture(*paths: Path, but: tuple[str, ...] = ()) -> dict[str, tuple[int, object]]:
    """Every file, link and folder below some paths, with mode and content."""
    found: dict[str, tuple[int, object]] = {}
    for root in paths:
        for path in [root, *sorted(root.rglob("*"))]:
            if not os.path.lexists(path) or any(word in path.parts for word in but):
                continue
            mode = stat.S_IMODE(path.lstat().st_mode)
            content: object = "folder"
            if path.is_symlink():
                content = path.readlink()
            elif path.is_file():
                content = path.read_bytes()
            found[str(path)] = (mode, content)
    return found


def run(
    repo: Scratch, *words: str, stdin: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a program in a repository, with more in its environment."""
    return subprocess.run(
        words, cwd=repo.path, input=stdin, env={**os.environ, **env},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def commit(repo: Scratch, message: str = "more", **env: str) -> subprocess.CompletedProcess[str]:
    """Commit, as the agent does unless the environment says otherwise."""
    env = {"CLAUDE_CODE_SESSION_ID": SESSION, **env}
    return run(repo, "git", "commit", "-q", "--allow-empty", "-m", message, **env)


def git_dir(repo: Scratch) -> Path:
    """The git directory of a plain repository."""
    return repo.path / ".git"


def call_agent(repo: Scratch, word: str, *shell: str, stdin: str = PAYLOAD) -> None:
    """Call the agent's shim as the agent does, and see that it says nothing."""
    done = run(repo, *shell, ".git/gitsession-hooks/agent", "claude-code", word, stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
