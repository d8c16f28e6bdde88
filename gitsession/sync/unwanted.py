"""What a remote still has of what was forgotten here, so that the next push takes it away.

The remote's index says what the remote knows: once it has a tombstone, its
refs have been cleaned in the same push, and nobody has to look again.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitsession.config import Settings
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.ids import Oid, session_slug
from gitsession.store import archives, tombstones
from gitsession.store.tombstones import Forgotten
from gitsession.sync.fold import fold_index
from gitsession.sync.fold_archives import fold_archives
from gitsession.sync.fold_sessions import fold_sessions
from gitsession.sync.remote import Remote
from gitsession.sync.transport import Line, Sent

_WHERE = (refs.SESSIONS, refs.SNAPSHOTS)


def lacking(repo: Plumbing, remote: Remote) -> Forgotten:
    """What was forgotten here, and the index that the remote was last seen to have doesn't say."""
    ours = tombstones.read(repo, repo.resolve(refs.INDEX))
    if ours == Forgotten():
        return ours
    theirs = tombstones.read(repo, repo.resolve(refs.seen(remote.slug, refs.INDEX)))
    return tombstones.beyond(theirs, ours)


def look(repo: Plumbing, line: Line, settings: Settings) -> dict[str, Oid]:
    """The refs of the remote that may be thrown away for ours, each as it is there now.

    What others put there goes into ours first, so that nothing of theirs is lost.
    """
    remote = line.remote
    gone = lacking(repo, remote)
    if gone == Forgotten():
        return {}
    fold_index(repo, remote, settings)
    index = repo.resolve(refs.seen(remote.slug, refs.INDEX))
    found = {refs.INDEX: index} if index else {}
    there = line.list_refs(_WHERE)
    whole = {session_slug(session) for session in gone.sessions}
    partly = {refs.session(session) for session in gone.partly}
    mixed = [ref for ref in there if ref in partly or archives.is_archive(ref)]
    if mixed:
        specs = [f"+{ref}*:{refs.seen(remote.slug, ref)}*" for ref in mixed]
        line.fetch(specs, tips=[ref for ref in mixed if repo.resolve(ref)])
        known = tombstones.read(repo, repo.resolve(refs.INDEX))
        months = [ref for ref in mixed if archives.is_archive(ref)]
        found |= fold_archives(repo, remote, months, known, settings).unwanted
        single = [ref for ref in mixed if ref not in months]
        found |= fold_sessions(repo, remote, single, known, settings).unwanted
    return found | {
        ref: oid
        for ref, oid in there.items()
        if ref.rpartition("/")[2] in whole and not archives.is_archive(ref)
    }


def sent(repo: Plumbing, waiting: Mapping[str, Oid], unwanted: Mapping[str, Oid]) -> list[Sent]:
    """What to push: what waits, over what is unwanted there; what isn't here goes there too."""
    found = [Sent(ref=ref, new=oid, over=unwanted.get(ref)) for ref, oid in waiting.items()]
    rest = [ref for ref in unwanted if ref not in waiting and repo.resolve(ref) is None]
    return found + [Sent(ref=ref, new=None, over=unwanted[ref]) for ref in rest]
