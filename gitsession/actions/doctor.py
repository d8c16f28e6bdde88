"""What is misconfigured, and the command that mends it."""

from __future__ import annotations

import fnmatch
import importlib
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from gitsession import config
from gitsession.actions import following, githooks, install, site
from gitsession.actions.site import Site, ask
from gitsession.errors import SessionError
from gitsession.git import refs
from gitsession.git.run import run
from gitsession.model import Frozen
from gitsession.store import folder, outbox, spool
from gitsession.sync.remote import find_remote

OLDEST_GIT = (2, 34)
STUCK_AFTER = 3600
"""Seconds after which an event should have been taken from the spool."""

_HEADING = re.compile(r"^\d{4}-\d\d-\d\dT\S+Z .*$", re.MULTILINE)


class Finding(Frozen, frozen=True, kw_only=True):
    """The outcome of one check."""

    level: Literal["ok", "warning", "error"]
    what: str
    mend: str = ""


def examine(repo_path: Path, *, now: float | None = None) -> list[Finding]:
    """Check everything that can be checked without changing anything."""
    here = site.find(repo_path)
    return [
        *_check_git(),
        *_check_program(here),
        *_check_installed(here),
        *_check_settings(here),
        *_check_notes(here),
        *_check_redaction(),
        *_check_clone(here),
        *_check_spool(here, time.time() if now is None else now),
        *_check_log(here),
    ]


def _ok(what: str) -> Finding:
    return Finding(level="ok", what=what)


def _warning(what: str, mend: str = "") -> Finding:
    return Finding(level="warning", what=what, mend=mend)


def _error(what: str, mend: str = "") -> Finding:
    return Finding(level="error", what=what, mend=mend)


def _check_git() -> Iterator[Finding]:
    words = run(["version"]).decode().split()
    found = re.match(r"(\d+)\.(\d+)", words[2]) if len(words) > 2 else None
    oldest = ".".join(map(str, OLDEST_GIT))
    if found and (int(found[1]), int(found[2])) >= OLDEST_GIT:
        yield _ok(f"git {words[2]}")
    else:
        yield _error(f"{' '.join(words)} is too old", f"install git {oldest} or later")


def _check_program(here: Site) -> Iterator[Finding]:
    found, started = shutil.which("git-session"), githooks.find_program(here)
    if found:
        yield _ok(f"git-session is {found}")
    elif started:
        folder_name = shlex.quote(str(Path(started).parent))
        yield _warning(
            f"'git session' is not found on PATH, but the hooks start {started}",
            f"PATH={folder_name}:$PATH",
        )
    else:
        yield _error(
            "git-session is not on PATH, so the hooks can't start it", "pipx install git-session"
        )


def _check_installed(here: Site) -> Iterator[Finding]:
    found = install.check(here.where)
    if not found:
        yield _ok("git's hooks and the agent's are in place")
        looked = Path(ask(here.where, "rev-parse", "--path-format=absolute", "--git-path", "hooks"))
        if looked.name == site.HOOKS_FOLDER:
            yield _ok(f"{githooks.KEY} leads to our hooks, and they go on to the ones before")
    for problem in found:
        yield Finding(level=problem.level, what=problem.what, mend=problem.mend)


def _check_settings(here: Site) -> Iterator[Finding]:
    try:
        settings = config.load(here.where)
    except SessionError as error:
        yield _error(error.message, error.hint or "")
        return
    yield from _check_remote(here, settings)
    if not settings.enabled:
        yield _warning(
            "session.enabled is false (or GIT_SESSION_DISABLE is set): nothing is captured",
            "git config session.enabled true",
        )


def _check_remote(here: Site, settings: config.Settings) -> Iterator[Finding]:
    """Whether sessions go where they should, and those of others come along."""
    if find_remote(settings) is None and settings.remotes:
        several = ", ".join(settings.remotes)
        yield _warning(
            f"none of the remotes is the one of the sessions ({several}): nothing is sent",
            "git config session.remote NAME",
        )
    for warning in following.warnings(settings):
        yield _warning(warning)
    if settings.installed and not following.is_followed(here, settings):
        yield _warning("'git fetch' doesn't bring the index of the others along", install.AGAIN)
    failed = outbox.attempts(here.common)
    if failed.failures:
        yield _warning(f"the last push of sessions failed: {failed.reason}", "git session sync")


def _check_notes(here: Site) -> Iterator[Finding]:
    """Settings of git that would spoil the index, or fill the log with it."""
    cases = {
        "notes.rewriteRef": _error("git itself copies notes of the index when it rewrites commits"),
        "notes.displayRef": _warning("'git log' shows the index as notes"),
        "core.notesRef": _error("'git notes' writes to the index"),
    }
    for key, finding in cases.items():
        values = run(["config", "-z", "--get-all", key], cwd=here.where, check=False).split(b"\0")
        for value in (v.decode("utf-8", "replace") for v in values):
            if value and fnmatch.fnmatchcase(refs.INDEX, value):
                pattern = shlex.quote(f"^{re.escape(value)}$")
                mend = f"git config --unset-all {key} {pattern}"
                yield Finding(
                    level=finding.level, what=f"{key} is {value}: {finding.what}", mend=mend
                )


def _check_redaction() -> Iterator[Finding]:
    try:
        importlib.import_module("re2")
    except ImportError as error:
        yield _error(
            f"redaction can't run, so nothing is captured: {error}", "pip install google-re2"
        )
    else:
        yield _ok("redaction can run")


def _check_clone(here: Site) -> Iterator[Finding]:
    if ask(here.where, "rev-parse", "--is-shallow-repository") == "true":
        yield _warning(
            "a shallow clone: the sessions of commits that are not here can't be shown with them",
            "git fetch --unshallow",
        )


def _check_spool(here: Site, now: float) -> Iterator[Finding]:
    old = [e for e in spool.read(folder.spool(here.common)) if now - e.at > STUCK_AFTER]
    if old:
        hours = int((now - old[0].at) // 3600)
        yield _error(
            f"{len(old)} events wait to be captured, the oldest for {hours} h",
            "git session capture",
        )


def _check_log(here: Site) -> Iterator[Finding]:
    path = folder.log(here.common)
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - (64 << 10), 0))
            tail = file.read().decode("utf-8", "replace")
    except OSError:
        return
    if found := _HEADING.findall(tail):
        yield _warning(f"the last error was: {found[-1]}", f"less {shlex.quote(str(path))}")
