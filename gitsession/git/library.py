"""libgit2 as a repository: for what lives long or works on many objects at once.

Importing it costs more than any one command of git, and it can't open a
SHA-256 repository or a reftable: `open_library` says so, and git itself serves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pygit2

from gitsession.errors import Moved, NotFound
from gitsession.git.parse import clean_ident, parse_commit, parse_tree
from gitsession.git.repository import Commit, Draft, Entry, Put, Swap, Update
from gitsession.git.stream import draft_of
from gitsession.ids import Oid
from gitsession.model import Author


def open_library(git_dir: Path, common_dir: Path, work_tree: Path | None) -> Library | None:
    """The repository through libgit2; None when libgit2 can't read it."""
    try:
        return Library(pygit2.Repository(str(git_dir)), git_dir, common_dir, work_tree)
    except (pygit2.GitError, KeyError, ValueError):
        return None


class Library:
    """A repository through libgit2."""

    def __init__(self, inner: Any, git_dir: Path, common_dir: Path, work_tree: Path | None) -> None:
        self._inner = inner
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.work_tree = work_tree

    def close(self) -> None:
        """Let go of files."""
        self._inner.free()

    def _find(self, name: str) -> Any:
        rev, colon, path = name.partition(":")
        try:
            found = self._inner.revparse_single(rev)
            if not colon:
                return found
            tree = found.peel(pygit2.Tree)
            return tree[path] if path else tree
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def resolve(self, name: str) -> Oid | None:
        """The object that a name stands for, or None."""
        found = self._find(name)
        return Oid(str(found.id)) if found is not None else None

    def read(self, name: str) -> bytes | None:
        """The content of an object; None when it isn't there."""
        found = self._find(name)
        return bytes(found.read_raw()) if found is not None else None

    def read_many(self, names: Iterable[str]) -> Iterator[bytes | None]:
        """The contents of many objects, in order."""
        for name in names:
            yield self.read(name)

    def get_commit(self, name: str) -> Commit:
        """A commit; raises NotFound."""
        found = self._find(name)
        try:
            commit = found.peel(pygit2.Commit) if found is not None else None
        except (pygit2.GitError, pygit2.InvalidSpecError):
            commit = None
        if commit is None:
            raise NotFound("commit", name)
        return parse_commit(Oid(str(commit.id)), commit.read_raw())

    def tree(self, name: str) -> list[Entry]:
        """The entries of one tree; empty when it isn't there."""
        found = self._find(name)
        if found is None:
            return []
        try:
            tree = found.peel(pygit2.Tree)
        except (pygit2.GitError, pygit2.InvalidSpecError):
            return []
        return list(parse_tree(tree.read_raw(), len(str(tree.id)) // 2))

    def refs(self, prefix: str) -> dict[str, Oid]:
        """The refs under a prefix that ends in a slash, or whose name a glob matches."""
        pattern = prefix if "*" in prefix else prefix.rstrip("/") + "/*"
        found = self._inner.references.iterator(pygit2.enums.ReferenceFilter.ALL)
        start = pattern.partition("*")[0]
        names = ((ref.name, ref.resolve().target) for ref in found if ref.name.startswith(start))
        return {name: Oid(str(target)) for name, target in sorted(names)}

    def apply(self, updates: Sequence[Update], author: Author) -> list[Oid]:
        """Write the new commits and move the refs; raises Moved if one had moved."""
        made = self.write([draft_of(update) for update in updates], author)
        pairs = zip(updates, made, strict=True)
        self.swap([Swap(ref=u.ref, old=u.old, new=new) for u, new in pairs])
        return made

    def write(self, drafts: Sequence[Draft], author: Author) -> list[Oid]:
        """Write commits that no ref leads to."""
        return [self._commit(draft, author) for draft in drafts]

    def _commit(self, draft: Draft, author: Author) -> Oid:
        who = pygit2.Signature(clean_ident(author.name), clean_ident(author.email))
        first = draft.parents[0] if draft.parents and not draft.anew else None
        tree = _Tree(self._inner, self._inner[first].peel(pygit2.Tree) if first else None)
        for path in draft.removes:
            tree.remove(path.split("/"))
        for link in draft.links:
            tree.put(link.path.split("/"), link.oid, int(link.mode, 8))
        for put in draft.puts:
            tree.put(put.path.split("/"), self._blob(put))
        made = self._inner.create_commit(
            None, who, who, draft.message, tree.write(), list(draft.parents)
        )
        return Oid(str(made))

    def _blob(self, put: Put) -> Any:
        data = put.data if isinstance(put.data, bytes) else put.data.read_bytes()
        return self._inner.create_blob(data)

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Move refs under git's lock, if they still are what was seen."""
        with self._inner.transaction() as transaction:
            for swap in swaps:
                try:
                    transaction.lock_ref(swap.ref)
                except pygit2.GitError:
                    raise Moved("somebody else is moving a session ref") from None
                seen = self._inner.references.get(swap.ref)
                if (str(seen.target) if seen is not None else None) != swap.old:
                    raise Moved("a session ref was moved by somebody else meanwhile")
            for swap in swaps:
                if swap.new is not None:
                    transaction.set_target(swap.ref, swap.new, message="git session")
                elif swap.old is not None:
                    transaction.remove(swap.ref)


class _Tree:
    """A tree being changed; subtrees are opened when they are touched."""

    def __init__(self, inner: Any, old: Any) -> None:
        self._inner = inner
        self._old = old
        self._builder = inner.TreeBuilder(old) if old is not None else inner.TreeBuilder()
        self._subtrees: dict[str, _Tree] = {}

    def _below(self, name: str) -> _Tree:
        if name not in self._subtrees:
            old = self._old[name] if self._old is not None and name in self._old else None
            is_tree = old is not None and isinstance(old, pygit2.Tree)
            self._subtrees[name] = _Tree(self._inner, old if is_tree else None)
        return self._subtrees[name]

    def put(self, path: list[str], what: Any, mode: int = pygit2.enums.FileMode.BLOB) -> None:
        """Put a blob, or a whole tree, at a path."""
        if len(path) == 1:
            self._subtrees.pop(path[0], None)
            self._builder.insert(path[0], what, mode)
        else:
            self._below(path[0]).put(path[1:], what, mode)

    def remove(self, path: list[str]) -> None:
        """Take away what is at a path, if anything is."""
        if len(path) > 1:
            self._below(path[0]).remove(path[1:])
            return
        # From here on the name stands for nothing: neither the old entry nor changes below it.
        self._subtrees[path[0]] = _Tree(self._inner, None)
        if self._builder.get(path[0]) is not None:
            self._builder.remove(path[0])

    def write(self) -> Any:
        """Write the tree and all below it; gives back its id."""
        for name, subtree in self._subtrees.items():
            oid = subtree.write()
            if len(subtree._builder):
                self._builder.insert(name, oid, pygit2.enums.FileMode.TREE)
            elif self._builder.get(name) is not None:
                self._builder.remove(name)
        return self._builder.write()
