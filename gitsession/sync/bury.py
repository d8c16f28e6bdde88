"""Takes out of this clone what a tombstone names, wherever it is kept here."""

from __future__ import annotations

from gitsession.config import Settings
from gitsession.errors import Unreadable
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Draft, Swap
from gitsession.ids import session_slug
from gitsession.store import contents, registry
from gitsession.store.tombstones import Forgotten


def bury(repo: Plumbing, gone: Forgotten, settings: Settings) -> list[str]:
    """Remove forgotten sessions, empty forgotten captures; gives back the refs that changed."""
    slugs = {session_slug(session) for session in gone.sessions}
    changed = _refs_of(repo, slugs)
    repo.swap([Swap(ref=ref, old=repo.resolve(ref), new=None) for ref in changed])
    for session in gone.sessions:
        registry.drop(repo.common_dir, session)
    for session in sorted(gone.partly):
        ref = refs.session(session)
        if _empty(repo, ref, gone, settings):
            changed.append(ref)
    return changed


def _refs_of(repo: Plumbing, slugs: set[str]) -> list[str]:
    """Every ref that keeps one of these sessions, as ours or as a remote was seen to have it."""
    if not slugs:
        return []
    found = [*repo.refs(refs.SESSIONS), *repo.refs(refs.REMOTES), *repo.refs(refs.SNAPSHOTS)]
    return [ref for ref in found if ref.rpartition("/")[2] in slugs]


def _empty(repo: Plumbing, ref: str, gone: Forgotten, settings: Settings) -> bool:
    """Empty the captures of one session; its old commits are no longer led to."""
    tip = repo.resolve(ref)
    if tip is None:
        return False
    try:
        whole = contents.read(repo, tip)
    except Unreadable:
        return False
    left = contents.emptied(whole, gone)
    if left == whole:
        return False
    puts, links = contents.tree_of(left)
    draft = Draft(message="Captures were forgotten\n", puts=puts, links=links)
    (new,) = repo.write([draft], settings.author)
    repo.swap([Swap(ref=ref, old=tip, new=new)])
    return True


def forget_moves(repo: Plumbing) -> None:
    """Git logs how the index moved: old ones must not be found through that."""
    if repo.resolve(refs.INDEX) is not None:
        repo.git("reflog", "expire", "--expire=now", refs.INDEX)
