"""A repository of either object format, and its sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitsession import Sessions
from tests.scratch import Scratch


@pytest.fixture(params=["sha1", "sha256"])
def repo(tmp_path: Path, request: pytest.FixtureRequest) -> Scratch:
    """A repository with one commit."""
    return Scratch.create(tmp_path / "repo", object_format=request.param)


@pytest.fixture
def store(repo: Scratch) -> Iterator[Sessions]:
    """Its sessions."""
    with Sessions(repo.path) as opened:
        yield opened
