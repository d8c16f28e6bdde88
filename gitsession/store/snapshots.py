"""Snapshots of the work tree: a chain of commits for each session, local unless asked for.

A snapshot's tree is the work tree, its parents are the session's snapshot before it
and the commit that HEAD was at, so that neither can be lost while it is kept. What
is known of it stands in trailers; everything else is for people.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from gitsession.errors import Moved
from gitsession.git import refs
from gitsession.git.parse import clean_ident
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Swap
from gitsession.git.run import run
from gitsession.git.worktree import Taken
from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Author, Turn
from gitsession.store import folder
from gitsession.store.lock import held
from gitsession.store.states import Draft, Snapshot, parse, render, seconds

NEAR = 0.5
"""Seconds that a start may be away from its turn's first line: two clocks tell of them."""
LAG = 0.1
"""Seconds by which a line may be older than the hook of its event."""

_TRIES = 5
_DAY = 86400.0


# -- places -----------------------------------------------------------------------------------


def _name(git_dir: Path) -> str:
    linked = git_dir.parent.name == "worktrees"
    return f"worktree-{git_dir.name}" if linked else "main"


def side_index(common_dir: Path, git_dir: Path) -> Path:
    """The index that a work tree's snapshots are made with."""
    return folder.home(common_dir) / "index" / _name(git_dir)


def restore_folder(common_dir: Path, git_dir: Path) -> Path:
    """Where a state is prepared that is put back into a work tree."""
    return folder.home(common_dir) / "restore" / _name(git_dir)


def unfinished(common_dir: Path) -> list[Path]:
    """The git directories of the work trees where putting back a state was broken off."""
    try:
        names = [path.name for path in (folder.home(common_dir) / "restore").iterdir()]
    except OSError:
        return []
    linked = [name.removeprefix("worktree-") for name in sorted(names) if name != "main"]
    main = [common_dir] if "main" in names else []
    return [*main, *(common_dir / "worktrees" / name for name in linked)]


@contextmanager
def locked(common_dir: Path, git_dir: Path) -> Iterator[None]:
    """Be the only one who keeps or puts back a state of a work tree."""
    with held(folder.home(common_dir) / "index" / f"{_name(git_dir)}.held", wait=True):
        yield


# -- writing ----------------------------------------------------------------------------------


def write(repo: Plumbing, taken: Taken, draft: Draft, author: Author) -> Oid | None:
    """Keep a state as the session's newest; None when it is the same as the last.

    What is there before a rewind is always kept, for it is looked for by its moment, and
    so is what comes after one, for a turn's state is not looked for among those.
    """
    ref = refs.snapshots(draft.session)
    for _ in range(_TRIES):
        last = find_last(repo, draft.session)
        same = last is not None and (last.tree, last.head) == (taken.tree, taken.head)
        if last is not None and same and "rewind" not in (draft.moment, last.moment):
            return None
        old = last.oid if last else repo.resolve(ref)
        oid = _commit(repo, taken, draft, author, old)
        try:
            repo.swap([Swap(ref=ref, old=old, new=oid)])
        except Moved:
            continue
        return oid
    raise Moved("the session's snapshots were moved by somebody else meanwhile")


def _commit(repo: Plumbing, taken: Taken, draft: Draft, author: Author, old: Oid | None) -> Oid:
    who = {"NAME": clean_ident(author.name), "EMAIL": clean_ident(author.email)}
    more = {f"GIT_{role}_{key}": who[key] for role in ("AUTHOR", "COMMITTER") for key in who}
    parents = [word for oid in dict.fromkeys((old, taken.head)) if oid for word in ("-p", oid)]
    words = [f"--git-dir={repo.git_dir}", "commit-tree", *parents, taken.tree]
    message = render(taken, draft).encode("utf-8", "surrogateescape")
    out = run(words, cwd=repo.common_dir, stdin=message, more={**repo.more, **more})
    return Oid(out.decode().strip())


# -- reading ----------------------------------------------------------------------------------


def read_all(repo: Plumbing, session: SessionId) -> list[Snapshot]:
    """A session's snapshots, oldest first: one process."""
    return list(_newest_first(repo, session))[::-1]


def find_last(repo: Plumbing, session: SessionId) -> Snapshot | None:
    """A session's newest snapshot."""
    return next(_newest_first(repo, session), None)


