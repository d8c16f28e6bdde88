"""`git session capture`: capture now what the hooks would capture later."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option(
    "--transcript", metavar="FILE", type=click.Path(path_type=Path), help="Capture from this file."
)
@click.option("--session", metavar="ID", help="The session it is, if the file doesn't say.")
@click.option("--commit", metavar="REV", help="The commit that the capture belongs to.")
@click.option("--task", metavar="ID", help="The task that the capture belongs to.")
@click.option(
    "--status",
    type=click.Choice(["complete", "rejected", "abandoned"]),
    default="complete",
    show_default=True,
    help="What became of the work.",
)
def command(
    transcript: Path | None, session: str | None, commit: str | None, task: str | None, status: str
) -> None:
    """Capture now, in the foreground.

    With nothing else, all that waits in the spool is captured. With --transcript,
    the new lines of that file are, for a commit, a task or neither.
    """
    from gitsession.actions import capture
    from gitsession.errors import SessionError, Usage

    if transcript is None:
        if session or commit or task:
            raise Usage("--session, --commit and --task need --transcript FILE")
        outcome = capture.capture_waiting(Path.cwd())
        if outcome.failures:
            raise SessionError(outcome.failures[0], hint="`git session status` shows what waits")
        click.echo(f"handled {outcome.handled} events" if outcome.handled else "nothing waits")
        return
    outcome = capture.capture_transcript(
        Path.cwd(),
        transcript,
        session=session,
        commit=commit,
        task=task,
        status=status,  # type: ignore[arg-type]
    )
    for warning in outcome.warnings:
        click.echo(f"warning: {warning}", err=True)
    record = outcome.record
    if record is None:
        click.echo("nothing new")
        return
    what = f" for {record.commit[:12]}" if record.commit else ""
    turns = f"{record.turns} turn{'' if record.turns == 1 else 's'}"
    click.echo(f"captured {turns} of session {record.session} (#{record.seq}){what}")
