"""Where Claude Code keeps its sessions, and how one is put there or started.

A transcript appears whole or not at all, and never in the place of another one.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from gitsession.agents import claude_lines as form
from gitsession.agents.base import Launch, Placed, Side, Stamp
from gitsession.errors import SessionError
from gitsession.ids import SessionId

STAGED = "git-session-staged"
"""The type of the line that a copy ends with which is there to be forked, and for nothing else."""
SUBAGENTS, RESULTS, META = "subagents", "tool-results", ".meta.json"
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
"""A name that is safe as a file's."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LONGEST = 200
_LAST = 1 << 12
_FRESH = ".new-"
_BROKEN_OFF = 24 * 3600
"""Seconds after which nobody writes a new file any more."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_OF_A_SESSION = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PID",
                 "AI_AGENT")  # fmt: skip
_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR",
              "GIT_OBJECT_DIRECTORY", "GIT_QUARANTINE_PATH")  # fmt: skip


class Staged(Struct, rename="camel"):
    """The last line of a copy that is there to be forked."""

    type: str | None = None
    staged_for: str | None = None


# -- where --------------------------------------------------------------------------------


def projects(env: Mapping[str, str]) -> Path | None:
    """The folder that holds a folder for each project."""
    if base := env.get("CLAUDE_CONFIG_DIR"):
        return Path(base) / "projects"
    home = env.get("HOME")
    return Path(home) / ".claude" / "projects" if home else None


def encode_project(folder: str) -> str:
    """The client's name for a folder: a dash for every UTF-16 unit that isn't plain."""
    name = "".join(
        c if c.isascii() and c.isalnum() else "-" * (2 if ord(c) > 0xFFFF else 1) for c in folder
    )
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}-{_hash(folder)}"


def _hash(text: str) -> str:
    """What tells long names apart: Java's string hash, without its sign, to the base of 36."""
    value = 0
    for (unit,) in struct.iter_unpack("<H", text.encode("utf-16-le", "surrogatepass")):
        value = (value * 31 + unit) & 0xFFFFFFFF
    value = abs(value - (1 << 32) if value >= 1 << 31 else value)
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def place_of(folder: Path, session: SessionId, env: Mapping[str, str]) -> Path:
    """Where the client, started in a folder, looks for a session."""
    if not _UUID.fullmatch(session):
        raise SessionError(f"Claude Code can't resume '{session}': its sessions are named by UUIDs")
    top = projects(env)
    if top is None:
        raise SessionError("HOME isn't set, so nobody knows where Claude Code keeps its sessions")
    return top / encode_project(os.path.realpath(folder)) / f"{session}.jsonl"


def side_place(place: Path, side: Side) -> Path:
    """Where what lies beside a transcript belongs; raises when its name is none."""
    if not PLAIN.fullmatch(side.name):
        raise SessionError(f"'{side.name}' can't be the name of a file beside a transcript")
    beside = place.with_suffix("")
    if side.kind == "subagent":
        return beside / SUBAGENTS / f"{side.name}.jsonl"
    return beside / RESULTS / side.name


# -- putting it there ---------------------------------------------------------------------


def install(
    place: Path,
    lines: Iterable[bytes],
    sides: Sequence[Side] = (),
    *,
    instead: Stamp | None = None,
) -> Placed:
    """Put a transcript where it belongs, what lies beside it first."""
    _make_folder(place.parent)
    fresh = _write(place.parent, lines)
    try:
        if _is_same(fresh, place):
            _install_sides(place, sides)
            return "same"
        if stamp_of(place) != instead:
            return "taken"
        _install_sides(place, sides)
        return _move(fresh, place, instead)
    finally:
        fresh.unlink(missing_ok=True)


def stamp_of(place: Path) -> Stamp | None:
    """A file as it is now; None when there is none."""
    try:
        found = os.lstat(place)
    except FileNotFoundError:
        return None
    return Stamp(size=found.st_size, changed=found.st_mtime_ns)


