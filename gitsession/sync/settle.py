"""A session stands in one place: a ref of its own, or an archive.

Its ref goes when an archive has all of it, else it would be pushed back to
life; and takes in what only an archive has, when it went on elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from gitsession.capture.ledger import Ledger
from gitsession.config import Settings
from gitsession.errors import Moved, Unreadable
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Draft, Swap
from gitsession.ids import Oid
from gitsession.store import archives, contents, union
from gitsession.store.contents import Contents
from gitsession.store.tombstones import Forgotten
from gitsession.sync.fold_sessions import move
from gitsession.sync.remote import Remote

_TRIES = 8


def settle(repo: Plumbing, gone: Forgotten, settings: Settings) -> list[str]:
    """Compare the sessions that have a ref with what the archives hold; the refs that changed."""
    archived = archives.newest(repo)
    if not archived:
        return []
    own = [ref for ref in repo.refs(refs.SESSIONS) if refs.slug_of(ref) in archived]
    return [ref for ref in own if _settle(repo, ref, archived[refs.slug_of(ref)], gone, settings)]


def _settle(repo: Plumbing, ref: str, tree: Oid, gone: Forgotten, settings: Settings) -> bool:
    for attempt in range(_TRIES):
        try:
            return _settle_once(repo, ref, tree, gone, settings)
        except Moved:
            time.sleep(0.01 * (attempt + 1))
        except Unreadable:
            break
    return False


def _settle_once(repo: Plumbing, ref: str, tree: Oid, gone: Forgotten, settings: Settings) -> bool:
    tip = repo.resolve(ref)
    if tip is None:
        return False
    if repo.resolve(f"{tip}^{{tree}}") == tree:
        repo.swap([Swap(ref=ref, old=tip, new=None)])
        return True
    mine, archived = _clean(repo, tip, gone), _clean(repo, tree, gone)
    whole = union.join(mine, archived, gone)
    if whole == mine:
        return False
    new = None
    if whole != archived:
        puts, links = contents.tree_of(whole)
        message = f"Continued elsewhere as well: {len(whole.pieces)} captures\n"
        draft = Draft(message=message, parents=(tip,), puts=puts, links=links, anew=True)
        (new,) = repo.write([draft], settings.author)
    move(repo, ref, tip, new, mine, whole)
    Ledger(repo, settings).ensure_indexed(whole.records)
    return True


def _clean(repo: Plumbing, tip: Oid, gone: Forgotten) -> Contents:
    return contents.emptied(contents.read(repo, tip), gone)


def find_settled(
    repo: Plumbing, remote: Remote, wanted: Iterable[str], gone: Forgotten, *, there: bool = False
) -> dict[str, Oid]:
    """Those session refs of a remote that have no place any more, for an archive has all of them.

    So say our own archives; or, `there`, the remote's as they were last seen, and
    then nobody needs its refs.
    """
    begin = refs.seen(remote.slug, refs.ARCHIVE) if there else refs.ARCHIVE
    archived = archives.newest(repo, begin)
    found = {}
    for ref in wanted if archived else ():
        tree = archived.get(refs.slug_of(ref))
        tip = repo.resolve(refs.seen(remote.slug, ref))
        if tree and tip and repo.resolve(ref) is None and _holds_all(repo, tree, tip, gone):
            found[ref] = tip
    return found


def _holds_all(repo: Plumbing, tree: Oid, tip: Oid, gone: Forgotten) -> bool:
    """Whether an entry of an archive has everything that a session's ref leads to."""
    if repo.resolve(f"{tip}^{{tree}}") == tree:
        return True
    try:
        archived = _clean(repo, tree, gone)
        return union.join(archived, _clean(repo, tip, gone), gone) == archived
    except Unreadable:
        return False
