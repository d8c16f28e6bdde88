"""Clones of one bare repository, and captures made in them without a client."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from gitsession import config
from gitsession.capture.ledger import Ledger
from gitsession.capture.pipeline import next_moment, now
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Put, Update
from gitsession.ids import Oid, SessionId, capture_id
from gitsession.model import Agent, Record
from gitsession.query.index import read_all
from gitsession.store import codec, layout, records, sessions
from gitsession.sync.exchange import Exchange
from gitsession.sync.remote import remote_of
from gitsession.sync.transport import Line
from tests.scratch import Scratch


def make_origin(path: Path, *, object_format: str = "sha1") -> Scratch:
    """A bare repository to share, with one commit on its main branch."""
    seed = Scratch.create(path.parent / f"{path.name}-seed", object_format=object_format)
    seed.git("clone", "-q", "--bare", str(seed.path), str(path))
    return Scratch(path)


GONE = "was forgotten elsewhere"
"""What a clone says of a session that leaves it, as it should."""


@dataclass
class Clone:
    """One person's clone."""

    scratch: Scratch

    @classmethod
    def of(cls, origin: Scratch, path: Path, *flags: str) -> Clone:
        """Clone as anybody does."""
        origin.git("clone", "-q", *flags, f"file://{origin.path}", str(path))
        return cls(Scratch(path))

    @property
    def path(self) -> Path:
        """Its work tree."""
        return self.scratch.path

    def git(self, *args: str) -> str:
        """Run git here."""
        return self.scratch.git(*args)

    def open(self) -> Plumbing:
        """The repository."""
        return discover(self.path)

    def exchange(self, repo: Plumbing, remote: str = "origin") -> Exchange:
        """What connects it with the shared repository."""
        line = Line(repo, remote_of(remote), watched=False)
        return Exchange(repo, config.load(self.path), line)

    def capture(
        self, session: str, text: str, *, commit: str | None = None, branch: str | None = None,
        at: str = "",
    ) -> Record:  # fmt: skip
        """Take a capture of some lines, tied to a commit or to none; now, or at a moment."""
        with self.open() as repo:
            settings = config.load(self.path)
            stored = sessions.open_session(repo, SessionId(session))
            stored = sessions.unfold(repo, stored, settings.author)
            last = sessions.last_record(repo, stored)
            seq = stored.next_seq
            offset = (last.offset if last else 0) + len(text)
            lines = text.encode() + b"\n"
            packed = codec.pack(lines)
            record = Record(
                v=1,
                id=capture_id(
                    SessionId(session), offset, [("main", hashlib.sha256(lines).hexdigest())]
                ),
                session=SessionId(session),
                seq=seq,
                kind="commit" if commit else "checkpoint",
                reason=None if commit else "manual",
                agent=Agent(name="claude-code"),
                captured_at=max(at or now(), next_moment(last.captured_at))
                if last
                else at or now(),
                author=settings.author,
                commit=Oid(commit) if commit else None,
                branch=branch,
                base=None if commit else repo.resolve("HEAD"),
                size=len(packed),
                raw_size=len(lines),
                offset=offset,
                prompt=text,
            )
            head = sessions.Head(v=1, session=record.session, agent="claude-code")
            puts = (
                Put(path=layout.HEAD, data=sessions.encode_head(head)),
                Put(path=layout.record(seq), data=records.encode(record) + b"\n"),
                Put(path=layout.segment(seq), data=packed),
            )
            update = Update(ref=stored.ref, old=stored.tip, message="capture\n", puts=puts)
            Ledger(repo, settings).enter(update, record)
            return record

    def sync(self) -> None:
        """Fetch and push, and expect that nothing is held back."""
        with self.open() as repo:
            exchange = self.exchange(repo)
            fetched = exchange.fetch()
            pushed = exchange.push()
        warnings = [w for w in (*fetched.warnings, *pushed.warnings) if GONE not in w]
        assert (warnings, pushed.held) == ([], ())

    def fetch(self, *session_ids: str, everything: bool = False) -> tuple[str, ...]:
        """Fetch, and give back the warnings."""
        with self.open() as repo:
            wanted = [refs.session(SessionId(name)) for name in session_ids]
            return self.exchange(repo).fetch(wanted, everything=everything).warnings

    def push(self) -> list[str]:
        """Push, and give back what was held."""
        with self.open() as repo:
            return [held.reason for held in self.exchange(repo).push().held]

    def index_tree(self) -> str:
        """What the index holds, as one name."""
        return self.git("rev-parse", f"{refs.INDEX}^{{tree}}")

    def prompts(self) -> dict[str, list[str]]:
        """What the index tells of each session: the prompts of its captures, in order."""
        found: dict[str, list[Record]] = {}
        with self.open() as repo:
            for _, note in read_all(repo):
                for record in records.readable(records.decode_note(note)):
                    found.setdefault(record.session, []).append(record)
        return {
            session: [r.prompt for r in sorted(every, key=lambda r: r.seq)]
            for session, every in sorted(found.items())
        }

    def texts(self, session: str) -> list[str]:
        """What a session holds here, capture by capture."""
        with self.open() as repo:
            stored = sessions.open_session(repo, SessionId(session))
            return [
                b"".join(sessions.segment_lines(repo, stored, seq)).decode().strip()
                for seq in stored.seqs
            ]

    def check(self) -> None:
        """No object is damaged."""
        assert self.git("fsck", "--strict", "--no-dangling", "--no-reflogs") == ""
