"""Whatever goes wrong while a capture is taken, nothing is lost and nothing is double."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gitsession.actions.capture import capture_transcript
from gitsession.actions.status import status
from gitsession.actions.work import make_worker
from gitsession.capture import pipeline, segment
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Update
from gitsession.ids import Oid
from gitsession.model import Author, Record
from gitsession.query.index import find_records
from gitsession.store import registry
from tests.client import (
    PAUSE,
    Client,
    captures,
    check,
    common_of,
    is_untouched,
    raw,
    records_of,
    set_up,
    tied,
    waiting,
    work,
)
from tests.scratch import Scratch

Scenario = Callable[[Scratch, Client], None]
Told = dict[str, object]


@pytest.fixture
def repo(scratch: Scratch) -> Scratch:
    """A repository after init."""
    set_up(scratch)
    return scratch


@pytest.fixture
def client(repo: Scratch) -> Client:
    """A session that was asked for something, and wrote a file."""
    client = Client.start(repo)
    client.prompt("write a program")
    client.talk.write("app.py", "def login():\n    return check(password)\n")
    return client


# -- killed at every step -------------------------------------------------------------------


def agent_commit(repo: Scratch, client: Client) -> None:
    """The agent commits, and its turn ends."""
    client.commit()
    client.talk.say("done")
    client.stop()


def hand_commit(repo: Scratch, client: Client) -> None:
    """The user commits what a session wrote, which was captured before or not."""
    client.fire("compacting")
    work(repo)
    client.talk.write("b.py", "def second_function():\n    return 2\n")
    client.stop()
    time.sleep(PAUSE)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "by hand")
    time.sleep(PAUSE)


def amended_commit(repo: Scratch, client: Client) -> None:
    """A captured commit is amended with more of the work."""
    client.commit()
    work(repo)
    client.talk.write("b.py", "def second_function():\n    return 2\n")
    client.bash("git add -A && git commit -q --amend -m more")
    client.stop()


def squash_commit(repo: Scratch, client: Client) -> None:
    """A branch that was captured is squashed by hand, with the agent's work of the moment."""
    repo.git("checkout", "-q", "-b", "topic")
    client.commit("one")
    client.talk.write("b.py", "def second_function():\n    return 2\n")
    client.commit("two")
    work(repo)
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--squash", "topic")
    client.talk.write("c.py", "def third_function():\n    return 3\n")
    client.stop()
    time.sleep(PAUSE)
    repo.git("add", "-A")
    repo.git("commit", "-qm", "by hand")
    time.sleep(PAUSE)


def session_end(repo: Scratch, client: Client) -> None:
    """A session ends with a subagent, a large result and two commits behind it."""
    beside = client.talk.path.with_suffix("") / "tool-results"
    beside.mkdir(parents=True)
    (beside / "b1.txt").write_text("large\n" * 100)
    sub = client.talk.subagent("a1")
    sub.prompt("look")
    sub.say("seen")
    client.commit("one")
    client.talk.write("b.py", "import sys\n")
    client.commit("two")
    client.talk.say("good bye")
    client.end()
    time.sleep(0.3)


def outcome(repo: Scratch, client: Client) -> Told:
    """All that a capture leaves behind, but for when that was."""
    notes = repo.git("notes", "--ref=sessions", "list", check=False).splitlines()
    annotated = sorted(line.split()[1] for line in notes)
    return {
        "captures": [(r.seq, r.id, r.kind, r.reason) for r in captures(repo, client.session)],
        "tied": tied(repo, client.session),
        "records": {
            commit: sorted(
                (r.seq, str(r.commit), str(r.rewritten_from)) for r in notes_of(repo, commit)
            )
            for commit in annotated
        },
        "raw": raw(repo, client.session),
        "left": waiting(repo),
        "traces": [
            (known.state, [(t.path, t.seq) for t in known.traces])
            for known in registry.all_known(common_of(repo))
        ],
    }


def notes_of(repo: Scratch, commit: str) -> list[Record]:
    """All records in a commit's note, those of checkpoints made on it too."""
    with discover(repo.path) as found:
        return find_records(found, Oid(commit))


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_STEPS = {
    "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "shutil.rmtree", "subprocess.Popen", "fcntl.flock",
}  # fmt: skip


def run_killed(repo: Scratch, step: int) -> bool:
    """Run the worker in a process that dies before its n-th step; tells whether it got to it."""
    child = os.fork()
    if not child:
        left = step

        def watch(event: str, given: tuple[object, ...]) -> None:
            nonlocal left
            writes = event == "open" and isinstance(given[2], int) and given[2] & _WRITING
            if writes or event in _STEPS:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        try:
            make_worker(repo.path / ".git", final=False).run()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def run_torn(repo: Scratch, count: int) -> bool:
    """Run the worker until git has moved the first of the refs of its n-th write, and no other."""
    child = os.fork()
    if not child:
        left = count
        whole = Plumbing.apply

        def torn(self: Plumbing, updates: Sequence[Update], author: Author) -> list[Oid]:
            nonlocal left
            left -= 1
            if left or len(updates) < 2:
                return whole(self, updates, author)
            whole(self, updates[:1], author)
            os.kill(os.getpid(), signal.SIGKILL)
            return []

        try:
            Plumbing.apply = torn  # type: ignore[method-assign]
            make_worker(repo.path / ".git", final=False).run()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    "scenario", [agent_commit, hand_commit, amended_commit, squash_commit, session_end]
)
def test_a_session_whose_index_was_not_reached_is_indexed_later(
    repo: Scratch, client: Client, tmp_path: Path, scenario: Scenario, count: int
) -> None:
    scenario(repo, client)
    saved = tmp_path / "saved"
    shutil.copytree(repo.path / ".git", saved, symlinks=True)
    work(repo)
    undisturbed = outcome(repo, client)
    restore(repo, saved)
    run_torn(repo, count)
    work(repo)
    assert outcome(repo, client) == undisturbed


