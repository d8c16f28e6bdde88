"""Sessions as they are kept: a chain of commits whose tip's tree is the whole session."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gitsession.errors import Ambiguous, NotFound, Unreadable
from gitsession.git import refs
from gitsession.git.repository import Draft, Entry, Link, Repository, Swap
from gitsession.ids import Oid, SessionId, session_slug
from gitsession.model import Author, Foreign, Frozen, Parent, Record
from gitsession.store import archives, codec, layout, records

FORMAT = 1

_MAX_READ = 1000
_read: dict[tuple[Oid, str], tuple[int, ...]] = {}
"""The captures in folders, by what git calls their content; it can't become wrong."""


class Head(Frozen, frozen=True, kw_only=True):
    """What `session.json` says."""

    v: int
    session: SessionId
    agent: str
    parent: Parent | None = None


class Stored(Frozen, frozen=True, kw_only=True):
    """A session's ref as it was seen, with its captures' numbers."""

    ref: str
    tip: Oid | None = None
    """What holds it all: a commit, or its tree in an archive."""
    head: Head | None = None
    seqs: tuple[int, ...] = ()
    archived: bool = False
    """An archive has it, and the ref doesn't exist."""

    @property
    def next_seq(self) -> int:
        """The number of the next capture."""
        return self.seqs[-1] + 1 if self.seqs else 1


_head = msgspec.json.Decoder(Head)


def encode_head(head: Head) -> bytes:
    """The bytes of `session.json`."""
    return msgspec.json.encode(head, order="sorted") + b"\n"


def open_ref(repo: Repository, ref: str) -> Stored:
    """A session by its ref, archived or not; one without a tip when there is none."""
    tip = repo.resolve(ref)
    if tip is not None:
        return open_tip(repo, ref, tip)
    tree = archives.find_tree(repo, refs.slug_of(ref))
    return open_tip(repo, ref, tree, archived=True) if tree else Stored(ref=ref)


def open_tip(repo: Repository, ref: str, tip: Oid, *, archived: bool = False) -> Stored:
    """A session by what holds it."""
    head = read_head(repo, tip, ref)
    seqs = tuple(sorted(_seqs(repo, tip)))
    return Stored(ref=ref, tip=tip, head=head, seqs=seqs, archived=archived)


def unfold(repo: Repository, stored: Stored, author: Author) -> Stored:
    """The session with a ref of its own again, so that it can go on; raises Moved."""
    if not stored.archived:
        return stored
    links = tuple(Link(path=x.path, oid=x.oid, mode=x.mode) for x in repo.tree(str(stored.tip)))
    draft = Draft(message="Taken out of the archive again\n", links=links)
    (tip,) = repo.write([draft], author)
    repo.swap([Swap(ref=stored.ref, old=None, new=tip)])
    return msgspec.structs.replace(stored, tip=tip, archived=False)


def read_head(repo: Repository, tip: Oid, ref: str = "") -> Head:
    """What `session.json` says; raises Unreadable."""
    data = repo.read(f"{tip}:{layout.HEAD}")
    try:
        return _head.decode(data or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"{ref or tip} holds no readable session: {error}") from None


def open_session(repo: Repository, session: SessionId) -> Stored:
    """A session by its id; one without a tip when nothing of it is kept."""
    return open_ref(repo, refs.session(session))


def _seqs(repo: Repository, tip: Oid) -> Iterator[int]:
    for entry in repo.tree(f"{tip}:{layout.CAPTURES}"):
        if entry.is_tree:
            yield from _seqs_in(repo, entry)
        elif (seq := layout.seq_of(entry.path)) is not None:
            yield seq


def _seqs_in(repo: Repository, folder: Entry) -> tuple[int, ...]:
    """The captures in one folder of hundred: a full one never changes, so it is read once."""
    key = (folder.oid, folder.path)
    if key not in _read:
        found = layout.seqs_in(repo.read(folder.oid) or b"")
        if len(_read) >= _MAX_READ:
            _read.clear()
        _read[key] = found
    return _read[key]


