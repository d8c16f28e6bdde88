"""A scripted fake of the Anthropic Messages API on 127.0.0.1, for the real client.

A rule says which prompt it answers and what to play, a step for each request.
Which step is next follows from the conversation that the client sends (the
assistant's messages after the last prompt), so that the server keeps no state
and resuming, forking and several clients at once just work.
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]

_NOT_TYPED = re.compile(
    r"^\s*(<(system-reminder|local-command-caveat|local-command-stdout|command-name|bash-\w+)>"
    r"|Tool loaded\.\s*$|Base directory for this skill:|\[Request interrupted by user"
    r"|This session is being continued from a previous conversation)"
)
_COMPACT = re.compile(
    r"detailed summary of (the|this|our) conversation|CRITICAL: Respond with TEXT ONLY|<analysis>"
)
_SUMMARY = "<analysis>fake</analysis>\n<summary>\nWhat was said so far.\n</summary>"


@dataclass(frozen=True)
class Step:
    """One answer: its blocks, and how long to let the client wait for it."""

    blocks: tuple[Json, ...]
    delay: float = 0.0


@dataclass(frozen=True)
class Rule:
    """What to play, in order, for a prompt that matches."""

    prompt: re.Pattern[str]
    steps: tuple[Step, ...]


def text(words: str) -> Json:
    """A block of words."""
    return {"type": "text", "text": words}


def blocks_of(message: Json) -> list[Json]:
    """The content of a message, always as a list of blocks."""
    content = message.get("content") or []
    return [text(content)] if isinstance(content, str) else content


def prompt_of(message: Json) -> str:
    """What a person typed in a message; nothing for results and reminders."""
    if message.get("role") != "user":
        return ""
    parts = [b.get("text", "") for b in blocks_of(message) if b.get("type") == "text"]
    return "\n".join(p.strip() for p in parts if not _NOT_TYPED.match(p)).strip()


def last_prompt(messages: list[Json]) -> tuple[int, str]:
    """Where the last message is that a person typed, and its words."""
    for index in range(len(messages) - 1, -1, -1):
        if words := prompt_of(messages[index]):
            return index, words
    return -1, ""


@dataclass
class Script:
    """The rules, the newest first."""

    rules: list[Rule] = field(default_factory=list)

    def choose(self, body: Json) -> Step:
        """The answer to a request."""
        messages = body.get("messages", [])
        at, prompt = last_prompt(messages)
        done = sum(m.get("role") == "assistant" for m in messages[at + 1 :])
        for rule in self.rules:
            if rule.prompt.search(prompt):
                return rule.steps[done] if done < len(rule.steps) else Step((text("The end."),))
        if _COMPACT.search(prompt):
            return Step((text(_SUMMARY),))
        if not body.get("tools"):
            return Step((text('{"title": "Fake title", "isNewTopic": false}'),))
        return Step((text(f"echo: {prompt}"),))


def build_message(step: Step, model: str) -> Json:
    """A whole response."""
    content = [
        {**b, "id": "toolu_fake" + uuid.uuid4().hex[:16]} if b["type"] == "tool_use" else b
        for b in step.blocks
    ]
    calls = any(b["type"] == "tool_use" for b in content)
    return {
        "id": "msg_fake" + uuid.uuid4().hex[:16], "type": "message", "role": "assistant",
        "model": model, "content": content,
        "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20,
                  "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }  # fmt: skip


def stream(message: Json) -> Iterator[Json]:
    """The server-sent events that bring a response."""
    usage = message["usage"]
    start: Json = {"content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": {**message, **start}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            begun = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": usage["output_tokens"]},
    }
    yield {"type": "message_stop"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: FakeAnthropic

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on stderr."""

    def do_GET(self) -> None:
        """Answer the client's check that somebody is there."""
        self._send({})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Answer a request for a message; anything else harmlessly."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if not self.path.split("?")[0].rstrip("/").endswith("/v1/messages"):
            self._send({"input_tokens": 1})
            return
        step = self.api.script.choose(body)
        self.api.requests.append(body)
        time.sleep(step.delay)
        message = build_message(step, body.get("model", ""))
        try:
            if body.get("stream"):
                self._stream(message)
            else:
                self._send(message)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _send(self, data: Json) -> None:
        raw = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _stream(self, message: Json) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        events = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in stream(message))
        for data in [*(event.encode() for event in events), b""]:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()


class FakeAnthropic:
    """The fake API; use it as a context manager."""

    def __init__(self) -> None:
        self.script = Script()
        self.requests: list[Json] = []
        """The body of each request for a message, exactly as it came."""
        handler: Callable[..., _Handler] = type("Handler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def on(self, prompt: str, *steps: Step) -> None:
        """Play these steps for a prompt that begins so; the newest rule is asked first."""
        self.script.rules.insert(0, Rule(re.compile("^" + re.escape(prompt)), steps))

    def conversations(self) -> list[list[Json]]:
        """The messages of each request that offered tools."""
        return [body["messages"] for body in self.requests if body.get("tools")]
