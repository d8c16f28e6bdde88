"""What a turn changed is a commit of the session's branch, and nothing else ever is."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from gitsession import config
from gitsession.actions import start
from gitsession.actions.branch_push import push_branches
from gitsession.actions.reindex import reindex
from gitsession.actions.squash import squash, trailers_of, write_message
from gitsession.actions.start import Wish
from gitsession.actions.verify import verify
from gitsession.actions.work import make_worker
from gitsession.capture import autocommit
from gitsession.capture.autocommit import Asked, Pending, parse_pending
from gitsession.errors import SessionError
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Commit, Signature
from gitsession.ids import Oid, SessionId
from gitsession.store import folder, journal, spool, started
from tests.client import Client, check, common_of, records_of, set_up
from tests.scratch import Scratch


@dataclass
class Desk:
    """A session that was started with its turns committed, and the worker."""

    repo: Scratch
    client: Client
    branch: str

    @classmethod
    def of(cls, repo: Scratch) -> Desk:
        begun, _ = start.start(repo.path, Wish(autocommit=True, launches=False))
        return cls(repo, Client.start(repo, session=begun.session), begun.branch)

    def turn(self, prompt: str, **files: str) -> None:
        """One turn in which files are written; dots in their names are underscores."""
        self.begin(prompt, **files)
        self.end()

    def begin(self, prompt: str, **files: str) -> None:
        self.client.prompt(prompt)
        for name, text in files.items():
            self.client.talk.write(name.replace("_", "."), text)

    def end(self) -> None:
        self.client.talk.say("done")
        self.client.stop()
        self.settle()

    def settle(self) -> None:
        """Let the worker do all there is."""
        worker = make_worker(common_of(self.repo), final=False)
        worker.run()
        assert worker.failures == []
        assert spool.is_empty(folder.spool(common_of(self.repo)))
        check(self.repo)

    def subjects(self) -> list[str]:
        """The commits of the branch, oldest first."""
        return self.repo.git("log", "--reverse", "--format=%s", f"main..{self.branch}").split("\n")

    def noted(self) -> str:
        return journal.last(common_of(self.repo)) or ""

    def hook(self, name: str, script: str) -> None:
        """A hook of the user's own, which ours would chain."""
        path = self.repo.path / ".git" / "hooks" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


