"""One archive from several: of each session all that any of them has, less what was forgotten.

The entries of an archive only ever grow, so whoever unites them, in whatever
order and grouping, gets the same trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce

import msgspec

from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Draft, Link, Put
from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Frozen
from gitsession.store import contents, union
from gitsession.store.contents import Contents
from gitsession.store.tombstones import Forgotten


class Whole(Frozen, frozen=True, kw_only=True):
    """A session that several trees hold parts of."""

    contents: Contents
    tree: Oid | None = None
    """One of them, when it holds all."""


Entry = Oid | Whole
"""What an archive is to hold of a session: a tree as it is, or one to be written."""


def gather(repo: Plumbing, trees: Iterable[Oid], gone: Forgotten) -> Whole:
    """All that several trees (or commits) hold of a session; raises Unreadable."""
    read = {tree: contents.read(repo, tree) for tree in sorted(set(trees))}
    clean = [contents.emptied(one, gone) for one in read.values()]
    whole = clean[0] if len(clean) == 1 else reduce(lambda x, y: union.join(x, y, gone), clean)
    same = [tree for tree, one in read.items() if one == whole]
    return Whole(contents=whole, tree=max(same, default=None))


def meet(repo: Plumbing, slug: str, trees: Iterable[Oid], gone: Forgotten) -> Entry | None:
    """A session's entry from those of several archives; None when it was forgotten."""
    if slug in _slugs(gone.sessions):
        return None
    distinct = set(trees)
    if len(distinct) == 1 and slug not in _slugs(gone.partly):
        return distinct.pop()
    whole = gather(repo, distinct, gone)
    return whole.tree or whole


@lru_cache(maxsize=8)
def _slugs(every: frozenset[SessionId]) -> frozenset[str]:
    return frozenset(map(session_slug, every))


def draft(
    message: str, parent: Oid | None, entries: Mapping[str, Entry], removes: Iterable[str] = ()
) -> Draft:
    """The commit of an archive in which these entries are new or different."""
    links: list[Link] = []
    puts: list[Put] = []
    written: list[str] = []
    for slug, entry in sorted(entries.items()):
        if isinstance(entry, str):
            links.append(Link(path=slug, oid=entry, mode="040000"))
            continue
        files, there = contents.tree_of(entry.contents)
        puts += [msgspec.structs.replace(put, path=f"{slug}/{put.path}") for put in files]
        links += [msgspec.structs.replace(link, path=f"{slug}/{link.path}") for link in there]
        written.append(slug)
    return Draft(
        message=message,
        parents=(parent,) if parent else (),
        puts=tuple(puts),
        links=tuple(links),
        removes=tuple(sorted({*removes, *written})),
    )


def story(count: int) -> str:
    """The message of an archive's commit."""
    return f"{count} sessions\n" if count != 1 else "1 session\n"
