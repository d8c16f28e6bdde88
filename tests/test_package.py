"""What is built can be installed and works: a wheel and an sdist, as a user would get them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitsession import __version__, commands

# one worker, so that it is built and installed once
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("package")]
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist, the wheel made from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel."""
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new environment that holds the wheel, and borrows the libraries from this one."""
    folder = tmp_path_factory.mktemp("env")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    borrowed = sysconfig.get_path("purelib")
    # one folder of links: this environment's own .pth files would bring the checkout in
    site = Path(
        subprocess.check_output(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
        ).strip()
    )
    for entry in Path(borrowed).iterdir():
        if not re.match(r"git_?session|.*\.pth$|__pycache__", entry.name):
            (site / entry.name).symlink_to(entry)
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps",
         "--no-index", "--disable-pip-version-check", str(wheel)],
        check=True,
    )  # fmt: skip
    yield folder
    shutil.rmtree(folder)


def run(installed: Path, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run something with the installed executable on PATH, far from the checkout."""
    path = f"{installed / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "MANPAGER": "cat", "PYTHONPATH": ""}
    return subprocess.run(args, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def test_the_wheel_holds_the_hooks_the_page_and_the_types(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for hook in (ROOT / "hooks").rglob("*"):
        if hook.is_file():
            assert f"gitsession/hooks/{hook.relative_to(ROOT / 'hooks').as_posix()}" in names
    for shared in ("man/man1/git-session.1", "git-session/record.schema.json"):
        assert any(name.endswith(f".data/data/share/{shared}") for name in names)
    assert "gitsession/py.typed" in names
    assert not any(name.startswith(("tests/", "tools/")) for name in names)


def test_the_sdist_can_test_itself(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("Makefile", "LICENSE", "requirements-dev.lock", "tests/conftest.py", ".ci/run"):
        assert name in names
    assert "tools/set_up" in names


def test_it_runs_from_where_it_was_installed(installed: Path, tmp_path: Path) -> None:
    done = run(installed, "git-session", "--version", cwd=tmp_path)
    assert done.stdout == f"git-session version {__version__}\n"
    code = "import gitsession; print(gitsession.__file__)"
    found = run(installed, "python", "-c", code, cwd=tmp_path)
    assert Path(found.stdout.strip()).is_relative_to(installed)


def test_every_verb_explains_itself(installed: Path, tmp_path: Path) -> None:
    for name in commands.visible():
        done = run(installed, "git", "session", name, "-h", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), name
        assert done.stdout.startswith(f"Usage: git session {name}")


def test_git_finds_the_manual_page(installed: Path, tmp_path: Path) -> None:
    assert (installed / "share/man/man1/git-session.1").exists()
    if not shutil.which("man"):
        return
    for command in (["git", "help", "session"], ["git", "session", "--help"]):
        done = run(installed, *command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "GIT-SESSION(1)" in done.stdout
