"""Where sessions go: the remote, and the name under which we keep what it was seen to have."""

from __future__ import annotations

import hashlib
import re

from gitsession.config import Settings
from gitsession.errors import NotFound, SessionError, Usage
from gitsession.git import refs
from gitsession.model import Frozen

_PLAIN = re.compile(r"(?!.*(?:\.\.|//|\.lock|/\.|\./))[A-Za-z0-9][A-Za-z0-9._/-]{0,99}(?<![./])")


class Remote(Frozen, frozen=True, kw_only=True):
    """A place to push to and fetch from."""

    name: str
    """As git takes it: the name of a remote, a path or a URL."""
    slug: str
    """Its part of a ref's name."""


def remote_of(name: str) -> Remote:
    """A remote by its name, path or URL; raises Usage for what git would take for an option."""
    if not name or name.startswith("-") or any(c < " " for c in name):
        raise Usage(f"'{name}' is no remote", hint="`git remote` lists them")
    if _PLAIN.fullmatch(name):
        return Remote(name=name, slug=name)
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    return Remote(name=name, slug="x-" + digest[:16])


def find_remote(settings: Settings) -> Remote | None:
    """The remote of the sessions: `session.remote`, else `origin`, else the only one."""
    if settings.remote:
        return remote_of(settings.remote)
    if "origin" in settings.remotes:
        return remote_of("origin")
    return remote_of(settings.remotes[0]) if len(settings.remotes) == 1 else None


def get_remote(settings: Settings, name: str = "") -> Remote:
    """The remote that was named, or the one of the sessions; raises when there is none."""
    if name:
        if name not in settings.remotes and not _is_place(name):
            raise NotFound("remote", name, candidates=settings.remotes)
        return remote_of(name)
    found = find_remote(settings)
    if found is None:
        several = ", ".join(settings.remotes)
        raise SessionError(
            f"none of the remotes is the one of the sessions: {several}"
            if several
            else "there is no remote to share sessions with",
            hint="`git config session.remote NAME` says which"
            if several
            else "add one with `git remote add`",
        )
    return found


def _is_place(name: str) -> bool:
    """Whether a name is a path or a URL."""
    return "/" in name or ":" in name


def index_refspec(remote: Remote) -> str:
    """What the user's own `git fetch` is told, to bring the index along.

    With an asterisk it is no error where the remote has no index yet.
    """
    return f"+{refs.INDEX}*:{refs.seen(remote.slug, refs.INDEX)}*"
