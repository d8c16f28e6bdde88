"""A repository where `git session init` was run, with a program that only takes notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitsession.actions.install import install
from tests.hooks.ground import put_program
from tests.scratch import Scratch


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return put_program(tmp_path, monkeypatch)


@pytest.fixture
def repo(scratch: Scratch, notes: Path) -> Scratch:
    install(scratch.path, shared=False, agent="claude-code", push=False)
    return scratch
