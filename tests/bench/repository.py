"""A repository with 100,000 annotated commits and 50,000 sessions, by two runs of fast-import."""

from __future__ import annotations

import random
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from gitsession.git import notes, refs
from gitsession.ids import CaptureId, Oid, SessionId, capture_id
from gitsession.model import RECORD_VERSION, Agent, Author, Evidence, Record, Tokens
from gitsession.store import codec, layout, records, sessions
from tests.bench.corpus import Corpus
from tests.bench.ground import run

GENERATION = 4
_EPOCH = 1_700_000_000
_WHO = b"Dev <dev@example.com> %d +0000"
_CONTENTS = 200


def get(cache: Path, corpus: Corpus, commits: int) -> Path:
    """Such a repository with a session for every two commits; made once and kept."""
    path = cache / f"annotated-{commits}-{GENERATION}"
    if not (path / "done").exists():
        print(f"  making a repository with {commits:,} annotated commits …", flush=True)
        # Another run may be at it as well: whoever is done first puts it there.
        fresh = Path(tempfile.mkdtemp(prefix="making-", dir=cache))
        _make(fresh, corpus, commits)
        (fresh / "done").touch()
        with suppress(OSError):
            fresh.rename(path)
    return path / "repo"


def _make(path: Path, corpus: Corpus, commits: int) -> None:
    repo, marks = path / "repo", path / "marks"
    run("git", "init", "-q", "-b", "main", repo, cwd=path.parent)
    import_history(repo, commits, marks)
    words = (line.split() for line in marks.read_text().splitlines())
    named = {int(mark[1:]): Oid(oid) for mark, oid in words}
    _import(repo, _sessions(corpus, [named[n] for n in range(1, commits + 1)]))
    run("git", "gc", "-q", "--prune=now", cwd=repo)
    run("git", "reset", "-q", "--hard", cwd=repo)


def import_history(repo: Path, commits: int, marks: Path) -> None:
    """Give a repository a branch with so many commits, and write down their names."""
    _import(repo, _history(commits), "--force", f"--export-marks={marks}")


def _import(repo: Path, stream: Iterator[bytes], *options: str) -> None:
    words = ["git", "-C", str(repo), "fast-import", "--quiet", "--done", *options]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for piece in stream:
            process.stdin.write(piece)
        process.stdin.write(b"done\n")
        process.stdin.close()
    if process.returncode:
        raise SystemExit("error: git fast-import failed")


def _history(commits: int) -> Iterator[bytes]:
    """One branch; each commit changes one of five hundred files."""
    for number in range(1, commits + 1):
        who = _WHO % (_EPOCH + number * 60)
        yield b"commit refs/heads/main\nmark :%d\nauthor %s\ncommitter %s\n" % (number, who, who)
        yield _data(b"Change number %d\n" % number)
        yield b"M 100644 inline src/%d/%d.py\n" % (number % 25, number % 500)
        yield _data(b"value = %d\n" % number)


def _sessions(corpus: Corpus, commits: Sequence[Oid]) -> Iterator[bytes]:
    """A session of two captures for each two commits, and the index with all of them."""
    blobs = list(_contents(corpus))
    for number, blob in enumerate(blobs, 1):
        yield b"blob\nmark :%d\n" % number + _data(blob)
    found: dict[Oid, bytes] = {}
    for number in range(0, len(commits), 2):
        rng = random.Random(number)
        session = SessionId(str(uuid.UUID(int=rng.getrandbits(128), version=4)))
        marks = [rng.randint(1, len(blobs)) for _ in range(2)]
        pair = commits[number : number + 2]
        made = [
            _record(session, seq, commit, number, len(blobs[mark - 1]), rng)
            for seq, (commit, mark) in enumerate(zip(pair, marks, strict=False), 1)
        ]
        found.update((r.commit, records.encode(r) + b"\n") for r in made if r.commit)
        yield from _session(session, made, marks)
    who = _WHO % (_EPOCH + len(commits) * 60)
    yield b"commit %s\nauthor %s\ncommitter %s\n" % (refs.INDEX.encode(), who, who)
    yield _data(b"sessions\n")
    for commit, note in found.items():
        yield b"M 100644 inline %s\n" % notes.path_of(commit).encode() + _data(note)


def _session(session: SessionId, made: Sequence[Record], marks: Sequence[int]) -> Iterator[bytes]:
    who = _WHO % (_EPOCH + made[0].seq)
    head = sessions.Head(v=sessions.FORMAT, session=session, agent="claude-code")
    yield b"commit %s\nauthor %s\ncommitter %s\n" % (refs.session(session).encode(), who, who)
    yield _data(b"capture\n")
    yield b"M 100644 inline %s\n" % layout.HEAD.encode() + _data(sessions.encode_head(head))
    for record, mark in zip(made, marks, strict=False):
        yield b"M 100644 :%d %s\n" % (mark, layout.segment(record.seq).encode())
        yield b"M 100644 inline %s\n" % layout.record(record.seq).encode()
        yield _data(records.encode(record) + b"\n")


def _record(
    session: SessionId, seq: int, commit: Oid, number: int, size: int, rng: random.Random
) -> Record:
    return Record(
        v=RECORD_VERSION, id=CaptureId(capture_id(session, seq, [(str(size), commit)])),
        session=session, seq=seq, kind="commit", agent=Agent(name="claude-code", version="2.1.39"),
        captured_at=f"2026-01-02T03:{number // 60 % 60:02}:{number % 60:02}.000Z", commit=commit,
        branch="main", author=Author(name="Dev", email="dev@example.com"),
        models=("claude-opus-4-5-20251101",), messages=rng.randint(4, 90), turns=rng.randint(1, 6),
        tools={"Bash": rng.randint(1, 30), "Edit": rng.randint(1, 20), "Read": rng.randint(1, 40)},
        tokens=Tokens(input=rng.randint(100, 9999), output=rng.randint(100, 9999)),
        files=tuple(f"src/{rng.randint(0, 24)}/{rng.randint(0, 499)}.py" for _ in range(3)),
        size=size, raw_size=size * 8, first=str(uuid.UUID(int=rng.getrandbits(128))),
        last=str(uuid.UUID(int=rng.getrandbits(128))), offset=size * 8 * seq,
        prompt=f"Make change number {number} and say why", evidence=Evidence(by="environment"),
    )  # fmt: skip


def _contents(corpus: Corpus) -> Iterator[bytes]:
    """Some small segments, which the sessions share: their content isn't what is measured."""
    for number in range(_CONTENTS):
        file = BytesIO()
        with codec.writer(file) as packed:
            packed.write(b"".join(corpus.lines(20_000, skip=number * 25_000)))
        yield file.getvalue()


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