def _newest_first(repo: Plumbing, session: SessionId) -> Iterator[Snapshot]:
    ref, slug = refs.snapshots(session), session_slug(session)
    if repo.resolve(ref) is None:
        return
    words = ["log", "-z", "--first-parent", "--no-show-signature", "--no-notes", "--no-color",
             "--encoding=UTF-8", "--format=tformat:%H %T%n%B", ref, "--"]  # fmt: skip
    with repo.start(*words) as process:
        try:
            for text in _records(cast(IO[bytes], process.stdout)):
                found = parse(text)
                # Below the first snapshot lies the history of the code.
                if found is None or session_slug(SessionId(found.session)) != slug:
                    return
                yield found
        finally:
            process.kill()


def _records(stream: IO[bytes]) -> Iterator[str]:
    """What a stream holds between its NUL bytes, as it comes."""
    rest = b""
    while piece := os.read(stream.fileno(), 1 << 16):
        *whole, rest = (rest + piece).split(b"\0")
        yield from (one.decode("utf-8", "surrogateescape") for one in whole)


# -- which one --------------------------------------------------------------------------------


def snapshot_at(
    snapshots: Sequence[Snapshot], turns: Sequence[Turn], number: int
) -> Snapshot | None:
    """The state at the end of turn `number`, or before the first prompt for 0. Pure.

    States that didn't change were not kept, so it is the newest one up to that
    end. Only when a turn was interrupted does nothing tell of its end: then the
    start of the next one does, or what was there before somebody went back meanwhile.
    """
    begun = _begun(turns)
    if not begun or (number and number not in begun):
        return None
    placed = _placed([one for one in snapshots if one.moment != "rewind"], begun)
    after = min((n for n in begun if n > number), default=None)
    if after is None:
        return placed[-1][1] if placed else None
    before = [pair for pair in placed if pair[0] < (after, 0)]
    place, last = before[-1] if before else ((0, 0), None)
    start = next((one for where, one in placed if where == (after, 0)), None)
    if start is None or place == (number, 1):
        return last
    if number and last is not None:
        # By the same clock where there is a state of the start, else by the other one.
        known = next((seconds(one.at) for where, one in placed if where == (number, 0)), None)
        ended = seconds(start.ended)
        if ended is not None and ended >= (known or begun[number] + LAG):
            return last
    aside = (one for one in snapshots if number and one.moment == "rewind")
    return next((one for one in aside if _place(one, begun) == (number, 1)), start)


def snapshot_before(
    snapshots: Sequence[Snapshot], turns: Sequence[Turn], number: int
) -> Snapshot | None:
    """The state when the prompt of turn `number` was sent. Pure."""
    begun = _begun(turns)
    placed = _placed([one for one in snapshots if one.moment != "rewind"], begun) if begun else []
    before = [one for where, one in placed if where <= (number, 0)]
    return before[-1] if before and number in begun else None


def _begun(turns: Sequence[Turn]) -> dict[int, float]:
    """When each turn began."""
    begun = {turn.number: at for turn in turns if (at := seconds(turn.started_at)) is not None}
    return {n: at for n, at in begun.items() if n > 0}


def _placed(
    snapshots: Sequence[Snapshot], begun: dict[int, float]
) -> list[tuple[tuple[int, int], Snapshot]]:
    """Where in the conversation each one is; they follow each other, whatever the clocks say."""
    found: list[tuple[tuple[int, int], Snapshot]] = []
    for one in snapshots:
        place = _place(one, begun)
        if found and place < found[-1][0]:
            place = (found[-1][0][0], 1)
        found.append((place, one))
    return found


def _place(snapshot: Snapshot, begun: dict[int, float]) -> tuple[int, int]:
    """The turn that a snapshot belongs to, and 0 for its start or 1 for what came after."""
    at = seconds(snapshot.at) or 0.0
    if snapshot.moment in ("start", "barrier"):
        gap, nearest = min((abs(start - at), n) for n, start in begun.items())
        if gap <= NEAR:
            return nearest, 0
    return max((n for n, start in begun.items() if start + LAG <= at), default=0), 1


# -- expiry -----------------------------------------------------------------------------------


def expire(
    repo: Plumbing, *, days: int, active: Collection[SessionId], now: float | None = None
) -> list[str]:
    """Drop the snapshots of sessions whose last one is too old; gives back their refs."""
    limit = (time.time() if now is None else now) - days * _DAY
    spared = {refs.snapshots(session) for session in active}
    out = repo.git("for-each-ref", "--format=%(objectname) %(committerdate:unix) %(refname)",
                   refs.SNAPSHOTS)  # fmt: skip
    dropped = []
    for line in out.decode("utf-8", "replace").splitlines():
        oid, at, ref = line.split(" ", 2)
        if ref in spared or not at.isdigit() or int(at) >= limit:
            continue
        try:
            repo.swap([Swap(ref=ref, old=Oid(oid), new=None)])
        except Moved:
            continue
        dropped.append(ref)
    return dropped
