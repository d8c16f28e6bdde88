"""The shell scripts, run by git and by every shell that is here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.hooks.ground import (
    SESSION,
    SHELLS,
    add_hook,
    call_agent,
    commit,
    events,
    git_dir,
    picture,
    run,
    wait_for,
)
from tests.scratch import Scratch

HOOKS = Path(__file__).parent.parent.parent / "hooks"


def test_a_script_is_short_and_plain_sh() -> None:
    for path in sorted(path for path in HOOKS.rglob("*") if path.is_file()):
        text = path.read_text()
        assert len(text.splitlines()) <= 20, path.name
        if shutil.which("shellcheck"):
            words = ["shellcheck", "-s", "sh", "-e", "SC1091,SC2034,SC2154,SC2317,SC3013"]
            done = subprocess.run([*words, path], capture_output=True, text=True, check=False)
            assert done.stdout == ""


# -- commits ------------------------------------------------------------------------------


def test_a_commit_of_the_agent_is_told(repo: Scratch, notes: Path) -> None:
    done = commit(repo)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    [event] = events(git_dir(repo))
    assert (event.event, event.head, event.ref) == ("post-commit", repo.head(), "refs/heads/main")
    assert Path(event.git_dir) == git_dir(repo)
    assert Path(event.cwd) == repo.path
    assert event.env == {"CLAUDE_CODE_SESSION_ID": SESSION, "HOME": os.environ["HOME"]}
    assert event.path.stat().st_mode & 0o777 == 0o600
    assert wait_for(notes) == ["worker --git-dir .git"]


def test_a_commit_by_hand_is_told_when_a_session_is_pending(repo: Scratch) -> None:
    commit(repo, CLAUDE_CODE_SESSION_ID="")
    assert events(git_dir(repo)) == []
    pending = git_dir(repo) / "gitsession" / "sessions"
    pending.mkdir()
    commit(repo, CLAUDE_CODE_SESSION_ID="")
    assert events(git_dir(repo)) == []
    (pending / "x.json").write_text("{}")
    commit(repo, CLAUDE_CODE_SESSION_ID="")
    assert [event.env.get("CLAUDE_CODE_SESSION_ID") for event in events(git_dir(repo))] == [None]


def test_an_amend_tells_the_pair(repo: Scratch) -> None:
    old = repo.head()
    run(repo, "git", "commit", "-q", "--amend", "-m", "other")
    [event] = events(git_dir(repo))
    assert (event.event, event.args) == ("post-rewrite", "amend")
    assert event.body.decode().split() == [old, repo.head()]


def test_a_rebase_tells_all_pairs_and_what_is_replayed(repo: Scratch) -> None:
    old = [repo.commit(f"c{n}", {f"f{n}": "x"}) for n in range(2)]
    repo.git("checkout", "-q", "-b", "base", "HEAD~2")
    repo.commit("base", {"base": "x"})
    repo.git("checkout", "-q", "main")
    run(repo, "git", "rebase", "-q", "base", CLAUDE_CODE_SESSION_ID=SESSION)
    new = repo.git("rev-list", "--reverse", "base..main").split()
    rewrite = next(e for e in events(git_dir(repo)) if e.event == "post-rewrite")
    assert rewrite.args == "rebase"
    assert rewrite.body.decode().split() == [old[0], new[0], old[1], new[1]]
    commits = [e for e in events(git_dir(repo)) if e.event == "post-commit"]
    assert {e.ref for e in commits} <= {"HEAD"}


def test_a_cherry_pick_tells_what_was_picked(repo: Scratch) -> None:
    repo.git("checkout", "-q", "-b", "side")
    picked = repo.commit("picked", {"a": "x"})
    repo.git("checkout", "-q", "main")
    repo.commit("other", {"b": "x"})
    run(repo, "git", "cherry-pick", picked, CLAUDE_CODE_SESSION_ID=SESSION)
    assert [e.picked for e in events(git_dir(repo))] == [picked]


def test_a_merge_is_told(repo: Scratch) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", {"a": "x"})
    repo.git("checkout", "-q", "main")
    run(repo, "git", "merge", "-q", "--no-ff", "side", CLAUDE_CODE_SESSION_ID=SESSION)
    assert [(e.event, e.args, e.head) for e in events(git_dir(repo))] == [
        ("post-merge", "0", repo.head())
    ]


def squash_merge(repo: Scratch) -> list[str]:
    """Squash a branch of two commits, of a message that looks like git's own list."""
    repo.git("checkout", "-q", "-b", "side")
    made = [repo.commit(f"commit {'0' * 40}\n\ncommit {n}", {f"f{n}": "x"}) for n in range(2)]
    repo.git("checkout", "-q", "main")
    run(repo, "git", "merge", "-q", "--squash", "side")
    return made


