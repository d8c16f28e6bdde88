"""Checks what is kept: contents against records, the chain, the index against the refs, signatures.

Nothing is changed and nothing is fetched. What isn't here is counted, not blamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from gitsession import config
from gitsession.audit import chain, index
from gitsession.audit.contents import check_contents
from gitsession.audit.finding import REINDEX, Finding, Level, error
from gitsession.audit.forgotten import check_forgotten
from gitsession.audit.index import Index, Key, Met, Told
from gitsession.audit.objects import Away, Objects
from gitsession.audit.session import (
    Chain,
    Place,
    Session,
    read_chain,
    read_session,
)
from gitsession.audit.shape import check_shape
from gitsession.audit.signatures import Signed, check_signatures
from gitsession.errors import Ambiguous, NotFound, SessionError, Unreadable
from gitsession.git import refs
from gitsession.git.parse import parse_commit
from gitsession.git.plumbing import Plumbing, discover
from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Frozen, Record
from gitsession.query.names import recent
from gitsession.store import archives, records

_AT_ONCE = 200
"""Sessions whose sizes and signatures git is asked for in one go."""


class Checked(Frozen, frozen=True, kw_only=True):
    """What was looked at, and what is not here to be looked at."""

    sessions: int = 0
    captures: int = 0
    notes: int = 0
    away: tuple[str, ...] = ()
    """Sessions in question that aren't here, or not all of them."""
    elsewhere: int = 0
    """Sessions of the index that have no ref here."""
    absent: int = 0
    """Commits with notes that aren't here."""
    cut: int = 0
    """Sessions of whose history only the end is here."""
    shallow: bool = False


class Verified(Frozen, frozen=True, kw_only=True):
    """What came of it."""

    findings: tuple[Finding, ...]
    checked: Checked

    @property
    def errors(self) -> int:
        """How many findings are no mere warnings."""
        return sum(found.level == "error" for found in self.findings)


class Scope(Frozen, frozen=True, kw_only=True):
    """What is in question."""

    slugs: frozenset[str]
    """Sessions that are here."""
    commits: frozenset[Oid] = frozenset()
    away: tuple[str, ...] = ()
    """Sessions that aren't."""
    everything: bool = False


def verify(
    path: Path, names: Sequence[str] = (), *, everything: bool = False, signed: bool = False
) -> Verified:
    """Check the sessions and commits that were named, HEAD's, or all there are."""
    with discover(path) as repo:
        settings = config.load(repo.work_tree or repo.common_dir)
        objects = Objects(repo, partial=settings.partial)
        unsigned: Level | None = "error" if signed else "warning" if settings.sign else None
        return _Audit(objects, unsigned).run(names, everything=everything)


class _Audit:
    """One run."""

    def __init__(self, objects: Objects, unsigned: Level | None) -> None:
        self._objects = objects
        self._repo: Plumbing = objects.repo
        self._unsigned = unsigned
        self._shallow = _read_shallow(self._repo)
        self._findings: list[Finding] = []
        self._sessions: list[Session] = []
        self._away: list[str] = []
        self._cut = 0
        self._absent = 0

    def run(self, names: Sequence[str], *, everything: bool) -> Verified:
        """Check one thing after the other."""
        tip = self._repo.resolve(refs.INDEX)
        here = self._places()
        found = index.read_index(self._objects, tip)
        self._findings += found.findings
        slugs = frozenset(place.slug for place in here)
        if everything:
            scope = Scope(slugs=slugs, everything=True)
        else:
            scope = _choose(self._objects, found, slugs, names or ("HEAD",))
        self._away += scope.away
        self._check_sessions([place for place in here if place.slug in scope.slugs], found)
        met = self._check_index(scope, found, slugs)
        return Verified(findings=tuple(self._findings), checked=self._count(met))

    def _places(self) -> list[Place]:
        """Where sessions are kept: the archives, the oldest first, and then the refs."""
        every = self._repo.refs(refs.SESSIONS)
        self._objects.look_for(every.values())
        found: list[Place] = []
        for ref, tip in sorted(every.items()):
            if not refs.is_session(ref):
                found += self._places_in(ref, tip)
        return found + [
            Place(ref=ref, slug=refs.slug_of(ref), tip=tip)
            for ref, tip in sorted(every.items())
            if refs.is_session(ref)
        ]

    def _places_in(self, ref: str, tip: Oid) -> Iterator[Place]:
        try:
            tree = parse_commit(tip, self._objects.read(tip)).tree
            entries = self._objects.entries(tree)
        except Away:
            self._away.append(ref)
            return
        except Unreadable as why:
            self._findings.append(error(ref, f"it can't be read: {why.message}"))
            return
        for name, entry in sorted(entries.items()):
            if entry.is_tree and archives.is_slug(name):
                yield Place(ref=f"{ref}:{name}", slug=name, tip=entry.oid, archived=True)
            else:
                self._findings.append(error(ref, f"{name!r} in it is no session"))

    def _check_sessions(self, places: Sequence[Place], found: Index) -> None:
        for start in range(0, len(places), _AT_ONCE):
            part = places[start : start + _AT_ONCE]
            self._objects.hold(place.tip for place in part)
            chains = [one for place in part for one in self._check(place, found)]
            self._findings += check_signatures(self._repo, chains, self._unsigned)

    def _check(self, place: Place, found: Index) -> Iterator[Signed]:
        """Check a session by itself, and give back its chain."""
        try:
            one = read_session(self._objects, place)
            history = self._read_history(place)
        except Away:
            self._away.append(place.slug)
            return
        except Unreadable as why:
            self._findings.append(error(place.ref, f"it can't be read: {why.message}"))
            return
        self._findings += check_shape(one)
        self._findings += check_contents(self._objects, one)
        self._findings += chain.check_order(one)
        self._findings += chain.check_chain(self._objects, one, history, found.gone)
        self._findings += chain.check_authors(self._objects, one, history)
        self._findings += check_forgotten(one, found.gone)
        self._cut += history.cut
        self._sessions.append(msgspec.structs.replace(one, files=()))
        yield Signed(ref=place.ref, chain=history)

    def _read_history(self, place: Place) -> Chain:
        """A session's commits; an archive has none of it any more."""
        if place.archived:
            return Chain(steps=())
        return read_chain(self._objects, place.tip, self._shallow)

    def _check_index(self, scope: Scope, found: Index, slugs: frozenset[str]) -> Met:
        if not found.readable:
            if found.tip is None and any(one.captures for one in self._sessions):
                self._findings.append(error(refs.INDEX, "there is no index here", REINDEX))
            return Met()
        keys: dict[SessionId, dict[Key, Record]] = {}
        for one in self._sessions:
            # What comes last is newest.
            keys.setdefault(one.id, {}).update(_keys(one))
        told = Told(keys=keys, slugs=slugs)
        met = index.check_notes(
            self._objects, found, told, everything=scope.everything, commits=scope.commits
        )
        self._findings += met.findings
        for one in self._sessions:
            self._findings += index.check_indexed(found, one, met)
        kinds = self._objects.kinds(met.commits)
        self._findings += index.check_kinds(kinds)
        self._absent = len(met.commits - kinds.keys())
        return met

    def _count(self, met: Met) -> Checked:
        return Checked(
            sessions=len({one.id for one in self._sessions}),
            captures=sum(len(one.captures) for one in self._sessions),
            notes=met.notes,
            away=tuple(dict.fromkeys(self._away)),
            elsewhere=len(met.elsewhere),
            absent=self._absent,
            cut=self._cut,
            shallow=bool(self._shallow),
        )


