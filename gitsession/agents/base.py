"""What every agent's module offers; nothing outside it knows an agent's format.

A *source* is where an agent keeps a session, as an opaque reference. What is
stored is always lines of JSON. `parse_line` says of one line what the capture
needs to know, cheaply; `read_turns` gives the whole conversation for readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from gitsession.ids import SessionId
from gitsession.model import Frozen, Parent, Tokens, Turn

EventName = Literal[
    "session-start", "prompt", "tool-starting", "tool-used", "turn-ended", "subagent-ended",
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
    prompt: str = ""
    """The agent's own name for the prompt of the turn, if it tells one."""


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


class Side(Frozen, frozen=True, kw_only=True):
    """What lies beside a main source, read: a subagent's lines, or a large result."""

    kind: Literal["subagent", "result"]
    name: str
    data: bytes
    about: bytes = b""
    """What the agent keeps of a subagent beside its lines, if that is known."""


class Cut(Frozen, frozen=True, kw_only=True):
    """A conversation as it was at one moment."""

    lines: tuple[bytes, ...] = ()
    """What is to be resumed; empty for a fresh start."""
    leaf: str = ""
    """The line it ends with."""
    turns: tuple[int, ...] = ()
    """The turns it holds: without those that were rewound away."""
    prompt: str = ""
    """The prompt that was sent next, if one was."""
    fresh: bool = False
    """Nothing was said before: a new session, begun with the prompt, is the same."""
    compacted: bool = False
    """The agent sends a summary in the place of its older turns."""
    remark: str = ""
    """What of it is left out, and why."""


Placed = Literal["placed", "same", "taken"]
"""What became of a source that was to be placed; `taken`: another one is there, and stays."""


class Stamp(Frozen, frozen=True, kw_only=True):
    """A file as it was seen, so that it is replaced only if nobody wrote to it since."""

    size: int
    changed: int


class Launch(Frozen, frozen=True, kw_only=True):
    """How to start an agent."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str] = {}
    """The whole environment."""


class HookEntry(Frozen, frozen=True, kw_only=True):
    """One hook the agent has to be told of: its event, and the shim's word for it."""

    event: str
    word: EventName
    timeout: int
    """Seconds after which the agent may give up on it."""
    matcher: str = ""
    """The tools that it is for, as the agent's settings name them; empty for no tools or all."""


class Adapter(Protocol):
    """A module that knows one agent."""

    NAME: str
    """As records have it: `claude-code`."""
    TITLE: str
    """As people have it: `Claude Code`."""
    HOOKS: Sequence[HookEntry]

    def detect(self, env: Mapping[str, str]) -> SessionId | None:
        """The session in whose shell this environment was made, if any."""

    def shell_of(self, session: SessionId) -> dict[str, str]:
        """What `detect` tells a session by: for a command that is run in its name."""

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

    # -- going back, and on elsewhere

    def cut(
        self, lines: Iterable[bytes], *, turn: int | None = None, before: str | None = None
    ) -> Cut:
        """The conversation at the end of a turn, or before a prompt (named by its uuid) was sent.

        As it is now when neither is given. Turns are numbered as `read_turns` does. Raises
        NotFound, or SessionError where that moment can't be had exactly.
        """

    def join(self, parent: Iterable[bytes], own: Iterable[bytes]) -> tuple[bytes, ...]:
        """A fork's own lines behind those of its parent that they go on from."""

    def read_sides(self, source: str) -> tuple[Side, ...]:
        """All that lies beside a main source."""

    def select(self, lines: Iterable[bytes], sides: Iterable[Side]) -> tuple[Side, ...]:
        """What of that which lies beside a source some of its lines refer to, described."""

    def prepare(
        self,
        lines: Iterable[bytes],
        *,
        session: SessionId,
        parent: SessionId | None = None,
        roots: Mapping[str, str] | None = None,
        results: Mapping[str, str] | None = None,
        staged_for: SessionId | None = None,
    ) -> Iterator[bytes]:
        """Make lines those of another session, on this machine; what needn't change, doesn't.

        `roots`: where folders are now; `results`: the paths of large results, by name;
        `parent`: whose lines these are; `staged_for`: the session that will be forked of them.
        """

    def place_of(self, folder: Path, session: SessionId, env: Mapping[str, str]) -> Path:
        """Where the agent, started in a folder, looks for a session."""

    def side_place(self, place: Path, side: Side) -> Path:
        """Where what lies beside a main source belongs; raises when its name is none."""

    def install(
        self,
        place: Path,
        lines: Iterable[bytes],
        sides: Sequence[Side] = (),
        *,
        instead: Stamp | None = None,
    ) -> Placed:
        """Put a source where it belongs, whole or not at all, and never over another one.

        `instead`: the source to replace, as it was when it was read.
        """

    def sweep(self, folder: Path, env: Mapping[str, str]) -> list[Path]:
        """Remove what was staged for forks of a folder that have a source of their own now."""

    def launch(
        self,
        folder: Path,
        session: SessionId,
        env: Mapping[str, str],
        *,
        resume: SessionId | None = None,
        prompt: str = "",
        headless: bool = False,
    ) -> Launch:
        """How to begin a session, to fork it from what it resumes, or (its own id) to go on."""
