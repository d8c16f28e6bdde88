"""Archives: the closed sessions of a month in one tree, so that the number of refs stays bounded.

An entry is the tree of a session, under the name that its ref had. A session
that went on may be in the archives of several months; the newest has all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gitsession.errors import Unreadable
from gitsession.git import refs
from gitsession.git.repository import Repository
from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Record

_MOMENT = re.compile(r"(\d{4}-(?:0[1-9]|1[0-2]))-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z", re.ASCII)
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])", re.ASCII)


def is_archive(ref: str) -> bool:
    """Whether a ref is the archive of a month."""
    return ref.startswith(refs.ARCHIVE) and bool(_MONTH.fullmatch(ref.removeprefix(refs.ARCHIVE)))


def month_of(records: Iterable[Record]) -> str:
    """The month (UTC) of the newest capture: whose archive a session belongs into."""
    at = max((record.captured_at for record in records), default="")
    found = _MOMENT.fullmatch(at)
    if found is None:
        raise Unreadable(f"no capture says when it was taken: {at!r}")
    return found[1]


def tips(repo: Repository, begin: str = refs.ARCHIVE) -> dict[str, Oid]:
    """The archives that are here, or were seen on a remote: the newest month first."""
    found = (
        (f"{refs.ARCHIVE}{ref.removeprefix(begin)}", tip) for ref, tip in repo.refs(begin).items()
    )
    return {ref: tip for ref, tip in sorted(found, reverse=True) if is_archive(ref)}


def entries(repo: Repository, archive: Oid | None) -> dict[str, Oid]:
    """The sessions in an archive: the tree of each."""
    if archive is None:
        return {}
    return {x.path: x.oid for x in repo.tree(archive) if x.is_tree and is_slug(x.path)}


def is_slug(name: str) -> bool:
    """Whether a name may be that of a session's entry."""
    return session_slug(SessionId(name)) == name


def find_tree(repo: Repository, slug: str) -> Oid | None:
    """The tree of a session that is archived here."""
    found = (repo.resolve(f"{tip}:{slug}") for tip in tips(repo).values())
    return next((tree for tree in found if tree is not None), None)


def newest(repo: Repository, begin: str = refs.ARCHIVE) -> dict[str, Oid]:
    """The tree of each archived session, from the newest archive that has it."""
    found = {ref: entries(repo, tip) for ref, tip in tips(repo, begin).items()}
    return {slug: next(iter(trees.values())) for slug, trees in by_session(found).items()}


def find_slugs(repo: Repository, prefix: str) -> list[str]:
    """The archived sessions whose name begins so, the newest month's first."""
    every = (slug for tip in tips(repo).values() for slug in entries(repo, tip))
    return list(dict.fromkeys(slug for slug in every if slug.startswith(prefix)))


def every_copy(repo: Repository) -> list[tuple[str, Oid]]:
    """Every session of every archive, with its tree: one that went on may be there twice."""
    copies = (item for tip in tips(repo).values() for item in entries(repo, tip).items())
    return list(dict.fromkeys(copies))


def by_session(archives: Mapping[str, Mapping[str, Oid]]) -> dict[str, dict[str, Oid]]:
    """Where each session is: the refs of its archives with its tree there, the newest first."""
    found: dict[str, dict[str, Oid]] = {}
    for ref in sorted(archives, reverse=True):
        for slug, tree in archives[ref].items():
            found.setdefault(slug, {})[ref] = tree
    return found
