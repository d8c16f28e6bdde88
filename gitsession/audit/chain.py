"""Whether a session only ever grew: no commit of it lost or changed what the one before held."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gitsession.audit.contents import read_text
from gitsession.audit.finding import Finding, error, warning
from gitsession.audit.objects import Away, Objects
from gitsession.audit.session import Capture, Chain, Session, Step, by_id, read_captures
from gitsession.errors import Unreadable
from gitsession.git.parse import clean_ident
from gitsession.git.repository import Changed
from gitsession.ids import Oid
from gitsession.model import Author, Record
from gitsession.store import check, codec, layout, records
from gitsession.store.tombstones import Forgotten


def check_order(session: Session) -> Iterator[Finding]:
    """Look that captures follow each other in time, and come from where the session does."""
    known = [capture for capture in session.captures if capture.own is not None]
    for before, after in pairwise(known):
        assert before.own is not None and after.own is not None
        if after.own.captured_at < before.own.captured_at:
            what = f"it was captured at {after.own.captured_at}"
            yield error(
                session.where(after),
                f"{what}, before capture {before.seq} ({before.own.captured_at})",
            )
    ids = by_id(known)
    for capture in known:
        own = capture.own
        assert own is not None
        if ids[own.id] is not capture:
            yield error(session.where(capture), "another capture has the same id")
        if session.head and not capture.is_stub and own.parent != session.head.parent:
            what = f"its record and {layout.HEAD} don't agree on what it is a fork of"
            yield error(session.where(capture), what)


def check_chain(
    objects: Objects, session: Session, chain: Chain, gone: Forgotten
) -> Iterator[Finding]:
    """What a session lost on its way."""
    if chain.problem:
        yield error(session.ref, f"its history can't be read: {chain.problem}")
    objects.sizes(oid for step in chain.steps for oid in _records_in(step))
    for step in chain.steps:
        where = f"{session.ref} commit {step.commit.oid[:12]}"
        if len(step.commit.parents) > 1:
            yield error(where, "it has more than one parent")
        if step.parent is None:
            continue
        yield from _check_results(where, session, step, gone)
        try:
            if not _only_adds(objects, step):
                yield from _compare(objects, where, session, step, gone)
        except Away:
            continue
        except Unreadable as why:
            yield error(where, f"what it changed can't be read: {why.message}")


def _check_results(where: str, session: Session, step: Step, gone: Forgotten) -> Iterator[Finding]:
    """Large outputs stay; but what was forgotten may have been in one."""
    if session.id in gone.sessions | gone.partly:
        return
    for change in step.changes:
        if change.path.startswith(f"{layout.RESULTS}/") and change.new is None:
            yield error(where, f"{change.path!r} was taken out")


def _records_in(step: Step) -> Iterator[Oid]:
    """The files of records that a commit changed, as they were and as they became."""
    for change in step.changes:
        if change.old and change.new and layout.record_seq(change.path) is not None:
            yield from (change.old, change.new)


def _only_adds(objects: Objects, step: Step) -> bool:
    """Whether a commit did what captures do: bring files, and add lines to records."""
    return all(
        change.old is None
        or change.path == layout.HEAD
        or change.path.startswith(f"{layout.RESULTS}/")
        or _is_longer(objects, change)
        for change in step.changes
    )


def _is_longer(objects: Objects, change: Changed) -> bool:
    if change.old is None or change.new is None or layout.record_seq(change.path) is None:
        return False
    sizes = objects.sizes([change.old, change.new])
    if max(sizes.values(), default=0) > check.MAX_RECORD:
        return False
    return objects.read(change.new).startswith(objects.read(change.old))


def _compare(
    objects: Objects, where: str, session: Session, step: Step, gone: Forgotten
) -> Iterator[Finding]:
    """Compare capture by capture where numbers may have changed: sessions were joined."""
    assert step.parent is not None
    before = by_id(_captures(objects, step.parent))
    after = by_id(_captures(objects, step.commit.tree))
    whole = {_moment(capture) for capture in after.values() if not capture.is_stub}
    for name, capture in before.items():
        same = after.get(name)
        if same is not None:
            yield from _compare_capture(objects, where, capture, same)
        elif capture.is_stub and _moment(capture) in whole:
            # Elsewhere only a secret was taken out of it, and that is what stays.
            continue
        elif session.id not in gone.sessions and name not in gone.captures:
            what = f"capture {capture.seq} ({name}) is missing since, and no tombstone names it"
            yield error(where, what)


def _captures(objects: Objects, tree: Oid) -> list[Capture]:
    files = {file.path: file.oid for file in objects.files(tree)}
    return list(read_captures(objects, files).values())


def _moment(capture: Capture) -> tuple[str, int]:
    assert capture.own is not None
    return capture.own.captured_at, capture.own.offset


def _compare_capture(
    objects: Objects, where: str, before: Capture, after: Capture
) -> Iterator[Finding]:
    lost = {r.commit for r in before.records} - {r.commit for r in after.records}
    for commit in sorted(str(commit)[:12] for commit in lost):
        yield error(where, f"capture {before.seq} lost its record of commit {commit}")
    for name, oid in before.files.items():
        other = after.files.get(name)
        if other is None:
            yield error(where, f"capture {before.seq} lost {name}")
        elif other != oid and not _is_same_text(objects, oid, other):
            yield error(where, f"capture {before.seq} has other lines since ({name})")


def _is_same_text(objects: Objects, one: Oid, other: Oid) -> bool:
    """Whether two blobs are the same lines, packed by different versions of zstd."""
    limit = codec.MAX_SEGMENT
    return read_text(objects, one, limit=limit).hash == read_text(objects, other, limit=limit).hash


# -- who ------------------------------------------------------------------------------------


def check_authors(objects: Objects, session: Session, chain: Chain) -> Iterator[Finding]:
    """Captures that somebody committed whom their record doesn't name."""
    for step in chain.steps:
        record = _brought(objects, step)
        author = step.commit.author
        if (
            record is None
            or record.author is None
            or _same(record.author, author.name, author.email)
        ):
            continue
        said = f"{record.author.name} <{record.author.email}>"
        yield warning(
            f"{session.ref} commit {step.commit.oid[:12]}",
            f"it is by {author.name} <{author.email}>, and its record says {said}",
        )


def _same(author: Author, name: str, email: str) -> bool:
    return (clean_ident(author.name), clean_ident(author.email)) == (name, email)


def _brought(objects: Objects, step: Step) -> Record | None:
    """The record of the one capture that a commit brought; None where it did anything else."""
    found = [x for x in step.changes if layout.record_seq(x.path) is not None]
    if len(found) != 1 or found[0].old is not None or found[0].new is None:
        return None
    try:
        data = objects.read(found[0].new)
    except Unreadable:
        return None
    first = next(iter(data.split(b"\n")), b"")
    record = records.decode(first)
    return record if isinstance(record, Record) else None
