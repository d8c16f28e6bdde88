"""The lines of Claude Code's transcripts: their typed shape, and decoding that never fails.

The typed decoders name only the fields that matter, so that msgspec skips the
bulk. When a line isn't as expected (a wrong type, a lone surrogate, a bad byte)
it is mended and what can be understood of it is kept, field by field.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar, get_args

import msgspec
from msgspec import Raw, Struct

T = TypeVar("T", bound=Struct)

FAILURES: Final = (ValueError, RecursionError)
"""What decoding raises: msgspec's errors and bad UTF-8 are ValueErrors."""


ABSENT: Final = Raw()
"""What stands for a part that a line doesn't have."""


class Usage(Struct, gc=False):
    """What a response cost."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class Body(Struct):
    """The `message` of a line."""

    id: str | None = None
    model: str | None = None
    content: Raw = ABSENT
    usage: Usage | None = None


class Origin(Struct, rename="camel", gc=False):
    """The `forkedFrom` of a line that `/branch` copied."""

    session_id: str | None = None


class Entry(Struct, rename="camel"):
    """One line."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    prompt_source: str | None = None
    turn_origin: str | None = None
    request_session_id: str | None = None
    forked_from: Origin | None = None
    message: Body | None = None
    tool_use_result: Raw = ABSENT
    content: Raw = ABSENT
    attachment: Raw = ABSENT
    data: Raw = ABSENT
    parent_tool_use_id: str | None = msgspec.field(default=None, name="parentToolUseID")


class Block(Struct):
    """One block of a message's content."""

    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: Raw = ABSENT
    source: Raw = ABSENT


class Hunk(Struct, rename="camel"):
    """A part of a `structuredPatch`."""

    old_start: int = 0
    old_lines: int = 0
    new_start: int = 0
    new_lines: int = 0
    lines: list[str] = []


class Commit(Struct, gc=False):
    """The commit of a `gitOperation`."""

    sha: str | None = None


class GitOperation(Struct):
    """What the client saw git do."""

    commit: Commit | None = None


class Result(Struct):
    """The `toolUseResult` of a line, for the tools that matter here."""

    type: str | None = None
    stdout: str | None = None
    interrupted: bool | None = None
    content: Raw = ABSENT
    notebook_path: str | None = None
    new_source: str | None = None
    original_file: str | None = None
    updated_file: str | None = None
    file_path: str | None = msgspec.field(default=None, name="filePath")
    agent_id: str | None = msgspec.field(default=None, name="agentId")
    patch: list[Hunk] | None = msgspec.field(default=None, name="structuredPatch")
    git: GitOperation | None = msgspec.field(default=None, name="gitOperation")


_ENTRY = msgspec.json.Decoder(Entry)
_CONTENT: msgspec.json.Decoder[str | list[Block]] = msgspec.json.Decoder(str | list[Block])
_RESULT: msgspec.json.Decoder[str | Result] = msgspec.json.Decoder(str | Result)
_RAWS = msgspec.json.Decoder(list[Raw])
_PARTS = msgspec.json.Decoder(dict[str, Raw])
_ANY = msgspec.json.Decoder()

_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\."
)


def decode_entry(raw: bytes) -> Entry | None:
    """Understand a line as far as possible; None when it is no JSON object."""
    try:
        return _ENTRY.decode(raw)
    except FAILURES:
        return salvage(mend(raw), Entry)


def decode_parts(raw: Raw | bytes) -> dict[str, Raw] | None:
    """The fields of an object, undecoded; None when it is none."""
    try:
        return _PARTS.decode(raw)
    except FAILURES:
        pass
    try:
        return _PARTS.decode(mend(bytes(raw)))
    except FAILURES:
        return None


def understand(raw: Raw | bytes, kind: type[T]) -> T | None:
    """Understand a part of a line as far as possible; None when it is no object."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except FAILURES:
        return salvage(mend(bytes(raw)), kind)


def is_given(raw: Raw) -> bool:
    """Whether a part is there, and not null."""
    return raw is not ABSENT and bytes(memoryview(raw)[:4]) != b"null"


def decode_content(content: Raw) -> str | list[Block]:
    """The words or the blocks of a message; what is no block is left out."""
    try:
        return _CONTENT.decode(content)
    except FAILURES:
        text = decode_text(content)
        if text is not None:
            return text
        return [block for raw in decode_list(content) if (block := understand(raw, Block))]


def decode_list(raw: Raw | bytes) -> list[Raw]:
    """The items of a list, undecoded; none when it isn't one."""
    try:
        return _RAWS.decode(raw)
    except FAILURES:
        return []


def decode_any(raw: Raw | bytes) -> Any:
    """A value of any kind; None when it can't be read."""
    if raw is ABSENT:
        return None
    try:
        return _ANY.decode(raw)
    except FAILURES:
        pass
    try:
        return _ANY.decode(mend(bytes(raw)))
    except FAILURES:
        return None


def decode_text(raw: Raw | bytes) -> str | None:
    """A string; None when it is something else."""
    value = decode_any(raw)
    return value if isinstance(value, str) else None


def decode_result(raw: Raw) -> Result | str:
    """What a tool told the client beside its answer."""
    if raw is ABSENT:
        return ""
    try:
        return _RESULT.decode(raw)
    except FAILURES:
        return decode_text(raw) or salvage(mend(bytes(raw)), Result) or ""


def mend(raw: bytes) -> bytes:
    """Replace what is no Unicode: bad bytes, and halves of surrogate pairs."""
    text = raw.decode("utf-8", "replace").encode()
    return _ESCAPES.sub(lambda m: rb"\ufffd" if _is_lone(m[0]) else m[0], text)


def _is_lone(escape: bytes) -> bool:
    return len(escape) == 6 and escape[1:3].lower() == b"ud"


def salvage(raw: Raw | bytes, kind: type[T]) -> T | None:
    """Understand an object field by field, leaving out those of a wrong type."""
    try:
        parts = _PARTS.decode(raw)
    except FAILURES:
        return None
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        part = parts.get(field.encode_name)
        if part is None:
            continue
        try:
            found[field.name] = msgspec.json.decode(part, type=field.type)
        except FAILURES:
            for inner in get_args(field.type):
                if isinstance(inner, type) and issubclass(inner, Struct):
                    found[field.name] = salvage(part, inner)
    return kind(**found)
