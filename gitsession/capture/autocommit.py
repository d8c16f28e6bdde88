"""Commits what a turn changed, for the sessions that were started so, on their own branch.

It is plain `git add -A` and `git commit`, so that the user's hooks, signing and
filters apply as they always do. Whatever keeps git from it leaves the work tree
as it is: what isn't committed now is there for the next turn.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from gitsession import agents
from gitsession.capture import reader
from gitsession.capture.cut import seconds
from gitsession.capture.digest import shorten
from gitsession.capture.pipeline import Pipeline
from gitsession.capture.snapshot import understand
from gitsession.errors import GitFailed, SessionError
from gitsession.git import worktree
from gitsession.git.plumbing import Plumbing
from gitsession.git.run import clean_environment, failure
from gitsession.ids import Oid, SessionId
from gitsession.model import Frozen
from gitsession.store import journal, started
from gitsession.store.spool import Spooled
from gitsession.store.started import Started

IN_PROGRESS = {
    "MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase", "rebase-apply": "a rebase", "BISECT_LOG": "a bisection",
}  # fmt: skip
"""What git leaves in its folder while it is half-way through something."""

_STALE = 600.0
"""Seconds after which what is in the work tree is no longer taken for a turn's doing."""
_PATIENCE = 600.0
"""Seconds that the user's hooks may take."""
_LAG = 1.0
_LOCKED = "index.lock"
_LOCK_TRIES = 10
_SUBJECT = 60
_BODY = 4000
_READ = 1 << 16


class Asked(Frozen, frozen=True, kw_only=True):
    """The turn that is over: its number, and what was asked."""

    number: int = 0
    prompt: str = ""


class Pending(Frozen, frozen=True, kw_only=True):
    """What is there to commit."""

    changed: bool = False
    conflicts: bool = False
    nested: tuple[str, ...] = ()
    """Repositories that nobody has made submodules."""


# -- pure ---------------------------------------------------------------------------------


def parse_pending(out: bytes) -> Pending:
    """Understand `git status --porcelain=v2 -z --no-renames --untracked-files=all`."""
    entries = out.decode("utf-8", "surrogateescape").split("\0")[:-1]
    nested = [e[2:] for e in entries if e.startswith("? ") and e.endswith("/")]
    return Pending(
        changed=any(e[:1] in "1?" and e[2:] not in nested for e in entries),
        conflicts=any(e.startswith("u ") for e in entries),
        nested=tuple(nested),
    )


def write_message(asked: Asked, session: SessionId) -> str:
    """A turn's commit message; the prompt has no secrets any more."""
    words = "".join(c for c in asked.prompt if c == "\n" or c.isprintable()).strip()
    head = f"Turn {asked.number}"
    subject = f"{head}: {shorten(words, _SUBJECT)}" if words else head
    body = "" if subject == f"{head}: {words}" else words[:_BODY].rstrip()
    return "\n\n".join(part for part in (subject, body, f"Session: {session}") if part) + "\n"


def in_progress(git_dir: Path) -> str:
    """What git is half-way through in a work tree, if anything."""
    return next((what for name, what in IN_PROGRESS.items() if (git_dir / name).exists()), "")


# -- doing it -----------------------------------------------------------------------------


def commit_turn(pipeline: Pipeline, repo: Plumbing, event: Spooled) -> Oid | None:
    """Commit what the turn changed that an event tells the end of; None when nothing was."""
    told = understand(event)
    if told is None or told.name != "turn-ended":
        return None
    begun = started.find(repo.common_dir, told.session)
    if begun is None or not begun.autocommit or abs(time.time() - event.at) > _STALE:
        return None
    try:
        with worktree.at_git_dir(repo.git_dir, repo.common_dir) as here:
            oid = _commit(pipeline, here, begun, event, told.source)
    except (SessionError, OSError) as error:
        message = error.message if isinstance(error, SessionError) else str(error)
        journal.note(repo.common_dir, f"autocommit: {message}; it is left for the next turn")
        return None
    if oid is not None and pipeline.settings.auto_push:
        started.save(repo.common_dir, msgspec.structs.replace(begun, unpushed=oid))
    return oid


