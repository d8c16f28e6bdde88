"""A person's machine: a clone, a HOME of its own, and `git session` starting the real client."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from gitsession.store import folder, journal, spool
from tests.e2e.client import BINARY, Claude
from tests.e2e.scenario import Ground, wait_until
from tests.scratch import Scratch

_ALLOWED = ["Bash", "Read", "Write", "Edit", "Task", "Agent"]


class Machine:
    """One of several machines that share a repository."""

    def __init__(self, ground: Ground, path: Path, home: Path, email: str = "") -> None:
        self.repo, self.api = Scratch(path), ground.api
        self.claude = Claude(home, ground.api.url)
        self.env = {**self.claude.env, "CLAUDE_BIN": str(BINARY)}
        if email:
            self.env |= {"GIT_AUTHOR_EMAIL": email, "GIT_COMMITTER_EMAIL": email}
        settings = home / ".claude" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps({"permissions": {"allow": _ALLOWED}}))

    def run(self, *words: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        """Run git as a person does there, and wait until the worker is done."""
        done = subprocess.run(
            ["git", *words], cwd=self.repo.path, env=self.env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=200,
        )  # fmt: skip
        assert not ok or done.returncode == 0, done.stdout + done.stderr
        self.settle()
        return done

    def session(self, *words: str) -> str:
        """Run `git session`."""
        return self.run("session", *words).stdout

    def settle(self) -> None:
        """Wait until every event is dealt with."""
        common = Path(self.repo.git("rev-parse", "--path-format=absolute", "--git-common-dir"))
        wait_until(lambda: spool.is_empty(folder.spool(common)), lambda: str(self.noted()))

    def noted(self) -> str | None:
        """What went wrong last."""
        common = self.repo.git("rev-parse", "--path-format=absolute", "--git-common-dir")
        return journal.last(Path(common))

    def transcript(self, session: str) -> Path:
        """Where the client keeps a session of the clone."""
        return self.claude.transcript(self.repo.path, session)
