"""What every agent's module offers; nothing outside it knows an agent's format.

A *source* is where an agent keeps a session, as an opaque reference. What is
stored is always lines of JSON. `parse_line` says of one line what the capture
needs to know, cheaply; `read_turns` gives the whole conversation for readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from gitsession.ids import SessionId
from gitsession.model import Frozen, Parent, Tokens, Turn

EventName = Literal[
    "session-start", "prompt", "tool-used", "turn-ended", "subagent-ended",
    "compacting", "session-end",
]  # fmt: skip


class Event(Frozen, frozen=True, kw_only=True):
    """What an agent's hook told us, in our words."""

    name: EventName
    session: SessionId
    source: str = ""
    """The reference of the session's main source (a transcript's path)."""
    cwd: str = ""
    reason: str = ""
    """Why a session started or ended: startup, resume, fork, clear, compact, other …"""


class Edit(Frozen, frozen=True, kw_only=True):
    """Lines that a tool call wrote to, or took from, one file."""

    path: str
    """As the tool named it: absolute, or relative to the line's `cwd`."""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class Call(Frozen, frozen=True, kw_only=True):
    """A tool call that began."""

    id: str
    name: str
    command: str = ""
    """The command line, when the tool is a shell."""
    edits: tuple[Edit, ...] = ()
    """What it means to change; it counts when its result is no failure and tells no edits."""
    delegates: bool = False
    """The call runs a subagent, so that it may last, and commit, at any time."""


class Outcome(Frozen, frozen=True, kw_only=True):
    """A tool call that ended."""

    id: str
    failed: bool = False
    edits: tuple[Edit, ...] = ()
    commits: tuple[str, ...] = ()
    """Commits the result names, as (short) hashes."""


class Line(Frozen, frozen=True, kw_only=True):
    """What one line of a source means to the capture."""

    uuid: str | None = None
    at: str | None = None
    cwd: str = ""
    branch: str = ""
    version: str = ""
    speaks: bool = False
    """A message of the conversation (not bookkeeping of the client)."""
    message: str | None = None
    """The id of the model's response; its lines share it, and its tokens count once."""
    prompt: str | None = None
    """The text of a real prompt: a turn begins here."""
    model: str = ""
    tokens: Tokens | None = None
    calls: tuple[Call, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    inherits: SessionId | None = None
    """The session this line was copied from, when the line says so."""


class Source(Frozen, frozen=True, kw_only=True):
    """One file (or the like) of a session."""

    kind: Literal["main", "subagent", "result"]
    name: str
    """Of a subagent or a result; empty for the main source."""
    path: str


class HookEntry(Frozen, frozen=True, kw_only=True):
    """One hook the agent has to be told of: its event, and the shim's word for it."""

    event: str
    word: EventName
    timeout: int
    """Seconds after which the agent may give up on it."""


class Adapter(Protocol):
    """A module that knows one agent."""

    NAME: str
    """As records have it: `claude-code`."""
    TITLE: str
    """As people have it: `Claude Code`."""
    HOOKS: Sequence[HookEntry]

    def detect(self, env: Mapping[str, str]) -> SessionId | None:
        """The session in whose shell this environment was made, if any."""

    def parse_event(self, word: EventName, payload: bytes) -> Event | None:
        """Understand a hook's payload; None when it isn't one."""

    def find_source(self, session: SessionId, env: Mapping[str, str]) -> str | None:
        """Where a session named by its id is kept on this machine."""

    def list_sources(self, folder: Path, env: Mapping[str, str]) -> list[str]:
        """The main sources of all sessions that ran in a folder or below it."""

    def session_of(self, source: str) -> SessionId | None:
        """The session that a main source holds, by reading it."""

    def side_sources(self, source: str) -> list[Source]:
        """The subagents' and the large results' files beside a main source, in order of name."""

    def parse_line(self, raw: bytes) -> Line:
        """What a line means; a broken or unknown line is just `Line()`. Never raises."""

    def read_turns(
        self, lines: Iterable[bytes], *, subagents: Mapping[str, Sequence[bytes]] | None = None
    ) -> list[Turn]:
        """The conversation in stored lines; messages before the first prompt make turn 0."""

    def drop_broken_seals(self, before: bytes, after: bytes) -> bytes:
        """Remove from a redacted line what its change made invalid (signed thinking)."""

    def parent_of(self, lines: Iterable[bytes]) -> Parent | None:
        """The session whose lines these begin with, when they are a fork's."""