def _commit(
    pipeline: Pipeline, here: Plumbing, begun: Started, event: Spooled, source: str
) -> Oid | None:
    if here.work_tree is None or _branch(here) != begun.branch:
        return None
    pending = look(here)
    if not (pending.changed or pending.conflicts):
        return None
    busy = in_progress(here.git_dir) or ("a merge" if pending.conflicts else "")
    if busy:
        raise SessionError(f"{busy} is in progress")
    asked = _read_turn(event, source)
    asked = msgspec.structs.replace(asked, prompt=pipeline.redact(asked.prompt))
    _stage(here, pending)
    if _is_same(here):
        return None
    own = agents.get(event.agent).shell_of(begun.session)
    _run_commit(here.work_tree, write_message(asked, begun.session), own)
    return here.resolve("HEAD")


def _branch(here: Plumbing) -> str:
    return here.git("symbolic-ref", "-q", "--short", "HEAD", ok=(0, 1)).decode().strip()


def look(here: Plumbing) -> Pending:
    """What a work tree has that HEAD doesn't."""
    words = ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all",
             "--ignore-submodules=dirty"]  # fmt: skip
    return parse_pending(here.git(*words))


def _read_turn(event: Spooled, source: str) -> Asked:
    """The last turn that had begun by then; its prompt may still be on its way to the file."""
    asked = _last_turn(event, Path(source))
    early = _LAG - abs(time.time() - event.at)
    if not asked.number and early > 0:
        time.sleep(early)
        asked = _last_turn(event, Path(source))
    return asked


def _last_turn(event: Spooled, source: Path) -> Asked:
    adapter = agents.get(event.agent)
    number, prompt = 0, ""
    with suppress(FileNotFoundError):
        for _, raw in reader.lines(source, 0):
            line = adapter.parse_line(raw)
            if line.prompt is None:
                continue
            if (seconds(line.at) or 0.0) > event.at:
                break
            number, prompt = number + 1, line.prompt[:_READ]
    return Asked(number=number, prompt=prompt)


def _stage(here: Plumbing, pending: Pending) -> None:
    """Take all there is, but for repositories inside, which are nobody's to commit."""
    left = [f":(top,exclude,literal){path.removesuffix('/')}" for path in pending.nested]
    for attempt in range(_LOCK_TRIES):
        try:
            here.git("add", "-A", "--", ":/", *left)
            return
        except GitFailed as error:
            if _LOCKED not in error.message or attempt + 1 == _LOCK_TRIES:
                raise
        time.sleep(0.1)


def _is_same(here: Plumbing) -> bool:
    """Whether what is staged is what HEAD holds: a submodule's own changes can't be staged."""
    tree = here.git("write-tree").decode().strip()
    return here.resolve("HEAD^{tree}") == tree


def _run_commit(top: Path, message: str, more: dict[str, str]) -> None:
    """Run `git commit` as the user would, with all that the user has hung on it."""
    env = clean_environment()
    del env["LC_ALL"]
    env |= {name: os.environ[name] for name in ("LC_ALL",) if name in os.environ}
    args = ["commit", "-q", "--cleanup=whitespace", "-F", "-"]
    import tempfile  # the worker that has nothing to commit or push does without it

    # Files, not pipes: what a hook leaves running may hold on to them for as long as it likes.
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as said:
        told.write(message.encode("utf-8", "replace"))
        told.seek(0)
        process = subprocess.Popen(
            ["git", *args], cwd=top, env={**env, **more}, start_new_session=True,
            stdin=told, stdout=said, stderr=said,
        )  # fmt: skip
        try:
            process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise SessionError(f"git commit took longer than {_PATIENCE:.0f} seconds") from None
        if process.returncode:
            said.seek(0)
            raise failure(args, said.read())
