"""From a turn's hooks to the states that are kept of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gitsession import config
from gitsession.actions import snapshots as keeping
from gitsession.actions.work import run_worker
from gitsession.capture import snapshot
from gitsession.git import refs, restore, worktree
from gitsession.git.inspect import listing
from gitsession.git.plumbing import discover
from gitsession.ids import SessionId
from gitsession.store import folder, journal, moments, registry, snapshots, spool
from gitsession.store.lock import held
from gitsession.store.snapshots import snapshot_at
from gitsession.store.states import Snapshot
from tests.client import PAUSE, Client, common_of, set_up, waiting, work
from tests.scratch import Scratch


@pytest.fixture
def repo(scratch: Scratch) -> Scratch:
    """A repository after init."""
    set_up(scratch)
    return scratch


def kept(repo: Scratch, session: str) -> list[Snapshot]:
    """A session's snapshots."""
    with discover(repo.path) as found:
        return snapshots.read_all(found, SessionId(session))


def names(repo: Scratch, state: Snapshot | None) -> list[str]:
    """The files of a state."""
    assert state is not None
    with discover(repo.path) as found:
        return [x.path for x in listing(found, state.tree) if not x.path.startswith(".claude/")]


def due(repo: Scratch) -> list[Path]:
    """What waits to be kept."""
    return list((common_of(repo) / "gitsession" / "snapping").iterdir())


def keep(repo: Scratch) -> None:
    """Keep what is due, as the process of a hook does first of all."""
    keeping.take_due(common_of(repo))
    assert due(repo) == []


def turn(client: Client, name: str) -> None:
    """A turn that writes a file."""
    client.prompt(f"write {name}")
    keep(client.repo)
    client.talk.write(name, f"{name} is written\n")
    client.talk.say("done")
    time.sleep(PAUSE)
    client.stop()
    keep(client.repo)
    time.sleep(PAUSE)


def test_the_state_of_every_turn_can_be_found(repo: Scratch) -> None:
    client = Client.start(repo)
    turn(client, "a")
    repo.write("mine", "between turns\n")
    turn(client, "b")
    client.prompt("say something")
    keep(repo)
    client.stop()
    work(repo)
    found = kept(repo, client.session)
    assert [one.moment for one in found] == ["start", "end", "start", "end"]
    assert {(one.branch, one.worktree, one.head) for one in found} == {
        ("main", str(repo.path), repo.head())
    }
    from gitsession.agents import claude_code

    turns = claude_code.read_turns(client.lines())
    assert [names(repo, snapshot_at(found, turns, n)) for n in range(4)] == [
        ["README"], ["README", "a"], ["README", "a", "b", "mine"], ["README", "a", "b", "mine"],
    ]  # fmt: skip


def test_an_interrupted_turn_ends_where_the_next_begins(repo: Scratch) -> None:
    client = Client.start(repo)
    client.prompt("one")
    keep(repo)
    client.talk.write("a", "written\n")
    time.sleep(0.3)
    client.prompt("two")
    keep(repo)
    found = kept(repo, client.session)
    from gitsession.agents import claude_code

    turns = claude_code.read_turns(client.lines())
    assert [one.ended for one in found] == ["", ""]
    assert names(repo, snapshot_at(found, turns, 1)) == ["README", "a"]


def test_the_worker_keeps_what_no_process_of_a_hook_has(repo: Scratch) -> None:
    client = Client.start(repo)
    client.fire("prompt", prompt="x", prompt_id="the-prompt")
    work(repo)
    (found,) = kept(repo, client.session)
    assert (found.moment, found.prompt) == ("start", "the-prompt")
    assert due(repo) == []
    repo.write("a", "x")
    client.end()
    work(repo)
    assert [one.moment for one in kept(repo, client.session)] == ["start", "end"]
    assert waiting(repo) == []


def test_a_state_is_kept_while_the_worker_waits_for_a_call(repo: Scratch) -> None:
    client = Client.start(repo)
    work(repo)
    client.talk.prompt("commit")
    client.talk.call("Bash", command="git commit")
    client.run("git commit -q --allow-empty -m x && echo x >>README && git commit -qam y")
    common = common_of(repo)
    worker = threading.Thread(target=run_worker, args=(common,))
    worker.start()
    try:
        while not waits_at_work(common):
            time.sleep(0.01)
        client.prompt("and now?")
        words = [sys.executable, "-m", "gitsession", "worker", "--git-dir", str(common)]
        code = "import sys; from gitsession.entry import main; sys.exit(main(sys.argv[1:]))"
        words = [sys.executable, "-c", code, *words[3:]]
        assert subprocess.run(words, check=False).returncode == 0
        assert [one.moment for one in kept(repo, client.session)] == ["start"]
        assert due(repo) == []
        assert "post-commit" in waiting(repo)
    finally:
        client.stop()
        worker.join(timeout=60)


def waits_at_work(common: Path) -> bool:
    """Whether a worker is at work here."""
    with held(folder.home(common) / "lock") as got:
        return not got


