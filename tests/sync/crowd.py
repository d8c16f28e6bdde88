"""Many clones of one repository at once: runs what was planned, disturbs it, and looks at the end.

What a killed git leaves behind is git's own business: a `*.lock` in a clone of
somebody whose machine went down is removed before that clone is used again, as
git tells its users to. Where our process alone is killed, the git commands that it
started end by themselves, and the next process starts while they may still run.
Locks on the server are nobody's to remove: its processes are never killed, their
connections are cut.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from gitsession.git import notes, refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.ids import CaptureId, Oid, SessionId, capture_id
from gitsession.model import Agent, Record
from gitsession.query.index import read_all
from gitsession.store import codec, contents, layout, records, sessions
from tests.scratch import Scratch
from tests.sync.actor import Entry, Job, Step, Task, plan, read_log
from tests.sync.clones import Clone, make_origin

_AT_ONCE = 4
_PASSES = 6
"""Syncs of everybody after which nobody has anything new."""
_LONGEST = 300.0


@dataclass
class Running:
    """One process at work."""

    task: Task
    process: subprocess.Popen[bytes]
    log: Path
    ready: float | None = None
    started: float = field(default_factory=time.monotonic)


class Crowd:
    """The shared repository, its clones, and the logs of all that was done."""

    def __init__(self, path: Path, *, clones: int, object_format: str, preload: int = 0) -> None:
        self._path = path
        self._logs = path / "logs"
        self._logs.mkdir()
        self.origin = make_origin(path / "origin.git", object_format=object_format)
        if preload:
            load_captures(self.origin, preload)
        self.clones = list(self._make_clones(clones))
        self.disturbed: set[int] = set()
        """Clones in which something may fail, for it was made to."""

    def _make_clones(self, count: int) -> Iterator[Clone]:
        first = Clone.of(self.origin, self._path / "clone")
        server = f"'{sys.executable}' -I -S '{Path(__file__).with_name('connection.py')}'"
        first.git("config", "remote.origin.receivepack", f"{server} receive-pack")
        first.git("config", "remote.origin.uploadpack", f"{server} upload-pack")
        for number in range(count):
            path = self._path / f"clone-{number}"
            shutil.copytree(first.path, path, symlinks=True)
            yield Clone(Scratch(path))

    # -- what is planned --------------------------------------------------------------------

    def run(self, seed: int, rounds: int) -> None:
        """Let everybody do what they have to, a few at a time."""
        for number, tasks in enumerate(plan(seed, len(self.clones), rounds)):
            waiting = list(tasks)
            running: list[Running] = []
            while waiting or running:
                while waiting and len(running) < _AT_ONCE:
                    running += self._start(waiting.pop(), f"{number}")
                running = [one for one in running if not self._is_over(one)]
                time.sleep(0.005)

    def _start(self, task: Task, name: str) -> list[Running]:
        if task.kill is not None or task.drop:
            self.disturbed.add(task.clone)
        parts = [part for part in (task.steps, task.beside) if part]
        path = str(self.clones[task.clone].path)
        return [
            Running(task, *self._spawn([Job(path=path, steps=steps)],
                                       f"{task.clone}-{name}-{part}", task.drop))
            for part, steps in enumerate(parts)
        ]  # fmt: skip

    def _spawn(
        self, jobs: Sequence[Job], name: str, drop: str = ""
    ) -> tuple[subprocess.Popen[bytes], Path]:
        log = self._logs / name
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.sync.actor", str(log)],
            stdin=subprocess.PIPE, env={**os.environ, "DROP": drop}, start_new_session=True,
            cwd=Path(__file__).parents[2],
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(jobs))
        process.stdin.close()
        return process, log

    def _is_over(self, one: Running) -> bool:
        """Look after a process: kill it when its time has come."""
        if one.process.poll() is not None:
            return True
        now = time.monotonic()
        assert now - one.started < _LONGEST, f"{one.task} hangs"
        if one.ready is None and one.log.exists() and one.log.stat().st_size:
            one.ready = now
        if one.task.kill is not None and one.ready is not None and now > one.ready + one.task.kill:
            self._kill(one)
            return True
        return False

    def _kill(self, one: Running) -> None:
        if not one.task.group:
            one.process.kill()
            one.process.wait()
            return
        os.killpg(one.process.pid, signal.SIGKILL)
        one.process.wait()
        deadline = time.monotonic() + 1
        with suppress(ProcessLookupError, PermissionError):
            while time.monotonic() < deadline:
                os.killpg(one.process.pid, 0)
                time.sleep(0.005)
        if not one.task.beside:
            self._remove_locks(one.task.clone)

    def _remove_locks(self, clone: int) -> None:
        for lock in (self.clones[clone].path / ".git").rglob("*.lock"):
            lock.unlink(missing_ok=True)

    # -- the end ----------------------------------------------------------------------------

    def settle(self) -> None:
        """Everybody syncs until nothing is new for anybody."""
        for number in self.disturbed:
            self._remove_locks(number)
        jobs = [Job(path=str(clone.path), steps=(Step(do="sync"),)) for clone in self.clones]
        jobs[0] = Job(path=jobs[0].path, steps=(Step(do="everything"), *jobs[0].steps))
        for turn in range(_PASSES):
            before = self.origin.git("for-each-ref")
            spawned = [self._spawn(jobs[part::3], f"settle-{turn}-{part}") for part in range(3)]
            for process, log in spawned:
                assert process.wait() == 0
                wrong = [x.text for x in read_log(log) if x.what != "ready" and not _is_race(x)]
                assert wrong == []
            tips = {clone.git("rev-parse", refs.INDEX) for clone in self.clones}
            if self.origin.git("for-each-ref") == before and len(tips) == 1:
                return
        raise AssertionError(f"there is always something new after {_PASSES} syncs of everybody")

    def entries(self) -> list[tuple[int, Entry]]:
        """All that was written down while it was planned what to do, with the clone's number."""
        found = [log for log in sorted(self._logs.iterdir()) if log.name[0].isdigit()]
        return [(int(log.name.split("-")[0]), entry) for log in found for entry in read_log(log)]

    def check(self) -> None:
        """Nothing was lost, doubled or damaged, and everybody has the same."""
        entries = self.entries()
        assert [entry.text for _, entry in entries if entry.what == "bug"] == []
        failed = [
            (n, e.text) for n, e in entries if e.what in ("failed", "warned") and not _is_race(e)
        ]
        assert [each for each in failed if each[0] not in self.disturbed] == []
        assert any(entry.what == "done" for _, entry in entries)
        self._check_clones()
        with discover(self.origin.path) as repo:
            check_captures(repo, [entry for _, entry in entries])
        for place in (self.origin, *(clone.scratch for clone in self.clones[::10])):
            assert place.git("fsck", "--strict", "--no-dangling", "--no-reflogs") == ""

    def _check_clones(self) -> None:
        theirs = self.origin.git("rev-parse", f"{refs.INDEX}^{{tree}}")
        everything = set(self.origin.git("for-each-ref", "--format=%(refname)").splitlines())
        for number, clone in enumerate(self.clones):
            assert clone.index_tree() == theirs, clone.path
            with clone.open() as repo:
                assert clone.exchange(repo).unpushed() == [], clone.path
                mine = repo.refs(refs.SESSIONS)
            assert mine.keys() <= everything
            if number == 0:
                assert mine.keys() == {r for r in everything if r.startswith(refs.SESSIONS)}


