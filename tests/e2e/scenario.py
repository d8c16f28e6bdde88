"""The ground of the end-to-end tests: a repository, the client, and what became of both."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitsession.git import refs
from gitsession.ids import SessionId
from gitsession.model import Record
from gitsession.store import codec, journal, records, spool
from gitsession.store.folder import home, log
from tests.e2e.client import Claude, new_id
from tests.e2e.fake_anthropic import FakeAnthropic, Json, Step, text
from tests.scratch import Scratch

DEADLINE = 60.0
"""Seconds after which something that doesn't come is held never to come."""


# -- what the assistant does --------------------------------------------------------------


def bash(command: str, **more: object) -> Json:
    """A call of the shell."""
    return _call("Bash", command=command, description="a command", **more)


def write(path: Path, content: str) -> Json:
    """A call that writes a file."""
    return _call("Write", file_path=str(path), content=content)


def delegate(prompt: str) -> Json:
    """A call that starts a subagent."""
    kind = {"subagent_type": "general-purpose", "run_in_background": False}
    return _call("Task", description="a task", prompt=prompt, **kind)


def _call(name: str, **given: object) -> Json:
    return {"type": "tool_use", "name": name, "input": given}


def steps(*calls: Json | list[Json] | Step, last: str = "Done.") -> list[Step]:
    """One answer for each call (or list of parallel calls), and the last words."""
    answers = [c if isinstance(c, Step) else Step(tuple(c) if isinstance(c, list) else (c,))
               for c in calls]  # fmt: skip
    return [*answers, Step((text(last),))]


def program(name: str, functions: int = 3) -> str:
    """A small program whose lines are unlike those of others."""
    return "\n".join(
        f"def {name}_{n}(first_{name}):\n    return compute_{name}(first_{name}, {n})\n"
        for n in range(functions)
    )


# -- what to wait for ---------------------------------------------------------------------


def wait_until(true: Callable[[], bool], what: Callable[[], str]) -> None:
    """Wait for something within a bounded time; the words are for when it doesn't come."""
    end = time.monotonic() + DEADLINE
    while not true():
        assert time.monotonic() < end, what()
        time.sleep(0.02)


# -- the ground ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Tied:
    """The part of a record that says what a commit was tied to, and why."""

    session: str
    seq: int
    by: str


