"""Lines on their way into the store: redacted, sealed, compressed, counted, in one pass.

Only what is redacted ever touches the disk again. Nothing is held but a block
of lines, so that a transcript of any size costs the same memory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gitsession.model import Frozen
from gitsession.store import codec, folder

if TYPE_CHECKING:
    from gitsession.capture.redact import Redactor

Seal = Callable[[bytes, bytes], bytes]
"""What an agent removes from a line that redaction has changed: (before, after) → line."""


class Segment(Frozen, frozen=True, kw_only=True):
    """A compressed part of a capture, in a file of its own until it is in git."""

    file: Path
    size: int
    """Of the compressed bytes."""
    raw_size: int
    """Of the lines as they are in the agent's file."""
    text_hash: str
    """Of the lines as they are stored, before compression."""
    redactions: dict[str, int] = {}


def write_segment(
    blocks: Iterable[bytes], *, redactor: Redactor, seal: Seal | None, scratch: Path
) -> Segment:
    """Store blocks of whole lines (or, without a seal, of plain text) in a scratch file."""
    handle, path = folder.create(scratch, "segment-")
    digest = hashlib.sha256()
    found: dict[str, int] = {}
    raw_size = 0
    try:
        with os.fdopen(handle, "wb") as file, codec.writer(file) as packed:
            for block in blocks:
                raw_size += len(block)
                clean = _clean(block, redactor, seal, found)
                digest.update(clean)
                packed.write(clean)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return Segment(
        file=path,
        size=path.stat().st_size,
        raw_size=raw_size,
        text_hash=digest.hexdigest(),
        redactions=dict(sorted(found.items())),
    )


def _clean(block: bytes, redactor: Redactor, seal: Seal | None, found: dict[str, int]) -> bytes:
    done = redactor.redact_lines(block) if seal else redactor.redact_text(block)
    for rule, count in done.found.items():
        found[rule] = found.get(rule, 0) + count
    if not seal or not done.changed:
        return done.data
    before, after = block.split(b"\n"), done.data.split(b"\n")
    for index in done.changed:
        after[index] = seal(before[index], after[index])
    return b"\n".join(after)


def total_redactions(segments: Iterable[Segment]) -> dict[str, int]:
    """What was redacted in all parts, by rule."""
    total: dict[str, int] = {}
    for segment in segments:
        for rule, count in segment.redactions.items():
            total[rule] = total.get(rule, 0) + count
    return dict(sorted(total.items()))
