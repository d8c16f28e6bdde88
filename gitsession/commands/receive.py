"""`git session receive`: what a server's pre-receive hook calls, with the hook's own input."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gitsession.errors import Exit
from gitsession.render.errors import render_failure

_MOST = 20


@click.command()
def command() -> None:
    """Check a push on the server; the hook `hooks/server/pre-receive` calls it."""
    from gitsession.actions.receive import receive

    lines = sys.stdin.buffer.read().decode("utf-8", "replace")
    found = receive(Path.cwd(), lines)
    for refusal in found[:_MOST]:
        said = render_failure(f"{refusal.ref}: {refusal.why}", refusal.hint)
        click.echo(said, err=True, nl=False)
    if len(found) > _MOST:
        click.echo(f"error: and {len(found) - _MOST} more", err=True)
    if found:
        raise click.exceptions.Exit(Exit.FAILED)
