"""Nobody thinks about it: the user's own git carries the sessions, and is never in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gitsession.actions import install, log, publish, show, status
from gitsession.errors import SessionError
from gitsession.git import refs
from gitsession.store import outbox
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin


def begin(clone: Clone) -> None:
    """Run init as a user does."""
    install.install(clone.path, shared=False, agent="claude-code", push=True)


def wait_for(condition: Callable[[], bool]) -> bool:
    """Give what was started in the background some time."""
    for _ in range(300):
        if condition():
            return True
        time.sleep(0.1)
    return False


def common(clone: Clone) -> Path:
    return clone.path / ".git"


def has(origin: Scratch, ref: str) -> bool:
    return bool(origin.git("for-each-ref", ref))


@pytest.fixture
def origin(tmp_path: Path) -> Scratch:
    return make_origin(tmp_path / "origin.git")


@pytest.fixture
def ann(origin: Scratch, tmp_path: Path) -> Clone:
    """Somebody who ran init."""
    clone = Clone.of(origin, tmp_path / "ann")
    begin(clone)
    return clone


# -- pushing --------------------------------------------------------------------------------


def test_git_push_sends_the_sessions_and_the_index(ann: Clone, origin: Scratch) -> None:
    ann.capture("s1", "why", commit=ann.scratch.commit("work", {"a": "b\n"}))
    ann.git("push", "-q")
    assert wait_for(lambda: has(origin, "refs/sessions/s1") and has(origin, refs.INDEX))
    assert wait_for(lambda: not outbox.is_marked(common(ann)))


def test_a_remote_may_be_a_relative_path(ann: Clone, origin: Scratch) -> None:
    ann.git("remote", "set-url", "origin", "../origin.git")
    ann.capture("s1", "why")
    publish.publish(common(ann), pushed="origin")
    assert has(origin, "refs/sessions/s1")
    (ann.path / "below").mkdir()
    assert ann.push() == []


def test_a_push_to_another_remote_sends_nothing(
    ann: Clone, origin: Scratch, tmp_path: Path
) -> None:
    other = make_origin(tmp_path / "other.git")
    ann.git("remote", "add", "other", str(other.path))
    ann.capture("s1", "why")
    publish.publish(common(ann), pushed="other")
    publish.publish(common(ann), pushed=str(other.path))
    assert not has(other, "refs/sessions")
    assert not has(origin, "refs/sessions")
    publish.publish(common(ann), pushed=f"file://{origin.path}")
    assert has(origin, "refs/sessions")


def test_a_separate_remote_gets_the_sessions_of_every_push(
    ann: Clone, origin: Scratch, tmp_path: Path
) -> None:
    private = make_origin(tmp_path / "private.git")
    ann.git("config", "session.remote", str(private.path))
    ann.capture("s1", "why", commit=ann.scratch.commit("work", {"a": "b\n"}))
    ann.git("push", "-q")
    assert wait_for(lambda: has(private, refs.INDEX))
    assert not has(origin, "refs/sessions")
    assert not has(origin, refs.INDEX)


def test_nothing_is_sent_when_the_user_says_so(ann: Clone, origin: Scratch) -> None:
    ann.git("config", "session.autoPush", "false")
    ann.capture("s1", "why")
    assert not outbox.is_marked(common(ann))
    publish.publish(common(ann), pushed="origin")
    assert not has(origin, "refs/sessions")


def test_a_capture_on_a_branch_that_is_shared_is_sent(ann: Clone, origin: Scratch) -> None:
    ann.capture("s1", "why", branch="private")
    publish.publish(common(ann))
    assert not has(origin, "refs/sessions")
    ann.capture("s2", "why", branch="main")
    publish.publish(common(ann))
    assert has(origin, "refs/sessions/s2")
    assert not outbox.is_marked(common(ann))


def test_snapshots_stay_here_unless_they_are_asked_for(ann: Clone, origin: Scratch) -> None:
    ann.git("update-ref", "refs/snapshots/s1", "HEAD")
    ann.capture("s1", "why")
    publish.publish(common(ann), pushed="origin")
    assert has(origin, "refs/sessions/s1")
    assert not has(origin, "refs/snapshots")
    ann.git("config", "session.pushSnapshots", "true")
    ann.capture("s1", "more")
    publish.publish(common(ann), pushed="origin")
    assert has(origin, "refs/snapshots/s1")


def test_one_process_pushes_for_all(ann: Clone, origin: Scratch) -> None:
    command = ["git-session", "worker", "--git-dir", str(common(ann)), "--pushed", "origin"]
    running = []
    for number in range(5):
        ann.capture(f"s{number}", "why")
        running.append(subprocess.Popen(command, env={**os.environ, "PATH": path_with_us()}))
    assert [process.wait() for process in running] == [0] * 5
    publish.publish(common(ann), pushed="origin")
    assert len(origin.git("for-each-ref", "refs/sessions").splitlines()) == 5


def path_with_us() -> str:
    """A PATH on which our program is."""
    import sys

    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def test_our_own_push_runs_no_hook(ann: Clone, tmp_path: Path) -> None:
    hook = common(ann) / "hooks" / "pre-push.before-git-session"
    hook.write_text(f"#!/bin/sh\necho ran >>'{tmp_path}/ran'\n")
    hook.chmod(0o755)
    ann.capture("s1", "why")
    publish.publish(common(ann), pushed="origin")
    assert not (tmp_path / "ran").exists()
    ann.scratch.commit("work", {"a": "b\n"})
    ann.git("push", "-q")
    assert (tmp_path / "ran").read_text() == "ran\n"


# -- what goes wrong ------------------------------------------------------------------------


def test_a_missing_program_is_in_nobodys_way(ann: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    send = common(ann) / "gitsession-hooks" / "send.sh"
    send.write_text(send.read_text().replace("bin=", "bin=/nowhere/git-session #"))
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/bin", "/bin"]))
    ann.capture("s1", "why")
    ann.scratch.commit("work", {"a": "b\n"})
    done = subprocess.run(
        ["git", "push", "-q"], cwd=ann.path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_after_three_failures_the_user_is_told_once(ann: Clone, origin: Scratch) -> None:
    hidden = origin.path.rename(origin.path.with_name("gone.git"))
    ann.capture("s1", "why")
    for _ in range(4):
        publish.publish(common(ann), pushed="origin")
    assert outbox.attempts(common(ann)).failures == 4
    found = status.status(ann.path)
    assert set(found.sharing.unpushed) == {"refs/notes/sessions", "refs/sessions/s1"}
    assert "origin" in found.sharing.reason
    hidden.rename(origin.path)
    # The hook tells, and starts the push that now works.
    ann.scratch.commit("work", {"a": "b\n"})
    first = push(ann)
    assert "3 pushes of sessions failed" in first
    assert "git session sync" in first
    assert wait_for(lambda: has(origin, "refs/sessions/s1"))
    ann.scratch.commit("more", {"a": "c\n"})
    assert push(ann) == ""
    assert wait_for(lambda: outbox.attempts(common(ann)).failures == 0)


def push(clone: Clone) -> str:
    """What the user's own push says."""
    done = subprocess.run(
        ["git", "push", "-q"], cwd=clone.path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    return done.stderr


def test_a_server_that_refuses_one_session_takes_the_others(ann: Clone, origin: Scratch) -> None:
    hook = origin.path / "hooks" / "pre-receive"
    hook.write_text(
        "#!/bin/sh\n"
        "! grep -q refs/sessions/bad || { echo 'error: bad is too large' >&2; exit 1; }\n"
    )
    hook.chmod(0o755)
    for name in ("bad", "good", "fine"):
        ann.capture(name, "why")
    assert ann.push() == ["bad is too large (pre-receive hook declined)"]
    assert has(origin, "refs/sessions/good")
    assert has(origin, "refs/sessions/fine")
    assert has(origin, refs.INDEX)


def test_a_push_killed_midway_is_done_by_the_next(ann: Clone, origin: Scratch) -> None:
    hook = origin.path / "hooks" / "update"
    hook.write_text("#!/bin/sh\nkill -9 $PPID\n")
    hook.chmod(0o755)
    ann.capture("s1", "why")
    publish.publish(common(ann), pushed="origin")
    assert outbox.attempts(common(ann)).failures == 1
    assert outbox.is_marked(common(ann))
    hook.unlink()
    publish.publish(common(ann), pushed="origin")
    assert has(origin, "refs/sessions/s1")
    ann.check()
    assert origin.git("fsck", "--strict", "--no-dangling") == ""


# -- fetching -------------------------------------------------------------------------------


@pytest.fixture
def shared(ann: Clone) -> Clone:
    """Somebody whose sessions are on the remote."""
    ann.capture("s1", "why", commit=ann.scratch.commit("work", {"a": "b\n"}))
    ann.git("-c", "core.hooksPath=/dev/null", "push", "-q")
    ann.sync()
    return ann


def test_plain_git_goes_on_working_before_the_first_push(
    ann: Clone, origin: Scratch, tmp_path: Path
) -> None:
    ann.capture("s1", "not pushed yet")
    before = ann.git("for-each-ref", "refs/sessions", "refs/notes")
    for words in ("fetch", "fetch --prune", "fetch --all --prune", "pull", "pull --rebase",
                  "remote update --prune", "remote prune origin", "fetch origin main"):  # fmt: skip
        done = subprocess.run(
            ["git", *words.split()], cwd=ann.path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (words, done.stderr)
    assert ann.git("for-each-ref", "refs/sessions", "refs/notes") == before
    origin.git("clone", "-q", "--mirror", str(origin.path), str(tmp_path / "mirror"))
    origin.path.rename(tmp_path / "away")
    assert (
        subprocess.run(["git", "log"], cwd=ann.path, capture_output=True, check=False).returncode
        == 0
    )
    ann.scratch.commit("offline", {"x": "y\n"})
    assert ann.git("for-each-ref", "refs/sessions", "refs/notes") == before


def test_git_fetch_brings_the_index_and_log_tells_it(
    shared: Clone, origin: Scratch, tmp_path: Path
) -> None:
    bob = Clone.of(origin, tmp_path / "bob")
    begin(bob)
    bob.capture("own", "bob's")
    bob.git("fetch", "-q", "--prune")
    entries = list(log.log(bob.path, log.Wanted()))
    assert [record.prompt for entry in entries for record in entry.records] == ["why"]
    assert bob.prompts() == {"own": ["bob's"], "s1": ["why"]}
    assert not has(bob.scratch, "refs/sessions/s1")


@pytest.mark.parametrize("flags", [(), ("--depth=1",), ("--filter=blob:none",)])
def test_a_session_comes_when_it_is_opened(
    shared: Clone, origin: Scratch, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    origin.git("config", "uploadpack.allowFilter", "true")
    bob = Clone.of(origin, tmp_path / "bob", *flags)
    begin(bob)
    assert bob.fetch() == ()
    assert b"".join(show.raw(bob.path, "HEAD")) == b"why\n"
    assert b"".join(show.raw(bob.path, "s1")) == b"why\n"
    bob.check()


def test_a_session_that_only_the_index_knows_is_found_by_the_beginning_of_its_id(
    shared: Clone, origin: Scratch, tmp_path: Path
) -> None:
    shared.capture("abcdef-long-name", "rare")
    shared.sync()
    bob = Clone.of(origin, tmp_path / "bob")
    bob.fetch()
    assert b"".join(show.raw(bob.path, "abcd")) == b"rare\n"


def test_what_cannot_be_fetched_is_told(shared: Clone, origin: Scratch, tmp_path: Path) -> None:
    bob = Clone.of(origin, tmp_path / "bob")
    bob.fetch()
    shutil.rmtree(origin.path)
    with pytest.raises(SessionError, match="isn't here") as caught:
        list(show.raw(bob.path, "HEAD"))
    assert caught.value.hint
