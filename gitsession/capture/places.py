"""Where a file that a tool named is in this repository, whichever work tree it was in."""

from __future__ import annotations

import os
from pathlib import Path, PurePath


class Places:
    """Finds work trees by their `.git`, and remembers each folder it has asked about."""

    def __init__(self, common_dir: Path, tops: tuple[Path, ...] = ()) -> None:
        self._common = os.path.realpath(common_dir)
        self._tops = [os.path.realpath(top) for top in tops]
        self._known: dict[str, str | None] = {}

    def relative(self, path: str, cwd: str) -> str | None:
        """The path in the repository, or None if it is elsewhere (as in a submodule)."""
        if not path or "\0" in path:
            return None
        full = os.path.normpath(str(PurePath(cwd or "/") / path))
        folder = os.path.realpath(str(PurePath(full).parent))
        top = self._top_of(folder)
        if top is None:
            return None
        inside = PurePath(folder).relative_to(top) / PurePath(full).name
        return None if ".git" in inside.parts else str(inside)

    def _top_of(self, folder: str) -> str | None:
        if folder in self._known:
            return self._known[folder]
        git = Path(folder) / ".git"
        if git.exists():
            top = folder if self._is_ours(git) else None
        elif folder == str(PurePath(folder).parent):
            top = None
        elif folder in self._tops and not Path(folder).is_dir():
            # A work tree that is gone since.
            top = folder
        else:
            top = self._top_of(str(PurePath(folder).parent))
        self._known[folder] = top
        return top

    def _is_ours(self, git: Path) -> bool:
        if git.is_dir():
            return os.path.realpath(git) == self._common
        try:
            target = git.read_text().strip().removeprefix("gitdir:").strip()
            own = git.parent / target
            pointer = own / "commondir"
            common = own / pointer.read_text().strip() if pointer.is_file() else own
        except (OSError, UnicodeDecodeError):
            return False
        return os.path.realpath(common) == self._common
