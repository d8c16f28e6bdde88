"""Signed session commits, for users who sign their own: git does it, with their key and program.

`fast-import` can't sign. So it writes the commits without a signature, and
`commit-tree` makes each of them again with one.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from gitsession.git.parse import clean_ident
from gitsession.git.repository import Draft
from gitsession.git.run import clean_environment
from gitsession.ids import Oid
from gitsession.model import Author

if TYPE_CHECKING:
    from gitsession.git.plumbing import Plumbing

_PATIENCE = 20
"""Seconds for a key that may ask its owner; then the commit goes unsigned."""


def sign(repo: Plumbing, draft: Draft, oid: Oid, author: Author) -> Oid | None:
    """The same commit with a signature; None when the user's key can't be had now."""
    name, email = clean_ident(author.name), clean_ident(author.email)
    env = clean_environment()
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": email}
    parents = [word for parent in draft.parents for word in ("-p", parent)]
    command = ["git", f"--git-dir={repo.git_dir}", "commit-tree", "-S", *parents, f"{oid}^{{tree}}"]
    try:
        done = subprocess.run(
            command,
            input=draft.message.encode("utf-8", "replace"),
            capture_output=True,
            env=env,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return Oid(done.stdout.decode().strip()) if done.returncode == 0 else None
