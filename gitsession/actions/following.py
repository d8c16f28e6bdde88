"""The refspec by which the user's own `git fetch` brings the index along."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gitsession import config
from gitsession.actions.originals import Originals
from gitsession.actions.site import Site
from gitsession.git.run import run
from gitsession.store import remotes
from gitsession.sync.remote import Remote, find_remote, index_refspec, remote_of


def follow(here: Site, originals: Originals) -> list[str]:
    """Have the index fetched with everything else; a second time changes nothing."""
    remote = _remote_to_follow(config.load(here.where))
    if remote is None:
        return []
    if remote.slug not in remotes.followed(here.common):
        remotes.follow(here.common, remote.slug, remote.name, None)
    specs = _specs(here, remote)
    # A bare clone has none: with ours alone, git would no longer fetch anything else.
    if not specs or index_refspec(remote) in specs:
        return []
    with originals.editing(here.config):
        run(["config", "--local", "--add", _key(remote), index_refspec(remote)], cwd=here.where)
    originals.update(followed=tuple(sorted({*originals.state.followed, remote.name})))
    return [f"`git fetch {remote.name}` brings the index of its sessions along"]


def leave(here: Site, originals: Originals) -> None:
    """Take our refspecs out of the configuration."""
    for name in originals.state.followed:
        remote = remote_of(name)
        if index_refspec(remote) in _specs(here, remote):
            change = ["--fixed-value", "--unset", _key(remote), index_refspec(remote)]
            run(["config", "--local", *change], cwd=here.where)


def is_followed(here: Site, settings: config.Settings) -> bool:
    """Whether the index comes with the user's own fetch, wherever it should."""
    remote = _remote_to_follow(settings)
    specs = _specs(here, remote) if remote else []
    return remote is None or not specs or index_refspec(remote) in specs


def _remote_to_follow(settings: config.Settings) -> Remote | None:
    """The remote of the sessions, where its refs come to a place of their own.

    A mirror's fetch overwrites every ref already. In a partial clone git would
    leave out what the notes say, and get it note by note: ours asks for it whole.
    """
    remote = find_remote(settings)
    if remote is None or remote.name not in settings.remotes or settings.partial:
        return None
    return None if remote.name in settings.mirrors else remote


def warnings(settings: config.Settings) -> Iterator[str]:
    """What the user should know of their remotes."""
    remote = find_remote(settings)
    if remote is not None and remote.name in settings.mirrors:
        yield (
            f"{remote.name} is fetched as a mirror: `git fetch --prune` deletes captures that "
            "haven't been pushed"
        )


def _key(remote: Remote) -> str:
    return f"remote.{remote.name}.fetch"


def _specs(here: Site, remote: Remote) -> list[str]:
    out = run(["config", "--local", "-z", "--get-all", _key(remote)], cwd=here.where, check=False)
    return os.fsdecode(out).split("\0")[:-1]