@dataclass
class Ground:
    """A repository in which the client works."""

    repo: Scratch
    claude: Claude
    api: FakeAnthropic
    session: str = field(default_factory=new_id)

    def init(self, *flags: str) -> None:
        """Set git session up here."""
        session_command(self.repo, "init", *flags)

    def at(self, path: Path) -> Ground:
        """The same client in another repository or work tree, with a session of its own."""
        return Ground(Scratch(path), self.claude, self.api)

    @property
    def common(self) -> Path:
        """The repository's git directory."""
        found = self.repo.git("rev-parse", "--path-format=absolute", "--git-common-dir")
        return Path(found)

    # -- doing

    def turn(self, prompt: str, *calls: Json | list[Json] | Step, cwd: Path | None = None) -> str:
        """Run the client for one turn of the session; gives back the session."""
        return self.client(prompt, *calls, flags=self.flags(cwd), cwd=cwd)

    def flags(self, cwd: Path | None = None) -> tuple[str, str]:
        """What makes the client begin the session, or go on with it."""
        begun = self.transcript(cwd).exists()
        return ("-r" if begun else "--session-id", self.session)

    def transcript(self, cwd: Path | None = None) -> Path:
        """The client's own file."""
        return self.claude.transcript(cwd or self.repo.path, self.session)

    def client(
        self,
        prompt: str,
        *calls: Json | list[Json] | Step,
        flags: Sequence[str] = (),
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> str:
        """Run the client, and wait until the worker is done; gives back the session."""
        self.api.on(prompt, *steps(*calls))
        process = self.claude.start(cwd or self.repo.path, prompt, *flags, env=env)
        session = self.claude.finish(process)
        self.settle()
        return session

    def settle(self) -> None:
        """Wait until every event is dealt with; the work tree must not notice."""
        before = self._picture()
        folder = home(self.common) / "spool"
        wait_until(lambda: spool.is_empty(folder), lambda: self._state())
        assert self._picture() == before, "the worker changed HEAD, a branch, or the index"
        assert journal.last(self.common) is None, log(self.common).read_text()

    def by_hand(self, message: str, *names: str) -> str:
        """Commit files (all of them, if none is named) by hand; gives back the hash."""
        self.repo.git("add", "--", *(names or (".",)))
        return self.commit(message)

    def commit(self, message: str, *flags: str) -> str:
        """Commit what is staged; gives back the hash when the worker is done."""
        self.repo.git("commit", "-q", "-m", message, *flags)
        self.settle()
        return self.repo.head()

    # -- looking

    def _picture(self) -> tuple[str, ...]:
        """What of the user's a worker could have touched."""
        git = self.repo.git
        return (
            (self.common / "HEAD").read_text(),
            git("for-each-ref", "refs/heads", "refs/tags", "refs/remotes", "refs/stash"),
            git("ls-files", "--stage"),
        )

    def _state(self) -> str:
        return session_command(self.repo, "status", "--json")

    def find(self, subject: str) -> str:
        """The hash of the one commit with a subject."""
        lines = self.repo.git("log", "--branches", "HEAD", "--format=%H %s")
        found = [oid for oid, _, words in (x.partition(" ") for x in lines.splitlines())
                 if words == subject]  # fmt: skip
        assert len(found) == 1, f"{subject}: {lines}"
        return found[0]

    def records(self, commit: str) -> list[Record]:
        """What the index ties to a commit; what it has of sessions that ended there is left out."""
        if commit not in self.repo.git("notes", f"--ref={refs.INDEX}", "list"):
            return []
        note = self.repo.git("notes", f"--ref={refs.INDEX}", "show", commit)
        found = records.decode_note(note.encode())
        return [r for r in found if isinstance(r, Record) and r.commit == commit]

    def ties(self, commit: str) -> list[Tied]:
        """The same in short: which captures, and by what evidence."""
        found = self.records(commit)
        return [Tied(r.session, r.seq, r.evidence.by if r.evidence else "") for r in found]

    def chain(self, session: str | None = None) -> list[Record]:
        """The records that a session's captures were made with, oldest first."""
        ref = refs.session(SessionId(session or self.session))
        found: list[Record] = []
        while True:
            done = self.run("cat-file", "-p", f"{ref}:captures/{len(found) + 1}.json")
            if done.returncode:
                return found
            line = records.decode_note(done.stdout)[0]
            assert isinstance(line, Record)
            found.append(line)

    def story(self, session: str | None = None) -> list[str]:
        """The chain in short: what each capture was taken for."""
        return ["commit" if r.commit else r.reason or r.kind for r in self.chain(session)]

    def segment(self, seq: int, session: str | None = None) -> bytes:
        """The lines of one capture."""
        return self.unpack(f"captures/{seq}.jsonl.zst", session)

    def unpack(self, path: str, session: str | None = None) -> bytes:
        """A compressed file of a session's tree."""
        ref = refs.session(SessionId(session or self.session))
        return codec.unpack(self.run("cat-file", "-p", f"{ref}:{path}").stdout)

    def stored(self, path: str, session: str | None = None) -> list[str]:
        """The names below a folder of a session's tree."""
        ref = refs.session(SessionId(session or self.session))
        return self.repo.git("ls-tree", "-r", "--name-only", f"{ref}:{path}").splitlines()

    def sessions(self) -> list[str]:
        """The sessions that have captures."""
        out = self.repo.git("for-each-ref", "--format=%(refname)", refs.SESSIONS)
        return [name.rsplit("/", 1)[1] for name in out.splitlines()]

    def raw(self, session: str | None = None) -> bytes:
        """The session as the agent had it."""
        return self.run("session", "show", "--raw", session or self.session).stdout

    def run(self, *args: str) -> subprocess.CompletedProcess[bytes]:
        """Run git and give back bytes."""
        return subprocess.run(["git", *args], cwd=self.repo.path, capture_output=True, check=False)

    def check(self) -> None:
        """The repository is sound, and nothing is left to commit."""
        done = self.run("fsck", "--strict", "--no-dangling", "--no-progress")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert self.repo.git("status", "--porcelain") == ""


def session_command(repo: Scratch, *words: str) -> str:
    """Run `git session`."""
    return repo.git("session", *words)


def objects(repo: Scratch) -> list[bytes]:
    """Every object of a repository, unpacked."""
    listed = repo.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    done = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=repo.path, input=listed.encode() + b"\n",
        capture_output=True, check=True,
    )  # fmt: skip
    found, out = [], done.stdout
    while out:
        header, _, out = out.partition(b"\n")
        size = int(header.split()[2])
        data, out = out[:size], out[size + 1 :]
        found.append(codec.unpack(data) if data[:4] == b"\x28\xb5\x2f\xfd" else data)
    return found


def files_with(folder: Path, needle: bytes) -> list[str]:
    """The files below a folder that hold some bytes."""
    paths = [Path(top, name) for top, _, names in os.walk(folder) for name in names]
    return [str(path) for path in paths if needle in path.read_bytes()]
