"""Whether what is stored is what the records say: ids made again, sizes, lines that are JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from gitsession.audit.finding import Finding, error, warning
from gitsession.audit.objects import Away, Objects
from gitsession.audit.session import Capture, Session
from gitsession.errors import Unreadable
from gitsession.ids import Oid, capture_id
from gitsession.model import Frozen, Record
from gitsession.store import check, codec, contents, layout

_SLACK = 1 << 20
_MASK = 256
"""Bytes that a redaction may put in the place of what it took out."""
_MAX_LINE = 64 << 20
"""No longer line is looked into: it would have to be held."""


class Text(Frozen, frozen=True, kw_only=True):
    """What a blob unpacks to, measured."""

    size: int
    stored: int
    hash: str
    broken: int = 0
    """Lines that are no JSON."""
    first_broken: int = 0


def check_contents(objects: Objects, session: Session) -> Iterator[Finding]:
    """What is wrong with the lines and outputs of a session."""
    results = [x for x in session.files if x.path.startswith(f"{layout.RESULTS}/")]
    for capture in session.captures:
        yield from _check_capture(objects, session, capture, alone=not results)
    records = [capture.own for capture in session.captures if capture.own is not None]
    most = sum(_most(record) for record in records) + _SLACK
    for file in results:
        try:
            read_text(objects, file.oid, limit=most)
        except Away:
            continue
        except Unreadable as why:
            yield error(session.ref, f"{file.path!r}: {why.message}")


def _check_capture(
    objects: Objects, session: Session, capture: Capture, *, alone: bool
) -> Iterator[Finding]:
    own, where = capture.own, session.where(capture)
    texts: dict[str, Text] = {}
    limit = (_most(own) if own is not None else codec.MAX_SEGMENT) + _SLACK
    whole = True
    for name, oid in sorted(capture.files.items()):
        try:
            texts[name] = read_text(objects, oid, limit=limit, lines=True)
        except Unreadable as why:
            whole = False
            if not isinstance(why, Away):
                yield error(where, f"{_words(name)}: {why.message}")
    for name, text in texts.items():
        if text.broken:
            what = f"{text.broken} lines are no JSON, the first is line {text.first_broken}"
            yield warning(where, f"{_words(name)}: {what}")
    if own is None or not whole:
        return
    filled = {name: text for name, text in texts.items() if text.size}
    if capture.is_stub:
        if not all(map(_is_blank, filled.values())):
            yield error(where, "it was forgotten, and yet it holds something")
        return
    made = capture_id(own.session, own.offset, [(n, text.hash) for n, text in filled.items()])
    if made != own.id:
        yield error(where, f"its lines are not those of its record: they make {made}, not {own.id}")
    yield from _check_sizes(where, own, list(filled.values()), alone=alone)


def _is_blank(text: Text) -> bool:
    """Whether a subagent's lines are only there to be counted."""
    count = text.size // len(contents.BLANK)
    return text.hash == hashlib.sha256(contents.BLANK * count).hexdigest()


def _words(name: str) -> str:
    return "its lines" if name == contents.MAIN else f"the lines of {name}"


def _most(record: Record) -> int:
    """What a capture's parts may unpack to: the agent's bytes, and a mask for each redaction."""
    return max(0, record.raw_size) + _MASK * max(0, sum(record.redactions.values()))


def _check_sizes(where: str, own: Record, filled: list[Text], *, alone: bool) -> Iterator[Finding]:
    """Compare sizes: a large output counts with its capture, but only its session knows it."""
    raw, stored = sum(text.size for text in filled), sum(text.stored for text in filled)
    if not own.redactions and (raw > own.raw_size or (alone and raw != own.raw_size)):
        yield error(where, f"it has {raw} bytes, and its record says {own.raw_size}")
    # The same lines may have been packed elsewhere, by another version of zstd.
    if stored > own.size or (alone and stored != own.size):
        yield warning(where, f"{stored} bytes are stored, and its record says {own.size}")


def read_text(objects: Objects, oid: Oid, *, limit: int, lines: bool = False) -> Text:
    """Unpack a blob and measure it; raises Away or Unreadable."""
    stored = objects.sizes([oid]).get(oid, 0)
    if stored > check.MAX_BLOB:
        raise Unreadable(f"it has {stored} bytes")
    blob = objects.read(oid)
    digest, counter, size = hashlib.sha256(), _Lines(), 0
    for piece in codec.pieces(blob, limit=min(limit, codec.MAX_SEGMENT)):
        digest.update(piece)
        size += len(piece)
        if lines:
            counter.feed(piece)
    counter.end()
    return Text(
        size=size,
        stored=len(blob),
        hash=digest.hexdigest(),
        broken=counter.broken,
        first_broken=counter.first,
    )


class _Lines:
    """Counts the lines that are no JSON, and holds no more than one of them."""

    def __init__(self) -> None:
        self.broken = 0
        self.first = 0
        self._number = 0
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> None:
        """Take some more bytes."""
        *whole, rest = piece.split(b"\n")
        for part in whole:
            self._hold(part)
            self.end()
        self._hold(rest)

    def end(self) -> None:
        """A line is over."""
        line = b"".join(self._held)
        self._number += 1
        if self._size <= _MAX_LINE and line.strip() and not _is_json(line):
            self.broken += 1
            self.first = self.first or self._number
        self._held, self._size = [], 0

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= _MAX_LINE:
            self._held.append(part)


_decoder = msgspec.json.Decoder(msgspec.Raw)


def _is_json(line: bytes) -> bool:
    try:
        _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
