"""`git session export`: write sessions to a bundle."""

from __future__ import annotations

from pathlib import Path

import click

from gitsession.actions.bundle import export
from gitsession.render.sync import render_refs


@click.command()
@click.argument("names", nargs=-1, metavar="[<session>|<commit>]...")
@click.option(
    "-o", "--output", required=True, metavar="FILE", type=click.Path(path_type=Path),
    help="Where to write it.",
)  # fmt: skip
def command(names: tuple[str, ...], output: Path) -> None:
    """Write sessions to a git bundle, to hand over without a network.

    All that are here, with the index, or those that are named. `git session
    import FILE` merges them in another clone.
    """
    done = export(Path.cwd(), names, output)
    click.echo(f"wrote {render_refs(done.refs)} to {done.file}")