def restore(repo: Scratch, saved: Path) -> None:
    """Put git's folder back as it was, times included."""
    shutil.rmtree(repo.path / ".git")
    shutil.copytree(saved, repo.path / ".git", symlinks=True)


@pytest.mark.parametrize(
    "scenario",
    [
        agent_commit,
        pytest.param(hand_commit, marks=pytest.mark.slow),
        pytest.param(amended_commit, marks=pytest.mark.slow),
        pytest.param(squash_commit, marks=pytest.mark.slow),
        pytest.param(session_end, marks=pytest.mark.slow),
    ],
)
def test_killed_at_every_step_nothing_is_lost_or_double(
    repo: Scratch, client: Client, tmp_path: Path, scenario: Scenario
) -> None:
    scenario(repo, client)
    saved = tmp_path / "saved"
    shutil.copytree(repo.path / ".git", saved, symlinks=True)
    work(repo)
    undisturbed = outcome(repo, client)
    assert undisturbed["left"] == []
    assert captures(repo, client.session)
    step = 0
    while True:
        step += 1
        restore(repo, saved)
        if not run_killed(repo, step):
            break
        worker = make_worker(repo.path / ".git", final=False)
        worker.run()
        assert worker.failures == [], step
        assert (step, outcome(repo, client)) == (step, undisturbed)
        check(repo)
    assert step > 20


@pytest.mark.parametrize("bytes_read", [0, 300, 2000])
def test_a_git_that_is_killed_is_tried_again(
    repo: Scratch, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_read: int
) -> None:
    client.commit()
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{broken_git(tmp_path, bytes_read)}:{os.environ['PATH']}")
        worker = make_worker(common_of(repo), final=False)
        worker.run()
        assert len(worker.failures) == 1
    assert is_untouched(repo)
    assert waiting(repo) == ["post-commit"]
    assert "fast-import" in status(repo.path).last_error
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()
    assert waiting(repo) == []


