"""What is meant when something is to be forgotten, as the repository is now."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gitsession import agents
from gitsession.actions.work import main_tree, rules_of
from gitsession.capture.redact import Redactor
from gitsession.capture.spelled import rules_for, rules_named
from gitsession.config import Settings
from gitsession.errors import Unreadable
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.ids import CaptureId, Oid, SessionId
from gitsession.model import Frozen
from gitsession.query.forgettable import Named, all_records, get_named
from gitsession.store import archives, contents, registry, sessions, tombstones
from gitsession.store.contents import Contents
from gitsession.store.tombstones import Forgotten, Tombstone
from gitsession.sync import forget
from gitsession.sync.forget import Order
from gitsession.sync.forget_text import Cleaner, first_to_name


class Request(Frozen, frozen=True, kw_only=True):
    """What somebody wants to be forgotten."""

    name: str = ""
    """A session, a capture or a commit."""
    text: str | None = None
    """Only this, wherever it stands."""
    rule: str = ""
    """Only what this rule of redaction finds."""
    all_sessions: bool = False

    @property
    def cleans(self) -> bool:
        """Whether something is taken out of captures, and not the captures."""
        return self.text is not None or bool(self.rule)


class Touched(Frozen, frozen=True, kw_only=True):
    """What is forgotten, or would be; nothing has a default, so that `--json` says everything."""

    sessions: tuple[str, ...]
    """Sessions that go as a whole."""
    captures: tuple[CaptureId, ...]
    """Captures that are emptied, or written anew without the text."""
    found: int
    """How often a text stood there."""
    commits: tuple[str, ...]
    """The commits in whose notes something changes."""
    named_by: str
    """The commit that the captures were named by; they are lost for the others too."""
    refs: tuple[str, ...]
    absent: tuple[str, ...]
    """Sessions that the index tells of and that aren't here to be looked through."""
    transcripts: tuple[str, ...]
    """Where the agent itself still has it."""
    remote: str
    again: bool
    """It was forgotten before; what is left of it here goes now."""

    @property
    def nothing(self) -> bool:
        """Whether nothing of the kind is here."""
        return not self.sessions and not self.captures and not self.found


