"""What a name on the command line stands for: a commit, a session, a turn, a task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from gitsession.errors import Ambiguous, NotFound
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.ids import Oid
from gitsession.model import Frozen, Record
from gitsession.query.index import read_all
from gitsession.store import archives, records, sessions

_TURN = re.compile(r"(?P<session>.+)@(?P<turn>\d{1,7})")
_HEX = re.compile(r"[0-9a-f]{4,64}")


class Target(Frozen, frozen=True, kw_only=True):
    """What a name stands for: exactly one of these."""

    commit: Oid | None = None
    session: sessions.Stored | None = None
    turn: int | None = None
    """A turn of the session."""
    task: tuple[Record, ...] = ()


def get_target(repo: Plumbing, name: str) -> Target:
    """Understand a name; raises NotFound or Ambiguous, with candidates."""
    found = _TURN.fullmatch(name)
    if found is not None:
        stored = _session(repo, found["session"])
        if stored is not None:
            return Target(session=stored, turn=int(found["turn"]))
    commit = repo.resolve(name + "^{commit}")
    if commit is None or _HEX.fullmatch(name):
        stored = _session(repo, name)
        if stored is not None and commit is not None:
            raise Ambiguous(
                "thing", name, [f"commit {commit[:12]}", f"session {refs.slug_of(stored.ref)}"]
            )
        if stored is not None:
            return Target(session=stored)
    if commit is not None:
        return Target(commit=commit)
    task = tuple(_of_task(repo, name))
    if task:
        return Target(task=task)
    raise NotFound(
        "commit, session or task", name, candidates=[*recent(repo)], hint=_hint(repo, name)
    )


def _hint(repo: Plumbing, name: str) -> str | None:
    return None if any(recent(repo)) else "`git session log` lists what there is"


def _session(repo: Plumbing, name: str) -> sessions.Stored | None:
    try:
        return sessions.get_session(repo, name)
    except NotFound:
        return None


def _of_task(repo: Plumbing, name: str) -> Iterator[Record]:
    seen = set()
    # Notes are canonical JSON: one without these bytes needs no decoding.
    wanted = msgspec.json.encode(name)[1:-1]
    for _, note in read_all(repo):
        for record in records.readable(records.decode_note(note)) if wanted in note else ():
            if record.task == name and record.id not in seen:
                seen.add(record.id)
                yield record


def recent(repo: Plumbing, count: int = 5) -> Iterator[str]:
    """The ids of the sessions that were captured last."""
    # A star stands for no slash: archives are not among them.
    out = repo.git(
        "for-each-ref", "--sort=-committerdate", f"--count={count}", "--format=%(refname)",
        refs.SESSIONS + "*",
    )  # fmt: skip
    found = [refs.slug_of(ref) for ref in out.decode("utf-8", "replace").splitlines()]
    yield from found
    if len(found) < count:
        yield from islice(archives.find_slugs(repo, ""), count - len(found))
