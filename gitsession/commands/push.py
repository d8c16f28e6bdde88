"""`git session push`: push what the remote doesn't have."""

from __future__ import annotations

from pathlib import Path

import click

from gitsession.actions import sync as action
from gitsession.commands import exchanged


@click.command()
@exchanged.remote_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@exchanged.json_option
def command(remote: str, quiet: bool, as_json: bool) -> None:
    """Push the sessions and the index that the remote doesn't have.

    `git push` does the same by itself, unless session.autoPush is false.
    """
    with exchanged.bar(quiet=quiet) as report:
        done = action.push(Path.cwd(), remote, report=report)
    exchanged.say(done, as_json=as_json)
