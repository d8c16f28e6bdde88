"""The blocks of Claude Code's messages, in the words of the model every agent shares."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from gitsession.agents import claude_lines as form
from gitsession.agents.claude_edits import ToolInput, read_intent, split_lines
from gitsession.model import Block, Image, Opaque, Text, Thinking, ToolCall, ToolResult

_MAX_NOTEBOOK = 1_000_000
"""Larger notebooks are shown by the cell that was written: comparing them takes too long."""


class Thought(Struct):
    """A thinking block."""

    thinking: str | None = None


class Picture(Struct):
    """The source of an image."""

    media_type: str | None = None
    data: str | None = None


def read_blocks(raw: bytes, entry: form.Entry) -> list[Block]:
    """The blocks of a line's message; the line itself when it can't be understood."""
    if entry.message is None or entry.message.content is form.ABSENT:
        return [Opaque(raw=raw)]
    blocks = read_content(entry.message.content)
    diff = _read_diff(entry) if form.is_given(entry.tool_use_result) else ""
    results = [i for i, block in enumerate(blocks) if isinstance(block, ToolResult)]
    if diff and len(results) == 1:
        result = blocks[results[0]]
        assert isinstance(result, ToolResult)
        blocks[results[0]] = ToolResult(
            id=result.id, text=result.text, failed=result.failed, diff=diff
        )
    return blocks


def read_content(content: Raw) -> list[Block]:
    """The blocks of a content, which may be plain words."""
    text = form.decode_text(content)
    if text is not None:
        return [Text(text=text)] if text else []
    items = form.decode_list(content)
    if not items and bytes(content) != b"[]":
        return [Opaque(raw=bytes(content))] if form.is_given(content) else []
    return [block for raw in items for block in _read_block(raw)]


def _read_block(raw: Raw) -> list[Block]:
    block = form.understand(raw, form.Block)
    if block is None:
        return [Opaque(raw=bytes(raw))]
    if block.type == "text" and block.text is not None:
        return [Text(text=block.text)] if block.text else []
    if block.type == "thinking":
        thought = form.understand(raw, Thought)
        if thought and thought.thinking is not None:
            return [Thinking(text=thought.thinking)]
    if block.type in ("tool_use", "server_tool_use") and block.id:
        asked = form.decode_any(block.input) if form.is_given(block.input) else {}
        if isinstance(asked, dict):
            return [ToolCall(id=block.id, name=block.name or "", input=asked)]
    if block.type == "tool_result" and block.tool_use_id:
        return _read_result(block, block.tool_use_id)
    if block.type == "image" and form.is_given(block.source):
        return [_read_image(block.source)]
    return [Opaque(raw=bytes(raw))]


def _read_result(block: form.Block, id: str) -> list[Block]:
    """A result's words in one block; its images, and what else it holds, follow."""
    parts = read_content(block.content)
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    result = ToolResult(id=id, text=text, failed=bool(block.is_error))
    return [result, *(part for part in parts if not isinstance(part, Text))]


def _read_image(source: Raw) -> Image:
    picture = form.understand(source, Picture) or Picture()
    data = picture.data or ""
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return Image(media_type=picture.media_type or "", size=max(size, 0))


def _read_diff(entry: form.Entry) -> str:
    """What a tool changed, as a unified diff."""
    result = form.decode_result(entry.tool_use_result)
    if isinstance(result, str):
        return ""
    if result.notebook_path is not None:
        return _notebook_diff(result.notebook_path, result)
    if result.file_path is None:
        return ""
    path = " ".join(result.file_path.splitlines())
    if result.patch:
        hunks = [_HUNK.format(h=hunk) + "".join(f"{line}\n" for line in hunk.lines)
                 for hunk in result.patch]  # fmt: skip
        return f"--- {path}\n+++ {path}\n" + "".join(hunks)
    if result.type == "create":
        return _created(path, form.decode_text(result.content) or "")
    return ""


_HUNK = "@@ -{h.old_start},{h.old_lines} +{h.new_start},{h.new_lines} @@\n"


def intended_diff(call: ToolCall) -> str:
    """What a call meant to change; where in the file isn't known."""
    given = form.understand(msgspec.json.encode(call.input), ToolInput)
    hunks = []
    for edit in read_intent(given) if given else ():
        path = " ".join(edit.path.splitlines())
        body = [f"-{line}\n" for line in edit.removed] + [f"+{line}\n" for line in edit.added]
        head = f"@@ -0,{len(edit.removed)} +0,{len(edit.added)} @@\n"
        hunks.append(f"--- {path}\n+++ {path}\n{head}{''.join(body)}" if body else "")
    return "".join(hunks)


def _created(path: str, text: str) -> str:
    lines = split_lines(text)
    if not lines:
        return f"--- /dev/null\n+++ {path}\n"
    body = "".join(f"+{line}\n" for line in lines)
    end = "" if text.endswith("\n") else "\\ No newline at end of file\n"
    return f"--- /dev/null\n+++ {path}\n@@ -0,0 +1,{len(lines)} @@\n{body}{end}"


def _notebook_diff(path: str, result: form.Result) -> str:
    before, after = result.original_file, result.updated_file
    if before is None or after is None or len(before) + len(after) > _MAX_NOTEBOOK:
        return _created(path, result.new_source or "").replace("/dev/null", path, 1)
    import difflib  # needed for notebooks only: a capture shouldn't pay for it

    lines = difflib.unified_diff(split_lines(before), split_lines(after), path, path, lineterm="")
    return "".join(f"{line}\n" for line in lines)
