"""Makes a session as a remote has it, and as it is here, one."""

from __future__ import annotations

import time
from collections.abc import Iterable

import msgspec

from gitsession.capture.ledger import Ledger
from gitsession.config import Settings
from gitsession.errors import Moved, SessionError, Unreadable
from gitsession.git import refs, wary
from gitsession.git.inspect import is_ancestor, is_commit
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Draft, Swap
from gitsession.git.wary import Bounds
from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Author, Frozen, Record
from gitsession.store import check, contents, folder, registry, sessions, union
from gitsession.store.contents import Contents
from gitsession.store.lock import held
from gitsession.store.tombstones import Forgotten
from gitsession.sync.remote import Remote

_TRIES = 8
_AT_ONCE = 1000
_BOUNDS = Bounds(depth=check.MAX_DEPTH, files=check.MAX_FILES, folders=10_000)


class Taken(Frozen, frozen=True, kw_only=True):
    """What came of it."""

    changed: tuple[str, ...] = ()
    """The session refs that are different now."""
    unwanted: dict[str, Oid] = {}
    """What the remote has of them that was forgotten."""
    refused: dict[str, str] = {}
    """What can't be taken, and why."""
    warnings: tuple[str, ...] = ()


def fold_sessions(
    repo: Plumbing, remote: Remote, wanted: Iterable[str], gone: Forgotten, settings: Settings
) -> Taken:
    """Bring these session refs, as the remote was last seen to have them, into ours."""
    changed: list[str] = []
    warnings: list[str] = []
    unwanted: dict[str, Oid] = {}
    refused: dict[str, str] = {}
    for ref in wanted:
        try:
            if _fold(repo, remote, ref, gone, settings, unwanted):
                changed.append(ref)
        except SessionError as error:
            refused[ref] = error.message
            warnings.append(f"{remote.name}: {ref} is left out: {error.message}")
    return Taken(
        changed=tuple(changed), unwanted=unwanted, refused=refused, warnings=tuple(warnings)
    )


def _fold(
    repo: Plumbing,
    remote: Remote,
    ref: str,
    gone: Forgotten,
    settings: Settings,
    unwanted: dict[str, Oid],
) -> bool:
    for attempt in range(_TRIES):
        try:
            return _fold_once(repo, remote, ref, gone, settings, unwanted)
        except Moved:
            time.sleep(0.01 * (attempt + 1))
    raise Moved(f"{ref} keeps moving")


def _fold_once(
    repo: Plumbing,
    remote: Remote,
    ref: str,
    gone: Forgotten,
    settings: Settings,
    unwanted: dict[str, Oid],
) -> bool:
    ours, theirs = repo.resolve(ref), repo.resolve(refs.seen(remote.slug, ref))
    if theirs is None or ours == theirs:
        return False
    if not is_commit(repo, theirs):
        raise Unreadable("it is no commit")
    if ours and is_ancestor(repo, theirs, ours):
        return False
    session = look_at(repo, ref, theirs)
    if session in gone.sessions:
        # What was forgotten is not taken back because a remote still has it.
        unwanted[ref] = _let_go(repo, remote, ref, theirs)
        return False
    if session not in gone.partly and (ours is None or _goes_on(repo, ours, theirs)):
        repo.swap([Swap(ref=ref, old=ours, new=theirs)])
        return True
    found = contents.read(repo, theirs)
    yours = contents.emptied(found, gone)
    mine = contents.read(repo, ours) if ours else yours
    whole = union.join(mine, yours, gone)
    # The past of theirs holds all that theirs does.
    base = theirs if yours == found else ours
    new = base if base and whole == (yours if base == theirs else mine) else None
    new = new or _write(repo, whole, base, settings.author)
    move(repo, ref, ours, new, mine, whole)
    if base != theirs:
        unwanted[ref] = _let_go(repo, remote, ref, theirs)
    Ledger(repo, settings).ensure_indexed(whole.records)
    return True


def _goes_on(repo: Plumbing, ours: Oid, theirs: Oid) -> bool:
    """Whether theirs is ours and more: standing on it, and holding all of it."""
    if not is_ancestor(repo, ours, theirs):
        return False
    mine, yours = contents.read(repo, ours), contents.read(repo, theirs)
    return {r.id for r in mine.records} <= {r.id for r in yours.records}


def _let_go(repo: Plumbing, remote: Remote, ref: str, theirs: Oid) -> Oid:
    """No longer lead to what a remote has and shall not keep."""
    repo.swap([Swap(ref=refs.seen(remote.slug, ref), old=theirs, new=None)])
    return theirs


def look_at(repo: Plumbing, ref: str, tip: Oid) -> SessionId:
    """The session that a remote's ref holds; raises Unreadable when it isn't one, or another."""
    files = wary.files(repo, tip, _BOUNDS)
    # What this reads whole may not be beyond measure.
    sizes = repo.sizes([file.oid for file in files if not file.path.endswith(".zst")])
    known = [msgspec.structs.replace(file, size=sizes.get(file.oid)) for file in files]
    problem = next(check.problems_of_tree(known), None)
    if problem is not None:
        raise Unreadable(problem)
    head = sessions.read_head(repo, tip, ref)
    if session_slug(head.session) != refs.slug_of(ref):
        raise Unreadable("it says to be another session")
    return head.session


def _write(repo: Plumbing, whole: Contents, base: Oid | None, author: Author) -> Oid:
    puts, links = contents.tree_of(whole)
    message = f"Continued elsewhere as well: {len(whole.pieces)} captures\n"
    parents = (base,) if base else ()
    draft = Draft(message=message, parents=parents, puts=puts, links=links, anew=bool(base))
    return repo.write([draft], author)[0]


def move(
    repo: Plumbing, ref: str, ours: Oid | None, new: Oid | None, mine: Contents, whole: Contents
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


def enter(repo: Plumbing, changed: Iterable[str], gone: Forgotten, settings: Settings) -> None:
    """Have the index hold what these sessions say: a push may have brought them, and not it."""
    found: list[Record] = []
    for ref in changed:
        tip = repo.resolve(ref)
        if tip is not None:
            found += [r for r in contents.read(repo, tip).records if not gone.covers(r)]
    for start in range(0, len(found), _AT_ONCE):
        Ledger(repo, settings).ensure_indexed(found[start : start + _AT_ONCE])
