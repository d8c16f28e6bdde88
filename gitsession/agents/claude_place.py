"""Makes a transcript's lines those of another session, in another folder, on another machine.

Only what must change is touched, value by value; all other bytes of a line stay
as the client wrote them. Free text is left alone: paths are mapped where they
are a value of their own. The client's bookkeeping stays behind: it tells of
another machine, and resuming would take over from it what nobody here decided,
such as which tools may run without a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from msgspec import Raw

from gitsession.agents import claude_lines as form
from gitsession.agents.base import Side
from gitsession.agents.claude_paths import STAGED
from gitsession.agents.claude_seals import drop_broken_seals
from gitsession.agents.claude_turns import Stream, read_stream
from gitsession.ids import SessionId
from gitsession.model import ToolCall

_KEPT = frozenset({
    "user", "assistant", "system", "attachment", "progress", "last-prompt", "custom-title",
    "summary",
})  # fmt: skip
_PATHS = frozenset({
    "cwd", "file_path", "filePath", "filename", "notebook_path", "notebookPath", "path",
    "persistedOutputPath",
})  # fmt: skip
_PATH_LISTS = frozenset({"filenames", "filePaths"})
_TEXTS = frozenset({"content", "text", "stdout"})
_OUTPUT = b"<persisted-output>"
_SAVED = re.compile(r"(?<=saved to: )[^\n]*[/\\]tool-results[/\\]([A-Za-z0-9_.-]+)(?=\n|$)")
_DEEPEST = 60

Change = Callable[[str, str], str]
"""(key, string) → the string as it is to be."""


def prepare(
    lines: Iterable[bytes],
    *,
    session: SessionId,
    parent: SessionId | None = None,
    roots: Mapping[str, str] | None = None,
    results: Mapping[str, str] | None = None,
    staged_for: SessionId | None = None,
) -> Iterator[bytes]:
    """The conversation's lines as they are to be placed, each with its end."""
    fit = Fit(session, parent, roots or {}, results or {})
    for raw in lines:
        line = fit.line(raw)
        if line is not None:
            yield line if line.endswith(b"\n") else line + b"\n"
    if staged_for is not None:
        told = {"type": STAGED, "sessionId": session, "stagedFor": staged_for}
        yield msgspec.json.encode(told) + b"\n"


class Fit:
    """What is to change, and where it could be."""

    def __init__(
        self,
        session: SessionId,
        parent: SessionId | None,
        roots: Mapping[str, str],
        results: Mapping[str, str],
    ) -> None:
        self._session, self._parent, self._results = session, parent, results
        moved = {old.rstrip("/\\") or old: new for old, new in roots.items() if old and old != new}
        self._roots = sorted(moved.items(), key=lambda pair: -len(pair[0]))
        # Most lines name no path at all: what they would have to hold is looked for first.
        self._needles = [needle for old in moved for needle in _spellings(old)]
        self._needles += [b"tool-results"] if results else []

    def line(self, raw: bytes) -> bytes | None:
        """One line as it is to be; None when it is no part of the conversation."""
        parts = form.decode_parts(raw)
        if parts is None or form.decode_text(parts.get("type", form.ABSENT)) not in _KEPT:
            return None
        changed = self._place(parts) | self._name(parts)
        if not changed:
            return raw
        after = msgspec.json.encode(parts | changed) + (b"\n" if raw.endswith(b"\n") else b"")
        return drop_broken_seals(raw, after)

    def _name(self, parts: Mapping[str, Raw]) -> dict[str, Raw]:
        """Whose line it is, and whose it was."""
        found = {}
        if "sessionId" in parts and form.decode_text(parts["sessionId"]) != self._session:
            found["sessionId"] = Raw(msgspec.json.encode(self._session))
        uuid = form.decode_text(parts["uuid"]) if "uuid" in parts else None
        if self._parent is not None and uuid:
            origin = {"sessionId": self._parent, "messageUuid": uuid}
            found["forkedFrom"] = Raw(msgspec.json.encode(origin))
        return found

    def _place(self, parts: Mapping[str, Raw]) -> dict[str, Raw]:
        """Where it is."""
        found = {}
        for key, value in parts.items():
            if self._may_change(value):
                after = _rewrite(key, value, self._change, self._may_change)
                if after != bytes(value):
                    found[key] = Raw(after)
        return found

    def _may_change(self, value: Raw) -> bool:
        data = bytes(value)
        return any(needle in data for needle in self._needles)

    def _change(self, key: str, text: str) -> str:
        if key in _TEXTS:
            return _SAVED.sub(self._saved, text) if text.startswith(_OUTPUT.decode()) else text
        if key not in _PATHS:
            return text
        if key == "persistedOutputPath" and (
            found := self._results.get(re.split(r"[/\\]", text)[-1])
        ):
            return found
        for old, new in self._roots:
            if text == old:
                return new
            if text.startswith(old) and text[len(old)] in "/\\":
                rest = text[len(old) :]
                return new.rstrip("/") + (rest.replace("\\", "/") if "\\" in old else rest)
        return text

    def _saved(self, found: re.Match[str]) -> str:
        return self._results.get(found[1], found[0])


