"""The pre-receive hook of a shared repository, as git runs it when our own client pushes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitsession.actions.hookfile import shipped
from gitsession.git import refs
from tests.actions.pushes import put_hook
from tests.hooks.ground import SHELLS
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin

BIN = Path(sys.executable).parent
ZERO = "0" * 40


@pytest.fixture(params=["sha1", "sha256"])
def origin(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Scratch:
    """A shared repository with the hook."""
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    made = make_origin(tmp_path / "origin.git", object_format=request.param)
    put_hook(made)
    return made


def push(clone: Clone, *specs: str) -> subprocess.CompletedProcess[str]:
    """Push as anybody's git does."""
    return subprocess.run(
        ["git", "push", "-q", "origin", *specs],
        cwd=clone.path, capture_output=True, text=True, check=False,
    )  # fmt: skip


def call(
    hook: Path, lines: str, *shell: str, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Call the hook as git does, with a PATH of the test's own."""
    env = {**os.environ, "GIT_DIR": "."}
    if path is not None:
        env["PATH"] = path
    return subprocess.run(
        [*shell, str(hook)], cwd=hook.parent.parent, env=env, input=lines,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.fixture
def bare_path(tmp_path: Path) -> str:
    """A PATH that has what the hook needs, and no git-session."""
    folder = tmp_path / "bare-path"
    folder.mkdir()
    for name in ("sh", "cat", "git"):
        found = next(p for d in os.environ["PATH"].split(":") if (p := Path(d) / name).exists())
        (folder / name).symlink_to(found)
    return str(folder)


# -- our own client -----------------------------------------------------------------------


def test_what_our_clients_push_is_taken(origin: Scratch, tmp_path: Path) -> None:
    ann, bob = (Clone.of(origin, tmp_path / name) for name in ("ann", "bob"))
    head = ann.scratch.head()
    ann.capture("s1", "begun", commit=head)
    ann.capture("s2", "another")
    ann.sync()
    bob.fetch("s1")
    ann.capture("s1", "on ann's")
    bob.capture("s1", "on bob's", commit=head)
    bob.capture("s3", "bob's own")
    ann.sync()
    bob.sync()
    ann.sync()
    bob.capture("s1", "after")
    bob.sync()
    ann.sync()
    assert ann.texts("s1") == bob.texts("s1") == ["begun", "on ann's", "on bob's", "after"]
    assert ann.index_tree() == bob.index_tree() == origin.git("rev-parse", f"{refs.INDEX}^{{tree}}")


def test_what_is_refused_is_told_to_the_pusher(origin: Scratch, tmp_path: Path) -> None:
    ann = Clone.of(origin, tmp_path / "ann")
    done = push(ann, "HEAD:refs/sessions/s1")
    assert done.returncode == 1
    assert "remote: error: refs/sessions/s1: it has no session.json" in done.stderr
    assert "remote: hint: " in done.stderr
    assert origin.git("for-each-ref", "refs/sessions/") == ""


def test_a_client_keeps_what_was_refused_and_says_why(origin: Scratch, tmp_path: Path) -> None:
    origin.git("config", "session.checkAuthor", "true")
    ann = Clone.of(origin, tmp_path / "ann")
    ann.capture("s1", "mine")
    held = ann.push()
    assert len(held) == 2
    assert all("doesn't say who pushes" in reason for reason in held)
    assert ann.texts("s1") == ["mine"]
    origin.git("config", "session.checkAuthor", "false")
    ann.sync()


def test_all_or_nothing(origin: Scratch, tmp_path: Path) -> None:
    ann = Clone.of(origin, tmp_path / "ann")
    ann.scratch.commit("second", {"a": "b"})
    before = origin.git("for-each-ref")
    assert push(ann, "main", "HEAD:refs/sessions/s1").returncode == 1
    assert origin.git("for-each-ref") == before


# -- the shim -----------------------------------------------------------------------------


def test_other_refs_are_none_of_its_business(
    origin: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare_path: str
) -> None:
    ann = Clone.of(origin, tmp_path / "ann")
    ann.scratch.commit("second", {"a": "b"})
    monkeypatch.setenv("PATH", bare_path)
    done = push(ann, "main", "HEAD:refs/tags/v1", "HEAD:refs/heads/refs/sessions-like")
    assert (done.returncode, done.stderr) == (0, "")


OURS = ("refs/sessions/s1", "refs/sessions", "refs/sessions/archive/2026-01", "refs/notes/sessions",
        "refs/notes/sessions/x", "refs/snapshots/s1", "refs/session-remotes/origin/x")  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_without_the_program_only_our_refs_are_refused(
    tmp_path: Path, shell: list[str], bare_path: str
) -> None:
    hook = put_hook(make_origin(tmp_path / "plain.git"))
    program, *options = shell
    words = [str(shutil.which(program)), *options]
    other = f"{ZERO} {'1' * 40} refs/heads/main\n{ZERO} {'1' * 40} refs/sessionsx/y\n"
    for ref in OURS:
        done = call(hook, other + f"{ZERO} {'1' * 40} {ref}\n", *words, path=bare_path)
        assert (done.returncode, done.stdout) == (1, ""), ref
        assert done.stderr.startswith("error: sessions are checked here, and the program ")
        assert "\nhint: " in done.stderr
    done = call(hook, other, *words, path=bare_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_the_hook_that_was_there_decides_as_well(tmp_path: Path, shell: list[str]) -> None:
    hook = put_hook(make_origin(tmp_path / "plain.git"))
    kept = hook.with_name("pre-receive.before-git-session")
    kept.write_text('#!/bin/sh\ncat >"$0.got"\nexit 7\n')
    kept.chmod(0o755)
    lines = f"{ZERO} {'1' * 40} refs/heads/main\n{ZERO} {'1' * 40} refs/heads/a\\nb\n"
    assert call(hook, lines, *shell).returncode == 7
    assert kept.with_name(f"{kept.name}.got").read_text() == lines


def test_a_broken_program_lets_nothing_through(tmp_path: Path) -> None:
    hook = put_hook(make_origin(tmp_path / "plain.git"))
    program = tmp_path / "program" / "git-session"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 70\n")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = call(hook, f"{ZERO} {'1' * 40} refs/sessions/s1\n", path=path)
    assert done.returncode == 1


def test_what_is_no_push_is_refused_in_a_line(origin: Scratch) -> None:
    hook = origin.path / "hooks" / "pre-receive"
    done = call(hook, "what is refs/sessions/s1\n")
    assert done.returncode == 1
    assert done.stderr.startswith("error: this is no line of a push")
    assert "Traceback" not in done.stderr


def test_the_shim_is_short() -> None:
    assert len(shipped("server/pre-receive").splitlines()) <= 20
