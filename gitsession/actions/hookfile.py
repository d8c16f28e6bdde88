"""One hook file: its text, whose it is, and taking or leaving another one's place."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import gitsession
from gitsession.actions.originals import read_file, write_file

BEFORE = ".before-git-session"
"""What the name of a hook ends in that ours goes on to."""
LEGACY = ".legacy"
"""Where pre-commit keeps, and from where it runs, the hook whose place it took."""

_MARK = b"\n# git session: "


def shipped(name: str) -> bytes:
    """A script of the `hooks` folder as it was shipped."""
    package = Path(gitsession.__file__).parent
    for folder in (package / "hooks", package.parent / "hooks"):
        if (data := read_file(folder / name)) is not None:
            return data
    raise FileNotFoundError(name)


def forwarder(name: str, previous: str | None, *, plain: bool) -> bytes:
    """A hook that goes on to the one of the same name in another folder, or to a kept one."""
    text = _assign(shipped("forward" if plain else name), "hook", name.encode())
    return text if previous is None else _assign(text, "chain", quote(previous) + b"/$hook")


def starting(name: str, program: str | None) -> bytes:
    """A part that starts our program, by its absolute path: a GUI's PATH may be short."""
    text = shipped(name)
    return _assign(text, "bin", quote(program)) if program else text


def find_program(text: bytes | None) -> str | None:
    """The executable that an installed `tell.sh` names, if it is still there."""
    found = re.search(rb"(?m)^bin=(.*)$", text or b"")
    words = shlex.split(os.fsdecode(found[1])) if found else []
    return words[0] if words and words[0][:1] == "/" and os.access(words[0], os.X_OK) else None


def quote(word: str) -> bytes:
    """A word as sh reads it, whatever bytes it has."""
    return os.fsencode(shlex.quote(word))


def is_ours(path: Path) -> bool:
    """Tell whether a file is a hook of ours, of any version."""
    try:
        return path.is_file() and _MARK in (read_file(path) or b"")[:200]
    except OSError:
        return False


def is_written(path: Path, data: bytes) -> bool:
    """Tell whether a script is there, exactly so, and can be run."""
    return read_file(path) == data and os.access(path, os.X_OK)


def write(path: Path, data: bytes) -> bool:
    """Write a script, and tell whether that was a change."""
    if is_written(path, data):
        return False
    write_file(path, data, mode=0o755)
    return True


def beside(path: Path, suffix: str) -> Path:
    """The path with something added to its name."""
    return path.with_name(path.name + suffix)


def take_place(path: Path) -> list[str]:
    """Write our hook, and keep somebody else's to be run after it."""
    data, legacy = shipped(path.name), beside(path, LEGACY)
    if not is_ours(path) and is_ours(legacy):
        return [f"wrote {legacy.name}"] if write(legacy, data) else []
    if not os.path.lexists(path) or is_ours(path):
        return [f"wrote {path.name}"] if write(path, data) else []
    done = keep(path)
    write(path, data)
    return done


def keep(path: Path) -> list[str]:
    """Move somebody else's hook to where ours finds it."""
    kept = beside(path, BEFORE)
    done = [f"kept your {path.name} as {kept.name}; ours runs it"]
    if os.path.lexists(kept) and read_file(kept) != read_file(path):
        free = (p for n in range(1, 1000) if not os.path.lexists(p := beside(kept, f".{n}")))
        older = kept.rename(next(free))
        done.append(f"kept the one before it as {older.name}; it no longer runs")
    path.replace(kept)
    return done


def leave_place(path: Path) -> bool:
    """Remove our hook and put back the one it ran; tell whether that was a change."""
    legacy, kept = beside(path, LEGACY), beside(path, BEFORE)
    done = False
    for place in (path, legacy):
        if is_ours(place):
            place.unlink()
            done = True
            if os.path.lexists(kept):
                kept.rename(place)
    if os.path.lexists(kept) and not os.path.lexists(path):
        kept.rename(path)
        done = True
    return done


def _assign(text: bytes, name: str, value: bytes) -> bytes:
    """Set a variable where the script first does."""
    line = name.encode() + b"="
    return re.sub(rb"(?m)^%s\S*" % line, lambda _: line + value, text, count=1)
