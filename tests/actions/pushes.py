"""Pushes made by hand, good and bad: objects written into a bare repository, and told of."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitsession.actions.hookfile import shipped
from gitsession.actions.receive import receive
from gitsession.git import notes
from gitsession.ids import CaptureId, Oid, SessionId
from gitsession.model import Agent, Author, Record
from gitsession.store import codec, layout, records, sessions, tombstones
from gitsession.sync.received import Refusal
from tests.scratch import Scratch

FILE, LINK, FOLDER, MODULE = "100644", "120000", "40000", "160000"
ANN = "ann@example.com"
Tree = Mapping[str, "bytes | tuple[str, str] | Tree"]
"""Names to contents, to a mode and an object, or to another tree."""


def a_record(session: str, seq: int, *, email: str = ANN, commit: str = "1" * 40) -> Record:
    """The record of a capture."""
    return Record(
        v=1, id=CaptureId(f"{session}-{seq}"), session=SessionId(session), seq=seq, kind="commit",
        agent=Agent(name="claude-code"), captured_at=f"2026-01-01T00:00:{seq:02}Z",
        author=Author(name="Ann", email=email), commit=Oid(commit), offset=seq,
    )  # fmt: skip


def stone(session: str, capture: str | None = None) -> bytes:
    """A file with one tombstone."""
    name = CaptureId(capture) if capture else None
    return tombstones.encode([tombstones.Tombstone(v=1, session=SessionId(session), capture=name)])


def head_of(session: str, v: int = 1) -> bytes:
    """A session's `session.json`."""
    head = sessions.Head(v=v, session=SessionId(session), agent="claude-code")
    return sessions.encode_head(head)


def session_tree(session: str, *captures: Record, **more: bytes) -> dict[str, bytes]:
    """The files of a session; more of them by name, with `__` for a slash."""
    files = {layout.HEAD: head_of(session)}
    for record in captures:
        files[layout.record(record.seq)] = records.encode(record) + b"\n"
        files[layout.segment(record.seq)] = codec.pack(record.id.encode() + b"\n")
    return {**files, **{name.replace("__", "/"): data for name, data in more.items()}}


def index_tree(*found: Record, **stones: bytes) -> dict[str, bytes]:
    """The files of an index: records, and tombstones by session."""
    files = {f"{tombstones.FOLDER}/{name}": data for name, data in stones.items()}
    for record in found:
        path = notes.path_of(Oid(record.commit or ""))
        files[path] = records.merge_note(files.get(path, b""), [record])
    return files


def nest(files: Mapping[str, bytes]) -> Tree:
    """Files by path, as trees."""
    found: dict[str, bytes | tuple[str, str] | Tree] = {}
    folders: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        folder, _, rest = path.partition("/")
        if rest:
            folders.setdefault(folder, {})[rest] = data
        else:
            found[path] = data
    return {**found, **{name: nest(inner) for name, inner in folders.items()}}


def put_hook(origin: Scratch) -> Path:
    """Install the check as docs/server.md says."""
    path = origin.path / "hooks" / "pre-receive"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(shipped("server/pre-receive"))
    path.chmod(0o755)
    return path


@dataclass
class Server:
    """A bare repository that is pushed to; what is pushed lies there already, without a ref."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> Server:
        """Make an empty one."""
        subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
        return cls(path)

    def git(self, *args: str, stdin: bytes = b"") -> str:
        """Run git here."""
        done = subprocess.run(
            ["git", *args], cwd=self.path, input=stdin, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode().strip()

    def blob(self, data: bytes) -> str:
        """Write a file."""
        return self.git("hash-object", "-w", "--stdin", stdin=data)

    def tree(self, tree: Tree) -> str:
        """Write a tree, however wrong it is."""
        entries = []
        for name, what in tree.items():
            if isinstance(what, bytes):
                mode, oid = FILE, self.blob(what)
            elif isinstance(what, tuple):
                mode, oid = what
            else:
                mode, oid = FOLDER, self.tree(what)
            key = name.encode() + (b"/" if mode == FOLDER else b"")
            entries.append((key, b"%s %s\0%s" % (mode.encode(), name.encode(), bytes.fromhex(oid))))
        return self.raw_tree(b"".join(raw for _, raw in sorted(entries)))

    def raw_tree(self, data: bytes) -> str:
        """Write a tree object as it is given."""
        return self.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=data)

    def commit(self, tree: Tree | str, *parents: str, email: str = ANN) -> str:
        """Write a commit."""
        oid = tree if isinstance(tree, str) else self.tree(tree)
        who = f"Ann <{email}> 1767225600 +0000"
        lines = [f"tree {oid}", *(f"parent {p}" for p in parents), f"author {who}"]
        text = "\n".join([*lines, f"committer {who}", "", "capture\n"])
        return self.git("hash-object", "-w", "-t", "commit", "--stdin", stdin=text.encode())

    def files(self, files: Mapping[str, bytes], *parents: str, email: str = ANN) -> str:
        """Write a commit of files by path."""
        return self.commit(nest(files), *parents, email=email)

    def set(self, ref: str, oid: str) -> str:
        """Have a ref there before the push."""
        self.git("update-ref", ref, oid)
        return oid

    def push(self, moves: Mapping[str, str | None], env: Mapping[str, str]) -> list[Refusal]:
        """What the check says to refs that are to lead elsewhere, or to go."""
        zero = "0" * 40
        lines = []
        for ref, new in moves.items():
            old = self.git("for-each-ref", "--format=%(objectname)", ref) or zero
            lines.append(f"{old} {new or zero} {ref}\n")
        return receive(self.path, "".join(lines), env)

    def says(self, moves: Mapping[str, str | None], **env: str) -> list[str]:
        """The same in a line each."""
        return [f"{x.ref}: {x.why}" for x in self.push(moves, env)]


def numbers(session: str, seqs: Sequence[int]) -> list[Record]:
    """Records of several captures."""
    return [a_record(session, seq) for seq in seqs]
