"""`git session show`: the conversation behind a commit."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from gitsession.actions import show as action
from gitsession.commands import screen
from gitsession.commands.screen import Screen
from gitsession.render.terminal import View, render_story
from gitsession.render.timeline import Story

_SAY = "[<commit>|<session>|<session>@<turn>|<task>]"


@click.command()
@click.argument("name", default="HEAD", metavar=_SAY)
@click.option("--full", is_flag=True, help="Everything, unfolded and uncut.")
@click.option("--tools", is_flag=True, help="The input and output of the tools.")
@click.option("--thinking", is_flag=True, help="What the model thought.")
@click.option("--turn", type=int, metavar="N", help="This turn only.")
@click.option("--json", "form", flag_value="json", help="The normalised view, version 1.0.")
@click.option("--raw", "form", flag_value="raw", help="The agent's own lines.")
@click.option("--markdown", "form", flag_value="markdown", help="Fit to paste in a pull request.")
@click.option("--stat", "form", flag_value="stat", help="What was changed and what it cost.")
@screen.color_option
def command(
    name: str,
    full: bool,
    tools: bool,
    thinking: bool,
    turn: int | None,
    form: str | None,
    color: str,
) -> None:
    """Show the conversation behind a commit (HEAD if none is named).

    A session, one of its turns (SESSION@N) or a task can be named as well; the
    beginning of a session's id is enough.
    """
    here = Path.cwd()
    if form == "raw":
        sys.stdout.buffer.writelines(action.raw(here, name))
        return
    stories = action.show(here, name, turn=turn)
    if form == "json":
        from gitsession.render.normal import normal_view

        views = [normal_view(story) for story in stories]
        screen.say_json(views[0] if len(views) == 1 else views)
        return
    surface = screen.look(color)
    if form == "markdown":
        from gitsession.render.markdown import render_markdown

        screen.show((render_markdown(story) for story in stories), surface)
        return
    if form == "stat":
        screen.show(_stats(stories, surface), surface)
        return
    view = View(full=full, tools=tools, thinking=thinking)
    screen.show(_conversations(stories, surface, view), surface)


def _stats(stories: Iterable[Story], surface: Screen) -> Iterator[str]:
    from gitsession.render.tables import render_stat

    for number, story in enumerate(stories):
        if number:
            yield ""
        yield from render_stat(
            story, width=surface.width, color=surface.color, unicode=surface.unicode
        )


def _conversations(stories: Iterable[Story], surface: Screen, view: View) -> Iterator[str]:
    for number, story in enumerate(stories):
        if number:
            yield ""
        yield from render_story(
            story,
            width=surface.width,
            color=surface.color,
            unicode=surface.unicode,
            now=datetime.now(UTC),
            full=view.full,
            tools=view.tools,
            thinking=view.thinking,
        )
