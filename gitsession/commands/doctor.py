"""`git session doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from gitsession.actions.doctor import examine
from gitsession.commands import screen
from gitsession.errors import Exit


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print a JSON array of findings")
def command(as_json: bool) -> None:
    """Find what is misconfigured, and the command that mends it.

    Changes nothing. Ends with exit code 4 when there are errors.
    """
    found = examine(Path.cwd())
    if as_json:
        screen.say_json(found, line=True)
    for finding in () if as_json else found:
        click.echo(f"{finding.level:7}  {finding.what}")
        if finding.mend:
            click.echo(f"{'':7}  mend: {finding.mend}")
    if any(finding.level == "error" for finding in found):
        raise click.exceptions.Exit(Exit.FINDINGS)
