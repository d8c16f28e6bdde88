"""`git session status`: what is going on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import click

from gitsession.actions.status import Status, status
from gitsession.commands import screen
from gitsession.render.escape import one_line
from gitsession.render.status import render_age, render_session
from gitsession.render.sync import render_outlook


@click.command()
@click.option("--json", "as_json", is_flag=True, help="A JSON object.")
def command(as_json: bool) -> None:
    """Show the active sessions, what waits to be captured, and the last error."""
    found = status(Path.cwd())
    if as_json:
        screen.say_json(found)
        return
    for line in _lines(found):
        click.echo(line)


def _lines(found: Status) -> Iterator[str]:
    if not found.enabled:
        yield "git session is switched off here (session.enabled, GIT_SESSION_DISABLE)"
    if not found.installed:
        yield "git session isn't set up here: `git session init` does it"
    yield "sessions:" if found.sessions else "no active session"
    for one in found.sessions:
        age = time.time() - one.seen_at
        yield from render_session(one.session, one.agent, one.state, age, one.cwd, one.files)
    yield "waiting:" if found.waiting else "nothing waits"
    for event in found.waiting:
        yield f"  {event.event} {event.head[:12]}, for {render_age(event.age)}"
    if found.waiting:
        yield "  (`git session capture` takes it now)"
    shared = found.sharing
    yield from render_outlook(shared.remote, shared.unpushed, shared.failures, shared.reason)
    if found.last_error:
        yield f"last error: {one_line(found.last_error)}"
