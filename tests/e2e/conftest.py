"""What the end-to-end tests need, and what is said where it isn't to be had."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.client import BINARY, PATH, Claude, isolate_network
from tests.e2e.fake_anthropic import FakeAnthropic
from tests.e2e.scenario import Ground
from tests.scratch import Scratch


@pytest.fixture(scope="session")
def sealed_network() -> str:
    """Leave the network, once for a process; what keeps us from it, if anything does."""
    if not BINARY.is_file():
        return f"there is no client at {BINARY}: run `make e2e`, or set CLAUDE_BIN"
    if shutil.which("tmux") is None:
        return "tmux is missing: install it to drive the interactive client"
    if not isolate_network():
        return "no network of its own for the client: run as root on Linux"
    return ""


@pytest.fixture
def bare_ground(
    sealed_network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ground]:
    """A repository and a client, without git session."""
    if sealed_network:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(sealed_network)
    monkeypatch.setenv("PATH", PATH)
    with FakeAnthropic() as api:
        repo = Scratch.create(tmp_path / "repo")
        yield Ground(repo, Claude(tmp_path / "home", api.url), api)


@pytest.fixture
def ground(bare_ground: Ground) -> Ground:
    """A repository in which `git session init` was run."""
    bare_ground.init()
    return bare_ground
