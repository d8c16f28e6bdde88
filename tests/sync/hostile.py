"""A shared repository filled by hand, with objects that no git of ours would write."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitsession.git import refs
from gitsession.ids import CaptureId, Oid, SessionId
from gitsession.model import Agent, Record
from gitsession.store import codec, records, sessions
from tests.scratch import Scratch

FILE, PROGRAM, LINK, FOLDER, MODULE = "100644", "100755", "120000", "40000", "160000"
Entry = tuple[str, bytes, str]
"""The mode, the name and the object of an entry."""


@dataclass(frozen=True)
class Evil:
    """Whoever can push to a repository, and knows git."""

    origin: Scratch

    def _put(self, kind: str, data: bytes) -> str:
        words = ["git", "hash-object", "-t", kind, "--literally", "-w", "--stdin"]
        done = subprocess.run(words, cwd=self.origin.path, input=data, stdout=-1, check=True)
        return done.stdout.decode().strip()

    def blob(self, data: bytes) -> str:
        """Write a file."""
        return self._put("blob", data)

    def tree(self, *entries: Entry) -> str:
        """Write a folder, in the order that is given and with any names."""
        raw = (b"%s %s\0%s" % (m.encode(), name, bytes.fromhex(oid)) for m, name, oid in entries)
        return self._put("tree", b"".join(raw))

    def commit(self, tree: str, *parents: str) -> str:
        """Write a commit."""
        return self.origin.git("commit-tree", "-m", "x", *(f"-p{p}" for p in parents), tree)

    def point(self, ref: str, oid: str) -> None:
        """Lead a ref to anything."""
        self.origin.git("update-ref", ref, oid)

    def tip(self, ref: str) -> str:
        """Where a ref leads."""
        return self.origin.git("rev-parse", ref)

    def session(self, ref: str, *more: Entry, head: bytes | None = None) -> None:
        """Lead a ref to a session with one capture, and with these entries besides."""
        name = ref.removeprefix(refs.SESSIONS)
        said = sessions.Head(v=1, session=SessionId(name), agent="claude-code")
        data = sessions.encode_head(said) if head is None else head
        self.point(ref, self.commit(self.tree(
            (FOLDER, b"captures", self.captures(record(name))), *more,
            (FILE, b"session.json", self.blob(data)),
        )))  # fmt: skip

    def captures(self, *made: Record, segment: bytes | None = None) -> str:
        """Write the captures of a session, numbered in this order."""
        text = codec.pack(b"text\n") if segment is None else segment
        entries: list[Entry] = []
        for number, one in enumerate(made, 1):
            entries.append((FILE, b"%d.json" % number, self.blob(records.encode(one) + b"\n")))
            entries.append((FILE, b"%d.jsonl.zst" % number, self.blob(text)))
        return self.tree(*entries)

    def index(self, files: Mapping[str, bytes]) -> None:
        """Put files into the index, as a push of somebody else would."""
        stream = [b"commit refs/notes/sessions\ncommitter E <e@x> 1700000000 +0000\ndata 1\nx\n"]
        if self.origin.git("for-each-ref", refs.INDEX):
            stream.append(b"from refs/notes/sessions^0\n")
        for path, data in files.items():
            stream.append(b"M 100644 inline %s\n" % path.encode())
            stream.append(b"data %d\n%s\n" % (len(data), data))
        subprocess.run(
            ["git", "fast-import", "--quiet"], cwd=self.origin.path, input=b"".join(stream),
            check=True, env=os.environ,
        )  # fmt: skip

    def index_tree(self, *entries: Entry) -> None:
        """Put entries into the index's top folder, whatever git thinks of them."""
        old = self.origin.git("ls-tree", refs.INDEX, check=False).splitlines()
        kept = [line.split(None, 3) for line in old]
        keep: Sequence[Entry] = [(m.lstrip("0"), n.encode(), oid) for m, _, oid, n in kept]
        parents = [self.tip(refs.INDEX)] if old else []
        tree = self.tree(*sorted([*keep, *entries], key=lambda e: e[1]))
        self.point(refs.INDEX, self.commit(tree, *parents))


def record(session: str, **fields: object) -> Record:
    """A record as any other."""
    known: dict[str, object] = {
        "v": 1, "id": CaptureId("e" * 40), "session": SessionId(session), "seq": 1,
        "kind": "checkpoint", "reason": "manual", "agent": Agent(name="claude-code"),
        "captured_at": "2026-11-18T12:00:00.000Z", "base": Oid("b" * 40), "prompt": "text",
    }  # fmt: skip
    return Record(**{**known, **fields})  # type: ignore[arg-type]