def _move(fresh: Path, place: Path, instead: Stamp | None) -> Placed:
    if instead is None:
        try:
            os.link(fresh, place)
        except FileExistsError:
            return "taken"
        except OSError:
            # Not every file system has links.
            if stamp_of(place) is not None:
                return "taken"
            fresh.replace(place)
    else:
        if stamp_of(place) != instead:
            return "taken"
        fresh.replace(place)
    _sync_folder(place.parent)
    return "placed"


def _install_sides(place: Path, sides: Sequence[Side]) -> None:
    """Write what isn't there; what is there is the client's own, and stays."""
    for side in sides:
        target = side_place(place, side)
        if any(folder.is_symlink() for folder in (target.parent, target.parent.parent)):
            raise SessionError(f"'{target.parent}' is a link, or in one: nothing is written there")
        _make_folder(target.parent)
        _add(target, side.data)
        if side.kind == "subagent" and side.about:
            _add(target.with_suffix(META), side.about)


def _add(target: Path, data: bytes) -> None:
    if target.exists():
        return
    fresh = _write(target.parent, [data])
    try:
        _move(fresh, target, None)
    finally:
        fresh.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    for one in (*reversed(folder.parents), folder):
        if not one.is_dir():
            one.mkdir(mode=0o700, exist_ok=True)


def _write(folder: Path, parts: Iterable[bytes]) -> Path:
    """A new file of its owner's alone, on the disk when this returns."""
    path = folder / f"{_FRESH}{os.getpid()}-{os.urandom(6).hex()}"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _is_same(one: Path, other: Path) -> bool:
    try:
        if other.is_symlink() or one.stat().st_size != other.stat().st_size:
            return False
        with one.open("rb") as a, other.open("rb") as b:
            while piece := a.read(1 << 20):
                if piece != b.read(len(piece)):
                    return False
    except FileNotFoundError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# -- copies that are there to be forked ---------------------------------------------------


def staged_for(place: Path) -> str | None:
    """The session that a copy is there for; None when it is none, or somebody went on with it."""
    try:
        with place.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST))
            last = file.read(_LAST).rstrip(b"\n").rpartition(b"\n")[2]
    except OSError:
        return None
    if STAGED.encode() not in last:
        return None
    told = form.understand(last, Staged)
    return told.staged_for or "" if told is not None and told.type == STAGED else None


def sweep(folder: Path, env: Mapping[str, str]) -> list[Path]:
    """Remove a folder's copies whose forks have a transcript of their own, and what broke off."""
    top = projects(env)
    if top is None:
        return []
    gone = []
    here = top / encode_project(os.path.realpath(folder))
    for path in here.glob(f"{_FRESH}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _BROKEN_OFF:
                path.unlink()
    for path in sorted(here.glob("*.jsonl")):
        session = staged_for(path)
        if session and PLAIN.fullmatch(session) and (here / f"{session}.jsonl").is_file():
            path.unlink(missing_ok=True)
            gone.append(path)
    return gone


# -- starting -----------------------------------------------------------------------------


def launch(
    folder: Path,
    session: SessionId,
    env: Mapping[str, str],
    *,
    resume: SessionId | None = None,
    prompt: str = "",
    headless: bool = False,
) -> Launch:
    """How to begin a session, to fork it from what it resumes, or (its own id) to go on."""
    words = [env.get("CLAUDE_BIN") or "claude"]
    if headless:
        words.append("-p")
    if resume is not None:
        words += ["-r", resume]
    if resume is not None and resume != session:
        words.append("--fork-session")
    if resume != session:
        words += ["--session-id", session]
    if prompt:
        # A prompt may begin with a dash.
        words += ["--", prompt]
    # A client that is started by another one is not to take itself for a part of it.
    left = {k: v for k, v in env.items() if k not in _OF_A_SESSION and k not in _OF_A_HOOK}
    return Launch(argv=tuple(words), cwd=str(folder), env=left)
