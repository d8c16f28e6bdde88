"""`git session worker`: what the hooks start, detached, and so often that it does without click."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gitsession.errors import Exit, Usage


def run(args: Sequence[str]) -> int:
    """Take captures from the spool; the hooks start it."""
    if len(args) != 2 or args[0] != "--git-dir":
        raise Usage("usage: git session worker --git-dir <path>", hint="the hooks start it")
    # The agent kills its hooks' process group when it exits.
    if hasattr(os, "setsid") and os.getpid() != os.getpgrp():
        os.setsid()
    from gitsession.actions.work import run_worker

    common_dir = Path(args[1]).resolve()
    # The folder that a hook ran in may be gone by the time git is asked something.
    os.chdir(common_dir)
    run_worker(common_dir)
    return Exit.OK
