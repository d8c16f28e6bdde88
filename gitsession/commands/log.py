"""`git session log`: which commits have sessions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from gitsession.actions import log as action
from gitsession.commands import screen
from gitsession.render import log as render


@click.command()
@click.argument("revisions", nargs=-1, metavar="[<range>]...")
@click.option("--all", "everything", is_flag=True, help="All branches, and captures of no commit.")
@click.option("-n", "--max-count", "count", type=int, metavar="N", help="At most N entries.")
@click.option("--session", default="", metavar="ID", help="Of this session.")
@click.option("--branch", default="", metavar="NAME", help="Made on this branch.")
@click.option("--task", default="", metavar="ID", help="Of this task.")
@click.option("--author", default="", metavar="PATTERN", help="Commits by this author.")
@click.option("--since", default="", metavar="DATE", help="Commits more recent than this.")
@click.option("--until", default="", metavar="DATE", help="Commits older than this.")
@click.option("--agent", default="", metavar="NAME", help="Made with this agent.")
@click.option(
    "--status", type=click.Choice(["complete", "rejected", "abandoned"]), help="What became of it."
)
@click.option(
    "--kind", type=click.Choice(["commit", "task", "checkpoint"]), help="Captured for what."
)
@click.option("--oneline", "form", flag_value="oneline", help="One line each.")
@click.option("--json", "form", flag_value="json", help="The records, one JSON object a line.")
@click.option("--format", "template", metavar="TEXT", help="As asked: %h %s %an %ar %p %t %k …")
@screen.color_option
def command(form: str | None, template: str | None, color: str, **wanted: Any) -> None:
    """List the commits that have sessions, newest first.

    The placeholders of --format: %H %h hash, %an %ae %ad %ar author and date,
    %s subject, %b branch, %S session, %i capture, %p prompt, %t turns, %k kind,
    %n newline, %% percent.
    """
    entries = action.log(Path.cwd(), action.Wanted(**wanted))
    surface = screen.look(color)
    screen.show(_lines(entries, surface, form, template), surface)


def _lines(
    entries: Iterator[render.LogEntry],
    surface: screen.Screen,
    form: str | None,
    template: str | None,
) -> Iterator[str]:
    now = datetime.now(UTC)
    shape: dict[str, Any] = {"width": surface.width, "color": surface.color, "now": now}
    shape["unicode"] = surface.unicode
    for number, entry in enumerate(entries):
        if template is not None:
            yield render.render_log_format(entry, template, now=now)
        elif form == "json":
            yield from map(render.render_log_json, entry.records)
            yield from map(render.render_log_json, entry.foreign)
        elif form == "oneline":
            yield render.render_log_oneline(entry, **shape)
        else:
            if number:
                yield ""
            yield from render.render_log_entry(entry, **shape)
