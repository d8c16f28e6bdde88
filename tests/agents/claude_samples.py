"""Recorded transcripts of the real client, and lines made by hand where none was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data" / "claude"
NAMES = sorted(path.stem for path in DATA.glob("*.jsonl"))

SESSION = "11111111-2222-3333-4444-555555555555"


def lines_of(name: str) -> list[bytes]:
    """The lines of a recorded transcript."""
    return (DATA / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


def subagents_of(name: str) -> dict[str, list[bytes]]:
    """The lines of the subagents that ran in a recorded session."""
    found = sorted((DATA / name / "subagents").glob("*.jsonl"))
    return {path.stem: path.read_bytes().splitlines(keepends=True) for path in found}


def line(**fields: Any) -> bytes:
    """One line, as the client writes it."""
    base = {"sessionId": SESSION, "uuid": "u", "timestamp": "2026-11-18T12:00:00.000Z"}
    return json.dumps(base | fields).encode() + b"\n"


def user(content: Any, **fields: Any) -> bytes:
    """A line of the user's side."""
    return line(type="user", message={"role": "user", "content": content}, **fields)


def answer(*blocks: Any, id: str = "m1", usage: Any = None, **fields: Any) -> bytes:
    """A line of the model's side."""
    message = {"id": id, "role": "assistant", "model": "m", "content": list(blocks)}
    return line(type="assistant", message=message | ({"usage": usage} if usage else {}), **fields)


def call(name: str, id: str = "t1", **asked: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": id, "name": name, "input": asked}


def result(told: Any, *, content: Any = "ok", id: str = "t1", failed: bool = False) -> bytes:
    """A line with the result of a tool."""
    block = {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed}
    return user([block], toolUseResult=told)
