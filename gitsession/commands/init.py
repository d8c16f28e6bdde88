"""`git session init`."""

from __future__ import annotations

from pathlib import Path

import click

from gitsession import agents
from gitsession.actions.install import install


@click.command()
@click.option("--shared", is_flag=True, help="write to the settings that the team shares in git")
@click.option("--no-push", is_flag=True, help="keep captures in this repository")
@click.option(
    "--agent",
    type=click.Choice(agents.NAMES),
    default=agents.NAMES[0],
    show_default=True,
    help="whose sessions to keep",
)
def command(shared: bool, no_push: bool, agent: str) -> None:
    """Keep the sessions of this repository from now on.

    Puts hooks into git and into the agent's settings, and says what it did and
    what will be sent where. A second time changes nothing.
    """
    report = install(Path.cwd(), shared=shared, agent=agent, push=not no_push)
    for line in report.done or ("everything was in place",):
        click.echo(line)
    for line in report.notes:
        click.echo(f"note: {line}")
