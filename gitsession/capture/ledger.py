"""Which commit has which captures: entered in the session's ref, and in the index after it."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from gitsession.config import Settings
from gitsession.errors import Moved
from gitsession.git import notes, refs
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Put, Swap, Update
from gitsession.git.stream import draft_of
from gitsession.ids import Oid, SessionId
from gitsession.model import Evidence, Foreign, Frozen, Record
from gitsession.store import layout, outbox, records, sessions

_TRIES = 8


class Tie(Frozen, frozen=True, kw_only=True):
    """The commit that a capture belongs to, if any, and why."""

    commit: Oid | None = None
    base: Oid | None = None
    branch: str | None = None
    evidence: Evidence | None = None


class Ledger:
    """Enters records, each once, whoever else is writing."""

    def __init__(self, repo: Plumbing, settings: Settings) -> None:
        self.repo = repo
        self.settings = settings
        self.alone = False
        """Nobody else captures meanwhile: the worker holds a lock."""

    def enter(self, update: Update, record: Record) -> None:
        """Move the session's ref, and the index in the same breath when nobody else does.

        Who isn't alone moves both or none, for two processes more: who then tries
        again may have another record, and the index would keep the first.
        """
        tip = self.repo.resolve(refs.INDEX)
        also = self._plan_index(tip, [record])
        self._will_write()
        try:
            if self.alone:
                self.repo.apply([update, *also], self.settings.author)
            else:
                self._apply_whole([update, *also])
        except Moved:
            mine = self.repo.resolve(update.ref)
            if not self.alone or mine == update.old or not self._holds(update.ref, record):
                raise
            self.ensure_indexed([record])

    def _apply_whole(self, updates: Sequence[Update]) -> None:
        made = self.repo.write([draft_of(update) for update in updates], self.settings.author)
        pairs = zip(updates, made, strict=True)
        self.repo.swap([Swap(ref=x.ref, old=x.old, new=new) for x, new in pairs])

    def _will_write(self) -> None:
        """Let whoever pushes know, before there is something: then it can't be missed."""
        if self.settings.auto_push:
            outbox.mark(self.repo.common_dir)

    def _holds(self, ref: str, record: Record) -> bool:
        stored = sessions.open_ref(self.repo, ref)
        if record.seq not in stored.seqs:
            return False
        lines = sessions.record_lines(self.repo, stored, record.seq)
        return any(isinstance(x, Record) and x.id == record.id for x in lines)

    def _plan_index(self, tip: Oid | None, found: Sequence[Record]) -> list[Update]:
        """The update that brings records into the index; none when they are there."""
        by_commit: dict[Oid, list[Record]] = {}
        for record in found:
            key = record.commit or record.base
            if key is not None:
                by_commit.setdefault(key, []).append(record)
        changed = {}
        for commit, group in by_commit.items():
            old = notes.read(self.repo, commit, ref=tip) if tip else b""
            new = records.merge_note(old, group)
            if new != old:
                changed[commit] = new
        if not changed:
            return []
        words = ", ".join(commit[:12] for commit in list(changed)[:3])
        return [notes.plan(self.repo, tip, changed, f"sessions of {words}\n")]

    def ensure_indexed(self, found: Sequence[Record]) -> None:
        """Bring records into the index, whoever else is writing to it."""
        for attempt in range(_TRIES):
            updates = self._plan_index(self.repo.resolve(refs.INDEX), found)
            if not updates:
                return
            self._will_write()
            try:
                self.repo.apply(updates, self.settings.author)
                return
            except Moved:
                time.sleep(0.01 * (attempt + 1))
        raise Moved("the index keeps moving", hint="run `git session reindex` later")

    def tie(self, session: SessionId, seq: int, tie: Tie) -> Record | None:
        """Tie a capture that is kept already to one more commit."""
        for attempt in range(_TRIES):
            stored = sessions.open_session(self.repo, session)
            lines = sessions.record_lines(self.repo, stored, seq)
            present = [x for x in lines if isinstance(x, Record) and x.commit == tie.commit]
            if present:
                self.ensure_indexed(present)
                return present[0]
            tied = _tied(lines, tie)
            if tied is None:
                return None
            put = Put(path=layout.record(seq), data=records.encode_lines([*lines, tied]))
            message = f"Capture {seq} also belongs to {str(tie.commit)[:12]}\n"
            try:
                stored = sessions.unfold(self.repo, stored, self.settings.author)
                self.enter(
                    Update(ref=stored.ref, old=stored.tip, message=message, puts=(put,)), tied
                )
                return tied
            except Moved:
                time.sleep(0.01 * attempt)
        raise Moved(f"the ref of session {session} keeps moving")

    def carry(self, pairs: Sequence[tuple[Oid, Oid]]) -> list[Record]:
        """Give rewritten commits the records of those they come from."""
        carried: list[Record] = []
        for old, new in pairs:
            lines = records.decode_note(notes.read(self.repo, old))
            there = records.readable(records.decode_note(notes.read(self.repo, new)))
            have = {record.id for record in there if record.commit == new}
            carried += [
                records.carry(line, old=old, new=new)
                for line in lines
                if isinstance(line, Record) and line.commit == old and line.id not in have
            ]
        if carried:
            self.ensure_indexed(carried)
        return carried


def _tied(lines: Sequence[Record | Foreign], tie: Tie) -> Record | None:
    first = next((x for x in lines if isinstance(x, Record)), None)
    if first is None:
        return None
    return msgspec.structs.replace(
        first,
        commit=tie.commit,
        base=tie.base,
        branch=tie.branch,
        evidence=tie.evidence,
        rewritten_from=None,
    )
