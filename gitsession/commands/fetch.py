"""`git session fetch`: the index, and the sessions that are named."""

from __future__ import annotations

from pathlib import Path

import click

from gitsession.actions import sync as action
from gitsession.commands import exchanged


@click.command()
@click.argument("names", nargs=-1, metavar="[<session>|<commit>]...")
@exchanged.remote_option
@click.option("--all", "everything", is_flag=True, help="Every session.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@exchanged.json_option
def command(
    names: tuple[str, ...], remote: str, everything: bool, quiet: bool, as_json: bool
) -> None:
    """Fetch the index, and what the named sessions hold.

    Without a name the index alone, which is small: `git session show` fetches
    what a session holds when it is asked for.
    """
    with exchanged.bar(quiet=quiet) as report:
        done = action.fetch(Path.cwd(), names, remote, everything=everything, report=report)
    exchanged.say(done, as_json=as_json)