def test_sessions_and_work_trees_are_kept_apart(repo: Scratch, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    linked = Scratch(tmp_path / "linked")
    one, two = Client.start(repo), Client.start(linked)
    turn(one, "a")
    two.prompt("x")
    keep(repo)
    linked.write("b", "x")
    two.stop()
    keep(repo)
    assert names(repo, kept(repo, one.session)[-1]) == ["README", "a"]
    (start, end) = kept(repo, two.session)
    assert (names(repo, start), names(repo, end)) == (["README"], ["README", "b"])
    assert (end.worktree, end.branch) == (str(linked.path), "other")


def test_a_tool_that_waited_too_long_says_so(repo: Scratch) -> None:
    client = Client.start(repo)
    client.prompt("x")
    client.fire("tool-starting", tool_name="Bash")
    repo.write("a", "changed before it was kept")
    keep(repo)
    assert [one.moment for one in kept(repo, client.session)] == ["barrier"]


def test_a_moment_long_gone_is_not_made_up(repo: Scratch) -> None:
    client = Client.start(repo)
    client.prompt("x")
    for event in spool.read(folder.spool(common_of(repo))):
        os.utime(event.path, (event.at - 3600, event.at - 3600))
    keep(repo)
    assert kept(repo, client.session) == []


def test_without_snapshots_none_are_written(repo: Scratch) -> None:
    client = Client.start(repo)
    client.prompt("x")
    repo.git("config", "session.snapshot", "false")
    keep(repo)
    client.prompt("y")
    work(repo)
    client.stop()
    assert due(repo) == []
    assert kept(repo, client.session) == []


def test_what_is_too_large_is_told(repo: Scratch) -> None:
    repo.git("config", "session.snapshotMaxFile", "1k")
    repo.write("large\nfile", "x" * 2000)
    client = Client.start(repo)
    turn(client, "a")
    assert [one.left_out for one in kept(repo, client.session)] == [("large\nfile",)] * 2


def test_a_failure_is_noted_and_nothing_else_is_lost(
    repo: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client.start(repo)
    client.prompt("x")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(snapshots, "write", fail)
    keep(repo)
    assert "No space" in (journal.last(common_of(repo)) or "")
    work(repo)
    assert waiting(repo) == []
    assert registry.find(common_of(repo), SessionId(client.session))


def test_no_state_in_a_bare_repository(repo: Scratch, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    repo.git("clone", "-q", "--bare", ".", str(bare))
    body = b'{"session_id":"s"}'
    event = spool.write(folder.spool(bare), "agent", agent="claude-code", word="prompt",
                        git_dir=str(bare), body=body)  # fmt: skip
    folder.make(folder.home(bare) / "snapping")
    (folder.home(bare) / "snapping" / f"start.{event.name}").touch()
    keeping.take_due(bare)
    assert moments.all_due(bare) == []
    assert not repo.git("--git-dir", str(bare), "for-each-ref", refs.SNAPSHOTS)
    assert journal.last(bare) is None


def test_old_snapshots_are_dropped_once_a_day(repo: Scratch) -> None:
    client = Client.start(repo)
    turn(client, "a")
    common = common_of(repo)
    repo.git("config", "session.snapshotKeep", "0")
    time.sleep(1.1)
    work(repo)
    assert keeping.expire(common) == []
    client.end()
    work(repo)
    registry.drop(common, SessionId(client.session))
    assert keeping.expire(common) == []
    assert keeping.expire(common, now=time.time() + 90000) == [
        refs.snapshots(SessionId(client.session))
    ]
    assert kept(repo, client.session) == []


def test_a_state_is_put_back_and_that_is_taken_back(repo: Scratch) -> None:
    client = Client.start(repo)
    turn(client, "a")
    turn(client, "b")
    session, settings = SessionId(client.session), config.load(repo.path)
    with discover(repo.path) as found:
        first = snapshots.read_all(found, session)[0]
        seen = snapshot.put_back(found, session, first.tree, settings, dry_run=True)
        assert (seen.plan.deletes, seen.snapshot) == (("a", "b"), None)
        done = snapshot.put_back(found, session, first.tree, settings)
        assert (done.plan, done.left) == (seen.plan, ())
        assert sorted(path.name for path in repo.path.glob("[!.]*")) == ["README"]
        last = snapshots.find_last(found, session)
        assert last is not None and (last.oid, last.moment) == (done.snapshot, "rewind")
        snapshot.put_back(found, session, last.tree, settings, ["b"])
    assert sorted(path.name for path in repo.path.glob("[!.]*")) == ["README", "b"]


def test_what_was_broken_off_is_finished_before_anything_is_kept(repo: Scratch) -> None:
    client = Client.start(repo)
    turn(client, "a")
    common = common_of(repo)
    with discover(repo.path) as found:
        first = kept(repo, client.session)[0]
        place = snapshots.restore_folder(common, common)
        side = snapshots.side_index(common, common)
        plan = restore.plan_restore(found, first.tree, worktree.take(found, side).tree)
        checked = restore.check(found, plan, place)
        place.mkdir(parents=True)
        # As a process leaves it that was killed before its first step.
        restore._write_journal(place, checked)
    client.prompt("go on")
    keep(repo)
    assert not place.exists()
    assert not (repo.path / "a").exists()
    assert names(repo, kept(repo, client.session)[-1]) == ["README"]
    place.mkdir()
    (place / "files").mkdir()
    keeping.take_due(common)
    assert not place.exists()