def test_a_squash_merge_tells_its_commits_though_no_session_is_known(repo: Scratch) -> None:
    made = squash_merge(repo)
    [event] = events(git_dir(repo))
    assert (event.event, event.args, event.head) == ("post-merge", "1", repo.head())
    assert event.body.decode().splitlines() == [f"commit {oid}" for oid in reversed(made)]


def test_the_commit_after_a_squash_merge_is_told(repo: Scratch) -> None:
    left = git_dir(repo) / "gitsession" / "squash" / ".git"
    left.parent.mkdir()
    left.touch()
    commit(repo, CLAUDE_CODE_SESSION_ID="")
    assert [event.event for event in events(git_dir(repo))] == ["post-commit"]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_every_shell_tells_of_a_squash_merge(repo: Scratch, shell: list[str]) -> None:
    made = squash_merge(repo)
    [told] = events(git_dir(repo))
    told.path.unlink()
    done = run(repo, *shell, ".git/hooks/post-merge", "1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (git_dir(repo) / "SQUASH_MSG").unlink()
    assert run(repo, *shell, ".git/hooks/post-merge", "1").stderr == ""
    bodies = sorted(event.body.decode().split() for event in events(git_dir(repo)))
    assert bodies == [[], ["commit", made[1], "commit", made[0]]]


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_every_shell_tells_of_the_commit_after_a_reset(repo: Scratch, shell: list[str]) -> None:
    commit(repo)
    repo.git("reset", "-q", "--soft", "HEAD^")
    (git_dir(repo) / "hooks" / "post-commit").chmod(0o644)
    commit(repo, CLAUDE_CODE_SESSION_ID="")
    for event in events(git_dir(repo)):
        event.path.unlink()
    old = (git_dir(repo) / "ORIG_HEAD").stat().st_mtime - 5
    os.utime(git_dir(repo) / "ORIG_HEAD", (old, old))
    for told in (["post-commit"], []):
        done = run(repo, *shell, ".git/hooks/post-commit")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert [event.event for event in events(git_dir(repo))] == told
        for event in events(git_dir(repo)):
            event.path.unlink()


def test_a_commit_after_a_pull_is_not_told(repo: Scratch) -> None:
    commit(repo)
    for event in events(git_dir(repo)):
        event.path.unlink()
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", {"a": "x"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--ff-only", "side")
    assert (git_dir(repo) / "ORIG_HEAD").exists()
    done = commit(repo, CLAUDE_CODE_SESSION_ID="")
    assert (done.stdout, done.stderr) == ("", "")
    assert events(git_dir(repo)) == []


def test_commits_at_once_are_an_event_each(tmp_path: Path, repo: Scratch, notes: Path) -> None:
    trees = [tmp_path / f"tree{n}" for n in range(20)]
    for tree in trees:
        repo.git("worktree", "add", "-q", "--detach", str(tree))
    words = ["git", "commit", "-q", "--allow-empty", "-m", "x"]
    env = {**os.environ, "CLAUDE_CODE_SESSION_ID": SESSION}
    running = [subprocess.Popen(words, cwd=tree, env=env) for tree in trees]
    assert [child.wait() for child in running] == [0] * 20
    found = events(git_dir(repo))
    assert sorted(event.cwd for event in found) == sorted(map(str, trees))
    assert {event.ref for event in found} == {"HEAD"}
    assert len(wait_for(notes, 20)) == 20


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_every_shell_runs_the_hooks(repo: Scratch, shell: list[str]) -> None:
    add_hook(git_dir(repo) / "hooks", "post-rewrite.before-git-session", "cat; exit 3")
    env = {"CLAUDE_CODE_SESSION_ID": SESSION}
    for name, stdin in (("post-commit", ""), ("post-merge", ""), ("post-rewrite", "a b\nc d\n")):
        done = run(repo, *shell, f".git/hooks/{name}", "x", stdin=stdin, **env)
        assert (done.stdout, done.stderr) == (stdin, "")
        assert done.returncode == (3 if stdin else 0)
    assert [(e.event, e.args, e.head) for e in events(git_dir(repo))] == [
        (name, "x", repo.head()) for name in ("post-commit", "post-merge", "post-rewrite")
    ]


