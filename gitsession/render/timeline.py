"""What is shown of a conversation: its pieces in order, each call with its outcome.

Pure values, the same for the terminal, Markdown and pages; they decide only
how a piece looks and whether it is folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from gitsession.ids import Oid, SessionId
from gitsession.model import (
    Agent,
    Author,
    Block,
    Frozen,
    Image,
    Message,
    Opaque,
    Parent,
    Record,
    Text,
    Thinking,
    Tokens,
    ToolCall,
    ToolResult,
    Turn,
)  # fmt: skip
from gitsession.render import dates, diffstat
from gitsession.render.escape import first_line, one_line

Status = Literal["done", "failed", "open"]


class Story(Frozen, frozen=True, kw_only=True):
    """All that a view of one commit's or one session's conversation needs."""

    session: SessionId
    agent: Agent
    turns: tuple[Turn, ...] = ()
    records: tuple[Record, ...] = ()
    """The captures shown, the oldest first."""
    commit: Oid | None = None
    subject: str = ""
    """Of the commit."""
    branch: str | None = None
    task: str | None = None
    author: Author | None = None
    date: str = ""
    """Of the commit, or of the capture: RFC 3339."""
    parent: Parent | None = None
    root: str = ""
    """The work tree's path, left out where files in it are named."""


class Summary(Frozen, frozen=True, kw_only=True):
    """What can be counted in a story: the records say, or else its turns."""

    turns: int = 0
    messages: int = 0
    started_at: str = ""
    ended_at: str = ""
    tokens: Tokens = Tokens()
    tools: dict[str, int] = {}
    models: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Words(Frozen, frozen=True, kw_only=True, tag="words"):
    """Something said: by the user after the prompt, by the model, or by the client."""

    role: Literal["user", "assistant", "system"]
    text: str


class Thought(Frozen, frozen=True, kw_only=True, tag="thought"):
    """Reasoning, folded to its size unless asked for."""

    text: str

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.strip().count("\n") + 1


class Action(Frozen, frozen=True, kw_only=True, tag="action"):
    """A tool call and what came of it."""

    name: str
    brief: str
    """What it is about, on one line: the command, the file …"""
    status: Status
    outcome: str = ""
    """Why it failed, on one line."""
    input: str = ""
    output: str = ""
    diff: str = ""


class Note(Frozen, frozen=True, kw_only=True, tag="note"):
    """Something that isn't words: an image, or what this version doesn't know."""

    text: str


class Aside(Frozen, frozen=True, kw_only=True, tag="aside"):
    """What a subagent did, folded to its size unless asked for."""

    name: str
    pieces: tuple[Piece, ...]

    @property
    def calls(self) -> int:
        """How many tool calls it made."""
        return sum(isinstance(piece, Action) for piece in self.pieces)


Piece = Words | Thought | Action | Note | Aside


class TurnRow(Frozen, frozen=True, kw_only=True):
    """A turn in a table."""

    number: int
    age: str
    prompt: str
    files: int = 0
    added: int = 0
    removed: int = 0
    commits: tuple[str, ...] = ()


# -- pieces -------------------------------------------------------------------------------


def pieces(turn: Turn, root: str = "") -> list[Piece]:
    """What a turn shows after its prompt."""
    results = {
        block.id: block
        for message in turn.messages
        for block in message.blocks
        if isinstance(block, ToolResult)
    }
    messages = list(turn.messages)
    if turn.number and not turn.continued and messages:
        messages[0] = _beside_prompt(messages[0])
    shown: list[Piece] = []
    called: set[str] = set()
    for subagent, group in _by_subagent(messages):
        found = tuple(p for m in group for p in _message_pieces(m, results, called, root))
        if subagent and found:
            shown.append(Aside(name=subagent, pieces=found))
        else:
            shown += found
    return shown


def _beside_prompt(message: Message) -> Message:
    """The first message without the words that are the turn's prompt."""
    rest = tuple(block for block in message.blocks if not isinstance(block, Text))
    return Message(role=message.role, blocks=rest)


