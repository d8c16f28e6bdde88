"""What went wrong out of sight, kept for `status` and `doctor` and read by nobody else."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from gitsession.store import folder

_MAX = 1 << 20
_MAX_MESSAGE = 4_000
_MAX_DETAILS = 20_000


def note(common_dir: Path, message: str, *, details: str = "") -> None:
    """Add a line; the file keeps to a megabyte."""
    path = folder.log(common_dir)
    folder.make(path.parent)
    try:
        if path.stat().st_size > _MAX:
            path.replace(path.with_suffix(".old"))
    except OSError:
        pass
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = f"{at} {' '.join(message.split())[:_MAX_MESSAGE]}\n" + "".join(
        f"    {line}\n" for line in details[-_MAX_DETAILS:].splitlines()
    )
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode("utf-8", "replace"))


def last(common_dir: Path) -> str | None:
    """The newest line, if any."""
    try:
        data = folder.log(common_dir).read_bytes()[-65536:]
    except OSError:
        return None
    lines = [x for x in data.decode("utf-8", "replace").splitlines() if x and not x.startswith(" ")]
    return lines[-1] if lines else None
