"""Claude Code: its hooks, its files, and what its transcript's lines mean."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from gitsession.agents import claude_lines as form
from gitsession.agents.base import Event, EventName, HookEntry, Side, Source
from gitsession.agents.claude_cut import cut, join
from gitsession.agents.claude_meaning import parent_of, parse_line
from gitsession.agents.claude_paths import (
    META,
    PLAIN,
    RESULTS,
    SUBAGENTS,
    install,
    launch,
    place_of,
    projects,
    side_place,
    staged_for,
    sweep,
)
from gitsession.agents.claude_place import prepare, select
from gitsession.agents.claude_seals import drop_broken_seals
from gitsession.agents.claude_turns import read_turns
from gitsession.ids import SessionId

__all__ = [
    "HOOKS", "NAME", "TITLE", "cut", "detect", "drop_broken_seals", "find_source", "install",
    "join", "launch", "list_sources", "parent_of", "parse_event", "parse_line", "place_of",
    "prepare", "read_sides", "read_turns", "select", "session_of", "shell_of", "side_place",
    "side_sources", "sweep",
]  # fmt: skip

NAME = "claude-code"
TITLE = "Claude Code"
HOOKS: Sequence[HookEntry] = (
    HookEntry(event="SessionStart", word="session-start", timeout=5),
    HookEntry(event="UserPromptSubmit", word="prompt", timeout=5),
    HookEntry(
        event="PreToolUse",
        word="tool-starting",
        timeout=5,
        matcher="Bash|Write|Edit|MultiEdit|NotebookEdit",
    ),
    HookEntry(event="Stop", word="turn-ended", timeout=5),
    HookEntry(event="StopFailure", word="turn-ended", timeout=5),
    HookEntry(event="SubagentStop", word="subagent-ended", timeout=5),
    HookEntry(event="SessionEnd", word="session-end", timeout=10),
)

_SHELL = "CLAUDE_CODE_SESSION_ID"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_HEAD_LINES = 100
_HEAD_BYTES = 64 * 1024 * 1024


class Payload(Struct):
    """What the client writes to a hook's stdin."""

    session_id: str | None = None
    transcript_path: str | None = None
    cwd: str | None = None
    source: str | None = None
    reason: str | None = None
    trigger: str | None = None
    prompt_id: str | None = None


def detect(env: Mapping[str, str]) -> SessionId | None:
    """The session whose shell this is: the client names it there."""
    session = env.get(_SHELL, "")
    return SessionId(session) if session else None


def shell_of(session: SessionId) -> dict[str, str]:
    """What the client has in its shell, as far as we look at it."""
    return {_SHELL: session}


def parse_event(word: EventName, payload: bytes) -> Event | None:
    """Understand a hook's payload; None when it names no session."""
    told = form.understand(payload, Payload)
    if told is None or not told.session_id:
        return None
    # The client repeats PreCompact's command to the user and to the model, however silent it is;
    # a session that starts again after a compaction says the same, and nothing more.
    compacted = word == "session-start" and told.source == "compact"
    return Event(
        name="compacting" if compacted else word,
        session=SessionId(told.session_id),
        source=told.transcript_path or "",
        cwd=told.cwd or "",
        reason=told.reason or told.source or told.trigger or "",
        prompt=told.prompt_id or "",
    )


def _transcripts(env: Mapping[str, str], name: str) -> Iterator[tuple[float, str]]:
    """(time of change, path) of the transcripts by a name; `*` for all."""
    top = projects(env)
    if top is None:
        return
    for path in top.glob(f"*/{name}.jsonl"):
        try:
            if path.is_file():
                yield path.stat().st_mtime, str(path)
        except OSError:
            continue


def find_source(session: SessionId, env: Mapping[str, str]) -> str | None:
    """Where a session is kept: the newest, should several folders hold it."""
    if not _ID.fullmatch(session):
        return None
    return max(_transcripts(env, session), default=(0.0, None))[1]


def list_sources(folder: Path, env: Mapping[str, str]) -> list[str]:
    """The transcripts of all sessions that began in a folder or below, the oldest first."""
    root = os.path.realpath(folder)
    known: dict[str, bool] = {}
    found = []
    for changed, path in _transcripts(env, "*"):
        # Older clients kept the subagents' transcripts among the others.
        if Path(path).name.startswith("agent-") or staged_for(Path(path)) is not None:
            continue
        cwd = next((entry.cwd for entry in _head(path) if entry.cwd), None)
        if cwd is None:
            continue
        if cwd not in known:
            known[cwd] = _is_within(os.path.realpath(cwd), root) if "\0" not in cwd else False
        if known[cwd]:
            found.append((changed, path))
    return [path for _, path in sorted(found)]


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _head(source: str) -> Iterator[form.Entry]:
    """The first lines of a transcript that can be read."""
    try:
        with Path(source).open("rb") as file:
            for _ in range(_HEAD_LINES):
                line = file.readline(_HEAD_BYTES)
                if not line or file.tell() > _HEAD_BYTES:
                    return
                entry = form.decode_entry(line)
                if entry is not None:
                    yield entry
    except OSError:
        return


def session_of(source: str) -> SessionId | None:
    """The session a transcript holds: by its lines, else by its name."""
    for entry in _head(source):
        if entry.session_id:
            return SessionId(entry.session_id)
    stem = Path(source).stem
    return SessionId(stem) if _ID.fullmatch(stem) else None


def side_sources(source: str) -> list[Source]:
    """The subagents' transcripts and the large results, in the folder named as the transcript."""
    beside = Path(source).with_suffix("")
    if beside.is_symlink():
        return []
    agents = [
        Source(kind="subagent", name=path.stem, path=str(path))
        for path in _plain_files(beside / SUBAGENTS)
        if path.suffix == ".jsonl"
    ]
    results = [
        Source(kind="result", name=path.name, path=str(path))
        for path in _plain_files(beside / RESULTS)
    ]
    return agents + results


def read_sides(source: str) -> tuple[Side, ...]:
    """All that lies beside a transcript."""
    return tuple(_read_side(side) for side in side_sources(source))


def _read_side(side: Source) -> Side:
    path = Path(side.path)
    if side.kind != "subagent":
        return Side(kind="result", name=side.name, data=path.read_bytes())
    about = path.with_suffix(META)
    told = about.read_bytes() if about.is_file() and not about.is_symlink() else b""
    return Side(kind="subagent", name=side.name, data=path.read_bytes(), about=told)


def _plain_files(folder: Path) -> list[Path]:
    """The files of a folder by name; links could lead anywhere, and are left out."""
    if folder.is_symlink():
        return []
    try:
        with os.scandir(folder) as found:
            names = [e.name for e in found if e.is_file(follow_symlinks=False)]
    except OSError:
        return []
    return [folder / name for name in sorted(names) if PLAIN.fullmatch(name)]
