"""Comparing with files that a person has looked at; `GOLDEN=1` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def check(name: str, text: str) -> None:
    """Assert that a text is what the golden file says."""
    path = FOLDER / name
    if os.environ.get("GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
