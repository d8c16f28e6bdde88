"""Takes a capture: from the new lines of a source to a ref that has moved.

Until the ref moves nothing has happened, and the work can be done again; once
it has, what is left (the index) follows from it and can be done again as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gitsession import agents
from gitsession.agents.base import Adapter, Source
from gitsession.capture import reader
from gitsession.capture.delta import Delta, find_delta, new_blocks
from gitsession.capture.digest import Digest, shorten
from gitsession.capture.ledger import Ledger, Tie
from gitsession.capture.places import Places
from gitsession.capture.segment import Segment, total_redactions, write_segment
from gitsession.config import Settings
from gitsession.errors import Moved
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Entry, Put, Update
from gitsession.ids import CaptureId, SessionId, capture_id
from gitsession.model import (
    RECORD_VERSION,
    Agent,
    Frozen,
    Kind,
    Reason,
    Record,
    Status,
)
from gitsession.store import folder, journal, layout, records, sessions, tombstones

if TYPE_CHECKING:
    from gitsession.capture.redact import Redactor

_TRIES = 8
_WHOLE = 64 << 20
"""A tool's output up to this size is redacted in one piece."""


class Order(Frozen, frozen=True, kw_only=True):
    """What to capture, and what for."""

    session: SessionId
    agent: str
    source: str
    kind: Kind
    end: int
    """The offset in the main source up to which to take."""
    side_ends: Mapping[str, int] = {}
    """The same for subagents; one that isn't named is taken whole."""
    reason: Reason | None = None
    status: Status = "complete"
    task: str | None = None
    tie: Tie = Tie()


