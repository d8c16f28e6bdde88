"""Takes a text out of sessions that are kept already, as redaction would have before.

A capture that changes is another capture, with a name of its own: the old one's
tombstone then tells every clone to let go of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gitsession import agents
from gitsession.capture.digest import Digest, shorten
from gitsession.capture.redact import Redactor
from gitsession.capture.segment import Seal, Segment, write_segment
from gitsession.errors import NotFound, Unreadable
from gitsession.git.plumbing import Plumbing
from gitsession.ids import CaptureId, Oid, SessionId, capture_id
from gitsession.model import Foreign, Frozen, Record
from gitsession.store import codec, contents, folder, layout
from gitsession.store.contents import Contents, Piece
from gitsession.store.tombstones import Tombstone
from gitsession.sync.bury import write_blob

_BLOCK = 1 << 20
_WHOLE = 64 << 20


_Words = tuple[str, str, str | None, str | None, tuple[str, ...], tuple[str, ...]]
"""What a record says in words of the user's; names and numbers are not among them."""


_words = msgspec.json.Decoder(_Words)


class _Part(Frozen, frozen=True, kw_only=True):
    """One part of a capture, looked through."""

    text_hash: str
    empty: bool
    found: dict[str, int] = {}
    oid: Oid | None = None
    """What takes its place, when something was found."""
    gain: int = 0
    """Bytes that it takes more."""


class Renewed(Frozen, frozen=True, kw_only=True):
    """What takes the place of a capture."""

    session: SessionId
    id: CaptureId
    files: dict[str, Oid]
    found: dict[str, int]
    gain: int
    prompt: str | None = None


class Cleaner:
    """Finds and replaces; writes objects only where it is told to, and never a ref."""

    def __init__(self, repo: Plumbing, redactor: Redactor, *, write: bool) -> None:
        self._repo = repo
        self._redactor = redactor
        self._write = write
        self._scratch = folder.home(repo.common_dir) / "tmp"
        self._parts: dict[tuple[Oid, bool], _Part] = {}
        self.renewed: dict[CaptureId, Renewed] = {}
        self.blobs: dict[Oid, Oid] = {}
        """Large outputs, and what takes their place."""
        self.blobs_of: dict[SessionId, list[Oid]] = {}

    @property
    def count(self) -> int:
        """How often something was found in the parts of captures."""
        return sum(sum(part.found.values()) for part in self._parts.values())

    # -- looking through ---------------------------------------------------------------------

    def look(self, whole: Contents, indexed: Iterable[Record]) -> None:
        """Go through a session, and what the index alone says of it."""
        session = whole.head.session
        said: dict[CaptureId, list[Record]] = {}
        for record in indexed:
            said.setdefault(record.id, []).append(record)
        for piece in whole.pieces:
            if not piece.is_stub and piece.own.id not in self.renewed:
                self._look_at(whole, piece, said.get(piece.own.id, []))
        for path, oid in whole.others.items():
            if path.startswith(layout.RESULTS + "/") and oid and oid not in self.blobs:
                part = self._part(oid, None)
                if part.found:
                    self.blobs[oid] = part.oid or oid
                    self.blobs_of.setdefault(session, []).append(oid)

    def _look_at(self, whole: Contents, piece: Piece, said: list[Record]) -> None:
        seal = _seal_of(whole.head.agent)
        parts = {name: self._part(oid, seal) for name, oid in sorted(piece.files.items())}
        records = [x for x in (*piece.lines, *said) if isinstance(x, Record)]
        said_so = next(filter(None, (self._find_in_words(record) for record in records)), {})
        found = _total(part.found for part in parts.values())
        if not found and not said_so:
            return
        if not found:
            parts |= self._mark(parts)
        own = piece.own
        hashes = [
            (_name_of(name), part.text_hash) for name, part in parts.items() if not part.empty
        ]
        main = parts.get(contents.MAIN)
        self.renewed[own.id] = Renewed(
            session=own.session,
            id=capture_id(own.session, own.offset, hashes),
            files={
                name: part.oid or piece.files.get(name, Oid("")) for name, part in parts.items()
            },
            found=found or said_so,
            gain=sum(part.gain for part in parts.values()),
            prompt=self._prompt(whole.head.agent, main.oid) if main and main.oid else None,
        )

    def _mark(self, parts: Mapping[str, _Part]) -> dict[str, _Part]:
        """A part that says nothing, for a capture that is another only in its record's words.

        Its name is made of its parts, and the old name is to be buried.
        """
        name = f"{layout.SUBAGENTS}/{contents.FORGOTTEN}"
        had = {part.text_hash for part in parts.values()}
        count = 1
        while hashlib.sha256(contents.BLANK * count).hexdigest() in had:
            count += 1
        text = contents.BLANK * count
        packed = codec.pack(text)
        oid = write_blob(self._repo, packed) if self._write else Oid("")
        text_hash = hashlib.sha256(text).hexdigest()
        return {name: _Part(text_hash=text_hash, empty=False, oid=oid, gain=len(packed))}

    def _part(self, oid: Oid, seal: Seal | None) -> _Part:
        key = (oid, seal is not None)
        if key not in self._parts:
            self._parts[key] = self._read_part(oid, seal)
        return self._parts[key]

    def _read_part(self, oid: Oid, seal: Seal | None) -> _Part:
        blob = self._repo.read(oid)
        if blob is None:
            raise Unreadable(f"{oid[:12]} is not here", hint="fetch the session from its remote")
        redact = self._redactor.redact_lines if seal else self._redactor.redact_text
        digest = hashlib.sha256()
        found: dict[str, int] = {}
        empty = True
        for block in _blocks(blob, _BLOCK if seal else _WHOLE):
            digest.update(block)
            empty = False
            found = _total((found, redact(block).found))
        if not found or not self._write:
            return _Part(text_hash=digest.hexdigest(), empty=empty, found=found)
        made = write_segment(
            _blocks(blob, _BLOCK if seal else _WHOLE),
            redactor=self._redactor, seal=seal, scratch=self._scratch,
        )  # fmt: skip
        try:
            return _Part(
                text_hash=made.text_hash,
                empty=empty,
                found=made.redactions,
                oid=self._keep(made),
                gain=made.size - len(blob),
            )
        finally:
            made.file.unlink(missing_ok=True)

    def _keep(self, made: Segment) -> Oid:
        out = self._repo.git("hash-object", "-w", "--no-filters", "--", str(made.file))
        return Oid(out.decode().strip())

    def _prompt(self, agent: str, main: Oid) -> str | None:
        """The first words of a segment as it is now: of a text that was cut nothing finds half."""
        try:
            adapter = agents.get(agent)
        except NotFound:
            return None
        digest = Digest(lambda path, cwd: None)
        for raw in codec.lines(self._repo.read(main) or b""):
            digest.add(adapter.parse_line(raw))
        return shorten(digest.prompt) if digest.prompt else None

    # -- replacing ---------------------------------------------------------------------------

    def clean(self, whole: Contents) -> Contents:
        """A session with everything in place of what was found in it."""
        pieces = [self._clean_piece(piece) for piece in whole.pieces]
        others = {path: self.blobs.get(oid, oid) for path, oid in whole.others.items()}
        return msgspec.structs.replace(whole, pieces=tuple(pieces), others=others)

    def _clean_piece(self, piece: Piece) -> Piece:
        renewed = self.renewed.get(piece.own.id)
        if renewed is None:
            return piece
        own = self.clean_record(piece.own)
        ties = [x if isinstance(x, Foreign) else self.clean_record(x) for x in piece.ties]
        return Piece(own=own, ties=tuple(ties), files=renewed.files)

    def clean_record(self, record: Record) -> Record:
        """A record as the capture is now; the same when nothing was found in that."""
        renewed = self.renewed.get(record.id)
        if renewed is None:
            return record
        same = renewed.prompt is None or not record.prompt
        new = msgspec.structs.replace(record, prompt=record.prompt if same else renewed.prompt)
        return msgspec.structs.replace(
            self._clean_words(new),
            id=renewed.id,
            size=max(0, record.size + renewed.gain),
            redactions=dict(sorted(_total((record.redactions, renewed.found)).items())),
        )

    def _find_in_words(self, record: Record) -> dict[str, int]:
        """What is found in the words of a record, by rule."""
        return self._redactor.redact_lines(msgspec.json.encode(_words_of(record))).found

    def _clean_words(self, record: Record) -> Record:
        evidence = record.evidence
        after = self._redactor.redact_lines(msgspec.json.encode(_words_of(record)))
        if not after.changed:
            return record
        prompt, summary, branch, task, files, tied = _words.decode(after.data)
        if evidence:
            evidence = msgspec.structs.replace(evidence, files=tied)
        return msgspec.structs.replace(
            record, prompt=prompt, summary=summary, branch=branch, task=task, files=files,
            evidence=evidence,
        )  # fmt: skip

    def stones(self, bare: Tombstone) -> list[Tombstone]:
        """What tells other clones: the captures that are no more, and the outputs."""
        replace = msgspec.structs.replace
        found = [
            replace(bare, session=x.session, capture=old) for old, x in sorted(self.renewed.items())
        ]
        return found + [
            replace(bare, session=session, blobs=tuple(sorted(blobs)))
            for session, blobs in sorted(self.blobs_of.items())
        ]


