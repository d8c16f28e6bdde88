"""What has to start fast imports little: no timing, only what is in `sys.modules`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"click", "git", "pygit2", "rich", "msgspec", "zstandard", "re2"}
PROBE = """
import sys
from pathlib import Path
from gitsession import entry
code = entry.main(sys.argv[1:])
sys.stderr.write("\\n" + " ".join([str(code), *sys.modules]))
"""


def modules_of(*args: str, program: str = PROBE) -> tuple[int, set[str]]:
    """Run something in a new Python; its exit code, and the modules it imported."""
    done = subprocess.run(
        [sys.executable, "-c", program, *args], capture_output=True, text=True, check=True
    )
    code, *names = done.stderr.splitlines()[-1].split(" ")
    return int(code), set(names)


@pytest.mark.parametrize(
    ("args", "code"),
    [(["--help"], 0), (["-h"], 0), (["--version"], 0), ([], 2), (["shwo"], 2), (["--wat"], 2)],
)
def test_the_executable_imports_no_command_and_no_library(args: list[str], code: int) -> None:
    found, names = modules_of(*args)
    assert found == code
    assert not names & HEAVY
    assert {name for name in names if name.startswith("gitsession.commands.")} == set()


def test_help_needs_nothing_but_the_table() -> None:
    _, names = modules_of("--help")
    assert {name for name in names if name.startswith("gitsession")} == {
        "gitsession",
        "gitsession.commands",
        "gitsession.entry",
        "gitsession.errors",
    }


def test_a_verb_imports_no_other_verb() -> None:
    _, names = modules_of("completion", "bash")
    assert {name for name in names if name.startswith("gitsession.commands.")} == {
        "gitsession.commands.completion"
    }
    assert not names & (HEAVY - {"click"})


def test_the_worker_does_without_what_only_people_need(tmp_path: Path) -> None:
    (tmp_path / "gitsession" / "spool").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path)], check=True)
    code, names = modules_of("worker", "--git-dir", str(tmp_path))
    assert code == 0
    assert "gitsession.capture.worker" in names
    assert not names & {"click", "git", "pygit2", "rich", "shutil", "tempfile", "dataclasses"}
