"""What git session must not do: be heard, keep secrets, act when it is switched off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.client import Claude
from tests.e2e.fake_anthropic import FakeAnthropic, Json
from tests.e2e.scenario import Ground, Tied, bash, files_with, objects, session_command, steps
from tests.hooks.ground import picture

pytestmark = pytest.mark.e2e

COMMIT_ONE = bash("echo 1 >one; git add . && git commit -qm one")
TOKEN = "ghp_" + "R4nd0mT0ken" * 3 + "abc"
PASSWORD = "postgres://app:hunter2-Zq9vT4wLx8@db.example.com/app"


def _words(requests: list[list[Json]], *paths: Path) -> list[str]:
    """What a client sent, without what differs from run to run."""
    found = str(requests)
    for path in paths:
        found = found.replace(str(path), "HERE")
    return re.sub(r"toolu_fake\w+|[0-9a-f]{7,40}\b|[0-9a-f-]{36}", "ID", found).split(", ")


def test_hooks_say_nothing_to_the_model(bare_ground: Ground, tmp_path: Path) -> None:
    bare_ground.repo.commit("ground", {".gitignore": ".claude\n"})
    process = bare_ground.claude.start(bare_ground.repo.path, "plain")
    bare_ground.claude.finish(process)
    plain = _words(bare_ground.api.conversations(), tmp_path)
    with FakeAnthropic() as api:
        other = Ground(bare_ground.repo, Claude(tmp_path / "home", api.url), api)
        other.init()
        other.turn("plain")
        assert "gitsession" not in str(api.requests)
        assert _words(api.conversations(), tmp_path) == plain
    assert other.story() == ["end"]


def test_secrets_reach_no_object_and_no_file_of_ours(ground: Ground) -> None:
    ground.repo.commit("ground", {".gitignore": ".env\n"})
    ground.repo.write(".env", f"DATABASE_URL={PASSWORD}\n")
    ground.turn(
        f"my token is {TOKEN}, keep it",
        bash("cat .env"),
        bash(f"for n in $(seq 4000); do echo {TOKEN} $n; done"),
        COMMIT_ONE,
    )
    secrets = [TOKEN.encode(), b"hunter2-Zq9vT4wLx8"]
    for secret in secrets:
        assert secret in ground.transcript().read_bytes()
        assert not [data for data in objects(ground.repo) if secret in data]
        assert files_with(ground.common, secret) == []
    first = ground.chain()[0]
    assert first.redactions and sum(first.redactions.values()) >= 4
    ground.check()


@pytest.mark.parametrize("how", ["the configuration", "the environment"])
def test_switched_off_it_writes_nothing(ground: Ground, how: str) -> None:
    env = {"GIT_SESSION_DISABLE": "1"} if how == "the environment" else {}
    if not env:
        ground.repo.git("config", "session.enabled", "false")
    before = picture(ground.common / "gitsession")
    ground.client("commit", COMMIT_ONE, flags=ground.flags(), env=env)
    assert picture(ground.common / "gitsession") == before
    assert ground.sessions() == [] and ground.ties(ground.find("one")) == []


def test_deinit_leaves_nothing_that_acts(bare_ground: Ground) -> None:
    ground = bare_ground
    before = picture(ground.common, ground.repo.path, but=("logs", "objects"))
    ground.init()
    session_command(ground.repo, "deinit")
    assert picture(ground.common, ground.repo.path, but=("logs", "objects")) == before
    ground.api.on("commit", *steps(COMMIT_ONE))
    ground.claude.finish(ground.claude.start(ground.repo.path, "commit"))
    assert ground.find("one") == ground.repo.head()
    refs = ground.repo.git("for-each-ref", "--format=%(refname)")
    assert refs.splitlines() == ["refs/heads/main"]
    assert not (ground.common / "gitsession").exists()


def test_a_hook_that_another_tool_overwrote_is_mended(ground: Ground) -> None:
    hook = ground.common / "hooks" / "post-commit"
    theirs = "#!/bin/sh\necho ran >>.git/theirs\n"
    hook.write_text(theirs)
    ground.turn("say hello")
    ground.turn("commit", COMMIT_ONE)
    assert hook.read_text() != theirs
    assert (ground.common / "theirs").read_text() == "ran\n"
    assert ground.ties(ground.find("one")) == [Tied(ground.session, 2, "environment")]


def test_a_hook_that_is_gone_is_put_back(ground: Ground) -> None:
    (ground.common / "hooks" / "post-commit").unlink()
    ground.turn("say hello")
    ground.turn("commit", COMMIT_ONE)
    assert ground.ties(ground.find("one")) == [Tied(ground.session, 2, "environment")]


def test_without_the_program_the_agent_goes_on_and_nothing_is_lost(ground: Ground) -> None:
    tell = ground.common / "gitsession-hooks" / "tell.sh"
    was = tell.read_text()
    tell.write_text(re.sub(r"(?m)^bin=.*", "bin=/nowhere/git-session", was))
    ground.claude.env["PATH"] = "/usr/bin:/bin"
    ground.api.on("commit", *steps(COMMIT_ONE))
    ground.claude.finish(ground.claude.start(ground.repo.path, "commit", *ground.flags()))
    assert ground.sessions() == []
    tell.write_text(was)
    session_command(ground.repo, "capture")
    assert ground.ties(ground.find("one")) == [Tied(ground.session, 1, "environment")]
    assert ground.raw() == ground.transcript().read_bytes()
    ground.check()
