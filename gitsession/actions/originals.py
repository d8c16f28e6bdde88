"""What `init` changed and how it was before, so that `deinit` can give it back byte for byte.

A file that nobody has changed since gets its old bytes back; from any other one
only our part is taken out, which is its owner's business (`agenthooks`, git config).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gitsession.errors import Unreadable
from gitsession.model import Frozen

VERSION = 1


class Touched(Frozen, frozen=True, kw_only=True):
    """A file that we wrote to."""

    before: bytes | None = None
    """What it held; None when there was no such file."""
    after: str = ""
    """The hash of what it held when we were done; empty while we are at it."""
    exact: bool = True
    """False when somebody else changed it between two changes of ours."""


class State(Frozen, frozen=True, kw_only=True):
    """Everything that `deinit` has to know."""

    v: int = VERSION
    agents: tuple[str, ...] = ()
    hooks_path: str | None = None
    """The repository's own core.hooksPath before it led to us."""
    excluded: tuple[str, ...] = ()
    """The lines that we added to info/exclude."""
    kept_local: bool = False
    """Whether session.autoPush=false is ours."""
    followed: tuple[str, ...] = ()
    """The remotes whose refspecs have one of ours."""
    made: tuple[str, ...] = ()
    """The folders that were not there."""
    files: dict[str, Touched] = {}


class Originals:
    """The state on disk; paths in it are relative, so that a repository can be moved."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.json"
        self._base = folder.parent
        self.state = self._load()

    def update(self, **changes: object) -> None:
        """Change the state and keep it, if it is a change."""
        new = msgspec.structs.replace(self.state, **changes)
        if new == self.state:
            return
        self.state = new
        data = msgspec.json.format(msgspec.json.encode(new), indent=1) + b"\n"
        self.path.parent.mkdir(exist_ok=True)
        write_file(self.path, data, mode=0o600)

    @contextlib.contextmanager
    def editing(self, path: Path) -> Iterator[None]:
        """Note a file's content before and after something is done to it."""
        key, old = self._key(path), read_file(path)
        known = self.state.files.get(key)
        if known is None:
            self._note(key, Touched(before=old))
        elif known.after != digest(old):
            self._note(key, Touched(exact=False))
        yield
        if read_file(path) == old and known is None:
            self._forget(key)
        else:
            entry = self.state.files[key]
            self._note(key, msgspec.structs.replace(entry, after=digest(read_file(path))))

    def write(self, path: Path, data: bytes) -> bool:
        """Replace a file's content, and tell whether that was a change."""
        target = Path(os.path.realpath(path))
        if read_file(target) == data:
            return False
        self.make(target.parent)
        with self.editing(target):
            write_file(target, data)
        return True

    def make(self, folder: Path) -> None:
        """Make a folder and those above it, and remember which were not there."""
        missing = []
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for path in reversed(missing):
            path.mkdir()
            self.update(made=(*self.state.made, self._key(path)))

    def give_back(self, path: Path) -> bool:
        """Restore a file that only we have changed; False when it is not for us to do."""
        target = Path(os.path.realpath(path))
        known = self.state.files.get(self._key(target))
        if known is None or not known.exact or known.after != digest(read_file(target)):
            return False
        if known.before is None:
            target.unlink(missing_ok=True)
        else:
            write_file(target, known.before)
        self._forget(self._key(target))
        return True

    def remove_folders(self) -> None:
        """Remove the folders that we made and that are empty again."""
        for key in reversed(self.state.made):
            with contextlib.suppress(OSError):
                (self._base / key).rmdir()

    def paths(self) -> list[Path]:
        """The files that were touched."""
        return [Path(os.path.normpath(self._base / key)) for key in self.state.files]

    def _key(self, path: Path) -> str:
        return os.path.relpath(path, self._base)

    def _note(self, key: str, entry: Touched) -> None:
        self.update(files={**self.state.files, key: entry})

    def _forget(self, key: str) -> None:
        self.update(files={k: v for k, v in self.state.files.items() if k != key})

    def _load(self) -> State:
        data = read_file(self.path)
        if data is None:
            return State()
        try:
            state = msgspec.json.decode(data, type=State)
        except msgspec.DecodeError as error:
            raise Unreadable(f"'{self.path}' is damaged: {error}", hint="delete it") from None
        if state.v > VERSION:
            raise Unreadable(
                f"'{self.path}' was written by a later git session", hint="update git session"
            )
        return state


def read_file(path: Path) -> bytes | None:
    """A file's content, or None when there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def write_file(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace a file at once; it keeps its mode unless one is given."""
    if mode is None:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except FileNotFoundError:
            mode = 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".git-session-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def digest(data: bytes | None) -> str:
    """The hash that tells whether a file is as it was; of an absent one, `absent`."""
    return "absent" if data is None else hashlib.sha256(data).hexdigest()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
