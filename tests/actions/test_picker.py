"""The list that a turn is chosen from, and the programs that choose."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from gitsession.actions import picker
from gitsession.actions.fork_plan import Row
from gitsession.actions.picker import Screen
from gitsession.errors import SessionError

ROWS = [
    Row(number=12, age="2m", added=3, removed=1, files=("internal/auth.py", "login.py"),
        prompt="make it safe"),
    Row(number=2, age="3h", prompt="a" * 300),
    Row(number=0, prompt="(before the first prompt)"),
]  # fmt: skip


def fake_fzf(folder: Path, script: str) -> str:
    """A program in the place of fzf."""
    path = folder / "fzf"
    path.write_text(f"#!{sys.executable}\nimport os, subprocess, sys, time\n{script}\n")
    path.chmod(0o755)
    return str(path)


def choose(program: str, preview: picker.Preview = lambda row: f"turn {row.number}\n") -> int:
    return picker.choose(program, ROWS, preview, Screen(), os.environ)


# -- lines --------------------------------------------------------------------------------


def test_a_line_for_each_turn() -> None:
    lines = [picker.render_row(row, Screen(unicode=False)) for row in ROWS]
    assert lines[0] == "Turn 12   2m ago   +3 -1  internal/auth.py, login.py  make it safe"
    assert lines[1] == f"Turn 2    3h ago   {'a' * 197}..."
    assert lines[2].split("  ", 1)[1].strip() == "(before the first prompt)"
    assert "\x1b[32m+3\x1b[0m" in picker.render_row(ROWS[0], Screen(color=True))


def test_long_lists_are_cut_where_nobody_can_scroll() -> None:
    rows = [Row(number=n, prompt="x") for n in range(30, 0, -1)]
    lines = list(picker.list_choices(rows, Screen()))
    assert (len(lines), lines[-1]) == (21, "and 10 older ones")


@pytest.mark.parametrize(
    ("answer", "turn"),
    [("12\n", 12), (" turn 2", 2), ("0", 0), ("1", None), ("", None), ("-2", None), ("x", None),
     ("\u0662", None), ("9" * 5000, None)],
)  # fmt: skip
def test_answers(answer: str, turn: int | None) -> None:
    assert picker.parse_choice(answer, ROWS) == turn


# -- which program ------------------------------------------------------------------------


def test_the_one_in_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "iterfzf"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('nobody needs to run it')\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert picker.find_fzf({"PATH": str(tmp_path)}) is None
    bundled = fake_fzf(package, "")
    assert picker.find_fzf({"PATH": str(tmp_path)}) == bundled
    own = fake_fzf(tmp_path, "")
    assert picker.find_fzf({"PATH": str(tmp_path)}) == own


def test_what_is_chosen_and_shown(tmp_path: Path) -> None:
    # It does as fzf does: prints the line, and runs the preview with the line's first field.
    script = """
lines = sys.stdin.read().splitlines()
preview = next(w for w in sys.argv if w.startswith("--preview=")).removeprefix("--preview=")
out = subprocess.run([os.environ["SHELL"], "-c", preview.replace("{1}", "'2'")],
                     stdout=subprocess.PIPE).stdout
open(os.path.dirname(sys.argv[0]) + "/seen", "wb").write(out)
print(next(x for x in lines if x.startswith("2\\t")))
"""
    program = fake_fzf(tmp_path, script)

    def slow(row: Row) -> str:
        time.sleep(0.1)
        if row.number == 12:
            raise SessionError("it is broken")
        return f"turn {row.number}\n"

    assert choose(program, slow) == 2
    assert (tmp_path / "seen").read_text() == "turn 2\n"


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("sys.exit(130)", KeyboardInterrupt),
        ("sys.exit(1)", SessionError),
        ("sys.exit(2)", SessionError),
        ("print()", SessionError),
    ],
)
def test_nothing_chosen(tmp_path: Path, script: str, error: type[BaseException]) -> None:
    with pytest.raises(error):
        choose(fake_fzf(tmp_path, script))
