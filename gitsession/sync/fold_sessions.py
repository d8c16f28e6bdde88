"""Makes a session as a remote has it, and as it is here, one."""

from __future__ import annotations

import time
from collections.abc import Iterable

from gitsession.capture.ledger import Ledger
from gitsession.config import Settings
from gitsession.errors import Moved, Unreadable
from gitsession.git import refs
from gitsession.git.inspect import is_ancestor, listing
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Draft, Swap
from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Author, Frozen
from gitsession.store import check, contents, folder, registry, sessions, union
from gitsession.store.contents import Contents
from gitsession.store.lock import held
from gitsession.store.tombstones import Forgotten
from gitsession.sync.remote import Remote

_TRIES = 8


class Taken(Frozen, frozen=True, kw_only=True):
    """What came of it."""

    changed: tuple[str, ...] = ()
    """The session refs that are different now."""
    warnings: tuple[str, ...] = ()


def fold_sessions(
    repo: Plumbing, remote: Remote, wanted: Iterable[str], gone: Forgotten, settings: Settings
) -> Taken:
    """Bring these session refs, as the remote was last seen to have them, into ours."""
    changed: list[str] = []
    warnings: list[str] = []
    for ref in wanted:
        try:
            if _fold(repo, remote, ref, gone, settings):
                changed.append(ref)
        except (Unreadable, Moved) as error:
            warnings.append(f"{remote.name}: {ref} is left out: {error.message}")
    return Taken(changed=tuple(changed), warnings=tuple(warnings))


def _fold(repo: Plumbing, remote: Remote, ref: str, gone: Forgotten, settings: Settings) -> bool:
    for attempt in range(_TRIES):
        try:
            return _fold_once(repo, remote, ref, gone, settings)
        except Moved:
            time.sleep(0.01 * (attempt + 1))
    raise Moved(f"{ref} keeps moving")


def _fold_once(
    repo: Plumbing, remote: Remote, ref: str, gone: Forgotten, settings: Settings
) -> bool:
    ours, theirs = repo.resolve(ref), repo.resolve(refs.seen(remote.slug, ref))
    if theirs is None or ours == theirs or (ours and is_ancestor(repo, theirs, ours)):
        return False
    session = look_at(repo, ref, theirs)
    if session in gone.sessions:
        # What was forgotten is not taken back because a remote still has it.
        return False
    if session not in gone.partly and (ours is None or is_ancestor(repo, ours, theirs)):
        repo.swap([Swap(ref=ref, old=ours, new=theirs)])
        return True
    yours = contents.read(repo, theirs)
    mine = contents.read(repo, ours) if ours else yours
    whole = union.join(mine, yours, gone)
    new = theirs if whole == yours else _write(repo, whole, theirs, settings.author)
    _renumber(repo, ref, ours, new, mine, whole)
    Ledger(repo, settings).ensure_indexed(whole.records)
    return True


def look_at(repo: Plumbing, ref: str, tip: Oid) -> SessionId:
    """The session that a remote's ref holds; raises Unreadable when it isn't one, or another."""
    problem = next(check.problems_of_tree(listing(repo, tip)), None)
    if problem is not None:
        raise Unreadable(problem)
    head = sessions.read_head(repo, tip, ref)
    if session_slug(head.session) != refs.slug_of(ref):
        raise Unreadable("it says to be another session")
    return head.session


def _write(repo: Plumbing, whole: Contents, theirs: Oid, author: Author) -> Oid:
    puts, links = contents.tree_of(whole)
    message = f"Continued elsewhere as well: {len(whole.pieces)} captures\n"
    draft = Draft(message=message, parents=(theirs,), puts=puts, links=links, anew=True)
    return repo.write([draft], author)[0]


def _renumber(
    repo: Plumbing, ref: str, ours: Oid | None, new: Oid, mine: Contents, whole: Contents
) -> None:
    """Move the ref, and tell what is known here of the session its captures' new numbers."""
    places = {piece.own.id: piece.own.seq for piece in whole.pieces}
    numbers = {p.own.seq: places[p.own.id] for p in mine.pieces if p.own.id in places}
    if all(old == now for old, now in numbers.items()):
        repo.swap([Swap(ref=ref, old=ours, new=new)])
        return
    # The worker must not write the old numbers back.
    with held(folder.home(repo.common_dir) / "lock", wait=True):
        repo.swap([Swap(ref=ref, old=ours, new=new)])
        registry.renumber(repo.common_dir, mine.head.session, numbers)
