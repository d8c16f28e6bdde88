"""Writes transcripts as Claude Code does, a line at a time, so that a test can stop anywhere."""

from __future__ import annotations

import difflib
import json
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def stamp(at: float) -> str:
    """A moment as the client writes it."""
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


@dataclass
class Conversation:
    """A session's main transcript, or a subagent's."""

    path: Path
    cwd: Path
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    branch: str = "main"
    clock: float | None = None
    """A fixed clock that the test moves; None for the real one."""
    _last: str | None = None
    sidechain: bool = False

    @classmethod
    def begin(cls, home: Path, cwd: Path, session: str | None = None) -> Conversation:
        """A new session in the client's own folder."""
        session = session or str(uuid.uuid4())
        slug = "".join(c if c.isalnum() else "-" for c in str(cwd))
        path = home / ".claude" / "projects" / slug / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return cls(path=path, cwd=cwd, session=session)

    def now(self) -> float:
        """This conversation's time."""
        return time.time() if self.clock is None else self.clock

    def line(self, kind: str, **fields: Any) -> str:
        """Append one chained line; gives back its uuid."""
        name = str(uuid.uuid4())
        entry = {
            "parentUuid": self._last,
            "isSidechain": self.sidechain,
            "type": kind,
            **fields,
            "uuid": name,
            "timestamp": stamp(self.now()),
            "userType": "external",
            "cwd": str(self.cwd),
            "sessionId": self.session,
            "version": "2.1.327",
            "gitBranch": self.branch,
        }
        self._append(entry)
        self._last = name
        return name

    def note(self, kind: str, **fields: Any) -> None:
        """Append one line of bookkeeping."""
        self._append({"type": kind, **fields, "sessionId": self.session})

    def _append(self, entry: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")

    def prompt(self, text: str) -> str:
        """A real prompt of the user."""
        return self.line(
            "user",
            message={"role": "user", "content": text},
            promptId=str(uuid.uuid4()),
            promptSource="typed",
            turnOrigin="typed",
        )

    def say(self, text: str, **block: Any) -> str:
        """An answer of the model."""
        return self._assistant([{"type": "text", "text": text, **block}], "end_turn")

    def think(self, text: str) -> str:
        """A thought of the model, signed."""
        block = {"type": "thinking", "thinking": text, "signature": "U2VhbA=="}
        return self._assistant([block], None)

    def call(self, name: str, **given: Any) -> str:
        """A tool call that begins; gives back its id."""
        tool = "toolu_" + uuid.uuid4().hex[:20]
        block = {"type": "tool_use", "id": tool, "name": name, "input": given}
        self._assistant([block], "tool_use")
        return tool

    def _assistant(self, content: list[dict[str, Any]], stop: str | None) -> str:
        return self.line(
            "assistant",
            message={
                "id": "msg_" + uuid.uuid4().hex[:20],
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-5-5",
                "content": content,
                "stop_reason": stop,
                "usage": {
                    "input_tokens": 100,
                    "output_tokens": 20,
                    "cache_read_input_tokens": 5,
                    "cache_creation_input_tokens": 7,
                },
            },
        )

    def result(self, tool: str, text: str, *, failed: bool = False, **told: Any) -> str:
        """A tool call that ends; `told` is the client's structured result."""
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": tool, "content": text}
        if failed:
            block["is_error"] = True
        result: Any = told or ("Error: " + text if failed else {"stdout": text, "stderr": ""})
        return self.line("user", message={"role": "user", "content": [block]}, toolUseResult=result)

    def bash(self, command: str, output: str = "") -> None:
        """A shell call that is over at once."""
        self.result(self.call("Bash", command=command), output)

    def write(self, name: str, content: str) -> None:
        """The agent writes a file, on disk and in the transcript."""
        file = self.cwd / name
        before = file.read_text() if file.exists() else None
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        tool = self.call("Write", file_path=str(file), content=content)
        self.result(
            tool,
            f"File created successfully at: {file}",
            type="create" if before is None else "update",
            filePath=str(file),
            content=content,
            structuredPatch=[] if before is None else patch(before, content),
            originalFile=before,
        )

    def edit(self, name: str, old: str, new: str) -> None:
        """The agent edits a file, on disk and in the transcript."""
        file = self.cwd / name
        before = file.read_text()
        after = before.replace(old, new, 1)
        file.write_text(after)
        tool = self.call("Edit", file_path=str(file), old_string=old, new_string=new)
        self.result(
            tool,
            f"The file {file} has been updated.",
            filePath=str(file),
            oldString=old,
            newString=new,
            originalFile=before,
            structuredPatch=patch(before, after),
        )

    def subagent(self, name: str) -> Conversation:
        """The transcript of a subagent of this session."""
        folder = self.path.with_suffix("") / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        return Conversation(
            path=folder / f"agent-{name}.jsonl",
            cwd=self.cwd,
            session=self.session,
            clock=self.clock,
            sidechain=True,
        )


def patch(before: str, after: str) -> list[dict[str, Any]]:
    """A change as the client's structured patch."""
    old, new = before.splitlines(), after.splitlines()
    lines = [x for x in difflib.ndiff(old, new) if not x.startswith("?")]
    return [
        {
            "oldStart": 1, "oldLines": len(old), "newStart": 1, "newLines": len(new),
            "lines": [x[0] + x[2:] for x in lines],
        }
    ]  # fmt: skip
