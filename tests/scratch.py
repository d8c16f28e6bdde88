"""A scratch repository, driven by the real git."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Scratch:
    """A work tree in a temporary folder."""

    path: Path

    @classmethod
    def create(cls, path: Path, *, object_format: str = "sha1", commit: bool = True) -> Scratch:
        """Make a repository, with a first commit unless told otherwise."""
        subprocess.run(
            ["git", "init", "-q", "-b", "main", f"--object-format={object_format}", str(path)],
            check=True,
        )
        repo = cls(path)
        if commit:
            repo.commit("first", {"README": "hello\n"})
        return repo

    def git(self, *args: str, check: bool = True, stdin: str | None = None) -> str:
        """Run git here and give back what it printed, without the last newline."""
        done = subprocess.run(
            ["git", *args], cwd=self.path, capture_output=True, text=True, input=stdin, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(args)}: {done.stderr}")
        return done.stdout.removesuffix("\n")

    def write(self, name: str, text: str) -> Path:
        """Write a file of the work tree."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, message: str, files: dict[str, str] | None = None, *flags: str) -> str:
        """Write files, commit all of them, and give back the new hash."""
        for name, text in (files or {}).items():
            self.write(name, text)
            self.git("add", "--", name)
        self.git("commit", "-q", "-m", message, *flags)
        return self.head()

    def head(self) -> str:
        """The hash of HEAD."""
        return self.git("rev-parse", "HEAD")
