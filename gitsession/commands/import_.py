"""`git session import`: capture the sessions the agent already has on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gitsession.actions.import_sessions import Progress


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
def command(paths: tuple[Path, ...]) -> None:
    """Capture the sessions the agent already has on disk for this repository.

    Each is cut at the commits that its own tool results name, and tied to them.
    PATH names transcripts, or folders of them. Doing it again changes nothing.
    """
    from gitsession.actions.import_sessions import import_sessions

    with _bar() as progress:
        done = import_sessions(Path.cwd(), paths, progress=progress)
    for failure in done.failures:
        click.echo(f"warning: {failure}", err=True)
    tied = len({record.commit for record in done.records if record.commit})
    click.echo(
        f"{done.sessions} sessions: {len(done.records)} new captures, tied to {tied} commits"
    )
    if done.running:
        click.echo(f"{done.running} sessions are under way; they are captured as they go")


@contextmanager
def _bar() -> Iterator[Progress]:
    """A progress bar where somebody looks."""
    if not sys.stderr.isatty():
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("importing", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
