"""Clones that capture and sync at once, are killed and cut off, end with the same, and with all.

`SEED=7 pytest tests/sync/test_many_clones.py` does again what a failure named, as far
as the machine's timing allows. The same with fifty clones, and with SHA-256, is in tests/e2e.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.sync.crowd import Crowd

SEED = int(os.environ.get("SEED", "1"))


def test_twelve_clones_end_with_the_same(tmp_path: Path) -> None:
    print(f"SEED={SEED}")
    crowd = Crowd(tmp_path, clones=12, object_format="sha1", preload=40)
    crowd.run(SEED, rounds=2)
    crowd.settle()
    crowd.check()
