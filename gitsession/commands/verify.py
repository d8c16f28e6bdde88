"""`git session verify`: is what is kept what it says to be?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitsession.commands import screen

if TYPE_CHECKING:
    from gitsession.actions.verify import Verified


@click.command()
@click.argument("names", nargs=-1, metavar="[<session>|<commit>]...")
@click.option("--all", "everything", is_flag=True, help="All sessions, and the whole index.")
@click.option("--signed", is_flag=True, help="A session commit without a signature is an error.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as a JSON array.")
@click.pass_context
def command(
    context: click.Context, names: tuple[str, ...], everything: bool, signed: bool, as_json: bool
) -> None:
    """Check captures against their records, their history, the index and signatures.

    Without a name the sessions of HEAD are checked. Nothing is changed and nothing
    is fetched. The exit code is 4 when there is an error.
    """

    from gitsession.actions.verify import verify
    from gitsession.errors import Exit, Usage

    if names and everything:
        raise Usage("--all checks everything there is", hint="leave the names or --all away")
    done = verify(Path.cwd(), names, everything=everything, signed=signed)
    if as_json:
        screen.say_json(done.findings, line=True)
    else:
        for line in _lines(done):
            click.echo(line)
    context.exit(Exit.FINDINGS if done.errors else Exit.OK)


def _lines(done: Verified) -> Iterator[str]:
    from gitsession.render import findings

    for found in done.findings:
        yield from findings.render_finding(found.level, found.where, found.what, found.hint)
    checked = done.checked
    yield from findings.render_absent(
        checked.away, checked.elsewhere, checked.absent, checked.cut, shallow=checked.shallow
    )
    looked = [(checked.sessions, "session"), (checked.captures, "capture"), (checked.notes, "note")]
    warnings = len(done.findings) - done.errors
    yield f"{findings.render_counts(looked)}: {findings.render_outcome(done.errors, warnings)}"
