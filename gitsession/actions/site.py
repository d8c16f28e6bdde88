"""The places in a repository that `init` touches, as git names them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gitsession.errors import GitFailed, SessionError
from gitsession.git.run import run

HOOKS_FOLDER = "gitsession-hooks"
"""Beside `gitsession`, because that one may be deleted at any time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A repository, seen from the folder that the user is in."""

    where: Path
    common: Path
    top: Path | None
    """The work tree; None in a bare repository."""
    main: Path | None
    """The main work tree, when there is one."""

    @property
    def ours(self) -> Path:
        """The folder of our hooks' common parts."""
        return self.common / HOOKS_FOLDER

    @property
    def config(self) -> Path:
        """The repository's own configuration."""
        return self.common / "config"

    @property
    def exclude(self) -> Path:
        """The names that this clone alone ignores."""
        return self.common / "info" / "exclude"


def find(path: Path) -> Site:
    """Find the repository that a folder belongs to."""
    try:
        common = ask(path, "rev-parse", "--path-format=absolute", "--git-common-dir")
    except GitFailed as failed:
        if "not a git repository" not in failed.message:
            raise
        raise SessionError(
            "not a git repository", hint="run it in a repository, or make one with 'git init'"
        ) from None
    git_dir = ask(path, "rev-parse", "--absolute-git-dir")
    top = run(["rev-parse", "--show-toplevel"], cwd=path, check=False)
    found = Path(text(top)) if top else None
    return Site(
        where=found or Path(common),
        common=Path(common),
        top=found,
        main=_main(Path(common), git_dir, found),
    )


def _main(common: Path, git_dir: str, top: Path | None) -> Path | None:
    if os.path.realpath(common) == os.path.realpath(git_dir):
        return top
    bare = run(["config", "--type=bool", "core.bare"], cwd=common, check=False).strip() == b"true"
    return None if bare or common.name != ".git" else common.parent


def ask(path: Path, *args: str) -> str:
    """Ask git for one value, a path perhaps with a newline in it."""
    return text(run(args, cwd=path))


def text(out: bytes) -> str:
    """What git printed, without the newline that it adds."""
    return os.fsdecode(out.removesuffix(b"\n"))


def get_config(site: Site, name: str, *flags: str) -> str | None:
    """The value of a setting, if it has one."""
    out = run(["config", *flags, "--get", name], cwd=site.where, check=False)
    return text(out) if out else None
