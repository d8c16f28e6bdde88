"""A day with git session, as the README tells it: set up once, then forget about it."""

from __future__ import annotations

import json

import pytest

from tests.e2e.scenario import Ground, Tied, bash, delegate, program, session_command, steps, write
from tests.hooks.ground import picture

pytestmark = pytest.mark.e2e


def test_a_day_in_the_life(bare_ground: Ground) -> None:
    ground, repo = bare_ground, bare_ground.repo
    before = picture(ground.common, repo.path, but=("logs", "objects"))

    said = session_command(repo, "init")
    assert "hooks" in said and "remote" in said

    # In the morning the agent writes and commits.
    ground.turn(
        "Add a login",
        write(repo.path / "login.py", program("login")),
        bash("git add . && git commit -qm 'Add a login'"),
    )
    login = ground.find("Add a login")
    shown = session_command(repo, "show")
    assert "Add a login" in shown and "login.py" in shown
    assert login[:7] in session_command(repo, "log", "--oneline")

    # At noon it goes on, has a subagent write the tests, and the user commits in two parts.
    ground.api.on(
        "subtask", *steps(write(repo.path / "test_login.py", program("test_login")), last="Tested.")
    )
    ground.turn(
        "Log out, too",
        write(repo.path / "logout.py", program("logout")),
        delegate("subtask: test it"),
    )
    logout = ground.by_hand("Add a logout", "logout.py")
    tests = ground.by_hand("Test the login", "test_login.py")
    for commit in (logout, tests):
        assert [(t.session, t.by) for t in ground.ties(commit)] == [(ground.session, "content")]

    # A README of the user's own, and better words for it.
    ground.by_hand("Say what it is", repo.write("HELP", "what a person wrote alone\n").name)
    ground.commit("Say what this is", "--amend")
    assert ground.records(repo.head()) == []

    # A branch of the agent's, rebased and merged by the user in the afternoon.
    repo.git("checkout", "-q", "-b", "topic", login)
    ground.turn("Remember me", bash("echo yes >remember; git add . && git commit -qm Remember"))
    ground.check()
    repo.git("rebase", "-q", "main")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge topic", "topic")
    ground.settle()
    (carried,) = ground.records(repo.git("rev-parse", "topic"))
    assert (carried.session, carried.prompt) == (ground.session, "Remember me")

    # In the evening: what was that about?
    assert login in session_command(repo, "log", "--all", "--json")
    turns = session_command(repo, "turns", ground.session[:8])
    assert all(words in turns for words in ("Add a login", "Log out, too", "Remember me"))
    view = json.loads(session_command(repo, "show", "--json", login))
    assert (view["version"], view["session_id"]) == ("1.0", ground.session)
    doctor = session_command(repo, "doctor").splitlines()
    assert doctor and all(line.startswith("ok ") for line in doctor)
    assert ground.raw() == ground.transcript().read_bytes()
    assert ground.ties(login) == [Tied(ground.session, 1, "environment")]
    ground.check()

    session_command(repo, "deinit")
    after = picture(ground.common, repo.path, but=("logs", "objects"))
    mine = (f"{ground.common}/hooks", f"{ground.common}/info", f"{ground.common}/config")
    for path in before:
        assert not path.startswith(mine) or after.pop(path) == before[path], path
    assert not [path for path in after if "gitsession" in path or ".claude" in path]
