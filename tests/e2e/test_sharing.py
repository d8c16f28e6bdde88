"""What the agent did reaches the others by nothing but push and fetch."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitsession.git import refs
from tests.e2e.scenario import Ground, bash, program, session_command, wait_until, write
from tests.scratch import Scratch

pytestmark = pytest.mark.e2e


@pytest.fixture
def origin(bare_ground: Ground, tmp_path: Path) -> Scratch:
    """A shared repository, as the remote of the ground."""
    repo = bare_ground.repo
    repo.git("clone", "-q", "--bare", str(repo.path), str(tmp_path / "origin.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    repo.git("push", "-q", "-u", "origin", "main")
    return Scratch(tmp_path / "origin.git")


def arrived(origin: Scratch, ground: Ground) -> bool:
    """Whether the shared repository has the session and the index as they are here."""
    names = (refs.session(ground.sessions()[0]), refs.INDEX) if ground.sessions() else ()  # type: ignore[arg-type]
    return bool(names) and all(
        origin.git("rev-parse", "-q", "--verify", name, check=False)
        == ground.repo.git("rev-parse", "-q", "--verify", name, check=False)
        for name in names
    )


def test_the_agents_commit_and_push_in_one_command_sends_the_session(
    bare_ground: Ground, origin: Scratch, tmp_path: Path
) -> None:
    ground = bare_ground
    said = session_command(ground.repo, "init")
    assert "`git push` will send" in said
    ground.turn(
        "Add a login",
        write(ground.repo.path / "login.py", program("login")),
        bash("git add . && git commit -qm 'Add a login' && git push -q"),
    )
    wait_until(lambda: arrived(origin, ground), lambda: session_command(ground.repo, "status"))
    ground.check()

    # A teammate who never ran init, on a machine of their own.
    origin.git("clone", "-q", str(origin.path), str(tmp_path / "mate"))
    mate = Scratch(tmp_path / "mate")
    assert "fetched" in session_command(mate, "fetch")
    assert "Add a login" in session_command(mate, "log")
    assert mate.git("for-each-ref", refs.SESSIONS) == ""
    shown = session_command(mate, "show")
    assert "Add a login" in shown and "login.py" in shown
    assert mate.git("for-each-ref", refs.SESSIONS) != ""
    assert "nothing wrong" in session_command(mate, "verify", "--all")


def test_a_teammate_sees_it_after_a_plain_fetch(
    bare_ground: Ground, origin: Scratch, tmp_path: Path
) -> None:
    ground = bare_ground
    origin.git("clone", "-q", str(origin.path), str(tmp_path / "mate"))
    mate = Scratch(tmp_path / "mate")
    session_command(mate, "init")
    session_command(ground.repo, "init")
    ground.turn("Greet", write(ground.repo.path / "hello.py", program("hello")))
    ground.by_hand("Say hello")
    ground.repo.git("push", "-q")
    wait_until(lambda: arrived(origin, ground), lambda: session_command(ground.repo, "status"))
    mate.git("pull", "-q")
    assert "Say hello" in session_command(mate, "log")
    assert "Greet" in session_command(mate, "show", "HEAD")
