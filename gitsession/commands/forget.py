"""`git session forget`: take a session, or a secret in one, out of every place."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import click

from gitsession.actions import forget as action
from gitsession.actions.forget import Request, Touched
from gitsession.commands import screen
from gitsession.errors import SessionError, Usage
from gitsession.render import forget as render


@click.command()
@click.argument("name", required=False, default="", metavar="[SESSION|CAPTURE|COMMIT]")
@click.option("--text", metavar="TEXT", help="Only this text, wherever it stands in there.")
@click.option(
    "--text-file", type=click.File("rb"), metavar="FILE", help="The same from a file, or - (stdin)."
)
@click.option("--rule", default="", metavar="ID", help="Only what this redaction rule finds today.")
@click.option("--all-sessions", is_flag=True, help="Look for the text in every session.")
@click.option(
    "--remote", is_flag=False, flag_value="", default=None, metavar="[NAME]",
    help="On the remote, too.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only list what would be touched.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object.")
def command(
    name: str, text: str | None, text_file: BinaryIO | None, rule: str,
    all_sessions: bool, remote: str | None, dry_run: bool, yes: bool, as_json: bool,
) -> None:  # fmt: skip
    """Take a session, a capture or a leaked text out of refs, index, archives and caches.

    A tombstone travels with the index, so that no clone brings it back. Put the
    name before --remote, or write --remote=NAME. In a script, --text-file keeps the
    text out of the shell's history.
    """
    if text_file is not None:
        if text is not None:
            raise Usage("say either --text or --text-file")
        text = text_file.read().decode("utf-8", "replace")
    request = Request(name=name, text=text, rule=rule, all_sessions=all_sessions)
    found = action.look(Path.cwd(), request, remote=remote)
    if found.nothing and remote is None:
        raise SessionError("nothing of the kind is here", hint=_where_else(found))
    if not as_json:
        _say(found, request)
    if not dry_run:
        _ask(yes)
        found = action.carry_out(Path.cwd(), request, remote=remote)
        if found.nothing:
            raise SessionError("nothing of the kind is here or on the remote")
    if as_json:
        screen.say_json(found)
    elif not dry_run:
        click.echo("forgotten")
        for line in render.render_left(
            transcripts=found.transcripts, remote=found.remote, absent=found.absent
        ):
            click.echo(line)


def _where_else(found: Touched) -> str | None:
    if not found.absent:
        return None
    return f"{len(found.absent)} sessions are not here: `git session fetch --all` brings them"


def _say(found: Touched, request: Request) -> None:
    for line in render.render_touched(
        sessions=found.sessions, captures=found.captures, found=found.found,
        cleans=request.cleans, commits=found.commits, named_by=found.named_by,
        refs=found.refs, remote=found.remote,
    ):  # fmt: skip
        click.echo(line)


def _ask(yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise SessionError("nobody is here to ask", hint="--dry-run lists, --yes goes ahead")
    if not click.confirm("forget this for good?", err=True):
        raise SessionError("nothing was forgotten")