# -- when there is nothing to do ----------------------------------------------------------


@pytest.mark.parametrize("how", ["variable", "repository", "user", "command", "after others"])
def test_switched_off_nothing_is_written(repo: Scratch, how: str, notes: Path) -> None:
    env, words = {"CLAUDE_CODE_SESSION_ID": SESSION}, ["git"]
    if how == "variable":
        env["GIT_SESSION_DISABLE"] = "1"
    elif how == "repository":
        repo.git("config", "session.enabled", "false")
    elif how == "user":
        repo.git("config", "--global", "session.enabled", "no")
    elif how == "command":
        words += ["-c", "session.enabled=false"]
    else:
        commit(repo)
        call_agent(repo, "prompt")
        repo.git("config", "session.enabled", "false")
    before = picture(git_dir(repo) / "gitsession", git_dir(repo) / "gitsession-hooks")
    done = run(repo, *words, "commit", "-q", "--allow-empty", "--amend", "-m", "x", **env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    if how != "command":
        run(repo, ".git/gitsession-hooks/agent", "claude-code", "turn-ended", stdin="{}\n", **env)
    assert picture(git_dir(repo) / "gitsession", git_dir(repo) / "gitsession-hooks") == before


def test_a_zero_doesnt_switch_it_off(repo: Scratch) -> None:
    commit(repo, GIT_SESSION_DISABLE="0")
    assert len(events(git_dir(repo))) == 1


def test_without_our_folder_a_commit_is_silent_and_makes_it_anew(repo: Scratch) -> None:
    shutil.rmtree(git_dir(repo) / "gitsession")
    done = commit(repo, CLAUDE_CODE_SESSION_ID="")
    run(repo, "git", "commit", "-q", "--allow-empty", "--amend", "-m", "x")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (git_dir(repo) / "gitsession").exists()
    done = commit(repo)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(events(git_dir(repo))) == 1


@pytest.mark.parametrize("gone", ["tell.sh", "spool.sh", "event.sh", "everything"])
def test_without_a_part_of_ours_the_other_hook_still_runs(repo: Scratch, gone: str) -> None:
    add_hook(git_dir(repo) / "hooks", "post-commit.before-git-session", "echo chained")
    ours = git_dir(repo) / "gitsession-hooks"
    shutil.rmtree(ours) if gone == "everything" else (ours / gone).unlink()
    done = commit(repo)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "chained\n")
    if gone != "everything":
        call_agent(repo, "turn-ended")


def test_without_the_program_a_commit_is_silent(repo: Scratch, notes: Path) -> None:
    (notes.parent / "git-session").unlink()
    done = commit(repo)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(events(git_dir(repo))) == 1


def test_a_short_path_is_enough(repo: Scratch, notes: Path) -> None:
    commit(repo, PATH="/usr/bin:/bin")
    assert wait_for(notes) == ["worker --git-dir .git"]


def test_a_spool_that_cant_be_written_is_silent(repo: Scratch) -> None:
    shutil.rmtree(git_dir(repo) / "gitsession")
    (git_dir(repo) / "gitsession").write_text("in the way")
    done = commit(repo)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    call_agent(repo, "prompt")


# -- the hooks of others ------------------------------------------------------------------


def test_tools_that_chain_each_other_dont_go_round_for_ever(repo: Scratch) -> None:
    hooks = git_dir(repo) / "hooks"
    shutil.copy(hooks / "post-commit", hooks / "post-commit.legacy")
    again = '"${0%/*}/post-commit.legacy"'
    add_hook(hooks, "post-commit.before-git-session", f"echo round\nexec {again}")
    done = commit(repo)
    assert 0 < done.stderr.count("round") < 10


def test_the_pre_push_of_others_decides(repo: Scratch, tmp_path: Path) -> None:
    repo.git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    hook = add_hook(
        git_dir(repo) / "hooks", "pre-push.before-git-session", 'echo "$*"; cat; exit 1'
    )
    done = run(repo, "git", "push", "origin", "main")
    assert done.returncode == 1
    assert f"origin {tmp_path}/remote.git\nrefs/heads/main {repo.head()} " in done.stdout
    hook.unlink()
    assert run(repo, "git", "push", "-q", "origin", "main").returncode == 0
