"""`git session start`: begin a session with a branch of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gitsession.actions import launching, start
from gitsession.commands import screen
from gitsession.errors import Usage
from gitsession.render.begun import render_started


@click.command()
@click.argument("name", default="", metavar="[<name>]")
@click.option("--worktree", is_flag=True, help="In a new work tree beside this one.")
@click.option("--autocommit/--no-autocommit", default=None,
              help="Commit what each turn changed; session.autoCommit is the default.")  # fmt: skip
@click.option("--prompt", default="", metavar="TEXT", help="Say this in it, without a terminal.")
@click.option("--print", "prints", is_flag=True, help="Prepare it, and print the command.")
@click.option("--no-launch", is_flag=True, help="Prepare it, and start nothing.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, with --no-launch.")
@click.pass_context
def command(
    context: click.Context, name: str, worktree: bool, autocommit: bool | None, prompt: str,
    prints: bool, no_launch: bool, as_json: bool,
) -> None:  # fmt: skip
    """Begin a session on a branch of its own: session/NAME, or its short id.

    Changes that aren't committed come along, as with `git switch -c`. With
    --autocommit each turn that changed files is a commit of that branch, which
    `git session squash` turns into one.
    """
    if as_json and not no_launch:
        raise Usage("--json needs --no-launch", hint="what the agent prints is no JSON")
    launches = not (prints or no_launch)
    wish = start.Wish(
        name=name, worktree=worktree, autocommit=autocommit, prompt=prompt, launches=launches
    )
    begun, launch = start.start(Path.cwd(), wish)
    if as_json:
        screen.say_json(begun)
        return
    for line in render_started(
        session=begun.session, branch=begun.branch, worktree=begun.worktree,
        autocommit=begun.autocommit, remarks=begun.remarks,
    ):  # fmt: skip
        click.echo(line, err=not no_launch)
    if not launches:
        click.echo(launching.describe(launch))
        return
    sys.stderr.flush()
    context.exit(launching.run(launch))
