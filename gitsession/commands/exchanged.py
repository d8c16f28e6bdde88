"""What sync, fetch and push have in common: a bar while they run, and what they say at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from gitsession.commands import screen
from gitsession.errors import SessionError
from gitsession.render import sync as render
from gitsession.render.escape import one_line

if TYPE_CHECKING:
    from gitsession.actions.sync import Report, Synced

remote_option = click.option(
    "--remote", default="", metavar="NAME", help="Another remote than session.remote or origin."
)
json_option = click.option("--json", "as_json", is_flag=True, help="A JSON object.")


@contextmanager
def bar(*, quiet: bool) -> Iterator[Report | None]:
    """A progress bar where somebody looks."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("connecting", total=None)
        yield lambda stage, done, of: shown.update(
            task, description=stage, completed=done, total=of
        )


def say(done: Synced, *, as_json: bool) -> None:
    """Print what went where; raises when something could not be pushed."""
    warnings = [w for part in (done.fetched, done.pushed) if part for w in part.warnings]
    for warning in warnings:
        click.echo(f"warning: {one_line(warning)}", err=True)
    if as_json:
        screen.say_json(done)
    elif done.fetched:
        click.echo(
            render.render_fetched(done.remote, done.fetched.records, len(done.fetched.sessions))
        )
    if done.pushed is None:
        return
    if not as_json and (done.pushed.refs or not done.pushed.held):
        click.echo(render.render_pushed(done.remote, done.pushed.refs))
    if done.pushed.held:
        first = done.pushed.held[0]
        what = render.render_refs([held.ref for held in done.pushed.held])
        raise SessionError(
            f"{what} could not be pushed: {one_line(first.reason)}",
            hint="nothing is lost: it is pushed when the remote takes it",
        )
