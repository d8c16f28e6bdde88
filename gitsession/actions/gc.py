"""Folds closed sessions into archives, by month, and packs what lies loose.

No object is deleted: what a session's ref led to, an archive leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from gitsession import config
from gitsession.config import Settings
from gitsession.errors import Moved, SessionError, Unreadable
from gitsession.git import refs
from gitsession.git.inspect import Tip, changed_files, tips
from gitsession.git.maintenance import pack_loose
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Listed, Swap
from gitsession.ids import Oid, session_slug
from gitsession.model import Frozen, Record
from gitsession.store import archive_union, archives, check, folder, outbox, registry, sessions
from gitsession.store.archive_union import Entry
from gitsession.store.lock import held
from gitsession.store.tombstones import Forgotten
from gitsession.sync.fold import read_forgotten
from gitsession.sync.fold_archives import lift
from gitsession.sync.remote import Remote, find_remote

_TRIES = 8
_AT_ONCE = 1000
"""Sessions in one commit, and in one move of refs."""
_MOST_DAYS = 36500

Report = Callable[[str, float, float | None], None]
Why = Literal["active", "not pushed yet", "unreadable"]
Places = Mapping[str, Mapping[str, Oid]]


class Closed(Frozen, frozen=True, kw_only=True):
    """A session to be folded, as it was seen."""

    slug: str
    month: str
    tip: Tip


class Survey(Frozen, frozen=True, kw_only=True):
    """What may be folded, and what may not though it is old enough."""

    closed: tuple[Closed, ...] = ()
    stay: tuple[tuple[str, Why], ...] = ()


class Collected(Frozen, frozen=True, kw_only=True):
    """What was done, or would be."""

    folded: tuple[Closed, ...] = ()
    stay: tuple[tuple[str, Why], ...] = ()
    pushed: tuple[str, ...] = ()
    """What went to the remote."""
    dropped: tuple[str, ...] = ()
    """The session refs that are not on the remote any more, for its archives have all of them."""
    warnings: tuple[str, ...] = ()


def gc(
    path: Path,
    *,
    older_than: int | None = None,
    dry_run: bool = False,
    push: bool = True,
    report: Report | None = None,
) -> Collected:
    """Fold what is old, pack, and bring the archives to the remote."""
    with discover(path) as repo:
        settings = config.load(repo.common_dir)
        repo.sign = settings.sign
        remote = find_remote(settings)
        days = settings.archive_days if older_than is None else older_than
        found = survey(repo, remote, days_ago(days), report)
        if dry_run:
            return Collected(folded=found.closed, stay=found.stay)
        gone = read_forgotten(repo, repo.resolve(refs.INDEX))
        folded = tuple(fold(repo, found.closed, gone, settings, report))
        lift(repo, None, gone, settings)
        pack_loose(repo.common_dir)
        done = Collected(folded=folded, stay=(*found.stay, *_left(repo, found.closed, folded)))
        if push and remote is not None and settings.auto_push:
            return _push(repo, settings, remote, done, report)
        return done


def _left(
    repo: Plumbing, closed: Iterable[Closed], folded: Iterable[Closed]
) -> Iterator[tuple[str, Why]]:
    """What turned out to be nothing for an archive; not what only moved meanwhile."""
    now = repo.refs(refs.SESSIONS)
    done = {one.slug for one in folded}
    for one in closed:
        if one.slug not in done and now.get(refs.SESSIONS + one.slug) == one.tip.commit:
            yield one.slug, "unreadable"


def days_ago(days: int) -> str:
    """A moment as records have it."""
    at = datetime.now(UTC) - timedelta(days=min(days, _MOST_DAYS))
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def survey(
    repo: Plumbing, remote: Remote | None, limit: str, report: Report | None = None
) -> Survey:
    """Look at every session that has a ref: those of which nothing is newer than the limit."""
    there = None if remote is None else _on(repo, remote)
    active = {
        session_slug(known.session)
        for known in registry.all_known(repo.common_dir)
        if known.state == "active"
    }
    found = {ref: tip for ref, tip in tips(repo, refs.SESSIONS).items() if refs.is_session(ref)}
    closed: list[Closed] = []
    stay: list[tuple[str, Why]] = []
    for number, (ref, tip) in enumerate(found.items(), 1):
        slug = refs.slug_of(ref)
        try:
            newest = _newest(repo, ref, tip)
            month = archives.month_of([newest])
        except Unreadable:
            stay.append((slug, "unreadable"))
            continue
        if newest.captured_at > limit:
            continue
        pushed = there is None or there.get(ref) == tip.commit
        if slug in active or not pushed:
            stay.append((slug, "active" if slug in active else "not pushed yet"))
        else:
            closed.append(Closed(slug=slug, month=month, tip=tip))
        if report is not None:
            report("looking", number, len(found))
    return Survey(closed=tuple(closed), stay=tuple(stay))


def _newest(repo: Plumbing, ref: str, tip: Tip) -> Record:
    """The record of a session's newest capture; raises Unreadable where no clone would take it."""
    stored = sessions.open_tip(repo, ref, tip.commit)
    newest = sessions.last_record(repo, stored)
    slug = refs.slug_of(ref)
    if newest is None or stored.head is None or session_slug(stored.head.session) != slug:
        raise Unreadable(f"{ref} holds no session of that name")
    return newest


