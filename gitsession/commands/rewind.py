"""`git session rewind`: files and conversation as they were at a turn."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gitsession.actions import launching, rewind
from gitsession.actions.rewind_plan import Part, Plan, Request, answer, refusal
from gitsession.commands import screen
from gitsession.errors import Exit, SessionError
from gitsession.render.rewind import count_files, render_plan


@click.command()
@click.argument("words", nargs=-1, metavar="[<turn>|<uuid>|<session>@<turn>] [<paths>...]")
@click.option("--session", default="", metavar="ID", help="Not the latest one of this work tree.")
@click.option("--code", "part", flag_value="code", default="code", help="The files (the default).")
@click.option("--conversation", "part", flag_value="conversation", help="The conversation.")
@click.option("--both", "part", flag_value="both", help="Both of them.")
@click.option("--undo", is_flag=True, help="Bring back what lay here before the last rewind.")
@click.option("--dry-run", is_flag=True, help="Only say what would be changed.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object.")
@click.pass_context
def command(
    context: click.Context, words: tuple[str, ...], session: str, part: Part, undo: bool,
    dry_run: bool, yes: bool, as_json: bool,
) -> None:  # fmt: skip
    """Go back to the end of a turn (0: before the first), or to before a prompt (its uuid).

    Files that were changed, made or deleted since, of all or some PATHS, are as
    they were; ignored ones stay, and so do HEAD, the index and the stash. What lay
    here is kept: --undo brings it back. The conversation is cut in a copy.
    """
    moment, paths = ("", words) if undo else ("".join(words[:1]), words[1:])
    request = Request(moment=moment, session=session, part=part, paths=paths, undo=undo)
    try:
        wanted = rewind.plan(Path.cwd(), request)
        if not as_json or not (dry_run or yes):
            _say(wanted, err=as_json)
        if not dry_run:
            _ask(wanted, yes)
        done = None if dry_run else rewind.carry_out(Path.cwd(), wanted, sure=yes)
    except SessionError as error:
        if not as_json:
            raise
        screen.say_json(refusal(error))
        context.exit(Exit.FAILED)
    if as_json:
        screen.say_json(answer(wanted, done))
    elif done is not None:
        if done.kept:
            click.echo(f"{count_files(len(wanted.changes))} went back; --undo takes that back")
        if done.launch:
            click.echo(launching.describe(done.launch))


def _say(wanted: Plan, *, err: bool) -> None:
    rows = [(c.kind, c.path, c.insertions, c.deletions) for c in wanted.changes]
    for line in render_plan(
        session=wanted.session, moment=wanted.moment, rows=rows if wanted.code else None,
        talks=wanted.talk is not None, remarks=wanted.notes,
    ):  # fmt: skip
        click.echo(line, err=err)


def _ask(wanted: Plan, yes: bool) -> None:
    if yes or wanted.busy or not (wanted.talk or wanted.changes):
        return
    if not sys.stdin.isatty():
        raise SessionError("nobody is here to ask", hint="--dry-run looks, --yes goes ahead")
    if not click.confirm("go back?", err=True):
        raise SessionError("nothing was changed")