def _is_race(entry: Entry) -> bool:
    """Whether a push only lost against the others; what it had waits for the next."""
    return entry.what == "warned" and entry.text.endswith("others were always faster")


def check_captures(repo: Plumbing, entries: Sequence[Entry]) -> None:
    """The shared repository has every capture once, readable, and each record once."""
    held = list(_held(repo))
    texts = Counter(record.prompt for record, _ in held)
    begun = {entry.text for entry in entries if entry.what == "begun"}
    done = {entry.text for entry in entries if entry.what == "done"}
    planned = Counter({text: number for text, number in texts.items() if text in begun})
    assert set(planned.values()) <= {1}, [x for x in planned.items() if x[1] > 1]
    assert done <= texts.keys(), sorted(done - texts.keys())
    ids = Counter(record.id for record, _ in held)
    assert set(ids.values()) == {1}
    assert {entry.id for entry in entries if entry.id} <= ids.keys()
    index = [(place, r) for place, note in read_all(repo) for r in _readable(note)]
    keys = Counter((record.id, record.commit) for _, record in index)
    assert set(keys.values()) == {1}, [key for key, number in keys.items() if number > 1]
    assert all(place == (record.commit or record.base) for place, record in index)
    told = {(entry.id, entry.commit) for entry in entries if entry.id}
    assert told <= keys.keys(), sorted(map(str, told - keys.keys()))
    every = {(r.id, r.commit): r for record, ties in held for r in (record, *ties)}
    assert every.keys() <= keys.keys(), sorted(map(str, every.keys() - keys.keys()))
    assert all(r.rewritten_from or (r.id, r.commit) in every for _, r in index)
    assert all(every[r.id, r.commit].seq == r.seq for _, r in index if (r.id, r.commit) in every)


