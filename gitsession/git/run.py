"""Runs the git executable, in an environment that says nothing but what we mean."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gitsession.errors import GitFailed

_INHERITED_BY_HOOKS = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
    "GIT_NAMESPACE", "GIT_REFLOG_ACTION", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE",
    "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS", "GIT_NOTES_REF", "GIT_NOTES_DISPLAY_REF", "GIT_TRACE",
)  # fmt: skip

_QUARANTINE = (
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
)  # fmt: skip


def clean_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without what git gives its hooks, and with messages in plain English."""
    env = dict(os.environ if base is None else base)
    for name in _INHERITED_BY_HOOKS:
        env.pop(name, None)
    env.update(LC_ALL="C", GIT_TERMINAL_PROMPT="0", GIT_OPTIONAL_LOCKS="0")
    return env


def quarantine(env: Mapping[str, str]) -> dict[str, str]:
    """Where the objects of a push wait until a server's hook has let them in."""
    return {name: env[name] for name in _QUARANTINE if name in env}


def run(
    args: Sequence[str],
    *,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    check: bool = True,
    ok: Sequence[int] = (0,),
    more: Mapping[str, str] | None = None,
) -> bytes:
    """Run `git ARGS`, with more in its environment perhaps, and give back what it printed."""
    try:
        done = subprocess.run(
            ["git", *args],
            cwd=cwd,
            env={**clean_environment(), **(more or {})},
            input=stdin if stdin is not None else b"",
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        if cwd is not None and not cwd.is_dir():
            raise GitFailed(f"no folder '{cwd}'") from None
        raise GitFailed("git is not installed", hint="install git 2.34 or later") from None
    if check and done.returncode not in ok:
        raise failure(args, done.stderr)
    return done.stdout


def failure(args: Sequence[str], stderr: bytes) -> GitFailed:
    """Say in git's own last words why a command failed."""
    words = stderr.decode("utf-8", "replace").strip().splitlines()
    lines = [w for w in words if w.startswith(("fatal:", "error:"))] or words or ["no message"]
    verb = next((a for a in args if not a.startswith("-") and "=" not in a), "")
    return GitFailed(f"git {verb}: {lines[-1].removeprefix('fatal: ').removeprefix('error: ')}")
