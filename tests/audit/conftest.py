"""What the tests of audits share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.audit.ground import Ground
from tests.scratch import Scratch


@pytest.fixture(params=["sha1", "sha256"])
def ground(tmp_path: Path, request: pytest.FixtureRequest) -> Ground:
    """A repository with a session."""
    return Ground(Scratch.create(tmp_path / "repo", object_format=request.param))