def broken_git(tmp_path: Path, bytes_read: int) -> Path:
    """A folder with a git that dies in the middle of an import."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "git"
    script.write_text(
        "#!/bin/sh\n"
        'case "$*" in *fast-import*) '
        f"head -c {bytes_read} >/dev/null; kill -9 $$;; esac\n"
        f'exec {shutil.which("git")} "$@"\n'
    )
    script.chmod(0o755)
    return folder


# -- races ----------------------------------------------------------------------------------


def together(*jobs: Callable[[], object]) -> None:
    """Run jobs at once, each in a process of its own."""
    ready, go = os.pipe()
    children = []
    for job in jobs:
        child = os.fork()
        if not child:
            code = 1
            try:
                os.close(go)
                os.read(ready, 1)
                job()
                code = 0
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(child)
    os.close(ready)
    os.close(go)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(jobs)


def test_captures_of_one_session_at_once_take_each_line_once(repo: Scratch, client: Client) -> None:
    def capture() -> None:
        capture_transcript(repo.path, client.talk.path, commit="HEAD")

    for _ in range(4):
        client.talk.say("one more thing")
        together(capture, capture, capture)
    assert raw(repo, client.session) == client.talk.path.read_bytes()
    assert [r.seq for r in captures(repo, client.session)] == [1, 2, 3, 4]
    assert sorted(r.seq for r in records_of(repo)) == [1, 2, 3, 4]
    check(repo)


def test_captures_of_several_sessions_at_once_are_all_in_the_index(repo: Scratch) -> None:
    clients = [Client.start(repo) for _ in range(5)]
    for number, client in enumerate(clients):
        client.prompt(f"question {number}")

    def capture(client: Client) -> Callable[[], object]:
        return lambda: capture_transcript(repo.path, client.talk.path, commit="HEAD")

    together(*(capture(client) for client in clients))
    assert {r.session for r in records_of(repo)} == {client.session for client in clients}
    for client in clients:
        assert raw(repo, client.session) == client.talk.path.read_bytes()
    check(repo)


def test_workers_at_once_do_the_work_once(repo: Scratch, client: Client) -> None:
    agent_commit(repo, client)

    def run() -> None:
        make_worker(repo.path / ".git", final=False).run()

    together(run, run, run)
    assert waiting(repo) == []
    assert len(records_of(repo)) == len(captures(repo, client.session)) == 1
    check(repo)


def test_a_ref_that_moves_under_the_capture_is_read_again(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = segment.write_segment
    others: list[object] = []

    def slow(*args: Any, **named: Any) -> segment.Segment:
        if not others:
            others.append("one")
            together(lambda: capture_transcript(repo.path, client.talk.path))
        return written(*args, **named)

    monkeypatch.setattr(pipeline, "write_segment", slow)
    client.commit()
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()
    assert len(captures(repo, client.session)) == 1
    assert [r.seq for r in records_of(repo)] == [1]


# -- the transcript -------------------------------------------------------------------------


def test_a_half_written_line_is_taken_when_it_is_whole(repo: Scratch, client: Client) -> None:
    whole = client.talk.path.read_bytes()
    client.talk.say("to be continued")
    full = client.talk.path.read_bytes()
    client.talk.path.write_bytes(full[:-40])
    client.fire("compacting")
    work(repo)
    assert raw(repo, client.session) == whole
    client.talk.path.write_bytes(full)
    client.end()
    work(repo)
    assert raw(repo, client.session) == full


@pytest.mark.parametrize(
    "line", [b"{broken\n", b"\n", b"\xff\xfe\x00\n", b"null\n", b'{"uuid":7}\n', b"\r\n", b"[[[[\n"]
)
def test_a_broken_line_is_kept_as_it_is(repo: Scratch, client: Client, line: bytes) -> None:
    with client.talk.path.open("ab") as file:
        file.write(line)
    client.fire("compacting")
    work(repo)
    client.talk.say("more")
    client.end()
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_a_transcript_that_was_cut_adds_only_what_is_new(repo: Scratch, client: Client) -> None:
    client.talk.say("first answer")
    keep = client.talk.path.stat().st_size
    client.talk.say("second answer")
    client.fire("compacting")
    work(repo)
    before = client.talk.path.read_bytes()
    client.talk.path.write_bytes(before[:keep])
    client.talk.say("another second answer")
    new = client.talk.path.read_bytes()[keep:]
    client.end()
    work(repo)
    assert raw(repo, client.session) == before + new


def test_a_transcript_that_was_replaced_is_taken_whole(repo: Scratch, client: Client) -> None:
    client.fire("compacting")
    work(repo)
    before = client.talk.path.read_bytes()
    client.talk.path.unlink()
    client.talk.path.touch()
    client.prompt("all anew")
    for number in range(9):
        client.talk.say(f"answer {number}")
    client.end()
    work(repo)
    assert raw(repo, client.session) == before + client.talk.path.read_bytes()


def test_a_transcript_written_anew_with_the_same_lines_adds_nothing(
    repo: Scratch, client: Client
) -> None:
    client.talk.note("mode", mode="normal")
    client.talk.say("answer")
    client.fire("compacting")
    work(repo)
    before = client.talk.path.read_bytes()
    lines = [x for x in before.splitlines(keepends=True) if b'"mode"' not in x]
    client.talk.path.write_bytes(b"".join(lines))
    client.talk.say("more")
    new = client.talk.path.read_bytes()[len(b"".join(lines)) :]
    client.end()
    work(repo)
    assert raw(repo, client.session) == before + new


@pytest.mark.slow
def test_a_line_of_fifty_megabytes_is_kept(repo: Scratch, client: Client) -> None:
    client.talk.say("x" * (50 << 20))
    client.end()
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()


# -- the disk, and warnings -----------------------------------------------------------------


def test_a_full_disk_leaves_the_event_and_says_so(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.commit()

    def full(*args: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "write_segment", full)
        worker = make_worker(common_of(repo), final=False)
        worker.run()
        assert len(worker.failures) == 1
    assert is_untouched(repo)
    assert waiting(repo) == ["post-commit"]
    assert "No space left on device" in status(repo.path).last_error
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_one_event_that_fails_holds_up_no_other(
    repo: Scratch, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Client.start(repo)
    client.commit()
    other.prompt("another question")
    other.end()
    taken = pipeline.Pipeline.take

    def fail(self: pipeline.Pipeline, order: pipeline.Order) -> object:
        if order.session == client.session:
            raise ValueError("a bug of ours")
        return taken(self, order)

    with monkeypatch.context() as patched:
        patched.setattr(pipeline.Pipeline, "take", fail)
        worker = make_worker(common_of(repo), final=False)
        worker.run()
    assert "a bug of ours" in worker.failures[0]
    assert "post-commit" in waiting(repo)
    assert raw(repo, other.session) == other.talk.path.read_bytes()
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()


def test_a_large_segment_is_kept_and_warned_about(repo: Scratch, client: Client) -> None:
    repo.git("config", "session.warnSize", "1k")
    client.commit()
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()
    assert "session.warnSize" in status(repo.path).last_error
    assert waiting(repo) == []


def test_nothing_is_left_in_the_scratch_folder(repo: Scratch, client: Client) -> None:
    client.commit()
    client.end()
    work(repo)
    scratch = common_of(repo) / "gitsession" / "tmp"
    assert not scratch.exists() or list(scratch.iterdir()) == []
