"""Captures of lines that a program gives: there is no transcript whose end could be read.

The lines are redacted and compressed once, in a single pass; only what depends on
the session's other captures is done again when somebody else was faster.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gitsession import agents
from gitsession.agents.base import Adapter, Side
from gitsession.capture import reader
from gitsession.capture.digest import Digest
from gitsession.capture.ledger import Ledger
from gitsession.capture.pipeline import story, warning
from gitsession.capture.places import Places
from gitsession.capture.record_of import Purpose, describe, fed, moment_after
from gitsession.capture.segment import Segment, total_redactions, write_segment
from gitsession.config import Settings
from gitsession.errors import Moved, SessionError, Usage
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Put, Update
from gitsession.ids import capture_id
from gitsession.model import Frozen, Record
from gitsession.store import created, folder, journal, layout, records, sessions, tombstones
from gitsession.store.lock import held

if TYPE_CHECKING:
    from gitsession.capture.redact import Redactor

GivenLine = bytes | str | Mapping[str, Any]
"""A line as bytes or text, its newline or not; or an object that becomes one."""

_TRIES = 50
_PAUSE = 0.02
_LEFT_OVER = 86_400.0
"""Seconds after which a scratch file is nobody's any more."""


class Part(Frozen, frozen=True, kw_only=True):
    """One segment of a capture; where it stands depends on the capture's number."""

    name: str
    side: Side | None = None
    segment: Segment

    def path(self, seq: int) -> str:
        """Where it stands in the session's tree."""
        if self.side is None:
            return layout.segment(seq)
        if self.side.kind == "result":
            return layout.result(self.side.name)
        return layout.subagent(self.side.name, seq)


