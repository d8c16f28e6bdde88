"""Where hooks leave word for the worker: one file for each event. See docs/hooks.md.

The hooks are shell scripts and write the files themselves (`hooks/event.sh`);
this module reads them, and writes the same format for callers in Python.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

LIMIT = 16 << 20
"""Bytes of an event that are read; a longer body is cut there."""
TORN_AFTER = 24 * 3600
"""Seconds after which an event without an end is known never to get one."""

_SUFFIX = ".event"
_END = b"\nend\n"


class Spooled(NamedTuple):
    """One event as a hook saw it."""

    path: Path
    event: str
    """post-commit, post-merge, post-rewrite or agent."""
    word: str = ""
    """Our word for what the agent did."""
    agent: str = ""
    head: str = ""
    """The commit at HEAD; empty on a branch without one."""
    ref: str = ""
    """The full name of the branch, or HEAD when there is none."""
    git_dir: str = ""
    """The git directory of the work tree."""
    cwd: str = ""
    args: str = ""
    picked: str = ""
    """The commit that a cherry-pick or rebase is replaying."""
    env: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""
    """What the hook was given on its stdin."""
    at: float = 0.0
    """Seconds since the epoch."""


def read(folder: Path) -> list[Spooled]:
    """Every complete event, oldest first; what was torn long ago is removed."""
    found = [(stat.st_mtime_ns, path.name, path) for path, stat in _files(folder)]
    events = (_read(path, when / 1e9) for when, _, path in sorted(found))
    return [event for event in events if event is not None]


def is_empty(folder: Path) -> bool:
    """Tell whether no event waits, complete or not."""
    return next(_files(folder), None) is None


def drop(event: Spooled) -> None:
    """Remove an event that has been dealt with."""
    event.path.unlink(missing_ok=True)


def write(
    folder: Path,
    event: str,
    *,
    word: str = "",
    agent: str = "",
    head: str = "",
    ref: str = "",
    git_dir: str = "",
    cwd: str = "",
    args: str = "",
    picked: str = "",
    env: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Path:
    """Leave an event as a hook would; a value with a newline in it is left out."""
    values = {
        "event": event, "agent": agent, "word": word, "head": head, "ref": ref,
        "gitdir": git_dir, "cwd": cwd, "args": args, "picked": picked,
    }  # fmt: skip
    pairs = [*values.items(), *(("env", f"{k}={v}") for k, v in (env or {}).items() if v)]
    header = "".join(f"{key} {value}\n" for key, value in pairs if value and "\n" not in value)
    data = header.encode("utf-8", "surrogateescape") + b"\n" + body + _END
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in itertools.count(1):
        path = folder / f"{event}.{head}.{os.getpid()}.{number}{_SUFFIX}"
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        return path
    raise AssertionError("unreachable")


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if not entry.name.endswith(_SUFFIX) or not entry.is_file(follow_symlinks=False):
            continue
        try:
            yield Path(entry.path), entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue


def _read(path: Path, at: float) -> Spooled | None:
    """Read one file; None when it isn't whole (yet)."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(LIMIT)
            file.seek(max(size - len(_END), 0))
            whole = file.read(len(_END)) == _END
    except FileNotFoundError:
        return None
    event = _parse(path, data.removesuffix(_END) if size <= LIMIT else data, at) if whole else None
    if event is None and time.time() - at > TORN_AFTER:
        path.unlink(missing_ok=True)
    return event


def _parse(path: Path, data: bytes, at: float) -> Spooled | None:
    """Take an event apart; None when it names no event, which no hook of ours writes."""
    header, _, body = data.partition(b"\n\n")
    values: dict[str, str] = {}
    env: dict[str, str] = {}
    for line in header.decode("utf-8", "surrogateescape").split("\n"):
        key, _, value = line.partition(" ")
        if key == "env":
            name, _, text = value.partition("=")
            env[name] = text
        else:
            values[key] = value
    if not values.get("event"):
        return None
    return Spooled(
        path=path,
        event=values["event"],
        word=values.get("word", ""),
        agent=values.get("agent", ""),
        head=values.get("head", ""),
        ref=values.get("ref", ""),
        git_dir=values.get("gitdir", ""),
        cwd=values.get("cwd", ""),
        args=values.get("args", ""),
        picked=values.get("picked", ""),
        env=env,
        body=body,
        at=at,
    )