@pytest.fixture(params=["sha1", "sha256"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Desk:
    repo = Scratch.create(tmp_path / "repo", object_format=request.param)
    set_up(repo)
    return Desk.of(repo)


# -- turns --------------------------------------------------------------------------------


def test_every_turn_that_changed_files_is_a_commit(desk: Desk) -> None:
    desk.turn("Write a\nprogram", app_py="def login():\n    return check(password)\n")
    desk.turn("What does it do?")
    desk.repo.path.joinpath("README").unlink()
    desk.turn("Log out, too", app_py="def logout():\n    return leave(password)\n")
    assert desk.subjects() == ["Turn 1: Write a program", "Turn 3: Log out, too"]
    assert desk.repo.git("status", "--porcelain") == ""
    assert desk.repo.git("ls-tree", "--name-only", "HEAD") == "app.py"
    message = desk.repo.git("log", "-1", "--format=%B", "HEAD^").strip()
    assert message == (
        f"Turn 1: Write a program\n\nWrite a\nprogram\n\nSession: {desk.client.session}"
    )
    for commit, turns in (("HEAD^", 1), ("HEAD", 2)):
        (record,) = records_of(desk.repo, commit)
        assert (record.session, record.branch) == (desk.client.session, desk.branch)
        assert record.turns == turns
        assert record.evidence is not None
        assert record.evidence.by == "environment"
    assert desk.noted() == ""


def test_what_was_committed_in_between_is_not_committed_twice(desk: Desk) -> None:
    desk.begin("Write both", one_py="def one():\n    return first(thing)\n")
    by_agent = desk.client.commit("by the agent")
    desk.client.talk.write("two.py", "def two():\n    return second(thing)\n")
    desk.repo.git("add", "-A")
    desk.repo.git("commit", "-qm", "by hand")
    by_hand = desk.repo.head()
    desk.end()
    assert desk.subjects() == ["by the agent", "by hand"]
    assert [r.evidence.by for r in records_of(desk.repo, by_agent) if r.evidence] == ["environment"]
    assert [r.evidence.by for r in records_of(desk.repo, by_hand) if r.evidence] == ["content"]
    desk.turn("And more", three_py="def three():\n    return third(thing)\n")
    assert desk.subjects()[-1] == "Turn 2: And more"


def test_on_another_branch_nothing_is_committed(desk: Desk) -> None:
    desk.repo.git("switch", "-q", "main")
    desk.turn("Elsewhere", a_py="import os\n")
    desk.repo.git("switch", "-q", "--detach")
    desk.turn("Nowhere", b_py="import os\n")
    assert desk.repo.git("rev-list", "--branches", "--count", "--", "a.py", "b.py") == "0"
    assert desk.repo.git("status", "--porcelain") == "?? a.py\n?? b.py"


def test_another_session_on_the_branch_commits_nothing(desk: Desk) -> None:
    other = Desk(desk.repo, Client.start(desk.repo), desk.branch)
    other.turn("Not mine", a_py="import os\n")
    assert desk.repo.head() == desk.repo.git("rev-parse", "main")


def test_what_happened_long_ago_is_no_turns_doing(desk: Desk) -> None:
    desk.begin("Long ago", a_py="import os\n")
    desk.client.stop()
    for path in folder.spool(common_of(desk.repo)).iterdir():
        os.utime(path, (path.stat().st_mtime - 3600,) * 2)
    desk.settle()
    assert desk.repo.head() == desk.repo.git("rev-parse", "main")


def test_a_repository_inside_is_nobodys_to_commit(desk: Desk) -> None:
    Scratch.create(desk.repo.path / "deep" / "inner")
    desk.turn("Clone it", a_py="import os\n")
    assert desk.repo.git("ls-tree", "-r", "--name-only", "HEAD") == "README\na.py"
    desk.turn("Nothing more")
    assert desk.subjects() == ["Turn 1: Clone it"]


def test_a_session_below_the_top_and_in_a_linked_work_tree(desk: Desk) -> None:
    begun, launch = start.start(
        desk.repo.path, Wish(autocommit=True, worktree=True, launches=False)
    )
    there = Desk(
        Scratch(Path(launch.cwd)), Client.start(Scratch(Path(launch.cwd)), session=begun.session),
        begun.branch,
    )  # fmt: skip
    there.turn("There", a_py="import os\n")
    assert there.subjects() == ["Turn 1: There"]
    assert desk.repo.git("status", "--porcelain") == ""


# -- what keeps git from it ---------------------------------------------------------------


def test_a_hook_that_says_no_loses_nothing(desk: Desk) -> None:
    desk.hook("pre-commit", "echo 'error: not like this' >&2; exit 1")
    desk.turn("Try", a_py="import os\n")
    assert desk.repo.head() == desk.repo.git("rev-parse", "main")
    assert "autocommit: git commit: not like this" in desk.noted()
    assert (desk.repo.path / "a.py").read_text() == "import os\n"
    desk.hook("pre-commit", 'echo "$CLAUDE_CODE_SESSION_ID" >"$HOME/who"')
    desk.turn("Again")
    assert desk.subjects() == ["Turn 2: Again"]
    assert Path(os.environ["HOME"], "who").read_text().strip() == desk.client.session


def test_what_a_hook_leaves_running_is_not_waited_for(desk: Desk) -> None:
    desk.hook("pre-commit", 'sleep 60 & echo $! >"$HOME/pid"')
    try:
        desk.turn("Try", a_py="import os\n")
        assert desk.subjects() == ["Turn 1: Try"]
        os.kill(int(Path(os.environ["HOME"], "pid").read_text()), 0)
    finally:
        os.kill(int(Path(os.environ["HOME"], "pid").read_text()), 9)


@pytest.mark.parametrize("name", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"])
def test_what_git_is_in_the_middle_of_is_the_users(desk: Desk, name: str) -> None:
    path = desk.repo.path / ".git" / name
    path.write_text(desk.repo.head() + "\n")
    desk.turn("Try", a_py="import os\n")
    assert "is in progress" in desk.noted()
    assert desk.repo.git("diff", "--cached", "--name-only") == ""
    path.unlink()
    desk.turn("Again")
    assert desk.subjects() == ["Turn 2: Again"]


def test_conflicts_are_never_taken_for_solved(desk: Desk) -> None:
    desk.repo.write("README", "ours\n")
    desk.repo.git("stash")
    desk.repo.commit("theirs", {"README": "theirs\n"})
    desk.repo.git("stash", "pop", check=False)
    assert desk.repo.git("ls-files", "-u") != ""
    desk.turn("Try", a_py="import os\n")
    assert desk.repo.git("ls-files", "-u") != ""
    assert "is in progress" in desk.noted()


def test_an_index_that_is_locked_is_left_for_the_next_turn(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autocommit, "_LOCK_TRIES", 2)
    lock = desk.repo.path / ".git" / "index.lock"
    lock.touch()
    desk.turn("Try", a_py="import os\n")
    assert "index.lock" in desk.noted()
    lock.unlink()
    desk.turn("Again")
    assert desk.subjects() == ["Turn 2: Again"]


def test_a_secret_in_the_prompt_is_in_no_commit(desk: Desk) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    desk.turn(f"Log in with {secret}\n\nand look", a_py="import os\n")
    message = desk.repo.git("log", "-1", "--format=%B")
    assert secret not in message
    assert message.count("[REDACTED:") == 2


def test_a_worker_that_was_killed_after_the_commit_makes_no_second(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = autocommit.commit_turn

    def die(*given: object) -> None:
        real(*given)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(autocommit, "commit_turn", die)
    desk.begin("Once", a_py="import os\n")
    desk.client.stop()
    with pytest.raises(KeyboardInterrupt):
        make_worker(common_of(desk.repo), final=False).run()
    monkeypatch.setattr(autocommit, "commit_turn", real)
    desk.settle()
    assert desk.subjects() == ["Turn 1: Once"]
    assert len(records_of(desk.repo)) == 1


# -- pushing ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["origin", "elsewhere"])
def test_the_branch_is_pushed(desk: Desk, tmp_path: Path, name: str) -> None:
    desk.repo.git("config", "session.autoPush", "true")
    desk.repo.git("clone", "-q", "--bare", str(desk.repo.path), str(tmp_path / "origin.git"))
    origin = Scratch(tmp_path / "origin.git")
    desk.repo.git("remote", "add", name, str(origin.path))
    desk.turn("Send it", a_py="import os\n")
    common = common_of(desk.repo)
    push_branches(common, config.load(common))
    assert desk.noted() == ""
    assert origin.git("rev-parse", desk.branch) == desk.repo.head()
    assert desk.repo.git("rev-parse", "@{upstream}") == desk.repo.head()
    # Somebody else pushed meanwhile: that is for the user to see, and stops nothing.
    other = desk.repo.git("commit-tree", "-m", "theirs", "HEAD^{tree}", "-p", "HEAD")
    desk.repo.git("push", "-q", name, f"{other}:refs/heads/{desk.branch}")
    desk.turn("Send more", b_py="import os\n")
    push_branches(common, config.load(common))
    assert f"push of branch {desk.branch}" in desk.noted()
    assert origin.git("rev-parse", desk.branch) == other
    assert [x.unpushed for x in started.all_started(common)] == [None]


@pytest.mark.parametrize("how", ["off", "no remote", "two of them"])
def test_the_branch_is_not_pushed(desk: Desk, how: str) -> None:
    desk.repo.git("config", "session.autoPush", str(how != "off").lower())
    if how == "off":
        desk.repo.git("remote", "add", "origin", "/nowhere")
    if how == "two of them":
        desk.repo.git("remote", "add", "one", "/nowhere")
        desk.repo.git("remote", "add", "two", "/nowhere")
    desk.turn("Keep it", a_py="import os\n")
    common = common_of(desk.repo)
    push_branches(common, config.load(common))
    assert desk.noted() == ""


# -- squash -------------------------------------------------------------------------------


@pytest.fixture
def three(desk: Desk) -> Desk:
    """Three turns, and a commit by hand."""
    desk.turn("Write it", a_py="def first():\n    return alpha(beta)\n")
    desk.turn("Test it", b_py="def second():\n    return gamma(delta)\n")
    desk.repo.commit("By hand\n\nFixes: #1", {"c": "by hand\n"})
    desk.turn("Tell of it", d_py="def third():\n    return epsilon(zeta)\n")
    return desk


def test_one_commit_has_the_records_of_all(three: Desk) -> None:
    repo = three.repo
    old, main = repo.head(), repo.git("rev-parse", "main")
    ids = {r.id for c in repo.git("rev-list", "main..HEAD").split() for r in records_of(repo, c)}
    repo.write("README", "not committed\n")
    repo.write("staged", "staged\n")
    repo.git("add", "staged")
    before = repo.git("status", "--porcelain")
    done = squash(repo.path)
    assert (repo.head(), repo.git("rev-parse", "HEAD^")) == (done.commit, main)
    assert repo.git("rev-parse", "HEAD^{tree}") == repo.git("rev-parse", f"{old}^{{tree}}")
    assert repo.git("status", "--porcelain") == before
    assert repo.git("symbolic-ref", "--short", "HEAD") == three.branch
    assert len(done.replaced) == 4
    assert repo.git("rev-parse", "HEAD@{1}", f"{three.branch}@{{1}}").split() == [old, old]
    found = records_of(repo)
    assert {r.id for r in found} == ids
    assert done.captures == len(ids) == 3
    assert {r.rewritten_from for r in found} <= set(done.replaced)
    assert repo.git("log", "-1", "--format=%B").strip() == (
        "Write it\n\n- Turn 1: Write it\n- Turn 2: Test it\n- By hand\n- Turn 3: Tell of it\n\n"
        f"Session: {three.client.session}\nFixes: #1"
    )
    assert not [f for f in verify(repo.path).findings if f.level == "error"]
    # The next turn goes on from it.
    three.turn("Go on", e_py="import os\n")
    assert three.subjects() == ["Write it", "Turn 4: Go on"]
    check(repo)


def test_what_is_captured_later_is_carried_too(three: Desk) -> None:
    """A worker that comes late finds word of the rewrite."""
    three.begin("Late", e_py="def fourth():\n    return eta(theta)\n")
    three.client.bash("git add -A && git commit -qm late")
    call = three.client.talk.call("Bash", command="git session squash")
    done = squash(three.repo.path)
    three.client.talk.result(call, "ok")
    three.end()
    assert {r.turns for r in records_of(three.repo, done.commit)} >= {1}
    assert three.repo.head() == done.commit
    assert len({r.id for r in records_of(three.repo, done.commit)}) >= 4


def test_the_talk_between_turns_is_part_of_the_story(desk: Desk) -> None:
    desk.turn("Where to begin?")
    desk.client.end()
    desk.settle()
    desk.turn("Write it", a_py="def first():\n    return alpha(beta)\n")
    desk.turn("Why so?")
    desk.client.end()
    desk.settle()
    desk.turn("Test it", b_py="def second():\n    return gamma(delta)\n")
    desk.client.end()
    other = Client.start(desk.repo)
    other.prompt("Something else")
    other.talk.say("well")
    other.end()
    desk.settle()
    done = squash(desk.repo.path)
    found = records_of(desk.repo, done.commit)
    assert {r.session for r in found} == {desk.client.session}
    assert {"Where to begin?", "Write it", "Why so?", "Test it"} <= {r.prompt for r in found}
    assert sum({r.id: r.turns for r in found}.values()) == 4
    assert not [f for f in verify(desk.repo.path).findings if f.level == "error"]
    # It is told by the session refs, too.
    index = desk.repo.git("rev-parse", "refs/notes/sessions^{tree}")
    reindex(desk.repo.path)
    assert desk.repo.git("rev-parse", "refs/notes/sessions^{tree}") == index


def test_squashing_onto_a_commit_with_words_of_ones_own(three: Desk) -> None:
    done = squash(three.repo.path, onto="HEAD~2", message="The rest")
    assert three.subjects() == ["Turn 1: Write it", "Turn 2: Test it", "The rest"]
    assert len(done.replaced) == 2


def test_what_a_rebase_brought_is_not_the_branchs_own(three: Desk) -> None:
    repo = three.repo
    repo.git("switch", "-q", "main")
    repo.commit("meanwhile", {"m": "m\n"})
    repo.git("switch", "-q", three.branch)
    repo.git("rebase", "-q", "main")
    three.settle()
    done = squash(repo.path)
    assert repo.git("log", "-1", "--format=%s", done.base) == "meanwhile"
    assert len(done.replaced) == 4
    assert len({r.id for r in records_of(repo)}) == 3


def test_a_squash_that_was_killed_is_done_again_and_the_same(
    three: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gitsession.actions import squash as module

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    old, real = three.repo.head(), module._move
    monkeypatch.setattr(module, "_move", die)
    with pytest.raises(KeyboardInterrupt):
        squash(three.repo.path)
    assert three.repo.head() == old
    assert len(records_of(three.repo, old)) == 1
    monkeypatch.setattr(module, "_move", real)
    index = three.repo.git("rev-parse", "refs/notes/sessions^{tree}")
    done = squash(three.repo.path)
    assert three.repo.git("rev-parse", "refs/notes/sessions^{tree}") == index
    assert done.captures == 3


def test_a_branch_that_moved_meanwhile_stays(three: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from gitsession.actions import squash as module

    real = module._tell_worker

    def move(repo: Plumbing, pairs: object) -> None:
        three.repo.git("commit", "-q", "--allow-empty", "-m", "meanwhile")
        real(repo, pairs)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_tell_worker", move)
    with pytest.raises(SessionError, match="moved meanwhile"):
        squash(three.repo.path)
    assert three.subjects()[-1] == "meanwhile"


def test_what_is_not_squashed(three: Desk, tmp_path: Path) -> None:
    repo = three.repo
    old = repo.head()

    def refused(why: str, **given: str) -> None:
        with pytest.raises(SessionError, match=why):
            squash(repo.path, **given)  # type: ignore[arg-type]
        assert repo.head() == old

    refused("nothing to squash: one commit", onto="HEAD^")
    refused("nothing to squash: no commit", onto="HEAD")
    refused("no commit named 'nowhere'", onto="nowhere")
    repo.git("branch", "side", "main")
    refused("isn't in the history", onto=repo.git("commit-tree", "-m", "x", "HEAD^{tree}"))
    (repo.path / ".git" / "MERGE_HEAD").write_text(old + "\n")
    refused("a merge is in progress")
    (repo.path / ".git" / "MERGE_HEAD").unlink()
    repo.git("switch", "-q", "--detach")
    refused("HEAD is on no branch")
    repo.git("switch", "-q", "-c", "plain")
    refused("nobody knows where branch 'plain' began")
    repo.git("clone", "-q", "--bare", str(repo.path), str(tmp_path / "origin.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    repo.git("fetch", "-q", "origin")
    refused("on a remote already", onto="main")
    assert squash(repo.path, onto="main", published_too=True).published
    old = repo.head()
    repo.git("switch", "-q", three.branch)
    repo.git("reset", "-q", "--hard", "main")
    repo.git("commit", "-q", "--allow-empty", "-m", "x")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge", "origin/plain")
    old = repo.head()
    refused("is a merge")


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="signs with an ssh key")
def test_what_the_user_signs_is_signed(desk: Desk, tmp_path: Path) -> None:
    repo, key = desk.repo, tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    allowed = tmp_path / "allowed"
    allowed.write_text(f"dev@example.com {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "gpg.format": "ssh", "user.signingKey": str(key), "commit.gpgSign": "true",
        "gpg.ssh.allowedSignersFile": str(allowed),
    }.items():  # fmt: skip
        repo.git("config", name, value)
    desk.turn("One", a_py="import os\n")
    desk.turn("Two", b_py="import os\n")
    repo.git("verify-commit", "HEAD", "HEAD^")
    old = repo.head()
    key.rename(tmp_path / "away")
    with pytest.raises(SessionError):
        squash(repo.path)
    assert repo.head() == old
    assert len(records_of(repo)) == 1
    desk.turn("Three", c_py="import os\n")
    assert "autocommit: git commit" in desk.noted()
    (tmp_path / "away").rename(key)
    desk.turn("Four")
    assert desk.subjects() == ["Turn 1: One", "Turn 2: Two", "Turn 4: Four"]
    squash(repo.path)
    repo.git("verify-commit", "HEAD")


# -- pure ---------------------------------------------------------------------------------


def test_a_status_is_understood() -> None:
    out = b"1 .M N... 100644 100644 100644 a a file with space\0? new\0? inner/\0"
    assert parse_pending(out) == Pending(changed=True, nested=("inner/",))
    assert parse_pending(b"? inner/\0") == Pending(nested=("inner/",))
    assert parse_pending(b"u UU N... 1 1 1 1 a b c x\0") == Pending(conflicts=True)
    assert parse_pending(b"") == Pending()


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("Do it", "Turn 2: Do it\n\nSession: s\n"),
        ("", "Turn 2\n\nSession: s\n"),
        ("# a\n\x1b[31m\0b", "Turn 2: # a [31mb\n\n# a\n[31mb\n\nSession: s\n"),
        ("x" * 99, f"Turn 2: {'x' * 59}\u2026\n\n{'x' * 99}\n\nSession: s\n"),
    ],
)
def test_a_message(prompt: str, message: str) -> None:
    assert autocommit.write_message(Asked(number=2, prompt=prompt), SessionId("s")) == message


def test_trailers() -> None:
    assert list(trailers_of("a\n\nb\n\nA: 1\nB-c: 2\n")) == ["A: 1", "B-c: 2"]
    assert list(trailers_of("a\n\nA: 1\nno trailer\n")) == []
    assert list(trailers_of("A: 1\n")) == []
    who = Signature(name="Ann", email="ann@example.com", at=1)
    one = Commit(oid=Oid("1"), tree=Oid("1"), parents=(), author=who, committer=who, message="x")
    assert write_message([one, msgspec.structs.replace(one, message="y\n\nA: 1")], "z") == (
        "z\n\n- x\n- y\n\nA: 1\n"
    )
