"""Where a command's output goes: the terminal through git's own pager, or a pipe as it is."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

import click
import msgspec

from gitsession.errors import GitFailed
from gitsession.git.run import run
from gitsession.model import Frozen
from gitsession.render.escape import in_json


class Screen(Frozen, frozen=True, kw_only=True):
    """What the reader's side can show."""

    width: int
    color: bool
    unicode: bool
    paged: bool


def look(color: str = "auto") -> Screen:
    """Find out, as git would: `color.ui`, NO_COLOR, the terminal's width, the locale."""
    terminal = sys.stdout.isatty()
    encoding = (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "")
    return Screen(
        width=max(20, _columns() if terminal else 80),
        color=_color(color, terminal),
        unicode=encoding.startswith("utf"),
        paged=terminal,
    )


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _color(wanted: str, terminal: bool) -> bool:
    if wanted != "auto":
        return wanted == "always"
    if os.environ.get("NO_COLOR") or (terminal and os.environ.get("TERM") == "dumb"):
        return False
    word = "true" if terminal else "false"
    try:
        out = run(["config", "--get-colorbool", "color.ui", word], cwd=Path.cwd(), ok=(0, 1))
    except GitFailed:
        return False
    return out.strip() == b"true"


def show(lines: Iterable[str], screen: Screen) -> None:
    """Print lines; a reader who has seen enough ends it without a word."""
    pager = _pager() if screen.paged else ""
    if not pager or pager == "cat":
        for line in lines:
            click.echo(line)
        return
    env = {"LESS": "FRX", "LV": "-c", **os.environ}
    process = subprocess.Popen(pager, shell=True, stdin=subprocess.PIPE, env=env)
    stream = cast(IO[bytes], process.stdin)
    try:
        for line in lines:
            stream.write(line.encode("utf-8", "replace") + b"\n")
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    finally:
        with contextlib.suppress(BrokenPipeError):
            stream.close()
        process.wait()


def _pager() -> str:
    """Git's own choice: GIT_PAGER, core.pager, PAGER, less; `pager.session` switches it off."""
    try:
        own = run(["config", "--get", "pager.session"], cwd=Path.cwd(), ok=(0, 1))
        words = own.decode("utf-8", "replace").strip()
        if words in ("false", "no", "off", "0"):
            return ""
        if words and words not in ("true", "yes", "on", "1"):
            return words
        return run(["var", "GIT_PAGER"], cwd=Path.cwd()).decode("utf-8", "replace").strip()
    except GitFailed:
        return ""


def color_option(command: click.decorators.FC) -> click.decorators.FC:
    """The option that every command with colours has."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="When to use colours.",
    )(command)


def say_json(value: object, *, line: bool = False) -> None:
    """Print a value as JSON that a terminal only shows: spread out, or on one line."""
    data = msgspec.json.encode(value)
    click.echo(in_json(data if line else msgspec.json.format(data)))
