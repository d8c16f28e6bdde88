"""Which remotes' indexes are followed, and up to where ours holds them. Local, and made again."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gitsession.ids import Oid
from gitsession.model import Frozen
from gitsession.store import folder


class Followed(Frozen, frozen=True, kw_only=True):
    """A remote whose index the user's own `git fetch` brings here."""

    name: str
    folded: Oid | None = None
    """The tip that ours holds all of."""


_decoder = msgspec.json.Decoder(dict[str, Followed])


def _path(common_dir: Path) -> Path:
    return folder.home(common_dir) / "remotes.json"


def followed(common_dir: Path) -> dict[str, Followed]:
    """The remotes, by their part of a ref's name."""
    try:
        return _decoder.decode(_path(common_dir).read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}


def follow(common_dir: Path, slug: str, name: str, folded: Oid | None) -> None:
    """Note how far the index of a remote is in ours."""
    known = followed(common_dir)
    new = Followed(name=name, folded=folded)
    if known.get(slug) != new:
        folder.write_atomic(_path(common_dir), msgspec.json.encode({**known, slug: new}))