def _readable(note: bytes) -> list[Record]:
    return records.readable(records.decode_note(note))


def _held(repo: Plumbing) -> Iterator[tuple[Record, list[Record]]]:
    """Every capture of every session, with its further records, its content looked at."""
    for ref, tip in repo.refs(refs.SESSIONS).items():
        stored = sessions.open_ref(repo, ref)
        for piece in contents.read(repo, tip).pieces:
            text = b"".join(sessions.segment_lines(repo, stored, piece.own.seq))
            assert text.decode() == f"{piece.own.prompt}\n"
            yield piece.own, [x for x in piece.ties if isinstance(x, Record)]


# -- what was there before --------------------------------------------------------------------


def load_captures(origin: Scratch, count: int) -> None:
    """Give the shared repository captures, four to a session, by one run of fast-import."""
    size = len(origin.git("rev-parse", "refs/heads/main"))
    made = [_old_record(number, size) for number in range(count)]
    stream = b"".join([*_old_sessions(made), *_old_index(made), b"done\n"])
    done = subprocess.run(
        ["git", "fast-import", "--quiet", "--done"], cwd=origin.path, input=stream,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def _old_record(number: int, size: int) -> Record:
    session, text = SessionId(f"old-{number // 4}"), f"old/{number}"
    return Record(
        v=1, id=CaptureId(capture_id(session, number, [("main", text)])), session=session,
        seq=number % 4 + 1, kind="commit", agent=Agent(name="claude-code"), prompt=text,
        captured_at=f"2026-01-02T03:{number // 60:02}:{number % 60:02}.000Z", offset=number,
        commit=Oid(f"{number * 7919:x}".rjust(8, "0")[::-1] + f"{number:x}".rjust(size - 8, "0")),
    )  # fmt: skip


def _old_sessions(made: Sequence[Record]) -> Iterator[bytes]:
    for start in range(0, len(made), 4):
        group = made[start : start + 4]
        head = sessions.Head(v=sessions.FORMAT, session=group[0].session, agent="claude-code")
        yield _commit(refs.session(group[0].session))
        yield _file(layout.HEAD, sessions.encode_head(head))
        for record in group:
            yield _file(layout.record(record.seq), records.encode(record) + b"\n")
            yield _file(layout.segment(record.seq), codec.pack(record.prompt.encode() + b"\n"))


def _old_index(made: Iterable[Record]) -> Iterator[bytes]:
    yield _commit(refs.INDEX)
    for record in made:
        assert record.commit is not None
        yield _file(notes.path_of(record.commit), records.encode(record) + b"\n")


def _commit(ref: str) -> bytes:
    who = "Dev <dev@example.com> 1700000000 +0000"
    return f"commit {ref}\nauthor {who}\ncommitter {who}\ndata 8\ncapture\n\n".encode()


def _file(path: str, data: bytes) -> bytes:
    return b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)
