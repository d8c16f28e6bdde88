"""`make demo` shows the main job: it must not only run, but show it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_demo_shows_the_main_job() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.demo"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    _, _, log = done.stdout.partition("$ git session log")
    log, _, show = log.partition("$ git session show HEAD\n")
    assert log.count("\nSession:") == 3, "two commits of the agent, one by hand"
    for prompt in ("plain commit", "add and commit", "files please"):
        assert f" {prompt}\n" in log
    assert " files please\n" in show
    show, _, shared = show.partition("$ git clone")
    assert "+line 2" in show
    assert "fetched" in shared
    assert "files please" in shared
    assert "\n n.txt | " in shared


def test_the_demo_touches_nothing_of_the_user(tmp_path: Path) -> None:
    home = Path.home()
    before = sorted(home.rglob("*"))
    subprocess.run([sys.executable, "-m", "tools.demo"], cwd=ROOT, capture_output=True, check=True)
    assert sorted(home.rglob("*")) == before
