"""`git session redact`: what would be taken out of a file before it is stored."""

from __future__ import annotations

from pathlib import Path

import click

from gitsession.commands import screen


@click.command()
@click.option("--check", "checking", is_flag=True, help="Only show what would be redacted.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as a JSON array.")
@click.argument("files", nargs=-1, metavar="FILE...")
@click.pass_context
def command(context: click.Context, checking: bool, as_json: bool, files: tuple[str, ...]) -> None:
    """Show the secrets that redaction would find in files.

    Each is printed as path:line: rule: the masked secret. The exit code is 4 when
    there are any, so that a script can stop. - is standard input.
    """

    from gitsession.actions.redact import check, redactor_for
    from gitsession.errors import Exit, Usage

    if not checking or not files:
        raise Usage(
            "say what to look at", hint="`git session redact --check FILE...`, - for standard input"
        )
    findings = check(files, redactor_for(Path.cwd()))
    if as_json:
        screen.say_json(findings, line=True)
    else:
        for found in findings:
            click.echo(f"{found.path}:{found.line}: {found.rule}: {found.excerpt}")
    places = len({found.path for found in findings})
    plural = "s" if len(files) != 1 else ""
    summary = f"{len(findings)} found in {places} of {len(files)} file{plural}"
    click.echo(summary if findings else f"nothing found in {len(files)} file{plural}", err=True)
    context.exit(Exit.FINDINGS if findings else Exit.OK)
