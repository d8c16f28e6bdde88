"""`git session gc`: fold old sessions into archives and pack what lies loose."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitsession.commands import exchanged
from gitsession.render.escape import one_line

if TYPE_CHECKING:
    from gitsession.actions.gc import Collected


@click.command()
@click.option(
    "--older-than",
    type=click.IntRange(0, 36500),
    metavar="DAYS",
    help="Fold sessions whose last capture is older.  [default: session.archiveDays, 90]",
)
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be folded.")
@click.option("--no-push", is_flag=True, help="Leave the remote as it is.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(older_than: int | None, dry_run: bool, no_push: bool, quiet: bool) -> None:
    """Fold old sessions into archives and pack what lies loose.

    A session whose last capture is old goes from a ref of its own into the
    archive of its month, here and on the remote, so that refs stay few. It opens as
    before, and has a ref again when it goes on. No object is deleted.
    """
    from gitsession.actions.gc import gc

    with exchanged.bar(quiet=quiet) as report:
        done = gc(
            Path.cwd(), older_than=older_than, dry_run=dry_run, push=not no_push, report=report
        )
    for warning in done.warnings:
        click.echo(f"warning: {one_line(warning)}", err=True)
    if dry_run:
        for one in done.folded:
            click.echo(f"would fold {one.slug} into the archive of {one.month}")
        for slug, why in done.stay:
            click.echo(f"{slug} stays: {why}")
    click.echo(_summary(done, "would fold" if dry_run else "folded"))


def _summary(done: Collected, verb: str) -> str:
    """All of it in a line."""
    months = len({one.month for one in done.folded})
    into = f" into {_count(months, 'archive')}" if months else ""
    parts = [f"{verb} {_count(len(done.folded), 'session')}{into}"]
    if done.stay:
        reasons = Counter(why for _, why in done.stay)
        told = ", ".join(f"{n} {why}" if len(reasons) > 1 else why for why, n in reasons.items())
        parts.append(f"{len(done.stay)} {'stays' if len(done.stay) == 1 else 'stay'}: {told}")
    if done.dropped:
        parts.append(f"{_count(len(done.dropped), 'ref')} fewer on the remote")
    return "; ".join(parts)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
