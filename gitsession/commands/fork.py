"""`git session fork`: branch off from a turn, conversation and code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from gitsession.actions import fork, launching
from gitsession.actions.fork_source import Origin, find
from gitsession.commands import screen
from gitsession.commands.fork_ask import agree, choose
from gitsession.errors import Usage
from gitsession.render.fork import render_made


@click.command()
@click.argument("name", default="", metavar="[<session>|<commit>|<session>@<turn>]")
@click.option("--latest", is_flag=True, help="At the end of the last turn, without asking.")
@click.option("--here", is_flag=True, help="Switch this work tree instead of making another.")
@click.option("--branch", default="", metavar="NAME", help="Name of the branch.")
@click.option("--prompt", default="", metavar="TEXT", help="Say this in it, without a terminal.")
@click.option("--print", "prints", is_flag=True, help="Prepare it, and print the command.")
@click.option("--no-launch", is_flag=True, help="Prepare it, and start nothing.")
@click.option("--yes", is_flag=True, help="Don't ask whose session it is.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, with --no-launch.")
@click.pass_context
def command(
    context: click.Context, name: str, latest: bool, here: bool, branch: str, prompt: str,
    prints: bool, no_launch: bool, yes: bool, as_json: bool,
) -> None:  # fmt: skip
    """Branch off from a turn of a session: its conversation and its code, in a place of their own.

    Without a turn you choose one; without a name it is the latest session here. A
    commit stands for the turn that it was made in, SESSION@0 for a fresh start.
    The session that is forked stays as it is.
    """
    if as_json and not no_launch:
        raise Usage("--json needs --no-launch", hint="what the agent prints is no JSON")
    path = Path.cwd()
    origin = find(path, name)
    wanted = fork.plan(path, origin, _turn(path, origin, latest=latest))
    agree(origin.doubt, yes=yes)
    wish = fork.Wish(here=here, branch=branch, prompt=prompt, launch=not (prints or no_launch))
    made, launch = fork.make(path, wanted, wish)
    if as_json:
        screen.say_json(made)
        return
    for line in render_made(
        parent=made.parent, turn=made.turn, branch=made.branch, worktree=made.worktree,
        commit=made.commit, remarks=made.remarks,
    ):  # fmt: skip
        click.echo(line, err=not no_launch)
    if prints or no_launch:
        click.echo(launching.describe(launch))
        return
    sys.stderr.flush()
    context.exit(fork.run(wanted, launch))


def _turn(path: Path, origin: Origin, *, latest: bool) -> int:
    if origin.turn is not None:
        return origin.turn
    return origin.last if latest else choose(path, origin, os.environ)
