from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from gitsession import entry
from gitsession.actions.doctor import Finding, examine
from gitsession.actions.install import install
from gitsession.store import outbox, spool
from tests.hooks.ground import picture, put_program, run
from tests.scratch import Scratch


@pytest.fixture
def repo(scratch: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    put_program(tmp_path, monkeypatch)
    install(scratch.path, shared=False, agent="claude-code", push=True)
    return scratch


def troubles(repo: Scratch) -> list[Finding]:
    return [finding for finding in examine(repo.path) if finding.level != "ok"]


def test_a_healthy_repository(repo: Scratch) -> None:
    before = picture(repo.path)
    assert troubles(repo) == []
    assert len(examine(repo.path)) >= 4
    assert picture(repo.path) == before


def test_before_init(scratch: Scratch) -> None:
    assert ("error", "git session init") in [(f.level, f.mend) for f in troubles(scratch)]


def test_without_the_executable(repo: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    [finding] = troubles(repo)
    assert finding.level == "warning"
    assert finding.mend.startswith("PATH=")


def test_switched_off(repo: Scratch) -> None:
    repo.git("config", "session.enabled", "false")
    assert [f.mend for f in troubles(repo)] == ["git config session.enabled true"]


def test_a_setting_that_means_nothing(repo: Scratch) -> None:
    repo.git("config", "session.autoPush", "perhaps")
    [finding] = troubles(repo)
    assert (finding.level, finding.mend) == ("error", "say true or false")


@pytest.mark.parametrize(
    ("key", "value", "level"),
    [
        ("notes.rewriteRef", "refs/notes/*", "error"),
        ("notes.displayRef", "refs/notes/sessions", "warning"),
        ("core.notesRef", "refs/notes/sessions", "error"),
        ("notes.displayRef", "refs/notes/other", None),
    ],
)
def test_settings_of_git_that_spoil_the_index(
    repo: Scratch, key: str, value: str, level: str | None
) -> None:
    repo.git("config", key, value)
    found = troubles(repo)
    assert [finding.level for finding in found] == ([level] if level else [])
    for finding in found:
        run(repo, "sh", "-c", finding.mend)
        assert troubles(repo) == []


def test_an_index_that_git_fetch_leaves_behind(repo: Scratch) -> None:
    repo.git("remote", "add", "origin", "https://example.com/x.git")
    assert [f.mend for f in troubles(repo)] == ["git session init"]
    install(repo.path, shared=False, agent="claude-code", push=True)
    assert troubles(repo) == []


def test_a_remote_that_nobody_chose(repo: Scratch) -> None:
    for name in ("one", "two"):
        repo.git("remote", "add", name, f"https://example.com/{name}.git")
    assert [f.mend for f in troubles(repo)] == ["git config session.remote NAME"]


def test_pushes_that_failed(repo: Scratch) -> None:
    outbox.failed(repo.path / ".git", "no such place")
    [finding] = troubles(repo)
    assert ("no such place" in finding.what, finding.mend) == (True, "git session sync")


def test_a_shallow_clone(repo: Scratch, tmp_path: Path) -> None:
    repo.commit("second", {"a": "b"})
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.path}", str(tmp_path / "shallow"))
    install(tmp_path / "shallow", shared=False, agent="claude-code", push=True)
    assert [f.mend for f in troubles(Scratch(tmp_path / "shallow"))] == ["git fetch --unshallow"]


def test_a_stuck_spool(repo: Scratch) -> None:
    path = spool.write(repo.path / ".git/gitsession/spool", "agent")
    assert troubles(repo) == []
    os.utime(path, times=(0, time.time() - 7300))
    [finding] = troubles(repo)
    assert (finding.level, "oldest for 2 h" in finding.what) == ("error", True)


def test_the_last_error(repo: Scratch) -> None:
    log = repo.path / ".git/gitsession/log"
    log.write_text("2026-01-01T00:00:00Z first\nTraceback\n2026-01-02T00:00:00Z second\n  line\n")
    [finding] = troubles(repo)
    assert "2026-01-02T00:00:00Z second" in finding.what


def test_without_redaction(repo: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    [finding] = troubles(repo)
    assert (finding.level, finding.mend) == ("error", "pip install google-re2")


# -- the command --------------------------------------------------------------------------


def test_the_commands_talk_to_people_and_programs(
    scratch: Scratch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put_program(tmp_path, monkeypatch)
    monkeypatch.chdir(scratch.path)
    assert entry.main(["doctor"]) == 4
    assert "mend: git session init" in capsys.readouterr().out
    assert entry.main(["init", "--no-push"]) == 0
    assert "note: nothing is sent anywhere" in capsys.readouterr().out
    assert entry.main(["init", "--no-push"]) == 0
    assert "everything was in place" in capsys.readouterr().out
    assert entry.main(["doctor", "--json"]) == 0
    assert {f["level"] for f in json.loads(capsys.readouterr().out)} == {"ok"}
    assert entry.main(["deinit"]) == 0
    assert "took out post-commit" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    assert entry.main(["init"]) == 1
    assert "not a git repository" in capsys.readouterr().err
