"""What `git session fork` asks: which turn, and whether it really should."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from gitsession.actions import picker
from gitsession.actions.fork_preview import preview_of
from gitsession.actions.fork_source import Origin
from gitsession.actions.fork_trust import Doubt
from gitsession.commands import screen
from gitsession.errors import SessionError
from gitsession.render.fork import render_doubt

_NAME_ONE = "name a turn: `git session fork SESSION@N`, or say --latest"


def choose(path: Path, origin: Origin, env: Mapping[str, str]) -> int:
    """Let a person choose a turn."""
    rows = origin.rows(datetime.now(UTC))
    if not rows:
        raise SessionError("nothing was said in this session yet", hint="start a new one")
    terminal = sys.stdin.isatty() and sys.stderr.isatty()
    program = picker.find_fzf(env) if terminal and env.get("TERM", "dumb") != "dumb" else None
    surface = _surface(terminal)
    if program is not None:
        return picker.choose(program, rows, preview_of(path, origin, surface), surface, env)
    for line in picker.list_choices(rows, surface):
        click.echo(line, err=True)
    while True:
        click.echo("fork at turn: ", nl=False, err=True)
        answer = sys.stdin.readline()
        if not answer:
            click.echo("", err=True)
            raise SessionError("nobody chose a turn", hint=_NAME_ONE)
        turn = picker.parse_choice(answer, rows)
        if turn is not None:
            return turn
        click.echo("that is none of the turns", err=True)


def _surface(terminal: bool) -> picker.Screen:
    found = screen.look("auto")
    columns = os.get_terminal_size(sys.stderr.fileno()).columns if terminal else found.width
    color = terminal and not os.environ.get("NO_COLOR")
    return picker.Screen(width=max(columns, 40), color=color, unicode=found.unicode)


def agree(doubt: Doubt | None, *, yes: bool, verb: str = "fork") -> None:
    """Ask before an agent is told what somebody else has said; raises unless it may be."""
    if doubt is None:
        return
    for line in render_doubt(doubt.reasons, doubt.prompts):
        click.echo(line, err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise SessionError("nobody is here to ask", hint="look at it first; --yes goes ahead")
    if not click.confirm(f"{verb} it all the same?", err=True):
        raise SessionError(f"nothing was {verb.removesuffix('e')}ed")
