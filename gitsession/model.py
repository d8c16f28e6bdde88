"""The data everything else speaks of: records, and a conversation as every agent has one."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from gitsession.ids import CaptureId, Oid, SessionId

RECORD_VERSION = 1

Kind = Literal["commit", "task", "checkpoint"]
Reason = Literal["clear", "compact", "end", "manual", "threshold"]
Status = Literal["complete", "rejected", "abandoned"]
Role = Literal["user", "assistant", "system"]


class Frozen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What all our data has in common: it never changes and says only what it has."""


class Author(Frozen, frozen=True, kw_only=True):
    """Who the user's git says they are."""

    name: str = ""
    email: str = ""


class Agent(Frozen, frozen=True, kw_only=True):
    """The program that held the conversation."""

    name: str
    version: str = ""


class Tokens(Frozen, frozen=True, kw_only=True):
    """What the models counted."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class Parent(Frozen, frozen=True, kw_only=True):
    """Where a fork comes from."""

    session: SessionId
    turn: int = 0
    commit: Oid | None = None
    """What its code began from, for a fork that git session made."""


class Evidence(Frozen, frozen=True, kw_only=True):
    """How a commit was tied to a session.

    `environment`: the agent's variable in the commit's own hook. `turn`: HEAD
    moved during one of its calls. `content`: the commit holds what the session
    wrote (`lines` of it, in `files`). `named`: the tool's result names the
    commit. `manual`: somebody said so.
    """

    by: Literal["environment", "turn", "content", "named", "manual"]
    lines: int = 0
    files: tuple[str, ...] = ()


class Record(Frozen, frozen=True, kw_only=True):
    """The metadata of one capture, as tied to one commit at most. See docs/format.md."""

    v: int
    id: CaptureId
    session: SessionId
    seq: int
    kind: Kind
    agent: Agent
    captured_at: str
    reason: Reason | None = None
    status: Status = "complete"
    commit: Oid | None = None
    base: Oid | None = None
    branch: str | None = None
    task: str | None = None
    author: Author | None = None
    models: tuple[str, ...] = ()
    started_at: str | None = None
    ended_at: str | None = None
    messages: int = 0
    turns: int = 0
    tools: dict[str, int] = {}
    tokens: Tokens | None = None
    files: tuple[str, ...] = ()
    size: int = 0
    raw_size: int = 0
    first: str | None = None
    last: str | None = None
    offset: int = 0
    parent: Parent | None = None
    prompt: str = ""
    summary: str = ""
    redactions: dict[str, int] = {}
    evidence: Evidence | None = None
    rewritten_from: Oid | None = None
    unknown: dict[str, Any] = {}
    """Fields of a later version: kept when a record is written again, never encoded as such."""


class Foreign(Frozen, frozen=True, kw_only=True):
    """A line of the index that this version can't read; shown as such, never dropped."""

    raw: bytes
    v: int | None = None


# -- a conversation, the same for every agent ---------------------------------------------


class Text(Frozen, frozen=True, kw_only=True, tag="text"):
    """Words."""

    text: str


class Thinking(Frozen, frozen=True, kw_only=True, tag="thinking"):
    """Reasoning that the model showed."""

    text: str


class ToolCall(Frozen, frozen=True, kw_only=True, tag="tool_call"):
    """The model asks for a tool."""

    id: str
    name: str
    input: dict[str, Any] = {}


class ToolResult(Frozen, frozen=True, kw_only=True, tag="tool_result"):
    """What a tool gave back."""

    id: str
    text: str = ""
    failed: bool = False
    diff: str = ""
    """A unified diff of what the tool changed, where the agent recorded one."""


class Image(Frozen, frozen=True, kw_only=True, tag="image"):
    """A picture, by its kind and size only."""

    media_type: str = ""
    size: int = 0


class Opaque(Frozen, frozen=True, kw_only=True, tag="opaque"):
    """Something this version doesn't understand, kept as it is."""

    raw: bytes


Block = Text | Thinking | ToolCall | ToolResult | Image | Opaque


class Message(Frozen, frozen=True, kw_only=True):
    """One message: what one side said at one moment."""

    role: Role
    blocks: tuple[Block, ...]
    uuid: str = ""
    at: str = ""
    model: str = ""
    subagent: str = ""
    """The subagent that spoke, if it was one."""


class Turn(Frozen, frozen=True, kw_only=True):
    """A real prompt of the user and everything up to the next one."""

    number: int
    prompt: str
    uuid: str = ""
    started_at: str = ""
    ended_at: str = ""
    messages: tuple[Message, ...] = ()
    continued: bool = False
    """Only the end of it is here: its prompt is in an earlier capture."""
