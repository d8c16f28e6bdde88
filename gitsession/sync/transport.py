"""Fetches and pushes with the user's own credentials and set-up, through git and GitPython.

Nothing here hangs: where nobody watches, git and ssh may not ask for a
password, and what stands still is ended.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import git
from git.cmd import handle_process_output

from gitsession.errors import SessionError
from gitsession.git.plumbing import Plumbing
from gitsession.git.run import clean_environment
from gitsession.ids import Oid, is_oid
from gitsession.model import Frozen
from gitsession.sync import answers
from gitsession.sync.answers import Answer
from gitsession.sync.remote import Remote

Report = Callable[[str, float, float | None], None]
"""Told of progress: what is being done, how much of it, and of how much in all."""

_TRIES = 4
_PATIENCE = 600.0
"""Seconds after which a transfer that nobody watches is ended."""
_STALL = ("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60")
_QUIET = (
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "advice.pushUpdateRejected=false",
)
_NAME = re.compile(r"refs/[A-Za-z0-9_./-]{1,240}", re.ASCII)
_STAGES = {
    git.RemoteProgress.COUNTING: "counting",
    git.RemoteProgress.COMPRESSING: "compressing",
    git.RemoteProgress.WRITING: "sending",
    git.RemoteProgress.RECEIVING: "receiving",
    git.RemoteProgress.RESOLVING: "resolving",
    git.RemoteProgress.FINDING_SOURCES: "counting",
}


class TransferFailed(SessionError):
    """The remote can't be reached, or says no."""


class Sent(Frozen, frozen=True, kw_only=True):
    """A ref to push: what it shall be, or None to take it away."""

    ref: str
    new: Oid | None
    over: Oid | None = None
    """What the remote has that may be thrown away for it; None moves it only forward."""


class Line:
    """A connection to one remote, as the user has set it up."""

    def __init__(
        self, repo: Plumbing, remote: Remote, *, watched: bool, report: Report | None = None
    ) -> None:
        self.repo = repo
        self.remote = remote
        self._watched = watched
        self._report = report

    def fetch(
        self, refspecs: Sequence[str], *, tips: Sequence[str] = (), prune: bool = False
    ) -> None:
        """Fetch refs into others; what lies behind `tips` is what we say to have.

        What `prune` takes away is where these refspecs lead, and nowhere else.
        """
        have = [f"--negotiation-tip={tip}" for tip in tips if self.repo.resolve(tip)]
        none = [] if have else ["-c", "fetch.negotiationAlgorithm=noop"]
        # What our refspecs don't name is none of our business: tags, submodules, FETCH_HEAD.
        options = ["--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--refmap=",
                   "--prune" if prune else "--no-prune", "--no-auto-maintenance", "--no-filter",
                   "--progress", "--stdin", *have]  # fmt: skip
        words = [*none, "fetch", *options, "--", self.remote.name]
        for _ in range(_TRIES):
            code, _, errors = self._run(words, "".join(f"{x}\n" for x in refspecs))
            # The user's own fetch, or another of ours, brought the same meanwhile.
            if not code or not answers.is_race(errors):
                break
        if code:
            raise self._failure("fetch", errors)

    def list_refs(self, prefixes: Sequence[str]) -> dict[str, Oid]:
        """The refs that the remote has under prefixes that end in a slash."""
        patterns = [f"{prefix}*" for prefix in prefixes]
        code, output, errors = self._run(["ls-remote", "--refs", "--", self.remote.name, *patterns])
        if code:
            raise self._failure("fetch", errors)
        pairs = (line.split("\t", 1) for line in output.splitlines() if "\t" in line)
        return {
            ref: Oid(oid)
            for oid, ref in pairs
            if is_oid(oid) and ref.startswith(tuple(prefixes)) and _NAME.fullmatch(ref)
        }

    def push(self, sent: Sequence[Sent], *, atomic: bool) -> list[Answer]:
        """Push refs by name; raises TransferFailed when no ref got an answer."""
        specs = [f"{x.new or ''}:{x.ref}" for x in sent]
        leases = [f"--force-with-lease={x.ref}:{x.over}" for x in sent if x.over]
        options = ["--porcelain", "--progress", "--no-verify", "--no-follow-tags",
                   "--no-signed", "--recurse-submodules=no", *leases]  # fmt: skip
        options += ["--atomic"] if atomic else []
        code, output, errors = self._run(["push", *options, "--", self.remote.name, *specs])
        found = answers.parse_push(output)
        if code and not any(not answer.done for answer in found):
            raise self._failure("push", errors)
        said = answers.why(errors)
        return [
            x if x.done or x.stale or x.held else _told(x, said, "remote:" in errors) for x in found
        ]

    def _run(self, args: Sequence[str], stdin: str = "") -> tuple[int, str, str]:
        """Run git with progress; gives back its code and what it printed."""
        progress = _Progress(self._report).new_message_handler()
        process = subprocess.Popen(
            ["git", f"--git-dir={self.repo.common_dir}", *_STALL, *_QUIET, *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", errors="replace",
            env=_environment(watched=self._watched), cwd=self._place(),
        )  # fmt: skip
        clock = threading.Timer(_PATIENCE, process.kill)
        if not self._watched:
            clock.start()
        output: list[str] = []
        errors: list[str] = []

        def on_error(line: str) -> None:
            errors.append(line)
            progress(line)

        try:
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.write(stdin)
                process.stdin.close()
            handle_process_output(process, output.append, on_error, None, decode_streams=False)
            code = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            clock.cancel()
        return code, "".join(output), "".join(errors)

    def _place(self) -> Path:
        """Where a remote's relative path begins, as it does for the user's own git."""
        common = self.repo.common_dir
        return self.repo.work_tree or (common.parent if common.name == ".git" else common)

    def _failure(self, verb: str, errors: str) -> TransferFailed:
        name = answers.hide_password(self.remote.name)
        return TransferFailed(
            f"can't {verb} sessions {'to' if verb == 'push' else 'from'} {name}: "
            f"{answers.why(errors)}",
            hint=f"`git {verb if verb == 'fetch' else 'ls-remote'} {name}` shows whether git can",
        )


def _told(answer: Answer, said: str, by_remote: bool) -> Answer:
    """An answer with the remote's own words, where it gave some."""
    if not by_remote or said in answer.reason:
        return answer
    return Answer(ref=answer.ref, done=False, reason=f"{said} ({answer.reason})")


def _environment(*, watched: bool) -> dict[str, str]:
    """Git's environment: where nobody watches, nothing may ask."""
    env = clean_environment()
    # Our own hook must not see a push of ours, nor the agent's hooks a commit.
    env["GIT_SESSION_DISABLE"] = "1"
    if watched:
        env["GIT_TERMINAL_PROMPT"] = os.environ.get("GIT_TERMINAL_PROMPT", "1")
        return env
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        env.pop(name, None)
    env.update(
        GIT_TERMINAL_PROMPT="0",
        GIT_ASKPASS="true",
        SSH_ASKPASS_REQUIRE="never",
        GCM_INTERACTIVE="never",
    )
    return env


class _Progress(git.RemoteProgress):
    """Tells the report of each stage."""

    def __init__(self, report: Report | None) -> None:
        super().__init__()
        self._tell = report

    def update(
        self,
        op_code: int,
        cur_count: str | float,
        max_count: str | float | None = None,
        message: str = "",
    ) -> None:
        stage = _STAGES.get(op_code & self.OP_MASK)
        if self._tell is not None and stage is not None:
            self._tell(stage, float(cur_count or 0), float(max_count) if max_count else None)