class Pipeline:
    """Captures into one repository."""

    def __init__(self, repo: Plumbing, settings: Settings, redactor: Redactor) -> None:
        self.repo = repo
        self.repo.sign = settings.sign
        self.settings = settings
        self.ledger = Ledger(repo, settings)
        self._redactor = redactor
        self._scratch = folder.home(repo.common_dir) / "tmp"
        tops = (repo.work_tree,) if repo.work_tree else ()
        self.places = Places(repo.common_dir, tops)

    def take(self, order: Order) -> Record | None:
        """Capture what is new up to the order's end; None when nothing is."""
        for attempt in range(_TRIES):
            try:
                return self._take(order)
            except Moved:
                time.sleep(0.01 * attempt)
        raise Moved(
            f"the ref of session {order.session} keeps moving",
            hint="run `git session capture` when the other captures are done",
        )

    def _take(self, order: Order) -> Record | None:
        adapter = agents.get(order.agent)
        if order.session in tombstones.of_session(self.repo, order.session).sessions:
            return None
        stored = sessions.open_session(self.repo, order.session)
        delta = find_delta(self.repo, adapter, stored, Path(order.source))
        sides = self._new_sides(adapter, stored, order)
        if order.end <= delta.start and not any(side.kind == "subagent" for side, _, _ in sides):
            return None
        digest = Digest(self.places.relative)
        end = max(order.end, delta.start)
        main = write_segment(
            _fed(new_blocks(adapter, Path(order.source), delta, end), adapter, digest),
            redactor=self._redactor, seal=adapter.drop_broken_seals, scratch=self._scratch,
        )  # fmt: skip
        parts = {"main": main} if main.raw_size else {}
        if not main.raw_size and not sides:
            main.file.unlink()
            return None
        seq = stored.next_seq
        paths = {"main": layout.segment(seq)}
        for side, start, stop in sides:
            name = f"{side.kind}/{layout.safe(side.name)}"
            parts[name] = self._write_side(adapter, side, start, stop, digest)
            is_result = side.kind == "result"
            paths[name] = layout.result(side.name) if is_result else layout.subagent(side.name, seq)
        parts = {name: part for name, part in parts.items() if part.raw_size or name == "main"}
        try:
            return self._store(order, stored, delta, digest, main, parts, paths)
        finally:
            for part in (main, *parts.values()):
                part.file.unlink(missing_ok=True)

    def _new_sides(
        self, adapter: Adapter, stored: sessions.Stored, order: Order
    ) -> list[tuple[Source, int, int]]:
        """The side sources with something new: each with where that begins and ends."""
        found = []
        kept = {entry.path for entry in self._tree(stored, layout.RESULTS)}
        for side in adapter.side_sources(order.source):
            path = Path(side.path)
            if side.kind == "result":
                if Path(layout.result(side.name)).name not in kept:
                    found.append((side, 0, path.stat().st_size))
                continue
            limit = order.side_ends.get(side.name, reader.last_newline(path))
            start = self._side_start(stored, side)
            if limit > start:
                found.append((side, start, limit))
        return found

    def _tree(self, stored: sessions.Stored, path: str) -> Sequence[Entry]:
        return self.repo.tree(f"{stored.tip}:{path}") if stored.tip else ()

    def _side_start(self, stored: sessions.Stored, side: Source) -> int:
        """Where a subagent's new lines begin: redaction never changes their number."""
        if stored.tip is None:
            return 0
        have = sessions.count_subagent_lines(self.repo, stored, side.name)
        if not have:
            return 0
        start = 0
        for number, (offset, _) in enumerate(reader.lines(Path(side.path)), 1):
            start = offset
            if number == have:
                break
        return start

    def _write_side(
        self, adapter: Adapter, side: Source, start: int, end: int, digest: Digest
    ) -> Segment:
        if side.kind == "result":
            # A key in plain text has many lines, which must not be parted before it is found.
            blocks = reader.blocks(Path(side.path), start, end, size=_WHOLE)
            return write_segment(blocks, redactor=self._redactor, seal=None, scratch=self._scratch)
        blocks = reader.blocks(Path(side.path), start, end)
        own = Digest(self.places.relative)
        written = write_segment(
            _fed(blocks, adapter, own),
            redactor=self._redactor, seal=adapter.drop_broken_seals, scratch=self._scratch,
        )  # fmt: skip
        digest.include(own)
        return written

    def _store(
        self,
        order: Order,
        stored: sessions.Stored,
        delta: Delta,
        digest: Digest,
        main: Segment,
        parts: Mapping[str, Segment],
        paths: Mapping[str, str],
    ) -> Record:
        seq = stored.next_seq
        hashes = [
            (name, part.text_hash)
            for name, part in parts.items()
            if part.raw_size and not name.startswith("result/")
        ]
        offset = max(order.end, delta.start)
        parent = delta.parent or (stored.head.parent if stored.head else None)
        record = msgspec.structs.replace(
            self._describe(order, digest),
            id=capture_id(order.session, offset, hashes),
            seq=seq,
            captured_at=self._after(stored),
            size=sum(part.size for part in parts.values()),
            raw_size=sum(part.raw_size for part in parts.values()),
            offset=offset,
            parent=parent,
            redactions=total_redactions(parts.values()),
        )
        head = sessions.Head(
            v=sessions.FORMAT, session=order.session, agent=order.agent, parent=parent
        )
        puts = [
            Put(path=layout.HEAD, data=sessions.encode_head(head)),
            Put(path=layout.record(seq), data=records.encode(record) + b"\n"),
            *(Put(path=paths[name], data=part.file) for name, part in parts.items()),
        ]
        if "main" not in parts:
            puts.append(Put(path=layout.segment(seq), data=main.file))
        stored = sessions.unfold(self.repo, stored, self.settings.author)
        update = Update(ref=stored.ref, old=stored.tip, message=story(record), puts=tuple(puts))
        self.ledger.enter(update, record)
        if record.raw_size > self.settings.warn_size:
            journal.note(self.repo.common_dir, f"warning: {warning(record, self.settings)}")
        return record

    def _describe(self, order: Order, digest: Digest) -> Record:
        return Record(
            v=RECORD_VERSION,
            id=CaptureId(""),
            session=order.session,
            seq=0,
            kind=order.kind,
            reason=order.reason,
            status=order.status,
            commit=order.tie.commit,
            base=order.tie.base,
            branch=order.tie.branch,
            task=order.task,
            evidence=order.tie.evidence,
            author=self.settings.author,
            captured_at=now(),
            agent=Agent(name=order.agent, version=digest.version),
            models=digest.models,
            started_at=digest.started_at,
            ended_at=digest.ended_at,
            messages=digest.messages,
            turns=digest.turns,
            tools=dict(sorted(digest.tools.items())),
            tokens=digest.tokens,
            files=digest.files,
            first=digest.first,
            last=digest.last,
            prompt=self._first_words(digest.prompt),
        )

    def _after(self, stored: sessions.Stored) -> str:
        """The moment of a new capture: after the last one's, though the clock was set back.

        When a session was continued on two machines, time is what orders its captures.
        """
        last = sessions.last_record(self.repo, stored)
        return now() if last is None else max(now(), next_moment(last.captured_at))

    def redact(self, words: str) -> str:
        """A text without its secrets."""
        clean = self._redactor.redact_text(words.encode("utf-8", "replace")).data
        return clean.decode("utf-8", "replace")

    def _first_words(self, prompt: str) -> str:
        """A prompt as the record has it: a cut secret is one that no rule finds any more."""
        return shorten(self.redact(prompt))


def now() -> str:
    """This moment as records have it."""
    return _moment(datetime.now(UTC))


def next_moment(at: str) -> str:
    """The first moment after one that a record has; that one itself when there is none."""
    try:
        return _moment(datetime.fromisoformat(at).astimezone(UTC) + timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        return at


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fed(blocks: Iterator[bytes], adapter: Adapter, digest: Digest) -> Iterator[bytes]:
    """The same blocks, counted on their way."""
    for block in blocks:
        for raw in block.split(b"\n"):
            if raw:
                digest.add(adapter.parse_line(raw))
        yield block


def warning(record: Record, settings: Settings) -> str:
    """What to say of a capture that is larger than the user finds usual."""
    size, most = record.raw_size >> 20, settings.warn_size >> 20
    what = f"capture {record.seq} of session {record.session}"
    return f"{what} is large: {size} MB, more than session.warnSize ({most} MB)"


def story(record: Record) -> str:
    """A session commit's message, for people who read `git log refs/sessions/<id>`."""
    what = f"commit {record.commit[:12]}" if record.commit else record.reason or record.kind
    subject = f"{what}: {record.prompt}" if record.prompt else what
    counts = f"{record.turns} turns, {record.messages} messages, {sum(record.tools.values())} calls"
    return f"{subject[:100]}\n\n{counts}\n\nCapture: {record.seq}\n"
