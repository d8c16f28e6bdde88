"""Lets a person choose a turn: with fzf, or by its number where there is none.

The previews are written to files while the person already looks, the newest
first, so that fzf only has to print them.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from gitsession.actions.fork_plan import Row
from gitsession.errors import SessionError
from gitsession.model import Frozen
from gitsession.render.ansi import Style, style
from gitsession.render.escape import one_line
from gitsession.render.terminal import some
from gitsession.render.width import clip

Preview = Callable[[Row], str]
"""What is shown of a row beside the list; it must be harmless to a terminal."""

_CANCELLED = 130
_NO_MATCH = 1
_MOST_FILES = 3
_SHOWN = 20


class Screen(Frozen, frozen=True, kw_only=True):
    """What the terminal can show."""

    width: int = 80
    color: bool = False
    unicode: bool = True


# -- lines --------------------------------------------------------------------------------


def render_row(row: Row, screen: Screen) -> str:
    """`Turn 12  2m ago  +3 -1  auth.py, login.py  prompt`, on one line."""
    look = style(width=screen.width, color=screen.color, unicode=screen.unicode)
    files = clip(some(list(row.files), _MOST_FILES), 40, look.marks.more)
    parts = [
        look.paint(f"Turn {row.number:<3}", "yellow"),
        look.paint(f"{row.age + ' ago' if row.age else '':<7}", "dim"),
        _counts(row, look),
        look.paint(files, "blue") if files else "",
        clip(row.prompt, 200, look.marks.more),
    ]
    return "  ".join(part for part in parts if part)


def _counts(row: Row, look: Style) -> str:
    if not row.files:
        return ""
    return f"{look.paint(f'+{row.added}', 'green')} {look.paint(f'-{row.removed}', 'red')}"


# -- fzf ----------------------------------------------------------------------------------


def find_fzf(env: Mapping[str, str]) -> str | None:
    """The program: the one in PATH, else the one that iterfzf brings along."""
    found = shutil.which("fzf", path=env.get("PATH", os.defpath))
    if found is not None:
        return found
    package = importlib.util.find_spec("iterfzf")
    for folder in (package.submodule_search_locations or ()) if package else ():
        bundled = Path(folder) / ("fzf.exe" if os.name == "nt" else "fzf")
        if os.access(bundled, os.X_OK):
            return str(bundled)
    return None


def choose(
    program: str, rows: Sequence[Row], preview: Preview, screen: Screen, env: Mapping[str, str]
) -> int:
    """Let a person choose with fzf, in the terminal; the turn's number."""
    with tempfile.TemporaryDirectory(prefix="git-session-") as folder:
        stop = threading.Event()
        writer = threading.Thread(
            target=_write_previews, args=(Path(folder), rows, preview, stop), daemon=True
        )
        writer.start()
        lines = "".join(f"{row.number}\t{render_row(row, screen)}\n" for row in rows)
        try:
            done = subprocess.run(
                [program, *_options(folder)],
                input=lines.encode("utf-8", "replace"),
                stdout=subprocess.PIPE,
                # It runs the preview in the user's shell, whatever that understands.
                env={**env, "SHELL": "/bin/sh"},
                check=False,
            )
        finally:
            stop.set()
            writer.join()
    if done.returncode == _CANCELLED:
        raise KeyboardInterrupt
    words = done.stdout.decode("utf-8", "replace").strip().split("\n")[-1].split("\t")
    if done.returncode not in (0, _NO_MATCH):
        raise SessionError(
            f"fzf ended with {done.returncode}", hint="name a turn: `git session fork SESSION@N`"
        )
    if not words[0].isdigit():
        raise SessionError("no turn was chosen")
    return int(words[0])


def _options(folder: str) -> list[str]:
    # The user's own FZF_DEFAULT_OPTS come before these.
    file = f"{shlex.quote(folder)}/{{1}}"
    show = f"until [ -e {file} ]; do sleep 0.05; done; cat {file}"
    return [
        "--ansi", "--no-multi", "--no-print-query", "--no-sort", "--layout=reverse",
        "--delimiter=\t", "--with-nth=2..", "--prompt=fork at> ",
        f"--preview={show}", "--preview-window=down:60%:wrap",
    ]  # fmt: skip


def _write_previews(
    folder: Path, rows: Sequence[Row], preview: Preview, stop: threading.Event
) -> None:
    for row in rows:
        if stop.is_set():
            return
        fresh = folder / f"{row.number}.new"
        try:
            text = preview(row)
        except (SessionError, OSError) as error:
            text = f"this can't be shown: {one_line(str(error))}"
        fresh.write_text(text, encoding="utf-8", errors="replace")
        fresh.rename(folder / str(row.number))


# -- by its number ------------------------------------------------------------------------


def list_choices(rows: Sequence[Row], screen: Screen) -> Iterator[str]:
    """The lines to choose from where there is no fzf, the newest first."""
    yield from (render_row(row, screen) for row in rows[:_SHOWN])
    if len(rows) > _SHOWN:
        yield f"and {len(rows) - _SHOWN} older ones"


def parse_choice(answer: str, rows: Sequence[Row]) -> int | None:
    """The turn that an answer names; None when it names none of them."""
    word = answer.strip().lower().removeprefix("turn").strip()
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 8 else None
    return number if any(row.number == number for row in rows) else None