def _on(repo: Plumbing, remote: Remote) -> dict[str, Oid]:
    """The session refs as a remote was last seen to have them."""
    begin = refs.seen(remote.slug, refs.SESSIONS)
    return {refs.SESSIONS + x.removeprefix(begin): oid for x, oid in repo.refs(begin).items()}


def fold(
    repo: Plumbing,
    closed: Sequence[Closed],
    gone: Forgotten,
    settings: Settings,
    report: Report | None = None,
) -> list[Closed]:
    """Fold month by month, some at a time: what is done is done, wherever it is interrupted."""
    if closed and settings.auto_push:
        outbox.mark(repo.common_dir)
    places = _places(repo)
    by_month: dict[str, list[Closed]] = {}
    for one in closed:
        by_month.setdefault(_month_of(one, places), []).append(one)
    folded: list[Closed] = []
    done = 0
    for month, group in sorted(by_month.items()):
        for start in range(0, len(group), _AT_ONCE):
            part = group[start : start + _AT_ONCE]
            folded += _fold_part(repo, refs.archive(month), part, gone, settings)
            done += len(part)
            if report is not None:
                report("folding", done, len(closed))
    return folded


def _places(repo: Plumbing) -> Places:
    """Where each archived session is."""
    found = archives.tips(repo).items()
    return archives.by_session({ref: archives.entries(repo, tip) for ref, tip in found})


def _month_of(one: Closed, places: Places) -> str:
    """The month of the newest capture, which an archive may have already."""
    newest = next(iter(places.get(one.slug, ())), "")
    return max(one.month, newest.removeprefix(refs.ARCHIVE))


def _fold_part(
    repo: Plumbing, ref: str, part: Sequence[Closed], gone: Forgotten, settings: Settings
) -> list[Closed]:
    """Fold these into one archive: all of them, but for what moves meanwhile."""
    left = list(part)
    for _ in range(_TRIES):
        tip = repo.resolve(ref)
        entries = dict(_entries(repo, left, gone))
        there = archives.entries(repo, tip)
        fresh = {slug: entry for slug, entry in entries.items() if there.get(slug) != entry}
        gone_refs = [
            Swap(ref=refs.SESSIONS + one.slug, old=one.tip.commit, new=None)
            for one in left
            if one.slug in entries
        ]
        moves = []
        if fresh:
            draft = archive_union.draft(archive_union.story(len(fresh)), tip, fresh)
            (new,) = repo.write([draft], settings.author)
            moves = [Swap(ref=ref, old=tip, new=new)]
            odd = _odd(repo, None if fresh.keys() & there.keys() else tip, new, fresh)
            if odd:
                left = [one for one in left if one.slug not in odd]
                continue
        try:
            repo.swap([*moves, *gone_refs])
            return [one for one in left if one.slug in entries]
        except Moved:
            now = repo.refs(refs.SESSIONS)
            left = [one for one in left if now.get(refs.SESSIONS + one.slug) == one.tip.commit]
    return []


def _odd(repo: Plumbing, old: Oid | None, new: Oid, slugs: Iterable[str]) -> set[str]:
    """The entries that other clones would not take, of those that an archive didn't have before."""
    found = (x for x in changed_files(repo, old, new) if x.new is not None)
    files = check.by_entry(Listed(mode=x.mode, oid=x.new or new, path=x.path) for x in found)
    return {slug for slug in slugs if any(check.problems_of_tree(files.get(slug, [])))}


def _entries(
    repo: Plumbing, part: Iterable[Closed], gone: Forgotten
) -> Iterator[tuple[str, Entry]]:
    """What an archive is to hold of each: all that it, or an older archive, has."""
    places = _places(repo)
    for one in part:
        try:
            trees = [one.tip.tree, *places.get(one.slug, {}).values()]
            entry = archive_union.meet(repo, one.slug, trees, gone)
        except Unreadable:
            continue
        if entry is not None:
            yield one.slug, entry


def _push(
    repo: Plumbing,
    settings: Settings,
    remote: Remote,
    done: Collected,
    report: Report | None,
) -> Collected:
    """Push the archives; then, and only then, the remote's session refs may go."""
    from gitsession.sync.exchange import Exchange, try_push
    from gitsession.sync.transport import Line

    exchange = Exchange(repo, settings, Line(repo, remote, watched=True, report=report))
    try:
        with held(folder.home(repo.common_dir) / "push.lock", wait=True):
            pushed = try_push(exchange)
            dropped = exchange.drop_archived()
    except SessionError as error:
        return Collected(folded=done.folded, stay=done.stay, warnings=(error.message,))
    held_back = [f"{x.ref} could not be pushed: {x.reason}" for x in pushed.held]
    if dropped.held:
        held_back.append(
            f"{remote.name} keeps {len(dropped.held)} refs of archived sessions: "
            f"{dropped.held[0].reason}"
        )
    return Collected(
        folded=done.folded,
        stay=done.stay,
        pushed=pushed.refs,
        dropped=dropped.refs,
        warnings=(*pushed.warnings, *held_back),
    )
