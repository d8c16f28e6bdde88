"""What a push to a shared repository would change, and who may have it so.

The checks run in the quarantine of `git receive-pack`: the objects are there to
be looked at, no ref has moved yet, and what is refused leaves no trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from gitsession.errors import SessionError, Unreadable
from gitsession.git import refs, wary
from gitsession.git.inspect import is_ancestor
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Commit
from gitsession.git.wary import Thing
from gitsession.ids import CaptureId, Oid, SessionId, is_oid, session_slug
from gitsession.model import Foreign, Frozen, Record
from gitsession.store.tombstones import Forgotten
from gitsession.sync.fold import read_forgotten

SESSION, ARCHIVE, INDEX, SNAPSHOT, PRIVATE, MISNAMED = (
    "session", "archive", "index", "snapshot", "private", "misnamed",
)  # fmt: skip

_OURS = (refs.SESSIONS, refs.SNAPSHOTS, refs.REMOTES, f"{refs.INDEX}/")
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
_MAX_COMMIT = 1 << 20
FORGED = "this server takes only what is the pusher's own: see docs/server.md, checkAuthor"


class Refused(SessionError):
    """A ref can't be taken as it was pushed."""


class Refusing(Refused):
    """The same, of something that several refs may have brought."""

    def __init__(self, ref: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.ref = ref


class Command(Frozen, frozen=True, kw_only=True):
    """One ref that a push wants to move."""

    ref: str
    old: Oid | None
    new: Oid | None


class Rules(Frozen, frozen=True, kw_only=True):
    """What the server's owner has decided."""

    max_segment: int = 1 << 30
    """Bytes that one stored part may unpack to."""
    max_blob: int = 100 << 20
    pusher: frozenset[str] | None = None
    """The addresses of the one who pushes; None where anybody may push for anybody."""


class Refusal(Frozen, frozen=True, kw_only=True):
    """A ref, why it is refused, and what to do."""

    ref: str
    why: str
    hint: str


def parse(lines: str) -> list[Command]:
    """The lines that git gives a pre-receive hook; raises Unreadable."""
    found = []
    for line in filter(None, lines.split("\n")):
        words = line.split(" ", 2)
        if len(words) != 3 or not is_oid(words[0]) or not is_oid(words[1]):
            raise Unreadable(f"this is no line of a push: {line[:200]!r}")
        old, new = (Oid(word) if word.strip("0") else None for word in words[:2])
        found.append(Command(ref=words[2], old=old, new=new))
    return found


def kind_of(ref: str) -> str | None:
    """What a ref of ours is for; None for one that is none of our business."""
    if ref == refs.INDEX:
        return INDEX
    if not f"{ref}/".startswith(_OURS):
        return None
    if ref.startswith(refs.REMOTES):
        return PRIVATE
    if ref.startswith(refs.ARCHIVE):
        return ARCHIVE if _MONTH.fullmatch(ref.removeprefix(refs.ARCHIVE)) else MISNAMED
    for begin, kind in ((refs.SESSIONS, SESSION), (refs.SNAPSHOTS, SNAPSHOT)):
        if ref.startswith(begin) and is_slug(ref.removeprefix(begin)):
            return kind
    return MISNAMED


def is_slug(name: str) -> bool:
    """Whether a name can stand for a session."""
    return session_slug(SessionId(name)) == name


class Ground:
    """The repository that is pushed to, and the push."""

    def __init__(self, repo: Plumbing, commands: Iterable[Command], rules: Rules) -> None:
        self.repo = repo
        self.rules = rules
        self.commands = {command.ref: command for command in commands}
        self.fresh: Mapping[Oid, Thing] = {}
        """What the push brings of what is being looked at."""
        self.packed: frozenset[Oid] = frozenset()
        """Fresh objects that unpack within bounds."""
        self.index_is_good = False

    @cached_property
    def gone(self) -> Forgotten:
        """What was forgotten, by this push too if its index can be taken."""
        moved = self.commands.get(refs.INDEX)
        new = moved.new if moved is not None and self.index_is_good else None
        return read_forgotten(self.repo, new or self.repo.resolve(refs.INDEX))

    @cached_property
    def forgotten_slugs(self) -> frozenset[str]:
        """The sessions that were forgotten, as refs name them."""
        return frozenset(map(session_slug, self.gone.sessions))

    @cached_property
    def partly_slugs(self) -> frozenset[str]:
        """Those of which captures were."""
        return frozenset(map(session_slug, self.gone.partly))

    @cached_property
    def archives(self) -> list[Oid]:
        """The archives as they would be after the push."""
        held = self.repo.refs(refs.ARCHIVE)
        moved = {c.ref: c.new for c in self.commands.values() if c.ref.startswith(refs.ARCHIVE)}
        return [oid for oid in {**held, **moved}.values() if oid is not None]

    def take_in(self, commands: Sequence[Command], *, plain: bool) -> None:
        """See what some refs bring; refuse what is too large, and folders that hold odd things."""
        self.fresh = wary.fresh(self.repo, [c.new for c in commands if c.new is not None])
        for oid, thing in self.fresh.items():
            problem = _problem_of(thing, self.rules)
            if not problem and plain and thing.kind == "tree":
                problem = wary.problem_of(self.repo, oid)
            if problem:
                raise Refusing(self.bringer(commands, oid), problem)

    def bringer(self, commands: Sequence[Command], oid: Oid) -> str:
        """The ref that brings an object."""
        for command in commands[:-1]:
            if command.new and oid in wary.fresh(self.repo, [command.new]):
                return command.ref
        return commands[-1].ref

    def commit(self, oid: Oid) -> Commit:
        """The commit that a ref shall lead to."""
        kind = self.fresh[oid].kind if oid in self.fresh else self._kind(oid)
        if kind != "commit":
            raise Refused(f"it leads to a {kind}, not to a commit")
        return self.repo.get_commit(oid)

    def _kind(self, oid: Oid) -> str:
        return wary.things(self.repo, f"{oid}\n".encode())[oid].kind

    def moves_on(self, command: Command) -> bool:
        """Whether a ref keeps all the history it had."""
        if command.old is None or command.new is None:
            return command.old is None
        return is_ancestor(self.repo, command.old, command.new)

    # -- who ------------------------------------------------------------------------------

    def vouch_for_commits(self, commands: Sequence[Command]) -> None:
        """Refuse commits of somebody else than the one who pushes."""
        for oid, thing in self.fresh.items():
            if self.rules.pusher is None or thing.kind != "commit":
                continue
            commit = self.repo.get_commit(oid)
            for who in (commit.author, commit.committer):
                if who.email.lower() not in self.rules.pusher:
                    what = f"its commit {oid[:12]} is by {who.email or 'nobody'}, who isn't pushing"
                    raise Refusing(self.bringer(commands, oid), what, hint=FORGED)

    def vouch(
        self, lines: Iterable[Record | Foreign], known: Iterable[tuple[CaptureId, str]] = ()
    ) -> None:
        """Refuse records of somebody else, unless the repository has them by them already."""
        if self.rules.pusher is None:
            return
        known = set(known)
        for line in lines:
            if isinstance(line, Foreign):
                raise Refused("it has a record whose author this server can't read")
            who = author_of(line)
            if who and who not in self.rules.pusher and (line.id, who) not in known:
                raise Refused(
                    f"the record of capture {line.seq} of {line.session} is by {who}", hint=FORGED
                )


def author_of(record: Record) -> str:
    """The address of the one whose capture it is."""
    return record.author.email.lower() if record.author else ""


def _problem_of(thing: Thing, rules: Rules) -> str:
    """What is wrong with an object by itself."""
    if thing.kind == "tag":
        return "it brings a tag"
    most = {"blob": rules.max_blob, "tree": wary.MAX_TREE}.get(thing.kind, _MAX_COMMIT)
    what = {"blob": "file"}.get(thing.kind, thing.kind)
    if thing.size <= most:
        return ""
    return f"it brings a {what} of {thing.size} bytes; {most} are allowed"
