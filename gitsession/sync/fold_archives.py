"""Makes an archive as a remote has it, and as it is here, one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping

from gitsession.config import Settings
from gitsession.errors import Moved, Unreadable
from gitsession.git import refs
from gitsession.git.inspect import is_ancestor, listing
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Listed, Swap
from gitsession.ids import Oid, session_slug
from gitsession.store import archive_union, archives, check, contents, sessions
from gitsession.store.archive_union import Entry
from gitsession.store.sessions import Stored
from gitsession.store.tombstones import Forgotten
from gitsession.sync.fold_sessions import Taken
from gitsession.sync.remote import Remote

_TRIES = 8


def fold_archives(
    repo: Plumbing, remote: Remote, wanted: Iterable[str], gone: Forgotten, settings: Settings
) -> Taken:
    """Bring these archives, as the remote was last seen to have them, into ours."""
    fold = _Fold(repo, remote, gone, settings)
    for ref in wanted:
        fold.take(ref)
    fold.changed += lift(repo, fold.touched, gone, settings)
    return Taken(
        changed=tuple(dict.fromkeys(fold.changed)),
        unwanted=fold.unwanted,
        warnings=tuple(fold.warnings),
    )


class _Fold:
    """What is done with one archive after the other, and what came of it."""

    def __init__(self, repo: Plumbing, remote: Remote, gone: Forgotten, settings: Settings) -> None:
        self._repo = repo
        self._remote = remote
        self._gone = gone
        self._author = settings.author
        self.changed: list[str] = []
        self.touched: set[str] = set()
        """The sessions whose entries are different now."""
        self.unwanted: dict[str, Oid] = {}
        """The archives of the remote that hold something forgotten."""
        self.warnings: list[str] = []

    def take(self, ref: str) -> None:
        """Fold one archive."""
        for attempt in range(_TRIES):
            try:
                self._take(ref)
                return
            except Moved:
                time.sleep(0.01 * (attempt + 1))
            except Unreadable as error:
                self._warn(ref, error.message)
                return
        self._warn(ref, "it keeps moving")

    def _warn(self, what: str, why: str) -> None:
        self.warnings.append(f"{self._remote.name}: {what} is left out: {why}")

    def _take(self, ref: str) -> None:
        repo = self._repo
        ours, theirs = repo.resolve(ref), repo.resolve(refs.seen(self._remote.slug, ref))
        if theirs is None or ours == theirs or (ours and is_ancestor(repo, theirs, ours)):
            return
        if not archives.is_archive(ref):
            raise Unreadable("its name is no month")
        mine = archives.entries(repo, ours)
        yours = self._look_at(ref, theirs, mine)
        united = dict(self._unite(ref, mine, yours))
        dirty = self._holds_forgotten(theirs, yours)
        # The past of theirs holds all that theirs does.
        base, had = (ours, mine) if dirty else (theirs, yours)
        lacking = {slug: entry for slug, entry in united.items() if had.get(slug) != entry}
        removes = [x.path for x in (repo.tree(base) if base else ()) if x.path not in united]
        new = base
        if lacking or removes:
            words = archive_union.story(len(lacking))
            draft = archive_union.draft(words, base, lacking, removes)
            (new,) = repo.write([draft], self._author)
        if new != ours:
            repo.swap([Swap(ref=ref, old=ours, new=new)])
        if dirty:
            self.unwanted[ref] = theirs
            repo.swap([Swap(ref=refs.seen(self._remote.slug, ref), old=theirs, new=None)])
        self.changed.append(ref)
        self.touched |= {slug for slug, entry in united.items() if mine.get(slug) != entry}

    def _holds_forgotten(self, theirs: Oid, yours: Mapping[str, Oid]) -> bool:
        """Whether the remote's archive holds what may not come back."""
        whole = {session_slug(session) for session in self._gone.sessions}
        if any(entry.path in whole for entry in self._repo.tree(theirs)):
            return True
        parts = (session_slug(session) for session in self._gone.partly)
        return any(
            contents.emptied(found, self._gone) != found
            for slug in parts
            if slug in yours
            for found in [contents.read(self._repo, yours[slug])]
        )

    def _look_at(self, ref: str, theirs: Oid, mine: Mapping[str, Oid]) -> dict[str, Oid]:
        """The entries of the remote's archive that are sessions."""
        found = {entry.path: entry for entry in self._repo.tree(theirs)}
        fresh = {name for name, entry in found.items() if mine.get(name) != entry.oid}
        files = check.by_entry(listing(self._repo, theirs)) if fresh else {}
        good = {}
        for name, entry in found.items():
            try:
                if not entry.is_tree or not archives.is_slug(name):
                    raise Unreadable("it is no session")
                if name in fresh:
                    self._look_at_session(name, entry.oid, files.get(name, []))
                good[name] = entry.oid
            except Unreadable as error:
                self._warn(f"{name[:100]!r} of {ref}", error.message)
        return good

    def _look_at_session(self, slug: str, tree: Oid, files: list[Listed]) -> None:
        problem = next(check.problems_of_tree(files), None)
        if problem is not None:
            raise Unreadable(problem)
        if session_slug(sessions.read_head(self._repo, tree, slug).session) != slug:
            raise Unreadable("it says to be another session")

    def _unite(
        self, ref: str, mine: Mapping[str, Oid], yours: Mapping[str, Oid]
    ) -> Iterator[tuple[str, Entry]]:
        for slug in sorted({*mine, *yours}):
            trees = [side[slug] for side in (yours, mine) if slug in side]
            try:
                entry = archive_union.meet(self._repo, slug, trees, self._gone)
            except Unreadable as error:
                self._warn(f"{slug} of {ref}", error.message)
                self._rescue(slug, trees)
                entry = trees[0]
            if entry is not None:
                yield slug, entry

    def _rescue(self, slug: str, trees: list[Oid]) -> None:
        """Keep what of ours can't be united with theirs as a session by itself."""
        ref = refs.SESSIONS + slug
        if len(set(trees)) > 1 and self._repo.resolve(ref) is None:
            stored = Stored(ref=ref, tip=trees[1], archived=True)
            sessions.unfold(self._repo, stored, self._author)


def lift(
    repo: Plumbing, slugs: Iterable[str] | None, gone: Forgotten, settings: Settings
) -> list[str]:
    """See to it that of a session in several archives the newest has all; all that are, if None."""
    for attempt in range(_TRIES):
        try:
            return _lift(repo, slugs, gone, settings)
        except Moved:
            time.sleep(0.01 * (attempt + 1))
    raise Moved("the archives keep moving")


def _lift(
    repo: Plumbing, slugs: Iterable[str] | None, gone: Forgotten, settings: Settings
) -> list[str]:
    if slugs is not None and not (slugs := set(slugs)):
        return []
    tips = archives.tips(repo)
    places = archives.by_session({ref: archives.entries(repo, tip) for ref, tip in tips.items()})
    better: dict[str, dict[str, Entry]] = {}
    for slug in places if slugs is None else slugs & places.keys():
        newest, *older = places[slug].items()
        if older:
            try:
                entry = archive_union.meet(repo, slug, places[slug].values(), gone)
            except Unreadable:
                continue
            if entry is not None and entry != newest[1]:
                better.setdefault(newest[0], {})[slug] = entry
    swaps = []
    for ref, entries in better.items():
        draft = archive_union.draft(archive_union.story(len(entries)), tips[ref], entries)
        (new,) = repo.write([draft], settings.author)
        swaps.append(Swap(ref=ref, old=tips[ref], new=new))
    repo.swap(swaps)
    return list(better)
