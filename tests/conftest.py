"""Every test runs sealed: its own HOME, dates, identity and configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scratch import Scratch


@pytest.fixture(autouse=True)
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the machine's owner reaches a test, and nothing of a test the owner."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "CLAUDE", "CODEX", "COPILOT", "GEMINI", "XDG_")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    for name, value in {
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Dev", "GIT_AUTHOR_EMAIL": "dev@example.com",
        "GIT_COMMITTER_NAME": "Dev", "GIT_COMMITTER_EMAIL": "dev@example.com",
        "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_PAGER": "cat",
        "LC_ALL": "C.UTF-8", "TZ": "UTC",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    yield


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """A new repository with one commit."""
    return Scratch.create(tmp_path / "repo")