def _read_shallow(repo: Plumbing) -> frozenset[str]:
    """The commits where a shallow clone ends."""
    try:
        return frozenset((repo.common_dir / "shallow").read_text("ascii", "replace").split())
    except FileNotFoundError:
        return frozenset()


def _keys(one: Session) -> dict[Key, Record]:
    return {(r.id, r.commit): r for capture in one.captures for r in capture.records}


# -- what is in question --------------------------------------------------------------------


def _choose(objects: Objects, found: Index, here: frozenset[str], names: Sequence[str]) -> Scope:
    """Understand names; raises NotFound or Ambiguous."""
    wanted: set[str] = set()
    commits: set[Oid] = set()
    for name in names:
        slug = _find_session(objects.repo, here, name)
        if slug is not None:
            wanted.add(slug)
            continue
        commit = objects.repo.resolve(name + "^{commit}")
        if commit is None:
            raise _unknown(objects.repo, name)
        commits.add(commit)
        wanted.update(map(session_slug, _sessions_of(objects, found, commit)))
    return Scope(
        slugs=frozenset(wanted & here),
        commits=frozenset(commits),
        away=tuple(sorted(wanted - here)),
    )


def _unknown(repo: Plumbing, name: str) -> NotFound:
    if name == "HEAD":
        return NotFound("commit", name, hint="there is no commit here yet")
    hint = "`git session log --all` lists sessions, `git session fetch ID` brings one here"
    candidates = [*recent(repo)]
    return NotFound(
        "commit or session", name, candidates=candidates, hint=None if candidates else hint
    )


def _find_session(repo: Plumbing, here: frozenset[str], name: str) -> str | None:
    """A session by its id or the beginning of one, damaged or not."""
    exact = session_slug(SessionId(name))
    found = [exact] if exact in here else sorted(slug for slug in here if slug.startswith(name))
    if not found or not name:
        return None
    commit = repo.resolve(name + "^{commit}")
    things = [f"session {slug}" for slug in found[:8]]
    things += [f"commit {commit[:12]}"] if commit else []
    if len(things) > 1:
        raise Ambiguous("thing", name, things)
    return found[0]


def _sessions_of(objects: Objects, found: Index, commit: Oid) -> list[SessionId]:
    """The sessions that a commit's note names."""
    texts = objects.read_many(file.oid for file in found.notes_of(commit))
    lines = [line for x in texts if isinstance(x, bytes) for line in records.decode_note(x)]
    own = [line for line in lines if isinstance(line, Record) and line.commit == commit]
    if not own:
        raise SessionError(
            f"commit {commit[:12]} has no session", hint="`git session verify --all` checks all"
        )
    return list(dict.fromkeys(record.session for record in own))
