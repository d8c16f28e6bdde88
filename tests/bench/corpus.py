"""Transcripts to measure with: a folder of real ones, or generated ones that resemble them.

The generated ones follow what was counted in fourteen real sessions: kinds of
lines, their sizes, and above all what repeats in them (a file's text stands in
the tool's result and again in the client's own), for that decides how well they
compress.
"""

from __future__ import annotations

import json
import os
import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gitsession.agents import claude_code

GENERATION = 2
_KILOBYTES = (2400, 2100, 1350, 1270, 980, 730, 500, 330, 230, 200, 200, 140, 50)
_STARTS = ("re", "de", "con", "in", "pro", "sub", "trans", "co", "pre", "un", "ex", "out", "a", "o")
_ROOTS = ("mit", "pend", "tract", "script", "form", "vert", "duct", "pose", "cede", "fer", "spect")
_ENDS = ("", "s", "ed", "ing", "ion", "or", "able", "ment", "al", "ly", "ive", "er", "ism")
_COMMON = (
    "the of to and a in is that it for as with was be by on not this are or from at an have we "
    "which should can file test error line value function code when there but"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Some transcripts."""

    files: tuple[Path, ...]
    origin: str

    @property
    def size(self) -> int:
        """All bytes."""
        return sum(path.stat().st_size for path in self.files)

    def lines(self, size: int, skip: int = 0) -> list[bytes]:
        """Lines of so many bytes; those of all files in turn, and again if that isn't enough."""
        found: list[bytes] = []
        passed = 0
        for line in self._endless():
            if len(line) > 2_000_000:
                continue
            passed += len(line)
            if passed > skip + size:
                return found
            if passed > skip:
                found.append(line)
        return found

    def _endless(self) -> Iterator[bytes]:
        while True:
            for path in self.files:
                with path.open("rb") as file:
                    yield from (line for line in file if line.endswith(b"\n"))


def load(folder: Path | None, cache: Path, *, quick: bool) -> Corpus:
    """The transcripts in a folder; without one generated ones, kept for the next run."""
    if folder is not None:
        files = tuple(sorted(folder.glob("*.jsonl")))
        if not files:
            raise SystemExit(f"error: no transcripts (*.jsonl) in {folder}")
        return Corpus(files=files, origin="real sessions")
    sizes = (120, 60) if quick else _KILOBYTES
    home = cache / f"corpus-{GENERATION}-{len(sizes)}"
    home.mkdir(parents=True, exist_ok=True)
    files = tuple(_generated(home, number, size << 10) for number, size in enumerate(sizes))
    return Corpus(files=files, origin="generated sessions")


def _generated(home: Path, number: int, size: int) -> Path:
    session = str(uuid.UUID(int=random.Random(f"session {number}").getrandbits(128), version=4))
    path = home / f"{session}.jsonl"
    if not path.exists():
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(b"".join(generate(session, size, number)))
        fresh.replace(path)
    return path


def generate(session: str, size: int, seed: int) -> Iterator[bytes]:
    """The lines of one session, about so large."""
    talk = _Talk(session, random.Random(seed))
    made = 0
    while made < size:
        for line in talk.turn():
            raw = json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
            made += len(raw)
            yield raw


class _Talk:
    """One conversation: who says what, and how much of it."""

    def __init__(self, session: str, rng: random.Random) -> None:
        self.session, self.rng = session, rng
        self.at = datetime(2026, 3, 2, 9, 0, tzinfo=UTC) + timedelta(hours=rng.random() * 900)
        self.last: str | None = None
        self.words = [*_COMMON.split() * 6, *(_word(rng) for _ in range(1200))]
        self.files: dict[str, list[str]] = {}

    def turn(self) -> Iterator[dict[str, Any]]:
        """A prompt, the work, and the answer."""
        rng = self.rng
        yield self.line("user", message={"role": "user", "content": self.prose(rng.randint(8, 90))})
        for _ in range(1 + int(rng.expovariate(1 / 12))):
            if rng.random() < 0.3:
                yield self.answer({"type": "thinking", "thinking": self.prose(rng.randint(60, 320)),
                                   "signature": _base64(rng, 420)})  # fmt: skip
            if rng.random() < 0.4:
                yield self.answer({"type": "text", "text": self.prose(rng.randint(10, 120))})
            yield from self.call()
        yield self.answer({"type": "text", "text": self.prose(rng.randint(40, 200))})

    def line(self, kind: str, **fields: Any) -> dict[str, Any]:
        """What every line has around its content."""
        self.at += timedelta(seconds=self.rng.expovariate(1 / 6))
        own = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
        before, self.last = self.last, own
        return {
            "parentUuid": before, "isSidechain": False, "userType": "external",
            "cwd": "/home/dev/project", "sessionId": self.session, "version": "2.1.39",
            "gitBranch": "main", "type": kind, **fields, "uuid": own,
            "timestamp": self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }  # fmt: skip

    def answer(self, block: dict[str, Any]) -> dict[str, Any]:
        """A line of the model's."""
        rng = self.rng
        usage = {
            "input_tokens": rng.randint(1, 9),
            "cache_creation_input_tokens": rng.randint(100, 9000),
            "cache_read_input_tokens": rng.randint(9000, 150000),
            "output_tokens": rng.randint(1, 900),
            "service_tier": "standard",
        }
        return self.line("assistant", requestId="req_" + _hex(rng, 24), message={
            "model": "claude-opus-4-5-20251101", "id": "msg_" + _hex(rng, 24), "type": "message",
            "role": "assistant", "content": [block], "stop_reason": None, "usage": usage,
        })  # fmt: skip

    def call(self) -> Iterator[dict[str, Any]]:
        """A tool call, the client's progress lines, and what came of it."""
        rng = self.rng
        tool = "toolu_" + _hex(rng, 24)
        use = rng.choice((self.read, self.read, self.read, self.edit, self.shell, self.shell))
        name, given, text, told = use()
        yield self.answer({"type": "tool_use", "id": tool, "name": name, "input": given})
        for _ in range(int(rng.expovariate(1 / 1.8))):
            data = {
                "type": "hook_progress", "hookEvent": "PostToolUse",
                "hookName": f"PostToolUse:{name}", "command": "callback",
                "statusMessage": self.prose(60),
            }  # fmt: skip
            yield self.line("progress", data=data, parentToolUseID=tool, toolUseID=tool)
        yield self.result(tool, text, told)

    def result(self, tool: str, text: str, told: Any = None) -> dict[str, Any]:
        """How a tool call ended."""
        block = {"tool_use_id": tool, "type": "tool_result", "content": text}
        told = told or {"stdout": text, "stderr": "", "interrupted": False}
        return self.line("user", message={"role": "user", "content": [block]}, toolUseResult=told)

    def read(self) -> tuple[str, dict[str, Any], str, dict[str, Any]]:
        """A file is read: its text comes twice."""
        path, lines = self.file()
        begin = self.rng.randrange(max(1, len(lines) - 50))
        part = lines[begin : begin + int(self.rng.lognormvariate(4.6, 0.9))]
        text = "\n".join(f"{begin + n + 1:6}→{line}" for n, line in enumerate(part))
        told = {
            "type": "text",
            "file": {
                "filePath": path, "content": "\n".join(part), "numLines": len(part),
                "startLine": begin + 1, "totalLines": len(lines),
            },
        }  # fmt: skip
        return "Read", {"file_path": path}, text, told

    def edit(self) -> tuple[str, dict[str, Any], str, dict[str, Any]]:
        """A file is changed: the client keeps what it was before."""
        path, lines = self.file()
        at = self.rng.randrange(len(lines))
        old = lines[at : at + self.rng.randint(1, 8)]
        new = [*old[:-1], *self.code(self.rng.randint(1, 10))]
        before = "\n".join(lines)
        lines[at : at + len(old)] = new
        hunk = {"oldStart": at + 1, "oldLines": len(old), "newStart": at + 1, "newLines": len(new),
                "lines": [*("-" + x for x in old), *("+" + x for x in new)]}  # fmt: skip
        given = {"file_path": path, "old_string": "\n".join(old), "new_string": "\n".join(new)}
        told = {
            "filePath": path, "oldString": given["old_string"],
            "newString": given["new_string"], "originalFile": before,
            "structuredPatch": [hunk], "userModified": False,
        }  # fmt: skip
        return "Edit", given, f"The file {path} has been updated.", told

    def shell(self) -> tuple[str, dict[str, Any], str, dict[str, Any]]:
        """A command and its output."""
        rng = self.rng
        names = sorted(self.files) or ["/home/dev/project"]
        out = "\n".join(
            f"{rng.choice(names)}:{rng.randint(1, 900)}: {self.prose(rng.randint(4, 14))}"
            for _ in range(int(rng.lognormvariate(3.0, 1.1)))
        )[:30_000]
        given = {
            "command": f"rg -n {rng.choice(self.words)} src | head -50",
            "description": self.prose(5),
        }
        return "Bash", given, out, {"stdout": out, "stderr": "", "interrupted": False}

    def file(self) -> tuple[str, list[str]]:
        """A file of the project: an old acquaintance more often than not."""
        if len(self.files) < 4 or self.rng.random() < 0.2:
            name = f"/home/dev/project/src/{self.rng.choice(self.words)}_{len(self.files)}.py"
            self.files[name] = list(self.code(int(self.rng.lognormvariate(5.2, 0.6))))
        return self.rng.choice(list(self.files.items()))

    def prose(self, words: int) -> str:
        """Words, the common ones often."""
        text = " ".join(self.rng.choices(self.words, k=words))
        return text[:1].upper() + text[1:] + "."

    def code(self, lines: int) -> Iterator[str]:
        """Lines of a program."""
        rng, depth = self.rng, 0
        shapes = (
            "{a} = {b}.{c}({a}, {b})", "if {a} is not None and {b}:", "return {a}", "",
            "def {a}_{b}(self, {c}: str) -> None:", "for {a} in {b}.{c}():",
            "assert {a} == {n}", 'raise ValueError(f"{b} {c}: {{{a}}}")', "# {a} {b} {c}",
        )  # fmt: skip
        for _ in range(lines):
            names = dict(zip("abc", rng.choices(self.words, k=3), strict=True))
            text = rng.choice(shapes).format(n=rng.randint(0, 4000), **names)
            yield " " * 4 * depth + text if text else ""
            depth = min(depth + 1, 4) if text.endswith(":") else max(1, depth - rng.randint(0, 1))


def _word(rng: random.Random) -> str:
    return rng.choice(_STARTS) + rng.choice(_ROOTS) + rng.choice(_ENDS)


def _hex(rng: random.Random, digits: int) -> str:
    return f"{rng.getrandbits(digits * 4):0{digits}x}"


def _base64(rng: random.Random, length: int) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return "".join(rng.choices(letters, k=length))


# -- transcripts that end well ----------------------------------------------------------------


def closing(lines: Sequence[bytes], session: str, commit: str) -> bytes:
    """What is missing at the end of some lines: results of open calls, and a call that commits."""
    running: dict[str, None] = {}
    for raw in lines:
        line = claude_code.parse_line(raw)
        running.update((call.id, None) for call in line.calls)
        for outcome in line.outcomes:
            running.pop(outcome.id, None)
    talk = _Talk(session, random.Random(commit))
    talk.at = datetime.now(UTC)
    tool = "toolu_" + commit[:24]
    made = [talk.result(name, "done") for name in running]
    made += [
        talk.answer({"type": "tool_use", "id": tool, "name": "Bash",
                     "input": {"command": "git commit -qm more"}}),
        talk.result(tool, f"[main {commit[:10]}] more\n 1 file changed"),
    ]  # fmt: skip
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in made)
