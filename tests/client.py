"""A client that works in a repository as Claude Code does: a transcript, a shell, and hooks."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gitsession.actions import githooks, install, show
from gitsession.actions.work import make_worker
from gitsession.capture.worker import Worker
from gitsession.git import refs
from gitsession.git.plumbing import discover
from gitsession.ids import Oid, SessionId
from gitsession.model import Record
from gitsession.query.index import find_records
from gitsession.store import folder, sessions, spool
from tests.conversation import Conversation
from tests.scratch import Scratch

PAUSE = 0.06
"""Seconds between calls: what is nearer in time counts as the same moment."""


def set_up(repo: Scratch) -> None:
    """Run init; the hooks then leave their events, and start a program that does nothing."""
    idle = Path(os.environ["HOME"]) / "idle"
    if not idle.exists():
        idle.write_text("#!/bin/sh\nexit 0\n")
        idle.chmod(0o755)
    found, githooks.executable = githooks.executable, lambda: str(idle)
    try:
        install.install(repo.path, shared=False, agent="claude-code", push=False)
    finally:
        githooks.executable = found


def common_of(repo: Scratch) -> Path:
    """The common git folder."""
    with discover(repo.path) as found:
        return found.common_dir


def state(repo: Scratch) -> list[str]:
    """All that a capture must leave alone."""
    asked = ["rev-parse HEAD", "for-each-ref refs/heads refs/tags refs/stash", "status --porcelain",
             "diff --cached", "diff", "config --list --local", "reflog"]  # fmt: skip
    return [repo.git(*words.split(), check=False) for words in asked]


def work(repo: Scratch, *, final: bool = False) -> Worker:
    """Run the worker here until nothing is left to do, and look that nothing else has changed."""
    before = state(repo)
    worker = make_worker(common_of(repo), final=final)
    worker.run()
    after = state(repo)
    assert after == before, (before, after)
    assert worker.failures == [], worker.failures
    check(repo)
    return worker


def check(repo: Scratch) -> None:
    """No object is damaged."""
    assert repo.git("fsck", "--strict", "--no-dangling", "--no-reflogs") == ""


def waiting(repo: Scratch) -> list[str]:
    """The events that wait."""
    return [f"{e.event} {e.word}".strip() for e in spool.read(folder.spool(common_of(repo)))]


def records_of(repo: Scratch, commit: str = "HEAD") -> list[Record]:
    """The records of a commit, in its note."""
    with discover(repo.path) as found:
        oid = found.get_commit(commit).oid
        return [r for r in find_records(found, oid) if r.commit == oid]


def captures(repo: Scratch, session: str) -> list[Record]:
    """The captures of a session, as each was made."""
    with discover(repo.path) as found:
        stored = sessions.open_session(found, SessionId(session))
        every = [sessions.find_record(found, stored, seq) for seq in stored.seqs]
    return [record for record in every if record is not None]


def tied(repo: Scratch, session: str) -> dict[int, list[Oid | None]]:
    """The commits of each capture of a session, as its ref has them."""
    with discover(repo.path) as found:
        stored = sessions.open_session(found, SessionId(session))
        return {
            seq: [
                line.commit
                for line in sessions.record_lines(found, stored, seq)
                if isinstance(line, Record)
            ]
            for seq in stored.seqs
        }


def session_refs(repo: Scratch) -> list[str]:
    """The sessions that are kept."""
    return repo.git("for-each-ref", "--format=%(refname)", refs.SESSIONS).split()


def raw(repo: Scratch, name: str) -> bytes:
    """The lines that are kept of a session, or for a commit."""
    return b"".join(show.raw(repo.path, name))


def is_untouched(repo: Scratch) -> bool:
    """Whether nothing was captured, and no note was written."""
    return not session_refs(repo) and not repo.git("for-each-ref", refs.INDEX)


@dataclass
class Client:
    """One session of the agent in one work tree."""

    repo: Scratch
    talk: Conversation
    pid: int = 0
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def start(
        cls, repo: Scratch, *, source: str = "startup", session: str | None = None, pid: int = 0
    ) -> Client:
        """Begin a session, with the client's own hook."""
        talk = Conversation.begin(Path(os.environ["HOME"]), repo.path, session)
        client = cls(repo=repo, talk=talk, pid=pid or os.getpid())
        client.fire("session-start", source=source)
        return client

    @property
    def session(self) -> str:
        """The session's id."""
        return self.talk.session

    def shell_env(self) -> dict[str, str]:
        """The environment of the client's shell."""
        return {
            **os.environ,
            "CLAUDE_CODE_SESSION_ID": self.session,
            "CLAUDECODE": "1",
            "CLAUDE_PID": str(self.pid),
            **self.env,
        }

    def fire(self, word: str, **told: object) -> None:
        """Run the hook of the agent as its settings say."""
        payload = {
            "session_id": self.session,
            "transcript_path": str(self.talk.path),
            "cwd": str(self.repo.path),
            "hook_event_name": word,
            **told,
        }
        shim = common_of(self.repo) / "gitsession-hooks" / "agent"
        if not shim.exists():
            return
        subprocess.run(
            [str(shim), "claude-code", word],
            input=json.dumps(payload).encode() + b"\n",
            cwd=self.repo.path,
            env={**os.environ, "CLAUDE_PID": str(self.pid), **self.env},
            check=True,
        )

    def prompt(self, text: str) -> None:
        """The user asks for something."""
        self.fire("prompt", prompt=text)
        self.talk.prompt(text)

    def run(self, command: str, *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in the client's shell."""
        time.sleep(PAUSE)
        done = subprocess.run(
            ["sh", "-c", command], cwd=cwd or self.repo.path, env=self.shell_env(),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        time.sleep(0.01)
        return done

    def bash(self, command: str, *, cwd: Path | None = None) -> str:
        """The agent runs a command; its call and its result are in the transcript."""
        tool = self.talk.call("Bash", command=command)
        done = self.run(command, cwd=cwd)
        failed = done.returncode != 0
        self.talk.result(tool, done.stdout + done.stderr if failed else done.stdout, failed=failed)
        time.sleep(PAUSE)
        return done.stdout

    def commit(self, message: str = "work", *flags: str) -> str:
        """The agent commits all there is; gives back the new hash."""
        self.bash(" ".join(["git add -A && git commit -q -m", f"'{message}'", *flags]))
        return self.repo.head()

    def stop(self) -> None:
        """The turn ends."""
        self.fire("turn-ended", last_assistant_message="ok")

    def end(self, reason: str = "other") -> None:
        """The session ends."""
        self.fire("session-end", reason=reason)

    def lines(self) -> Iterator[bytes]:
        """The lines of the transcript."""
        yield from self.talk.path.read_bytes().splitlines(keepends=True)
