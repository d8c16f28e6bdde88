"""`git session sync`: fetch the sessions of others and push those of this clone."""

from __future__ import annotations

from pathlib import Path

import click

from gitsession.actions import sync as action
from gitsession.commands import exchanged, screen
from gitsession.render.sync import render_outlook


@click.command()
@exchanged.remote_option
@click.option(
    "--all", "everything", is_flag=True, help="Every session's content, not the index alone."
)
@click.option("--status", "ask", is_flag=True, help="Only say what waits; asks no remote.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@exchanged.json_option
def command(remote: str, everything: bool, ask: bool, quiet: bool, as_json: bool) -> None:
    """Fetch the sessions of others and push those of this clone.

    The index is fetched; what a session holds comes when somebody opens it.
    """
    if ask:
        found = action.outlook(Path.cwd())
        if as_json:
            screen.say_json(found)
            return
        for line in render_outlook(found.remote, found.unpushed, found.failures, found.reason):
            click.echo(line)
        return
    with exchanged.bar(quiet=quiet) as report:
        done = action.sync(Path.cwd(), remote, everything=everything, report=report)
    exchanged.say(done, as_json=as_json)
