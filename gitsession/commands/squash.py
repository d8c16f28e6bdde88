"""`git session squash`: turn the commits of a session's turns into one."""

from __future__ import annotations

from pathlib import Path

import click

from gitsession.actions import squash as action
from gitsession.commands import screen


@click.command()
@click.option("--onto", default="", metavar="REV", help="What came after this; else all of it.")
@click.option("-m", "message", default="", metavar="MSG", help="The first line of its message.")
@click.option("--yes", is_flag=True, help="Also when a remote has some of the commits.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object.")
def command(onto: str, message: str, yes: bool, as_json: bool) -> None:
    """Turn the commits of this branch, since it was started, into one with all their records.

    The index and the work tree stay as they are. `git reset --soft HEAD@{1}` takes
    it back.
    """
    done = action.squash(Path.cwd(), onto=onto, message=message, published_too=yes)
    if as_json:
        screen.say_json(done)
        return
    count, captures = len(done.replaced), done.captures
    click.echo(f"{done.branch}: {count} commits are one, {done.commit[:12]}, on {done.base[:12]}")
    click.echo(f"it has {captures} {'capture' if captures == 1 else 'captures'}")
    if done.published:
        click.echo("to publish it: git push --force-with-lease")
