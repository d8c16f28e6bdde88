"""`git session worker`: what the hooks start, detached."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command(hidden=True)
@click.option("--git-dir", type=click.Path(path_type=Path), required=True)
def command(git_dir: Path) -> None:
    """Take captures from the spool; the hooks start it."""
    # The agent kills its hooks' process group when it exits.
    if hasattr(os, "setsid") and os.getpid() != os.getpgrp():
        os.setsid()
    from gitsession.actions.work import run_worker

    common_dir = git_dir.resolve()
    # The folder that a hook ran in may be gone by the time git is asked something.
    os.chdir(common_dir)
    run_worker(common_dir)
