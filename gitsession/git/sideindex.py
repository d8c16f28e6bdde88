"""An index of our own beside the user's, so that nothing of theirs is touched.

It begins as a copy of the user's index, whose stat data tell git which files need
not be read, and is kept from one snapshot to the next. Whenever the user's has
changed it is copied anew: what is tracked, left out of the work tree or ignored in
spite of being tracked is the user's to say. Its caller sees to it that nobody else
uses it at the same time.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Set
from contextlib import suppress
from pathlib import Path

from gitsession.errors import GitFailed, SessionError
from gitsession.git.plumbing import Plumbing
from gitsession.git.run import run

_QUIET = (
    # Nothing of the user's is to run or to be written because we looked.
    "core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.splitIndex=false",
    # Line ends that wouldn't come back the same are no reason to stop.
    "core.safecrlf=false",
    # What is said to be left out of the work tree, and is there, is looked at all the same.
    "core.sparseCheckout=true", "sparse.expectFilesOutsideOfPatterns=false",
    "core.ignoreStat=false", "status.renames=false", "submodule.recurse=false",
)  # fmt: skip

_NONE = "none"
_FILTER = re.compile(r"clean filter '(.+)' failed")


class SideIndex:
    """The index of one work tree's snapshots."""

    def __init__(self, repo: Plumbing, path: Path) -> None:
        if repo.work_tree is None:
            raise SessionError(
                f"no work tree at {repo.git_dir}", hint="a bare repository has no state to keep"
            )
        self.repo = repo
        self.top = repo.work_tree
        self.path = path
        self._origin = path.with_name(path.name + ".of")
        self._untracked = path.with_name(path.name + ".untracked")
        self._waived: list[str] = []
        self.untracked: frozenset[str] = frozenset()
        """What it has and the user's index hasn't."""

    def git(self, *args: str, stdin: bytes | None = None) -> bytes:
        """Run a git command that has this index for its own."""
        flags = [word for setting in (*_QUIET, *self._waived) for word in ("-c", setting)]
        where = [f"--git-dir={self.repo.git_dir}", f"--work-tree={self.top}"]
        more = {**self.repo.more, "GIT_INDEX_FILE": str(self.path), "GIT_OPTIONAL_LOCKS": "1"}
        try:
            return run([*where, *flags, *args], stdin=stdin, cwd=self.top, more=more)
        except GitFailed as error:
            # Whatever reads a file may run its filter. Better as it is than not at all.
            failed = _FILTER.search(error.message)
            waiver = f"filter.{failed[1]}.required=false" if failed else ""
            if not failed or waiver in self._waived:
                raise
            self._waived.append(waiver)
            return self.git(*args, stdin=stdin)

    def prepare(self) -> None:
        """Make it ready: what a killed git left is removed, and a changed original copied."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.with_name(self.path.name + ".lock").unlink(missing_ok=True)
        origin = self._stamp()
        if origin != self._read_origin() or not self._is_whole():
            self._copy(origin)
        with suppress(FileNotFoundError):
            self.untracked = frozenset(os.fsdecode(self._untracked.read_bytes()).split("\0")[:-1])

    def keep_untracked(self, paths: Set[str]) -> None:
        """Remember what is in it for being in the work tree alone; before it is put there."""
        if paths != self.untracked:
            self._untracked.write_bytes(os.fsencode("".join(f"{p}\0" for p in sorted(paths))))
            self.untracked = frozenset(paths)

    def _is_whole(self) -> bool:
        """Whether it is as it was written, which git itself doesn't look at."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return self._read_origin() == _NONE
        size = len(self.repo.zero()) // 2
        told = data[-size:]
        digest = hashlib.sha1 if size == 20 else hashlib.sha256
        return not any(told) or told == digest(data[:-size], usedforsecurity=False).digest()

    def drop(self) -> None:
        """Forget it: it can't be read."""
        self.untracked = frozenset()
        for path in (self._origin, self._untracked, self.path):
            path.unlink(missing_ok=True)

    def _copy(self, origin: str) -> None:
        self.drop()
        fresh = self.path.with_name(self.path.name + ".new")
        with suppress(FileNotFoundError), (self.repo.git_dir / "index").open("rb") as source:
            state = os.fstat(source.fileno())
            fresh.write_bytes(source.read())
            # By its time git tells which files may have changed unnoticed since it was written.
            os.utime(fresh, ns=(state.st_atime_ns, state.st_mtime_ns))
            fresh.replace(self.path)
            self._trust_nothing()
        self._origin.write_text(origin)

    def _trust_nothing(self) -> None:
        """Look at files too that the user promised not to change."""
        entries = self.git("ls-files", "-v", "-z").split(b"\0")
        promised = b"".join(entry[2:] + b"\0" for entry in entries if entry[:1].islower())
        if promised:
            self.git("update-index", "--no-assume-unchanged", "-z", "--stdin", stdin=promised)

    def _stamp(self) -> str:
        """What tells one state of the user's index from another."""
        try:
            state = (self.repo.git_dir / "index").stat()
        except FileNotFoundError:
            return _NONE
        return f"{state.st_ino} {state.st_size} {state.st_mtime_ns}"

    def _read_origin(self) -> str | None:
        try:
            return self._origin.read_text()
        except (OSError, UnicodeDecodeError):
            return None
