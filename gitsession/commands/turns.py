"""`git session turns`: the turns of a session."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from gitsession.actions import show as action
from gitsession.commands import screen


@click.command()
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="A JSON array.")
@screen.color_option
def command(session: str, as_json: bool, color: str) -> None:
    """List the turns of a session: number, age, prompt, files with +/-, commit."""
    rows = action.turns(Path.cwd(), session, datetime.now(UTC))
    if as_json:
        screen.say_json(rows)
        return
    from gitsession.render.tables import render_turns

    surface = screen.look(color)
    shape = {"width": surface.width, "color": surface.color, "unicode": surface.unicode}
    screen.show(render_turns(rows, **shape), surface)  # type: ignore[arg-type]
