"""Signed thinking: once its text was redacted, its signature is wrong, and it must go."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from gitsession.agents import claude_lines as form


class Sealed(Struct):
    """A block that may be signed."""

    type: str | None = None
    signature: str | None = None


def drop_broken_seals(before: bytes, after: bytes) -> bytes:
    """Remove from a redacted line the signed thinking that its change made invalid."""
    if before == after or b'"signature"' not in after:
        return after
    content = _content_of(after)
    blocks = form.decode_list(content)
    intact = {bytes(raw) for raw in form.decode_list(_content_of(before))}
    kept = [raw for raw in map(bytes, blocks) if raw in intact or not _is_sealed(raw)]
    if len(kept) == len(blocks):
        return after
    trimmed = after.replace(content, b"[" + b",".join(kept) + b"]", 1)
    if [bytes(raw) for raw in form.decode_list(_content_of(trimmed))] == kept:
        return trimmed
    return _without_content(after, kept)


def _content_of(raw: bytes) -> bytes:
    entry = form.decode_entry(raw)
    return bytes(entry.message.content) if entry and entry.message else b""


def _is_sealed(raw: bytes) -> bool:
    block = form.understand(raw, Sealed)
    return block is not None and block.type == "thinking" and block.signature is not None


def _without_content(raw: bytes, kept: list[bytes]) -> bytes:
    """Write the line anew: the content's bytes occur in it more than once."""
    parts = msgspec.json.decode(form.mend(raw), type=dict[str, Raw])
    message = msgspec.json.decode(parts["message"], type=dict[str, Raw])
    message["content"] = Raw(b"[" + b",".join(kept) + b"]")
    parts["message"] = Raw(msgspec.json.encode(message))
    return msgspec.json.encode(parts) + (b"\n" if raw.endswith(b"\n") else b"")