def _by_subagent(messages: Sequence[Message]) -> Iterator[tuple[str, list[Message]]]:
    group: list[Message] = []
    for message in messages:
        if group and group[-1].subagent != message.subagent:
            yield group[0].subagent, group
            group = []
        group.append(message)
    if group:
        yield group[0].subagent, group


def _message_pieces(
    message: Message, results: Mapping[str, ToolResult], called: set[str], root: str
) -> Iterator[Piece]:
    for block in message.blocks:
        if isinstance(block, ToolCall):
            called.add(block.id)
            yield _action(block, results.get(block.id), root)
        elif isinstance(block, ToolResult):
            if block.id not in called:
                yield _action(ToolCall(id=block.id, name="result"), block, root)
        elif isinstance(block, Text) and block.text.strip():
            yield Words(role=message.role, text=block.text.strip("\n"))
        elif isinstance(block, Thinking) and block.text.strip():
            yield Thought(text=block.text.strip("\n"))
        elif isinstance(block, Image | Opaque):
            yield Note(text=_describe(block))


def _describe(block: Image | Opaque) -> str:
    if isinstance(block, Image):
        return f"{block.media_type or 'image'}, {size(block.size)}"
    start = first_line(block.raw[:200].decode("utf-8", "replace"))
    return f"not understood, {size(len(block.raw))}: {start}"


_SUBJECTS = (
    "command", "file_path", "notebook_path", "path", "pattern", "query", "url", "skill",
    "description", "subject", "prompt",
)  # fmt: skip
_TAG = re.compile(r"</?tool_use_error>")
_EXIT = re.compile(r"(?:Error: )?Exit code (\d+)\s*")


def _action(call: ToolCall, result: ToolResult | None, root: str) -> Action:
    status: Status = "open" if result is None else "failed" if result.failed else "done"
    output = result.text if result else ""
    return Action(
        name=one_line(call.name) or "tool",
        brief=_brief(call, root),
        status=status,
        outcome=_failure(output) if status == "failed" else "",
        input=_input(call),
        output=_TAG.sub("", output),
        diff=_shorten(result.diff, root) if result and not result.failed else "",
    )


def _brief(call: ToolCall, root: str) -> str:
    for key in _SUBJECTS:
        value = call.input.get(key)
        if isinstance(value, str) and value.strip():
            return first_line(relative_path(value, root))
    first = next((v for v in call.input.values() if isinstance(v, str) and v.strip()), "")
    return first_line(first)


def _failure(output: str) -> str:
    """`exit 1: first line`, or just the first line."""
    text = _TAG.sub("", output)
    code = _EXIT.match(text)
    if code is None:
        return first_line(text)
    rest = first_line(text[code.end() :])
    return f"exit {code[1]}: {rest}" if rest else f"exit {code[1]}"


def _input(call: ToolCall) -> str:
    """What a tool was asked, readable: texts as they are, the rest as JSON."""
    parts = []
    for key, value in call.input.items():
        text = value if isinstance(value, str) else _as_json(value)
        parts.append(f"{key}:\n{text}" if "\n" in text else f"{key}: {text}")
    return "\n".join(parts)


