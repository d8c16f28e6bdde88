"""`git session import`: capture the sessions the agent already has on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
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
    PATH names transcripts, or folders of them; or bundles that `git session
    export` wrote, whose sessions are merged. Doing it again changes nothing.
    """
    from gitsession.actions.bundle import is_bundle
    from gitsession.actions.import_sessions import import_sessions

    bundles = [path for path in paths if is_bundle(path)]
    _take(bundles)
    paths = tuple(path for path in paths if path not in bundles)
    if bundles and not paths:
        return
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


def _take(bundles: Sequence[Path]) -> None:
    """Merge bundles, and say what they brought."""
    from gitsession.actions.bundle import take
    from gitsession.render.escape import one_line
    from gitsession.render.sync import render_fetched

    for bundle in bundles:
        done = take(Path.cwd(), bundle)
        for warning in done.warnings:
            click.echo(f"warning: {one_line(warning)}", err=True)
        click.echo(render_fetched(str(bundle), done.records, len(done.sessions)))


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