class Appender:
    """Adds captures to sessions of one repository."""

    def __init__(self, repo: Plumbing, settings: Settings, redactor: Redactor) -> None:
        self._repo = repo
        self._repo.sign = settings.sign
        self._settings = settings
        self._ledger = Ledger(repo, settings)
        self._redactor = redactor
        self._places = Places(repo.common_dir, (repo.work_tree,) if repo.work_tree else ())
        # Not the worker's own folder, which it empties when it begins.
        self._scratch = folder.home(repo.common_dir) / "given"

    def append(
        self, purpose: Purpose, lines: Iterable[GivenLine], sides: Sequence[Side] = ()
    ) -> Record:
        """Capture these lines; raises, and then nothing of them is kept."""
        sweep(self._scratch)
        adapter = agents.get(purpose.agent)
        digest = Digest(self._places.relative)
        parts: list[Part] = []
        try:
            for part in self._write(adapter, lines, sides, digest):
                parts.append(part)
                if not parts[0].segment.raw_size:
                    raise Usage("there is nothing to append", hint="give at least one line")
            kept = [part for part in parts if part.segment.raw_size]
            return self._enter(describe(
                purpose, digest, author=self._settings.author, redact=self._redact
            ), kept)  # fmt: skip
        finally:
            for part in parts:
                part.segment.file.unlink(missing_ok=True)

    def _write(
        self, adapter: Adapter, lines: Iterable[GivenLine], sides: Sequence[Side], digest: Digest
    ) -> Iterator[Part]:
        yield Part(name="main", segment=self._segment(adapter, blocks_of(lines), digest))
        for side in sides:
            name = f"{side.kind}/{layout.safe(side.name)}"
            if side.kind == "result":
                segment = write_segment(
                    [side.data], redactor=self._redactor, seal=None, scratch=self._scratch
                )
            else:
                own = Digest(self._places.relative)
                told = side.data.splitlines(keepends=True)
                segment = self._segment(adapter, blocks_of(told), own)
                digest.include(own)
            yield Part(name=name, side=side, segment=segment)

    def _segment(self, adapter: Adapter, blocks: Iterator[bytes], digest: Digest) -> Segment:
        return write_segment(
            fed(blocks, adapter, digest),
            redactor=self._redactor, seal=adapter.drop_broken_seals, scratch=self._scratch,
        )  # fmt: skip

    def _redact(self, words: str) -> str:
        clean = self._redactor.redact_text(words.encode("utf-8", "replace")).data
        return clean.decode("utf-8", "replace")

    # -- entering it ------------------------------------------------------------------------

    def _enter(self, bare: Record, parts: Sequence[Part]) -> Record:
        """Give the capture its place, however many others are doing the same."""
        for attempt in range(_TRIES):
            # So that programs take turns; what keeps everybody apart is the compare-and-swap.
            with held(folder.home(self._repo.common_dir) / "appending", wait=True):
                try:
                    record, update = self._plan(bare, parts)
                    self._ledger.enter(update, record)
                except Moved:
                    pass
                else:
                    self._conclude(record)
                    return record
            time.sleep(random.uniform(0, _PAUSE * min(attempt + 1, 10)))
        raise Moved(
            f"the ref of session {bare.session} keeps moving",
            hint="append again when the other writers are done",
        )

    def _plan(self, bare: Record, parts: Sequence[Part]) -> tuple[Record, Update]:
        """The record as it has to be behind the captures that are there now."""
        # First the note that it was begun, which is dropped once there is a ref.
        begun = created.find(self._repo.common_dir, refs.slug_of(refs.session(bare.session)))
        stored = sessions.open_session(self._repo, bare.session)
        if bare.session in tombstones.of_session(self._repo, bare.session).sessions:
            raise SessionError(
                f"session {bare.session} was forgotten", hint="go on in a new session"
            )
        last = sessions.last_record(self._repo, stored)
        seq, raw_size = stored.next_seq, sum(part.segment.raw_size for part in parts)
        # Where the transcript would end: the lines of all captures, one after the other.
        offset = (last.offset if last else 0) + parts[0].segment.raw_size
        first = stored.head or begun
        parent = first.parent if first else None
        hashes = [(p.name, p.segment.text_hash) for p in parts if not p.name.startswith("result/")]
        record = msgspec.structs.replace(
            bare,
            id=capture_id(bare.session, offset, hashes),
            seq=seq,
            captured_at=moment_after(last),
            size=sum(part.segment.size for part in parts),
            raw_size=raw_size,
            offset=offset,
            parent=parent,
            redactions=total_redactions(part.segment for part in parts),
        )
        head = sessions.Head(
            v=sessions.FORMAT, session=bare.session, agent=bare.agent.name, parent=parent
        )
        puts = (
            Put(path=layout.HEAD, data=sessions.encode_head(head)),
            Put(path=layout.record(seq), data=records.encode(record) + b"\n"),
            *(Put(path=part.path(seq), data=part.segment.file) for part in parts),
        )
        stored = sessions.unfold(self._repo, stored, self._settings.author)
        return record, Update(ref=stored.ref, old=stored.tip, message=story(record), puts=puts)

    def _conclude(self, record: Record) -> None:
        created.drop(self._repo.common_dir, record.session)
        if record.raw_size > self._settings.warn_size:
            journal.note(self._repo.common_dir, f"warning: {warning(record, self._settings)}")


def blocks_of(lines: Iterable[GivenLine]) -> Iterator[bytes]:
    """Lines in blocks, each line with its end."""
    if isinstance(lines, (bytes, bytearray, str, Mapping)) or not isinstance(lines, Iterable):
        raise Usage("these are no lines", hint="give a list of lines, or what yields them")
    kept: list[bytes] = []
    size = 0
    for line in lines:
        raw = encode_line(line)
        kept.append(raw)
        size += len(raw)
        if size >= reader.BLOCK:
            yield b"".join(kept)
            kept, size = [], 0
    if kept:
        yield b"".join(kept)


def encode_line(line: object) -> bytes:
    """One line with its end; raises Usage for what is none."""
    try:
        if isinstance(line, str):
            raw = line.encode()
        elif isinstance(line, Mapping):
            raw = msgspec.json.encode(dict(line))
        elif isinstance(line, (bytes, bytearray)):
            raw = bytes(line)
        else:
            raise Usage(f"a line is bytes, text or an object, not {type(line).__name__}")
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise Usage(f"a line can't be written as JSON: {error}") from None
    if b"\n" in raw[:-1]:
        raise Usage("a line holds a line break", hint="give each line by itself")
    return raw if raw.endswith(b"\n") else raw + b"\n"


def sweep(scratch: Path) -> None:
    """Remove what programs that were killed have left."""
    try:
        for file in scratch.iterdir():
            if file.stat().st_mtime < time.time() - _LEFT_OVER:
                file.unlink(missing_ok=True)
    except OSError:
        # There is none yet, or somebody else was faster.
        return