class Scope:
    """What a request means in this repository as it is now."""

    def __init__(
        self, repo: Plumbing, settings: Settings, request: Request, *, write: bool
    ) -> None:
        self.repo = repo
        self._settings = settings
        self._records = all_records(repo)
        self._known = tombstones.read(repo, repo.resolve(refs.INDEX))
        self._named = Named() if request.all_sessions else get_named(repo, request.name)
        self._bare = Tombstone(
            v=tombstones.VERSION,
            session=SessionId(""),
            at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            author=settings.author,
        )
        self._absent: list[str] = []
        self._cleaner: Cleaner | None = None
        if request.cleans:
            self._cleaner = Cleaner(repo, _redactor(repo, settings, request), write=write)
            self._stones = self._look_for_text(self._cleaner, everything=request.all_sessions)
        else:
            self._stones = [*self._whole(), *self._captures()]
        self.gone: Forgotten = tombstones.named_by(self._stones)

    # -- what is meant ----------------------------------------------------------------------

    def _whole(self) -> Iterator[Tombstone]:
        if self._named.session is not None:
            yield msgspec.structs.replace(self._bare, session=self._named.session)

    def _captures(self) -> Iterator[Tombstone]:
        """Tombstones of captures, with the large outputs that came with them."""
        wanted = self._named.captures
        sessions_of = {r.id: r.session for r in self._records if r.id in wanted}
        for session in sorted(self._sessions_of(wanted)):
            for whole in self._copies(session):
                ids = {piece.own.id for piece in whole.pieces} & wanted
                blobs = first_to_name(self.repo, whole) if ids else {}
                for capture in ids:
                    sessions_of[capture] = session
                    yield self._stone(session, capture, blobs.get(capture, []))
                    sessions_of.pop(capture)
        for session in sorted(self._known.partly):
            # What was forgotten before, but perhaps not to the end.
            for capture in tombstones.of_session(self.repo, session).captures & wanted:
                sessions_of[capture] = session
        for capture, session in sorted(sessions_of.items()):
            yield self._stone(session, capture, [])

    def _sessions_of(self, wanted: frozenset[CaptureId]) -> set[SessionId]:
        found = {record.session for record in self._records if record.id in wanted}
        return found or {head for ref in self._own_refs() if (head := self._id_of(ref))}

    def _own_refs(self) -> list[str]:
        return [ref for ref in self.repo.refs(refs.SESSIONS) if refs.is_session(ref)]

    def _id_of(self, ref: str) -> SessionId | None:
        try:
            head = sessions.open_ref(self.repo, ref).head
        except Unreadable:
            return None
        return head.session if head else None

    def _stone(self, session: SessionId, capture: CaptureId, blobs: Sequence[Oid]) -> Tombstone:
        return msgspec.structs.replace(
            self._bare, session=session, capture=capture, blobs=tuple(sorted(blobs))
        )

    def _copies(self, session: SessionId) -> Iterator[Contents]:
        """A session as its ref has it, and as each archive does."""
        ref = refs.session(session)
        trees = {oid for slug, oid in archives.every_copy(self.repo) if slug == refs.slug_of(ref)}
        for tip in filter(None, (self.repo.resolve(ref), *sorted(trees))):
            try:
                yield contents.read(self.repo, tip)
            except Unreadable:
                continue

    def _look_for_text(self, cleaner: Cleaner, *, everything: bool) -> list[Tombstone]:
        wanted = {self._named.session} if self._named.session else set()
        wanted |= self._sessions_of(self._named.captures) if self._named.captures else set()
        if everything:
            wanted = {record.session for record in self._records}
            wanted |= {head for ref in self._own_refs() if (head := self._id_of(ref))}
        for session in sorted(filter(None, wanted)):
            said = [record for record in self._records if record.session == session]
            copies = [*self._copies(session)]
            if not copies and session not in self._known.sessions:
                self._absent.append(session)
            for whole in copies:
                cleaner.look(whole, said)
        return cleaner.stones(self._bare)

    # -- what comes of it --------------------------------------------------------------------

    def order(self) -> Order:
        """What to do."""
        gone, cleaner = self.gone, self._cleaner
        if cleaner is None:
            return Order(
                stones=tuple(self._stones), clean=lambda whole: contents.emptied(whole, gone)
            )
        return Order(stones=tuple(self._stones), clean=cleaner.clean, renew=cleaner.clean_record)

    def touched(self, remote: str) -> Touched:
        """What that touches."""
        gone = self.gone
        concerned = sorted(gone.sessions | gone.partly)
        commits = {r.commit or r.base for r in self._records if gone.covers(r)}
        found_refs = forget.find_refs(self.repo, concerned)
        return Touched(
            sessions=tuple(sorted(gone.sessions)),
            captures=tuple(sorted(gone.captures)),
            found=self._cleaner.count if self._cleaner else 0,
            commits=tuple(sorted(filter(None, commits))),
            named_by=self._named.commit or "",
            refs=(*found_refs, *([refs.INDEX] if concerned else [])),
            absent=tuple(self._absent),
            transcripts=tuple(self._transcripts(concerned)),
            remote=remote,
            again=bool(concerned) and tombstones.beyond(self._known, gone) == Forgotten(),
        )

    def _transcripts(self, concerned: Iterable[SessionId]) -> Iterator[str]:
        """The agent's own files: none of ours, so nobody but the user removes them."""
        for session in concerned:
            known = registry.find(self.repo.common_dir, session)
            places = {known.source} if known else set()
            for name in agents.NAMES:
                places.add(agents.get(name).find_source(session, os.environ) or "")
            yield from sorted(place for place in places if place and Path(place).exists())


def _redactor(repo: Plumbing, settings: Settings, request: Request) -> Redactor:
    if request.text is not None:
        return Redactor(rules_for(request.text))
    rules = rules_of(settings, repo.work_tree or main_tree(repo))
    return Redactor(rules_named(request.rule, rules))
