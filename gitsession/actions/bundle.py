"""Hands sessions over without a network: to a git bundle, and from one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gitsession import config
from gitsession.errors import NotFound, SessionError, Unreadable
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Swap
from gitsession.ids import Oid
from gitsession.model import Frozen, Record
from gitsession.query.index import find_records
from gitsession.query.names import get_target
from gitsession.sync import content
from gitsession.sync.remote import remote_of

if TYPE_CHECKING:
    from gitsession.sync.exchange import Fetched

_HEADERS = (b"# v2 git bundle\n", b"# v3 git bundle\n")


class Exported(Frozen, frozen=True, kw_only=True):
    """What a bundle holds."""

    file: str
    refs: tuple[str, ...]


def is_bundle(path: Path) -> bool:
    """Whether a file is a git bundle."""
    try:
        with path.open("rb") as file:
            return file.read(len(_HEADERS[0])) in _HEADERS
    except OSError:
        return False


def export(path: Path, names: Sequence[str], output: Path) -> Exported:
    """Write sessions to a bundle: those that are named, or all of them and the index."""
    with discover(path) as repo:
        wanted = (
            _named(repo, names) if names else [*repo.refs(refs.SESSIONS), *repo.refs(refs.INDEX)]
        )
        if not wanted:
            raise SessionError("there are no sessions here", hint="`git session log` lists them")
        target = output.absolute()
        if target.is_dir() or not target.parent.is_dir():
            raise SessionError(f"'{output}' is no file that can be written", hint="name a file")
        listed = "".join(f"{ref}\n" for ref in wanted).encode()
        # A bundle that is there already stays until the new one is whole: git writes it so.
        repo.git("bundle", "create", "--quiet", str(target), "--stdin", stdin=listed)
    return Exported(file=str(output), refs=tuple(wanted))


def _named(repo: Plumbing, names: Sequence[str]) -> list[str]:
    found: set[str] = set()
    for name in names:
        target = get_target(repo, name)
        if target.session is not None:
            found.add(target.session.ref)
            continue
        records = target.task or _of_commit(repo, target.commit)
        if not records:
            raise NotFound("session or commit with sessions", name)
        content.bring(repo, records)
        found |= {refs.session(record.session) for record in records}
    return sorted(found)


def _of_commit(repo: Plumbing, commit: Oid | None) -> list[Record]:
    """The captures of a commit, without those that merely were taken while it was HEAD."""
    return [r for r in find_records(repo, commit) if r.commit == commit] if commit else []


def take(path: Path, file: Path) -> Fetched:
    """Merge what a bundle holds, as if it were a remote; nothing of it is believed unseen."""
    from gitsession.sync.exchange import Exchange
    from gitsession.sync.transport import Line

    if not is_bundle(file):
        raise Unreadable(f"'{file}' is no git bundle", hint="`git session export` writes one")
    with discover(path) as repo:
        bundle = remote_of(str(file.absolute()))
        exchange = Exchange(repo, config.load(repo.common_dir), Line(repo, bundle, watched=True))
        try:
            return exchange.fetch(everything=True)
        finally:
            left = repo.refs(refs.seen_on(bundle.slug))
            repo.swap([Swap(ref=ref, old=oid, new=None) for ref, oid in left.items()])