def _words_of(record: Record) -> _Words:
    tied = record.evidence.files if record.evidence else ()
    return (record.prompt, record.summary, record.branch, record.task, record.files, tied)


def first_to_name(repo: Plumbing, whole: Contents) -> dict[CaptureId, list[Oid]]:
    """The large outputs that came with each capture: it is the first that names them."""
    names = {
        path.removeprefix(layout.RESULTS + "/").removesuffix(".zst").encode(): oid
        for path, oid in whole.others.items()
        if path.startswith(layout.RESULTS + "/") and oid
    }
    found: dict[CaptureId, list[Oid]] = {}
    for piece in whole.pieces:
        for blob in repo.read_many(piece.files.values()) if names else ():
            for block in _blocks(blob or b"", _BLOCK) if blob else ():
                for name in [name for name in names if name in block]:
                    found.setdefault(piece.own.id, []).append(names.pop(name))
    return found


def _blocks(blob: bytes, size: int) -> Iterator[bytes]:
    """What a blob unpacks to, in blocks of whole lines."""
    rest = b""
    for piece in codec.pieces(blob):
        rest += piece
        cut = rest.rfind(b"\n") + 1 if len(rest) >= size else 0
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def _seal_of(agent: str) -> Seal:
    try:
        return agents.get(agent).drop_broken_seals
    except NotFound:
        return lambda before, after: after


def _name_of(part: str) -> str:
    """A part as a capture's id names it."""
    folder_name, slash, who = part.partition("/")
    return f"subagent/{who}" if slash and folder_name == layout.SUBAGENTS else part


def _total(every: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for found in every:
        for rule, count in found.items():
            total[rule] = total.get(rule, 0) + count
    return total
