"""`git session deinit`."""

from __future__ import annotations

from pathlib import Path

import click

from gitsession.actions.install import deinit


@click.command()
def command() -> None:
    """Take the hooks out again, and give every file back as it was.

    What has been captured stays in the repository.
    """
    report = deinit(Path.cwd())
    for line in report.done:
        click.echo(line)
    for line in report.notes:
        click.echo(f"note: {line}")
