"""Pushes the branches of sessions whose turns are committed: out of sight, and failing nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec

from gitsession.config import Settings
from gitsession.errors import SessionError
from gitsession.git.plumbing import Plumbing
from gitsession.git.run import clean_environment, failure
from gitsession.store import journal, started
from gitsession.store.started import Started
from gitsession.sync.remote import remote_of

_PATIENCE = 600.0
"""Seconds that a push may take."""
_SILENT = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
}  # fmt: skip
"""Nobody is there to be asked."""


def push_branches(common_dir: Path, settings: Settings) -> None:
    """Push each branch that has the commit of a turn since it was last tried."""
    for one in started.all_started(common_dir):
        if one.unpushed is None:
            continue
        # Tried once: the next turn's push brings this one's commit along.
        started.save(common_dir, msgspec.structs.replace(one, unpushed=None))
        if not settings.auto_push:
            continue
        try:
            _push(common_dir, one, settings)
        except (SessionError, OSError) as error:
            message = error.message if isinstance(error, SessionError) else str(error)
            journal.note(common_dir, f"push of branch {one.branch}: {message}")


def _push(common_dir: Path, one: Started, settings: Settings) -> None:
    remote, tracked = _find_remote(common_dir, one.branch, settings)
    top = Path(one.worktree)
    if not remote or not top.is_dir():
        return
    ref = f"refs/heads/{one.branch}"
    args = [
        "push",
        "-q",
        *([] if tracked else ["-u"]),
        "--",
        remote_of(remote).name,
        f"{ref}:{ref}",
    ]
    env = {**clean_environment(), **_SILENT}
    env.pop("SSH_ASKPASS", None)
    import tempfile  # the worker that has nothing to commit or push does without it

    # The user's own pre-push hook runs, in the work tree; what it leaves running is not waited for.
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            ["git", *args], cwd=top, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        try:
            process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise SessionError(f"it took longer than {_PATIENCE:.0f} seconds") from None
        said.seek(0)
        if process.returncode:
            raise failure(args, said.read())


def _find_remote(common_dir: Path, branch: str, settings: Settings) -> tuple[str, bool]:
    """The remote that the user would push a branch to, and whether the branch follows one."""
    form = "--format=%(push:remotename)%00%(upstream:remotename)"
    with Plumbing(common_dir, common_dir) as repo:
        out = repo.git("for-each-ref", form, f"refs/heads/{branch}")
        default = repo.git("config", "--get", "remote.pushDefault", ok=(0, 1))
    push, _, upstream = os.fsdecode(out).rstrip("\n").partition("\0")
    # Git says `origin` where nothing is configured, whether there is one or not.
    only = settings.remotes[0] if len(settings.remotes) == 1 else ""
    for named in (push, os.fsdecode(default).strip(), upstream, "origin", only):
        if named in settings.remotes or "/" in named or ":" in named:
            return named, bool(upstream)
    return "", False
