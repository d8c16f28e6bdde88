"""Fifty clones that capture and sync at once, are killed and cut off, end with the same.

`SEED=7 pytest tests/e2e/test_fifty_clones.py` does again what a failure named, as far as
the machine's timing allows. Needs no client.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sync.crowd import Crowd

SEED = int(os.environ.get("SEED", "1"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("object_format", "preload"), [("sha1", 0), ("sha1", 1000), ("sha256", 0)],
    ids=["plain", "thousand-captures", "sha256"],
)  # fmt: skip
def test_fifty_clones_end_with_the_same(tmp_path: Path, object_format: str, preload: int) -> None:
    print(f"SEED={SEED}")
    crowd = Crowd(tmp_path, clones=50, object_format=object_format, preload=preload)
    crowd.run(SEED, rounds=2)
    crowd.settle()
    crowd.check()
