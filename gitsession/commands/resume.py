"""`git session resume`: go on with a session, wherever it was captured."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gitsession.actions import launching, resume
from gitsession.commands import screen
from gitsession.commands.fork_ask import agree
from gitsession.errors import Usage
from gitsession.render.begun import render_resumed


@click.command()
@click.argument("name", default="", metavar="[<session>|<commit>]")
@click.option("--at", default="", metavar="TURN|UUID",
              help="At the end of this turn, or before this prompt.")  # fmt: skip
@click.option("--last", is_flag=True, help="The latest session of this folder, as without a name.")
@click.option("--prompt", default="", metavar="TEXT", help="Say this in it, without a terminal.")
@click.option("--print", "prints", is_flag=True, help="Prepare it, and print the command.")
@click.option("--no-launch", is_flag=True, help="Prepare it, and start nothing.")
@click.option("--yes", is_flag=True, help="Don't ask whose session it is.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, with --no-launch.")
@click.pass_context
def command(
    context: click.Context, name: str, at: str, last: bool, prompt: str,
    prints: bool, no_launch: bool, yes: bool, as_json: bool,
) -> None:  # fmt: skip
    """Go on with a session: the latest one of this folder, if none is named.

    What was captured elsewhere is put where the agent looks for it. A transcript
    that is newer than that, or another one, stays as it is: then, and at an earlier
    moment (--at, or SESSION@TURN), the conversation goes on as a fork.
    """
    if as_json and not no_launch:
        raise Usage("--json needs --no-launch", hint="what the agent prints is no JSON")
    if last and name:
        raise Usage("say a name or --last, not both")
    path = Path.cwd()
    launches = not (prints or no_launch)
    wish = resume.Wish(name=name, at=at, prompt=prompt, launches=launches)
    looked = resume.look(path, wish)
    agree(looked.doubt, yes=yes, verb="resume")
    ready, launch = resume.prepare(path, looked, wish)
    if as_json:
        screen.say_json(ready)
        return
    for line in render_resumed(
        session=ready.session, parent=ready.parent, turn=ready.turn,
        worktree=ready.worktree, remarks=ready.remarks,
    ):  # fmt: skip
        click.echo(line, err=not no_launch)
    if not launches:
        click.echo(launching.describe(launch))
        return
    sys.stderr.flush()
    context.exit(resume.carry_out(launch, looked.found.agent))
