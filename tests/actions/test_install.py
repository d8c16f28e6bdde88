"""init and deinit as a whole: everything they touch, and everything given back."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from gitsession.actions.install import check, deinit, install
from gitsession.errors import SessionError, Unreadable
from gitsession.store import spool
from tests.hooks.ground import picture, put_program
from tests.scratch import Scratch

SETTINGS = ".claude/settings.local.json"


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return put_program(tmp_path, monkeypatch)


def init(path: Path, *, shared: bool = False, push: bool = True) -> str:
    report = install(path, shared=shared, agent="claude-code", push=push)
    return "\n".join((*report.done, *report.notes))


def all_of(*paths: Path) -> object:
    return picture(*paths)


# -- init ---------------------------------------------------------------------------------


def test_a_fresh_repository(scratch: Scratch) -> None:
    said = init(scratch.path)
    assert SETTINGS in said
    assert "there is no remote" in said
    assert json.loads((scratch.path / SETTINGS).read_text())["hooks"]["Stop"]
    assert scratch.git("status", "--short") == ""
    assert scratch.git("config", "session.installed") == "1"
    assert check(scratch.path) == []


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("push", [False, True])
def test_a_second_time_changes_nothing(scratch: Scratch, shared: bool, push: bool) -> None:
    init(scratch.path, shared=shared, push=push)
    before = all_of(scratch.path)
    report = install(scratch.path, shared=shared, agent="claude-code", push=push)
    assert report.done == ()
    assert all_of(scratch.path) == before


def test_the_team_gets_the_same_line(scratch: Scratch) -> None:
    init(scratch.path, shared=True)
    assert not (scratch.path / SETTINGS).exists()
    assert (scratch.path / ".claude/settings.json").exists()
    assert scratch.git("status", "--short") == "?? .claude/"


def test_pushing_can_be_refused_and_allowed_again(scratch: Scratch) -> None:
    assert "nothing is sent anywhere" in init(scratch.path, push=False)
    assert scratch.git("config", "--local", "session.autoPush") == "false"
    assert "unset session.autoPush" in init(scratch.path, push=True)
    assert scratch.git("config", "session.autoPush", check=False) == ""


def test_it_says_where_things_will_go(scratch: Scratch) -> None:
    scratch.git("remote", "add", "origin", "https://me:secret@example.com/x.git")
    said = init(scratch.path)
    assert "`git push` will send" in said
    assert "to origin (https://example.com/x.git)" in said
    assert "secret" not in said


def test_it_asks_which_of_several_remotes_gets_the_sessions(scratch: Scratch) -> None:
    for name in ("one", "two"):
        scratch.git("remote", "add", name, f"https://example.com/{name}.git")
    assert "git config session.remote NAME" in init(scratch.path)
    scratch.git("config", "session.remote", "two")
    assert "to two (https://example.com/two.git)" in init(scratch.path)


def test_git_fetch_brings_the_index_along(scratch: Scratch) -> None:
    scratch.git("remote", "add", "origin", "https://example.com/x.git")
    before = (scratch.path / ".git/config").read_bytes()
    init(scratch.path)
    ours = "+refs/notes/sessions*:refs/session-remotes/origin/notes/sessions*"
    assert scratch.git("config", "--get-all", "remote.origin.fetch").splitlines()[1:] == [ours]
    init(scratch.path)
    assert scratch.git("config", "--get-all", "remote.origin.fetch").splitlines()[1:] == [ours]
    deinit(scratch.path)
    assert (scratch.path / ".git/config").read_bytes() == before


def test_our_refspec_alone_is_taken_out_of_a_changed_configuration(scratch: Scratch) -> None:
    scratch.git("remote", "add", "origin", "https://example.com/x.git")
    init(scratch.path)
    scratch.git("config", "--add", "remote.origin.fetch", "+refs/heads/x:refs/x")
    deinit(scratch.path)
    assert scratch.git("config", "--get-all", "remote.origin.fetch").splitlines() == [
        "+refs/heads/*:refs/remotes/origin/*", "+refs/heads/x:refs/x",
    ]  # fmt: skip


def test_a_mirror_is_warned_of_and_left_alone(scratch: Scratch) -> None:
    scratch.git("remote", "add", "--mirror=fetch", "origin", "https://example.com/x.git")
    assert "mirror" in init(scratch.path)
    assert scratch.git("config", "--get-all", "remote.origin.fetch") == "+refs/*:refs/*"


def test_in_a_linked_worktree_all_of_them_are_served(scratch: Scratch, tmp_path: Path) -> None:
    scratch.git("worktree", "add", "-q", str(tmp_path / "linked"))
    init(tmp_path / "linked")
    assert (scratch.path / SETTINGS).exists()
    assert not (tmp_path / "linked" / ".claude").exists()
    assert check(tmp_path / "linked") == check(scratch.path) == []
    deinit(tmp_path / "linked")
    assert not (scratch.path / ".claude").exists()


def test_in_a_folder_below(scratch: Scratch) -> None:
    (scratch.path / "sub").mkdir()
    init(scratch.path / "sub")
    assert (scratch.path / SETTINGS).exists()


def test_a_bare_repository_gets_gits_hooks_alone(scratch: Scratch, tmp_path: Path) -> None:
    scratch.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    before = all_of(tmp_path / "bare.git")
    assert "run init in a work tree" in init(tmp_path / "bare.git")
    assert (tmp_path / "bare.git/hooks/post-commit").exists()
    assert check(tmp_path / "bare.git") == []
    deinit(tmp_path / "bare.git")
    assert all_of(tmp_path / "bare.git") == before


def test_outside_a_repository(tmp_path: Path) -> None:
    for act in (init, deinit, check):
        with pytest.raises(SessionError, match="not a git repository") as caught:
            act(tmp_path)
        assert caught.value.hint


def test_settings_that_cant_be_read_change_nothing(scratch: Scratch) -> None:
    scratch.write(SETTINGS, "{ // mine\n}")
    before = all_of(scratch.path)
    with pytest.raises(Unreadable):
        init(scratch.path)
    assert all_of(scratch.path) == before


def test_settings_that_git_tracks_are_pointed_out(scratch: Scratch) -> None:
    scratch.commit("settings", {SETTINGS: "{}\n"})
    assert "is tracked by git" in init(scratch.path)


def test_settings_that_are_ignored_need_no_line(scratch: Scratch) -> None:
    scratch.commit("ignore", {".gitignore": ".claude\n"})
    exclude = scratch.path / ".git/info/exclude"
    before = exclude.read_bytes()
    init(scratch.path)
    assert exclude.read_bytes() == before


def test_linked_settings_are_written_through(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.json").write_text('{"a": 1}')
    (tmp_path / "dotfiles.json").chmod(0o640)
    (scratch.path / ".claude").mkdir()
    (scratch.path / SETTINGS).symlink_to(tmp_path / "dotfiles.json")
    before = all_of(scratch.path, tmp_path / "dotfiles.json")
    init(scratch.path)
    assert (scratch.path / SETTINGS).is_symlink()
    assert "hooks" in (tmp_path / "dotfiles.json").read_text()
    assert (tmp_path / "dotfiles.json").stat().st_mode & 0o777 == 0o640
    deinit(scratch.path)
    assert all_of(scratch.path, tmp_path / "dotfiles.json") == before


def test_settings_that_went_missing_are_a_problem(scratch: Scratch) -> None:
    init(scratch.path)
    shutil.rmtree(scratch.path / ".claude")
    [problem] = check(scratch.path)
    assert "Claude Code is not told" in problem.what
    init(scratch.path, shared=True)
    assert check(scratch.path) == []


# -- deinit -------------------------------------------------------------------------------


ODD = '{"permissions":{"allow":["x"]},\n   "hooks": { "Stop":[] } ,"z":1}'


@pytest.mark.parametrize("old", [None, "", "{}", "{ }\n", ODD])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("lost", [False, True])
def test_everything_is_given_back(
    scratch: Scratch, old: str | None, shared: bool, lost: bool
) -> None:
    name = ".claude/settings.json" if shared else SETTINGS
    if old is not None:
        scratch.write(name, old).chmod(0o600)
    with (scratch.path / ".git/config").open("a") as file:
        file.write("[session]\n\tx = 1\n; odd\n[a]")
    (scratch.path / ".git/info/exclude").write_text("no newline")
    before = all_of(scratch.path)
    init(scratch.path, shared=shared, push=False)
    if lost:
        shutil.rmtree(scratch.path / ".git/gitsession")
    assert deinit(scratch.path).done
    assert all_of(scratch.path) == before
    assert deinit(scratch.path).notes == ("there was nothing to take out",)


def test_after_both_kinds_of_init_everything_is_given_back(scratch: Scratch) -> None:
    before = all_of(scratch.path)
    init(scratch.path, shared=True, push=False)
    init(scratch.path, push=True)
    deinit(scratch.path)
    assert all_of(scratch.path) == before


def test_what_others_changed_meanwhile_stays(scratch: Scratch) -> None:
    scratch.write(SETTINGS, '{\n  "a": 1\n}\n')
    exclude = scratch.path / ".git/info/exclude"
    exclude.write_text("first\n")
    init(scratch.path, push=False)
    settings = scratch.path / SETTINGS
    settings.write_text(settings.read_text().replace('"a": 1', '"a": 2'))
    exclude.write_text(exclude.read_text() + "last\n")
    scratch.git("config", "user.nickname", "x")
    deinit(scratch.path)
    assert settings.read_text() == '{\n  "a": 2\n}\n'
    assert exclude.read_text() == "first\nlast\n"
    assert scratch.git("config", "user.nickname") == "x"
    assert "session" not in (scratch.path / ".git/config").read_text()


def test_our_part_is_found_even_without_our_notes(scratch: Scratch) -> None:
    scratch.write(SETTINGS, '{"a": 1}')
    init(scratch.path)
    shutil.rmtree(scratch.path / ".git/gitsession-hooks")
    deinit(scratch.path)
    assert (scratch.path / SETTINGS).read_text() == '{"a": 1}'
    assert not (scratch.path / ".git/hooks/post-commit").exists()
    assert scratch.git("config", "session.installed", check=False) == ""


def test_a_moved_repository_is_given_back_too(scratch: Scratch, tmp_path: Path) -> None:
    init(scratch.path)
    moved = Path(os.path.realpath(scratch.path.rename(tmp_path / "moved")))
    deinit(moved)
    assert not (moved / ".claude").exists()


def test_captures_stay_and_lost_events_are_counted(scratch: Scratch) -> None:
    init(scratch.path)
    scratch.git("update-ref", "refs/sessions/x", "HEAD")
    spool.write(scratch.path / ".git/gitsession/spool", "agent")
    notes = deinit(scratch.path).notes
    assert "1 events had not been captured" in notes[0]
    assert "the captures stay" in notes[1]
    assert scratch.git("rev-parse", "refs/sessions/x") == scratch.head()
