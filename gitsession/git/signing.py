"""Signed session commits, for users who sign their own: git does it, with their key and program.

`fast-import` can't sign. So it writes the trees, on a ref that it takes away
again before it ends; `commit-tree` signs; and one transaction moves the refs.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitsession.errors import GitFailed, Moved
from gitsession.git.parse import clean_ident
from gitsession.git.repository import Update
from gitsession.git.run import clean_environment
from gitsession.git.stream import commit_stream
from gitsession.ids import Oid
from gitsession.model import Author

if TYPE_CHECKING:
    from gitsession.git.plumbing import Plumbing

_PATIENCE = 20
"""Seconds for a key that may ask its owner; then the commit goes unsigned."""


def apply(repo: Plumbing, updates: Sequence[Update], author: Author) -> list[Oid]:
    """Write signed commits and move all refs at once; raises Moved."""
    is_sha256 = repo.git("rev-parse", "--show-object-format").strip() == b"sha256"
    zero = "0" * (64 if is_sha256 else 40)
    unsigned = repo.fast_import(_stream(updates, author, zero), len(updates))
    commits = [
        _signed(repo, update, oid, author) or oid
        for update, oid in zip(updates, unsigned, strict=True)
    ]
    moves = "".join(
        f"update {update.ref} {new} {update.old or zero}\n"
        for update, new in zip(updates, commits, strict=True)
    )
    try:
        repo.git("update-ref", "--stdin", stdin=f"start\n{moves}commit\n".encode())
    except GitFailed as error:
        if "cannot lock ref" in error.message:
            raise Moved("a session ref was moved by somebody else meanwhile") from None
        raise
    return commits


def _stream(updates: Sequence[Update], author: Author, zero: str) -> Iterator[bytes]:
    for mark, update in enumerate(updates, 1):
        ref = f"refs/gitsession/unsigned-{os.getpid()}-{mark}"
        yield from commit_stream(update, author, mark, ref=ref)
        yield b"reset %s\nfrom %s\n\n" % (ref.encode(), zero.encode())


def _signed(repo: Plumbing, update: Update, oid: Oid, author: Author) -> Oid | None:
    """The same commit with a signature; None when the user's key can't be had now."""
    name, email = clean_ident(author.name), clean_ident(author.email)
    env = clean_environment()
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": email}
    parents = ["-p", update.old] if update.old else []
    command = ["git", f"--git-dir={repo.git_dir}", "commit-tree", "-S", *parents, f"{oid}^{{tree}}"]
    try:
        done = subprocess.run(
            command,
            input=update.message.encode("utf-8", "replace"),
            capture_output=True,
            env=env,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return Oid(done.stdout.decode().strip()) if done.returncode == 0 else None