def get_session(repo: Repository, name: str) -> Stored:
    """A session by its id or the beginning of one; raises NotFound or Ambiguous."""
    exact = open_session(repo, SessionId(name))
    if exact.tip is not None:
        return exact
    found = find_refs(repo, name)
    if not found:
        raise NotFound("session", name, hint="`git session log --all` lists them")
    if len(found) > 1:
        raise Ambiguous("session", name, [refs.slug_of(ref) for ref in found[:8]])
    return open_ref(repo, found[0])


def find_refs(repo: Repository, prefix: str) -> list[str]:
    """The refs of the sessions whose id begins so; an archived session's doesn't exist."""
    if not prefix or session_slug(SessionId(prefix)) != prefix:
        return []
    archived = (refs.SESSIONS + slug for slug in archives.find_slugs(repo, prefix))
    return sorted({*repo.refs(f"{refs.SESSIONS}{prefix}*"), *archived})


def record_lines(repo: Repository, stored: Stored, seq: int) -> list[Record | Foreign]:
    """The records of one capture: the one made with it first, then one for each further commit."""
    data = repo.read(f"{stored.tip}:{layout.record(seq)}") if stored.tip else None
    if data is None:
        raise Unreadable(f"{stored.ref} lacks the record of its capture {seq}")
    return records.decode_note(data)


def find_record(repo: Repository, stored: Stored, seq: int) -> Record | None:
    """The record made with a capture, if this version can read it."""
    first = next(iter(record_lines(repo, stored, seq)), None)
    return first if isinstance(first, Record) else None


def find_seq(repo: Repository, stored: Stored, record: Record) -> int | None:
    """Where a session has the capture that a record tells of; None when it isn't here.

    Its number is another one when somebody else's captures came before it.
    """
    if record.seq in stored.seqs and _is_of(repo, stored, record.seq, record):
        return record.seq
    others = (seq for seq in stored.seqs if seq != record.seq)
    return next((seq for seq in others if _is_of(repo, stored, seq, record)), None)


def _is_of(repo: Repository, stored: Stored, seq: int, record: Record) -> bool:
    own = find_record(repo, stored, seq)
    return own is not None and own.id == record.id


def last_record(repo: Repository, stored: Stored) -> Record | None:
    """The record of the newest capture."""
    return find_record(repo, stored, stored.seqs[-1]) if stored.seqs else None


def segment_blob(repo: Repository, stored: Stored, seq: int) -> bytes:
    """The compressed lines of a capture."""
    blob = repo.read(f"{stored.tip}:{layout.segment(seq)}")
    if blob is None:
        raise Unreadable(
            f"the content of capture {seq} of {stored.ref} is not here",
            hint="fetch the session from the remote that has it",
        )
    return blob


def segment_lines(repo: Repository, stored: Stored, seq: int) -> Iterator[bytes]:
    """The lines of a capture, as the agent wrote them but for what was redacted."""
    yield from codec.lines(segment_blob(repo, stored, seq))


def subagent_lines(
    repo: Repository, stored: Stored, seq: int | None = None
) -> dict[str, list[bytes]]:
    """The lines of the subagents, by name: of one capture, or of all."""
    found: dict[str, list[bytes]] = {}
    top = f"{stored.tip}:{layout.SUBAGENTS}"
    for folder in repo.tree(top):
        for number in _subagent_seqs(repo, f"{top}/{folder.path}"):
            blob = repo.read(f"{stored.tip}:{layout.subagent(folder.path, number)}")
            if blob is not None and seq in (None, number):
                found.setdefault(folder.path, []).extend(codec.lines(blob))
    return found


def count_subagent_lines(repo: Repository, stored: Stored, name: str) -> int:
    """How many lines of a subagent are kept."""
    top = f"{stored.tip}:{layout.SUBAGENTS}/{layout.safe(name)}"
    count = 0
    for number in _subagent_seqs(repo, top):
        blob = repo.read(f"{stored.tip}:{layout.subagent(name, number)}")
        count += sum(1 for _ in codec.lines(blob or b""))
    return count


def _subagent_seqs(repo: Repository, tree: str) -> list[int]:
    names = (entry.path.removesuffix(".jsonl.zst") for entry in repo.tree(tree))
    return sorted(int(name) for name in names if name.isdigit())
