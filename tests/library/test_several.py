"""Several writers, in processes and threads, lose nothing and keep nothing twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gitsession import Sessions
from gitsession.actions import reindex
from gitsession.actions.capture import capture_transcript
from gitsession.actions.verify import verify
from gitsession.errors import Moved, SessionError
from gitsession.git.plumbing import discover
from gitsession.model import Record
from gitsession.query.forgettable import all_records
from tests.client import check
from tests.conversation import Conversation
from tests.library.lines import asked, talk, uuids
from tests.scratch import Scratch

WRITER = """
import sys
from pathlib import Path
from gitsession import Sessions
from tests.library.lines import talk
path, session, name, count, go = sys.argv[1:]
with Sessions(path) as store:
    Path(go, name).touch()
    while len([*Path(go).iterdir()]) < 2:
        pass
    for number in range(int(count)):
        store.append(session, talk(2, f"{name}-{number}-"), commit="HEAD")
"""


def start(repo: Scratch, session: str, name: str, count: int, go: Path) -> subprocess.Popen[bytes]:
    """A process that appends so many captures, once there are two of its kind."""
    args = [str(repo.path), session, name, str(count), str(go)]
    return subprocess.Popen([sys.executable, "-c", WRITER, *args], cwd=Path(__file__).parents[2])


def expected(name: str, count: int) -> list[str]:
    """The lines that a writer appends, in order."""
    return [f"{name}-{number}-{line}" for number in range(count) for line in range(1, 5)]


def assert_all_there(repo: Scratch, store: Sessions, session: str, writers: list[str]) -> None:
    """Each writer's lines are there once, in order, and the index has every capture."""
    found = uuids(store.load(session))
    for name in writers:
        own = [uuid for uuid in found if uuid.startswith(f"{name}-")]
        assert own == expected(name, len(own) // 4)
    kept = store.records(session)
    assert [record.seq for record in kept] == [*range(1, len(kept) + 1)]
    assert len({record.id for record in kept}) == len(kept)
    assert [r.captured_at for r in kept] == sorted({r.captured_at for r in kept})
    with discover(repo.path) as opened:
        assert sorted(all_records(opened), key=lambda r: r.seq) == [*kept]
    assert reindex.reindex(repo.path).changed == 0
    assert verify(repo.path, everything=True).findings == ()
    check(repo)


def test_two_processes_keep_all_lines_of_both(
    store: Sessions, repo: Scratch, tmp_path: Path
) -> None:
    session = store.create()
    go = tmp_path / "go"
    go.mkdir()
    writers = [start(repo, session, name, 8, go) for name in ("a", "b")]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert sorted(uuids(store.load(session))) == sorted(expected("a", 8) + expected("b", 8))
    assert_all_there(repo, store, session, ["a", "b"])


def test_threads_share_one_store(store: Sessions, repo: Scratch) -> None:
    session = store.create()

    def write(name: str) -> list[Record]:
        made = []
        for number in range(4):
            made.append(store.append(session, talk(2, f"{name}-{number}-"), commit="HEAD"))
            # A reader among the writers sees whole captures.
            assert len([*store.load(session)]) % 4 == 0
        return made

    with ThreadPoolExecutor(4) as pool:
        made = [*pool.map(write, "abcd")]
    assert {r.id for records in made for r in records} == {r.id for r in store.records(session)}
    assert len(uuids(store.load(session))) == 64
    assert_all_there(repo, store, session, [*"abcd"])


def test_equal_lines_of_two_writers_are_two_captures(store: Sessions, repo: Scratch) -> None:
    session = store.create()
    with ThreadPoolExecutor(2) as pool:
        made = [*pool.map(lambda _: store.append(session, talk(1)), range(6))]
    assert {record.seq for record in made} == {1, 2, 3, 4, 5, 6}
    assert uuids(store.load(session)) == ["u1", "u2"] * 6


def test_the_hooks_capture_the_same_session_meanwhile(store: Sessions, repo: Scratch) -> None:
    told = Conversation.begin(Path.home(), repo.path)
    told.prompt("begin")
    capture_transcript(repo.path, told.path)
    failures: list[BaseException] = []
    done = threading.Event()

    def append() -> None:
        try:
            for number in range(6):
                store.append(told.session, [asked(f"x{number}", None)])
        except SessionError as error:
            failures.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=append)
    thread.start()
    while not done.is_set():
        told.say("more")
        try:
            capture_transcript(repo.path, told.path)
        except Moved:
            # What the worker does again, too.
            continue
    thread.join()
    capture_transcript(repo.path, told.path)
    assert failures == []
    found = [*store.load(told.session)]
    ours = [line for line in found if b'"uuid":"x' in line]
    assert b"".join(line for line in found if line not in ours) == told.path.read_bytes()
    assert uuids(iter(ours)) == [f"x{number}" for number in range(6)]
    with discover(repo.path) as opened:
        assert {r.id for r in all_records(opened)} == {r.id for r in store.records(told.session)}
    check(repo)


def test_only_one_of_many_begins_a_session(repo: Scratch) -> None:
    def create(_: int) -> bool:
        with Sessions(repo.path) as own:
            try:
                own.create(session="one")
            except SessionError:
                return False
            return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(create, range(8))) == 1


def test_a_writer_that_is_killed_leaves_whole_captures(
    store: Sessions, repo: Scratch, tmp_path: Path
) -> None:
    session = store.create()
    store.append(session, talk(2, "a-0-"), commit="HEAD")
    for attempt in range(4):
        go = tmp_path / f"go{attempt}"
        go.mkdir()
        (go / "test").touch()
        writer = start(repo, session, f"k{attempt}", 1000, go)
        before = len(store.records(session))
        while len(store.records(session)) < before + 2:
            time.sleep(0.003 * attempt)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        # Nothing that it held keeps others from going on.
        store.append(session, talk(2, f"z{attempt}-0-"), commit="HEAD")
    reindex.reindex(repo.path)
    assert_all_there(repo, store, session, ["a", "k0", "k1", "k2", "k3", "z0", "z1", "z2", "z3"])
