"""`git session reindex`: rebuild the index from the session refs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
def command() -> None:
    """Rebuild the index from the session refs.

    The refs are the truth; what only the index knows (records of rewritten
    commits, lines of a later version) is kept.
    """
    from gitsession.actions.reindex import reindex

    done = reindex(Path.cwd())
    for problem in done.unreadable:
        click.echo(f"warning: {problem}", err=True)
    changed = f"{done.changed} notes changed" if done.changed else "the index was right"
    click.echo(f"{done.sessions} sessions, {done.records} records: {changed}")