def _spellings(path: str) -> Iterator[bytes]:
    """A path as JSON may have it."""
    import json  # the only encoder here that can write plain ASCII

    yield msgspec.json.encode(path)[1:-1]
    yield json.dumps(path)[1:-1].encode()


def _rewrite(
    key: str, raw: Raw, change: Change, may_change: Callable[[Raw], bool], depth: int = 0
) -> bytes:
    """A value with its paths mapped; the same bytes where there are none."""
    data = bytes(raw)
    head = data.lstrip()[:1]
    if depth > _DEEPEST or not may_change(raw):
        return data
    if head == b'"':
        text = form.decode_text(raw)
        after = change(key, text) if text is not None else text
        return data if after == text else msgspec.json.encode(after)
    if head == b"[":
        # A list's strings are what its key says, if that is known to be a list of paths.
        inner = "path" if key in _PATH_LISTS else "text" if key == "content" else ""
        items = form.decode_list(raw)
        news = [_rewrite(inner, item, change, may_change, depth + 1) for item in items]
        same = all(bytes(a) == b for a, b in zip(items, news, strict=True))
        return data if same else b"[" + b",".join(news) + b"]"
    if head == b"{" and (parts := form.decode_parts(data)) is not None:
        fresh = {k: _rewrite(k, v, change, may_change, depth + 1) for k, v in parts.items()}
        if any(bytes(parts[k]) != fresh[k] for k in parts):
            return msgspec.json.encode({k: Raw(v) for k, v in fresh.items()})
    return data


# -- what lies beside it ------------------------------------------------------------------


def select(lines: Iterable[bytes], sides: Iterable[Side]) -> tuple[Side, ...]:
    """What of that which lies beside a transcript some of its lines name, described."""
    told = list(lines)
    waiting = {side.name.removeprefix("agent-").encode(): side for side in sides}
    if not waiting:
        return ()
    found: set[bytes] = set()
    for raw in told:
        found |= {name for name in waiting.keys() - found if name in raw}
    # A subagent's own lines name what they wrote, and whom they began.
    todo = list(found)
    while todo:
        side = waiting[todo.pop()]
        if side.kind == "subagent":
            more = {name for name in waiting.keys() - found if name in side.data}
            found |= more
            todo += more
    chosen = [side for name, side in waiting.items() if name in found]
    told += [raw for s in chosen if s.kind == "subagent" for raw in s.data.splitlines()]
    return tuple(_describe(chosen, read_stream(told)))


def _describe(sides: Iterable[Side], told: Stream) -> Iterator[Side]:
    """Say of subagents which call began them: that isn't stored, but their calls are."""
    calls = {b.id: b for d in told.drafts for b in d.blocks if isinstance(b, ToolCall)}
    for side in sides:
        call = calls.get(told.begun.get(side.name.removeprefix("agent-"), ""))
        if side.kind != "subagent" or side.about or call is None:
            yield side
            continue
        about = {"agentType": call.input.get("subagent_type"), "toolUseId": call.id,
                 "description": call.input.get("description")}  # fmt: skip
        known = {key: value for key, value in about.items() if isinstance(value, str)}
        yield msgspec.structs.replace(side, about=msgspec.json.encode(known))
