"""The table of results, on the screen and in `docs/performance.md`."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

HEAD = """# Performance

Written by `make bench`; don't edit it. The budgets are those of the design. A ratio compares
two things that were measured by turns in the same run on the same machine: read ratios, not
seconds. Other work on the machine makes the numbers of two runs differ by a fifth or more.

Growth over many captures is told by turns as well, in the full repository and in a copy from its
start. Compared as they come, the last and the first tell of the file system: on ext4 `git` takes
half as much again to write objects for minutes after thousands of files were deleted there, as
packing does. As far as we can tell, that and packs that were never joined made the 0.5x to 1.7x
of earlier runs.
"""

_SHORT = "What falls short"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One result."""

    what: str
    measured: float
    unit: str = "x"
    """What is counted: `x` is a ratio."""
    budget: float | None = None
    at_least: bool = False
    """Whether more is better."""
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the budget holds."""
        if self.budget is None:
            return ""
        holds = self.measured >= self.budget if self.at_least else self.measured <= self.budget
        return "holds" if holds else "**falls short**"

    def cells(self) -> tuple[str, ...]:
        """As the table has it."""
        limit = "" if self.budget is None else f"{'≥' if self.at_least else '≤'} {self.budget:g}"
        limit += self._unit if limit else ""
        return (self.what, limit, self.value, self.verdict, self.note)

    @property
    def value(self) -> str:
        """The number with its unit."""
        return shown(self.measured) + self._unit

    @property
    def _unit(self) -> str:
        return "x" if self.unit == "x" else " " + self.unit


def shown(number: float) -> str:
    """A number with as many digits as mean something."""
    return (
        f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"
    )


def ms(seconds: float) -> str:
    """A time, for the notes."""
    return f"{seconds * 1000:,.0f} ms" if seconds >= 0.02 else f"{seconds * 1000:.1f} ms"


def print_rows(rows: Iterable[Row]) -> None:
    """Tell of results as they come."""
    for row in rows:
        what, limit, measured, verdict, note = row.cells()
        print(
            f"  {what:62} {measured:>12}  {limit:>10}  {verdict.strip('*'):11} {note}", flush=True
        )


def write(path: Path, groups: Sequence[tuple[str, Sequence[Row]]], corpus: str) -> None:
    """Write the document; what was measured before and isn't now stays in it."""
    sections = _read_sections(path)
    for title, rows in groups:
        table = ["| what | budget | measured | verdict | |", "|---|--:|--:|---|---|"]
        table += ["| " + " | ".join(row.cells()) + " |" for row in rows]
        sections[title] = "\n".join(table)
    short = [
        "- {0}: {2}, budget {1}".format(*line.strip("| ").split(" | "))
        for text in sections.values()
        for line in text.splitlines()
        if " **falls short** " in line
    ]
    sections[_SHORT] = "\n".join(short) or "Nothing, when it was last measured."
    head = f"{HEAD}\n{date.today().isoformat()}: {_machine()}. {corpus}"
    parts = [head, *(f"## {title}\n\n{text}" for title, text in sections.items())]
    path.write_text("\n\n".join(parts) + "\n")


def _read_sections(path: Path) -> dict[str, str]:
    """The tables of the document as it is, by their titles."""
    text = path.read_text() if path.exists() else ""
    found = (part.partition("\n") for part in text.split("\n## ")[1:])
    return {title: table.strip() for title, _, table in found if title != _SHORT}


def _machine() -> str:
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout
    memory = ""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        memory = f"{round(pages / (1 << 30))} GB of memory, "
    return (
        f"{os.cpu_count()} cores, {memory}{platform.system()} on {platform.machine()}, "
        f"{git.strip()}, Python {platform.python_version()}"
    )