def _as_json(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode("utf-8", "replace")
    except (ValueError, TypeError, RecursionError):
        return repr(value)


def _shorten(diff: str, root: str) -> str:
    """A diff whose headers name files relative to the work tree."""
    if not root:
        return diff
    head, mark, body = diff.partition("\n@@ ")
    for sign in ("--- ", "+++ "):
        head = head.replace(sign + root.rstrip("/") + "/", sign)
    return head + mark + body


def relative_path(path: str, root: str) -> str:
    """A path without the work tree's."""
    return path.removeprefix(root.rstrip("/") + "/") if root else path


def find_root(story: Story, here: str) -> str:
    """The work tree that a conversation was held in: this one, or one on another machine.

    Which one that is, the records tell: they name files relative to it.
    """
    paths = list(diffstat.total(diffstat.changes_of(story.turns)))
    if here and any(path.startswith(here.rstrip("/") + "/") for path in paths):
        return here
    files = sorted({file for r in story.records for file in r.files}, key=len, reverse=True)
    ends = (path.removesuffix("/" + file) for file in files for path in paths
            if path.endswith("/" + file))  # fmt: skip
    return next(ends, here)


# -- numbers ------------------------------------------------------------------------------


def summarize(story: Story) -> Summary:
    """Count: what records say is exact; without them the turns are counted."""
    turns = [turn for turn in story.turns if turn.number]
    spoken = [message for turn in story.turns for message in turn.messages]
    records = story.records
    blocks: list[Block] = [block for message in spoken for block in message.blocks]
    tools: dict[str, int] = {}
    for record in records:
        for name, number in record.tools.items():
            tools[name] = tools.get(name, 0) + number
    if not records:
        for block in blocks:
            if isinstance(block, ToolCall):
                tools[block.name] = tools.get(block.name, 0) + 1
    starts = [r.started_at for r in records if r.started_at] or [
        t.started_at for t in story.turns if t.started_at
    ]
    ends = [r.ended_at for r in records if r.ended_at] or [
        t.ended_at for t in story.turns if t.ended_at
    ]
    models = [m for r in records for m in r.models] or [m.model for m in spoken if m.model]
    return Summary(
        turns=sum(r.turns for r in records) if records else len(turns),
        messages=sum(r.messages for r in records) if records else len(spoken),
        started_at=min(starts, default=""),
        ended_at=max(ends, default=""),
        tokens=add_tokens(r.tokens for r in records),
        tools=dict(sorted(tools.items(), key=lambda item: (-item[1], item[0]))),
        models=tuple(dict.fromkeys(models)),
        files=_files(story),
    )


def _files(story: Story) -> tuple[str, ...]:
    if story.records:
        return tuple(dict.fromkeys(path for r in story.records for path in r.files))
    changes = diffstat.total(diffstat.changes_of(story.turns))
    return tuple(relative_path(path, story.root) for path in changes)


def add_tokens(many: Iterator[Tokens | None]) -> Tokens:
    """The sum of what the models counted."""
    known = [tokens for tokens in many if tokens is not None]
    return Tokens(
        input=sum(t.input for t in known),
        output=sum(t.output for t in known),
        cache_read=sum(t.cache_read for t in known),
        cache_write=sum(t.cache_write for t in known),
    )


def describe_tokens(tokens: Tokens) -> str:
    """`1.2k in, 3.4k out, 45k cached`; nothing when nothing was counted."""
    parts = ((tokens.input + tokens.cache_write, "in"), (tokens.output, "out"),
             (tokens.cache_read, "cached"))  # fmt: skip
    return ", ".join(f"{short(number)} {name}" for number, name in parts if number)


def short(number: int) -> str:
    """A number in four characters: `999`, `1.2k`, `45k`, `1.3M`."""
    for limit, size, unit in ((10**3, 1, ""), (10**6, 10**3, "k"), (10**9, 10**6, "M")):
        if number < limit:
            value = number / size
            return f"{number}" if size == 1 else f"{value:.1f}{unit}" if value < 9.95 else (
                f"{int(value)}{unit}")  # fmt: skip
    return f"{number / 10**9:.1f}G"


def size(number: int) -> str:
    """A number of bytes."""
    if number < 1024:
        return f"{number} bytes" if number != 1 else "1 byte"
    return f"{number / 1024:.0f} KB" if number < 1024**2 else f"{number / 1024**2:.1f} MB"


def turn_rows(
    turns: Sequence[Turn], commits: Mapping[int, Sequence[Oid]], now: datetime
) -> list[TurnRow]:
    """The turns as a table has them, with the commits made in each."""
    rows = []
    for turn in turns:
        changes = diffstat.total(diffstat.changes_of([turn])).values()
        rows.append(
            TurnRow(
                number=turn.number,
                age=dates.age(turn.started_at, now),
                prompt=one_line(turn.prompt),
                files=len(changes),
                added=sum(change.added for change in changes),
                removed=sum(change.removed for change in changes),
                commits=tuple(commits.get(turn.number, ())),
            )
        )
    return rows
