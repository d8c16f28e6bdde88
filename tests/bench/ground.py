"""Where the benchmarks run: sealed from the machine's owner, with what they build in a cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitsession.store import folder, spool
from gitsession.store.lock import held
from tests.bench.corpus import Corpus
from tests.scratch import Scratch


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What every measurement needs."""

    cache: Path
    """Kept from run to run."""
    scratch: Path
    """Gone after this one."""
    corpus: Corpus
    quick: bool

    @property
    def program(self) -> Path:
        """The executable under test."""
        return Path(sys.executable).with_name("git-session")

    def rounds(self, number: int) -> int:
        """How often to measure."""
        return 2 if self.quick else number

    def place(self, name: str) -> Path:
        """A path for a new folder."""
        return Path(tempfile.mkdtemp(prefix=name + "-", dir=self.scratch)) / name

    def repository(self, name: str) -> Scratch:
        """A new repository with one commit."""
        return Scratch.create(self.place(name))


@contextmanager
def sealed(scratch: Path) -> Iterator[None]:
    """Run with a HOME, an identity and a configuration of our own."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "CLAUDE", "CODEX", "COPILOT", "GEMINI", "XDG_")):
            del os.environ[name]
    home = scratch / "home"
    (home / ".claude" / "projects" / "bench").mkdir(parents=True)
    os.environ |= {
        "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "Dev", "GIT_AUTHOR_EMAIL": "dev@example.com",
        "GIT_COMMITTER_NAME": "Dev", "GIT_COMMITTER_EMAIL": "dev@example.com",
        "LC_ALL": "C.UTF-8", "TZ": "UTC", "GIT_PAGER": "cat",
    }  # fmt: skip
    try:
        yield
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def transcript(session: str) -> Path:
    """Where the client would keep a session."""
    return Path.home() / ".claude" / "projects" / "bench" / f"{session}.jsonl"


def tell_of_commit(repo: Scratch, session: str, commit: str) -> None:
    """Leave the event that our post-commit hook leaves, as if a while ago."""
    git_dir = repo.path / ".git"
    event = spool.write(
        folder.spool(git_dir), "post-commit", head=commit, ref="refs/heads/main",
        git_dir=str(git_dir), cwd=str(repo.path),
        env={"CLAUDE_CODE_SESSION_ID": session, "HOME": str(Path.home())},
    )  # fmt: skip
    while_ago = time.time() - 60
    os.utime(event, (while_ago, while_ago))


def settle(repo: Scratch) -> None:
    """Wait until no worker is at it, and forget what still waits for one."""
    home = folder.home(repo.path / ".git")
    if home.is_dir():
        time.sleep(0.01)
        with held(home / "lock", wait=True):
            for event in folder.spool(repo.path / ".git").glob("*.event"):
                event.unlink(missing_ok=True)


def copy_repository(source: Path, target: Path) -> Scratch:
    """A copy that shares the packs' bytes on disk."""

    def copy(old: str, new: str) -> None:
        if "/objects/pack/" in old:
            Path(new).hardlink_to(old)
        else:
            shutil.copy2(old, new)

    shutil.copytree(source, target, copy_function=copy, symlinks=True)
    return Scratch(target)


def disk_use(path: Path) -> tuple[int, int]:
    """Bytes in all files below a folder, and bytes of the blocks that hold them."""
    apparent = blocks = 0
    for top, _, names in os.walk(path):
        for name in names:
            found = (Path(top) / name).lstat()
            apparent += found.st_size
            blocks += getattr(found, "st_blocks", 0) * 512
    return apparent, blocks


def run(*words: str | Path, cwd: Path) -> str:
    """Run a program that has to succeed."""
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"error: {words[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout
