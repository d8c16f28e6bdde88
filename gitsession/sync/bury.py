"""Takes out of this clone what a tombstone names, wherever it is kept here.

Git finds old commits through what stands on them. So whatever held something
that was forgotten is written anew without a past: sessions, archives, the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from gitsession.config import Settings
from gitsession.errors import Unreadable
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Draft, Link, Put, Swap
from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Author
from gitsession.store import codec, contents, folder, registry, tombstones
from gitsession.store.contents import Contents, Piece
from gitsession.store.tombstones import Forgotten

Clean = Callable[[Contents], Contents]
"""What becomes of a session of which a part was forgotten."""
_TREE = "40000"


def bury(repo: Plumbing, gone: Forgotten, settings: Settings) -> list[str]:
    """Remove forgotten sessions, empty forgotten captures; gives back the refs that changed."""
    swaps = plan(repo, gone, lambda whole: contents.emptied(whole, gone), settings.author)
    repo.swap(swaps)
    for session in gone.sessions:
        registry.drop(repo.common_dir, session)
    return [swap.ref for swap in swaps]


def plan(repo: Plumbing, gone: Forgotten, clean: Clean, author: Author) -> list[Swap]:
    """Write what is left of everything that holds something forgotten; the refs that lead to it."""
    swaps = [Swap(ref=ref, old=oid, new=None) for ref, oid in refs_of(repo, gone.sessions)]
    for session in sorted(gone.partly - gone.sessions):
        swaps += _without_parts(repo, session, gone, clean, author)
    for ref, oid in archives_of(repo):
        left = without_forgotten(repo, oid, gone, clean, author)
        if left != oid:
            swaps.append(Swap(ref=ref, old=oid, new=None if _is_seen(ref) else left))
    for ref, oid in _seen_indexes(repo):
        if tombstones.beyond(tombstones.read(repo, oid), gone) != Forgotten():
            swaps.append(Swap(ref=ref, old=oid, new=None))
    return swaps


def refs_of(repo: Plumbing, sessions: frozenset[SessionId]) -> Iterator[tuple[str, Oid]]:
    """Every ref that keeps one of these sessions, as ours or as a remote was seen to have it."""
    slugs = {session_slug(session) for session in sessions}
    if not slugs:
        return
    every = {**repo.refs(refs.SESSIONS), **repo.refs(refs.REMOTES), **repo.refs(refs.SNAPSHOTS)}
    for ref, oid in every.items():
        if ref.rpartition("/")[2] in slugs and not _is_archive(ref) and not _is_index(ref):
            yield ref, oid


def holds(whole: Contents, gone: Forgotten) -> bool:
    """Whether a session still holds something forgotten."""
    return contents.emptied(whole, gone) != whole


def _without_parts(
    repo: Plumbing, session: SessionId, gone: Forgotten, clean: Clean, author: Author
) -> Iterator[Swap]:
    """A session without what was forgotten of it; what remotes were seen to have is let go of."""
    mine = refs.session(session)
    for ref, tip in refs_of(repo, frozenset({session})):
        if ref != mine and "/sessions/" not in ref.removeprefix(refs.REMOTES):
            # Snapshots are whole work trees: what was forgotten may be anywhere in them.
            yield Swap(ref=ref, old=tip, new=None)
            continue
        try:
            whole = contents.read(repo, tip)
        except Unreadable:
            continue
        if not holds(whole, gone):
            continue
        new = write_session(repo, whole, clean(whole), author) if ref == mine else None
        yield Swap(ref=ref, old=tip, new=new)


def write_session(repo: Plumbing, before: Contents, after: Contents, author: Author) -> Oid:
    """A session as a commit without a past."""
    puts, links = contents.tree_of(_with_blanks(repo, before, after))
    draft = Draft(message="Something was forgotten\n", puts=puts, links=links)
    return repo.write([draft], author)[0]


def _with_blanks(repo: Plumbing, before: Contents, after: Contents) -> Contents:
    """As many blank lines as a subagent had: they are counted to find what is new of it."""
    had = {piece.own.seq: piece for piece in before.pieces}
    pieces = [_blank(repo, had.get(piece.own.seq), piece) for piece in after.pieces]
    return msgspec.structs.replace(after, pieces=tuple(pieces))


def _blank(repo: Plumbing, before: Piece | None, after: Piece) -> Piece:
    if before is None or before.is_stub or not after.is_stub:
        return after
    files = {
        name: write_blob(repo, codec.pack(contents.BLANK * sum(1 for _ in codec.lines(blob))))
        for name, oid in before.files.items()
        if name != contents.MAIN and (blob := repo.read(oid)) is not None
    }
    return msgspec.structs.replace(after, files=files)


def write_blob(repo: Plumbing, data: bytes) -> Oid:
    """An object that no ref leads to yet."""
    return Oid(repo.git("hash-object", "-w", "--stdin", stdin=data).decode().strip())


# -- archives ---------------------------------------------------------------------------------


def without_forgotten(
    repo: Plumbing, tip: Oid, gone: Forgotten, clean: Clean, author: Author
) -> Oid | None:
    """An archive without what was forgotten, as a commit without a past; None for an empty one."""
    whole = {session_slug(session) for session in gone.sessions}
    partly = {session_slug(session) for session in gone.partly}
    puts: list[Put] = []
    links: list[Link] = []
    changed = False
    for entry in repo.tree(tip):
        if entry.path in whole:
            changed = True
            continue
        left = _cleaned(repo, entry.oid, gone, clean) if entry.path in partly else None
        if left is None:
            links.append(Link(path=entry.path, oid=entry.oid, mode=entry.mode))
            continue
        changed = True
        files, there = contents.tree_of(left)
        puts += [Put(path=f"{entry.path}/{x.path}", data=x.data) for x in files]
        links += [Link(path=f"{entry.path}/{x.path}", oid=x.oid, mode=x.mode) for x in there]
    if not changed:
        return tip
    if not puts and not any(link.mode == _TREE for link in links):
        return None
    message = "Something was forgotten\n"
    return repo.write([Draft(message=message, puts=tuple(puts), links=tuple(links))], author)[0]


def _cleaned(repo: Plumbing, tree: Oid, gone: Forgotten, clean: Clean) -> Contents | None:
    """What is left of one session of an archive; None when nothing of it was forgotten."""
    try:
        whole = contents.read(repo, tree)
    except Unreadable:
        return None
    return clean(whole) if holds(whole, gone) else None


def archives_of(repo: Plumbing) -> list[tuple[str, Oid]]:
    """Every archive, ours or as a remote was seen to have it."""
    every = {**repo.refs(refs.ARCHIVE), **repo.refs(refs.REMOTES)}
    return [(ref, oid) for ref, oid in every.items() if _is_archive(ref)]


# -- the index --------------------------------------------------------------------------------


def write_root(
    repo: Plumbing, base: Oid | None, puts: Sequence[Put], removes: Sequence[str], author: Author
) -> Oid:
    """What a commit holds, with changes, as a commit without a past."""
    message = "Something was forgotten\n"
    parents = (base,) if base else ()
    draft = Draft(message=message, parents=parents, puts=tuple(puts), removes=tuple(removes))
    (made,) = repo.write([draft], author)
    tree = Link(path="", oid=repo.get_commit(made).tree, mode="040000")
    return repo.write([Draft(message=message, links=(tree,))], author)[0] if parents else made


def forget_moves(repo: Plumbing, changed: Sequence[str] = ()) -> None:
    """Git logs how refs moved: what they were must not be found through that."""
    there = [ref for ref in dict.fromkeys((refs.INDEX, *changed)) if repo.resolve(ref) is not None]
    if there:
        options = ("--expire=now", "--expire-unreachable=now")
        # A ref whose moves git doesn't log is an error to it, and the others are done all the same.
        repo.git("reflog", "expire", *options, *there, ok=(0, 1, 255))


def clear_caches(common_dir: Path) -> None:
    """Let go of what was derived from sessions, and of what a capture left half written."""
    folder.clear(folder.home(common_dir) / "tmp")
    for name in ("cache", "behind"):
        folder.clear(folder.home(common_dir) / name)


def _seen_indexes(repo: Plumbing) -> list[tuple[str, Oid]]:
    return [(ref, oid) for ref, oid in repo.refs(refs.REMOTES).items() if _is_index(ref)]


def _is_seen(ref: str) -> bool:
    return ref.startswith(refs.REMOTES)


def _is_index(ref: str) -> bool:
    return _is_seen(ref) and ref.endswith("/" + refs.INDEX.removeprefix("refs/"))


def _is_archive(ref: str) -> bool:
    return "/" + refs.ARCHIVE.removeprefix("refs/") in ref
