"""`git session worker`: what the hooks start, detached, and so often that it does without click."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gitsession.errors import Exit, Usage

_OPTIONS = ("--git-dir", "--pushed", "--after")


def run(args: Sequence[str]) -> int:
    """Take captures from the spool, or push them; the hooks start it."""
    given = dict(zip(args[::2], args[1::2], strict=False))
    after = given.get("--after", "0")
    if "--git-dir" not in given or len(args) % 2 or set(given) - {*_OPTIONS} or not after.isdigit():
        raise Usage("usage: git session worker --git-dir <path>", hint="the hooks start it")
    # The agent kills its hooks' process group when it exits.
    if hasattr(os, "setsid") and os.getpid() != os.getpgrp():
        os.setsid()
    common_dir = Path(given["--git-dir"]).resolve()
    # The folder that a hook ran in may be gone by the time git is asked something.
    os.chdir(common_dir)
    if "--pushed" in given:
        from gitsession.actions.publish import publish

        publish(common_dir, pushed=given["--pushed"], after=int(after))
        return Exit.OK
    from gitsession.actions import snapshots

    # What the agent is about to change can't wait for the rest to be imported.
    snapshots.take_due(common_dir)
    from gitsession.actions.work import run_worker

    run_worker(common_dir)
    snapshots.expire(common_dir)
    return Exit.OK
