"""Where git's hooks go, and those of other tools beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gitsession.actions import githooks, site
from gitsession.actions.install import check, deinit, install, mend
from tests.hooks.ground import add_hook, commit, events, picture, put_program, run
from tests.scratch import Scratch

HUSKY = 'n=$(basename "$0"); s=$(dirname "$(dirname "$0")")/$n; [ ! -f "$s" ] || sh -e "$s" "$@"'


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return put_program(tmp_path, monkeypatch)


def init(repo: Scratch) -> tuple[str, ...]:
    return install(repo.path, shared=False, agent="claude-code", push=True).done


def hooks(repo: Scratch) -> Path:
    return repo.path / ".git" / "hooks"


def count(repo: Scratch) -> int:
    return len(events(repo.path / ".git"))


def see(repo: Scratch, *more: Path) -> object:
    but = ("objects", "logs", "refs", "packed-refs", "index", "COMMIT_EDITMSG", "gitsession")
    return picture(repo.path, *more, but=but)


# -- the repository's own folder ----------------------------------------------------------


def test_a_hook_that_was_there_goes_on(scratch: Scratch) -> None:
    add_hook(hooks(scratch), "post-commit", 'echo "mine $#"; exit 5')
    before = see(scratch)
    assert "kept your post-commit as post-commit.before-git-session; ours runs it" in init(scratch)
    scratch.commit("amended", None, "--allow-empty", "--amend")
    done = run(scratch, ".git/hooks/post-commit", "a", "b", CLAUDE_CODE_SESSION_ID="x")
    assert (done.stdout, done.returncode) == ("mine 2\n", 5)
    deinit(scratch.path)
    assert see(scratch) == before


def test_a_link_into_the_work_tree_goes_on(scratch: Scratch) -> None:
    add_hook(scratch.path / "scripts", "notify", "echo linked")
    (hooks(scratch) / "post-commit").symlink_to("../../scripts/notify")
    before = see(scratch)
    init(scratch)
    assert commit(scratch).stderr == "linked\n"
    deinit(scratch.path)
    assert see(scratch) == before


def test_a_hook_that_is_switched_off_stays_so(scratch: Scratch) -> None:
    add_hook(hooks(scratch), "post-commit", "echo no").chmod(0o644)
    init(scratch)
    assert commit(scratch).stderr == ""
    deinit(scratch.path)
    assert (hooks(scratch) / "post-commit").stat().st_mode & 0o777 == 0o644


def test_a_folder_of_hooks_that_was_not_there(scratch: Scratch) -> None:
    shutil.rmtree(hooks(scratch))
    init(scratch)
    commit(scratch)
    assert count(scratch) == 1
    deinit(scratch.path)
    assert not hooks(scratch).exists()


@pytest.mark.parametrize("how", ["replaced", "removed", "not executable", "old"])
def test_what_another_tool_did_is_noticed_and_mended(scratch: Scratch, how: str) -> None:
    init(scratch)
    assert check(scratch.path) == []
    hook = hooks(scratch) / "post-commit"
    if how == "replaced":
        add_hook(hooks(scratch), "post-commit", "echo theirs")
    elif how == "removed":
        hook.unlink()
    elif how == "old":
        hook.write_text(hook.read_text() + "# older\n")
    else:
        hook.chmod(0o644)
    assert [p.mend for p in check(scratch.path)] == ["git session init"]
    assert mend(scratch.path)
    assert check(scratch.path) == []
    assert mend(scratch.path) == []
    assert commit(scratch).stderr == ("theirs\n" if how == "replaced" else "")
    assert count(scratch) == 1
    deinit(scratch.path)
    assert hook.exists() == (how == "replaced")


def test_the_hook_that_a_tool_replaced_is_kept(scratch: Scratch) -> None:
    add_hook(hooks(scratch), "post-commit", "echo first")
    init(scratch)
    add_hook(hooks(scratch), "post-commit", "echo second")
    mend(scratch.path)
    assert commit(scratch).stderr == "second\n"
    older = hooks(scratch) / "post-commit.before-git-session.1"
    assert "first" in older.read_text()


def test_pre_commit_that_took_our_place_runs_us(scratch: Scratch) -> None:
    add_hook(hooks(scratch), "post-commit", "echo first")
    init(scratch)
    (hooks(scratch) / "post-commit").rename(hooks(scratch) / "post-commit.legacy")
    add_hook(hooks(scratch), "post-commit", '"${0%/*}/post-commit.legacy"; echo theirs')
    assert check(scratch.path) == []
    assert mend(scratch.path) == []
    assert commit(scratch).stderr == "first\ntheirs\n"
    assert count(scratch) == 1
    deinit(scratch.path)
    assert "first" in (hooks(scratch) / "post-commit.legacy").read_text()
    assert not (hooks(scratch) / "post-commit.before-git-session").exists()


def test_nothing_is_mended_where_init_was_never_run(scratch: Scratch) -> None:
    before = see(scratch)
    assert mend(scratch.path) == []
    assert see(scratch) == before


# -- any other folder ---------------------------------------------------------------------


def test_husky_finds_its_hooks_by_their_names(scratch: Scratch) -> None:
    folder = scratch.path / ".husky" / "_"
    for name in ("post-commit", "commit-msg"):
        add_hook(folder, name, HUSKY)
        scratch.write(f".husky/{name}", f"echo husky {name}\n")
    (folder / ".gitignore").write_text("*")
    scratch.git("config", "core.hooksPath", ".husky/_")
    before = see(scratch)
    init(scratch)
    done = commit(scratch)
    assert done.stderr.splitlines() == ["husky commit-msg", "husky post-commit"]
    assert count(scratch) == 1
    scratch.git("worktree", "add", "-q", str(scratch.path.parent / "linked"))
    assert commit(Scratch(scratch.path.parent / "linked")).stderr == ""
    scratch.git("worktree", "remove", "--force", str(scratch.path.parent / "linked"))
    scratch.git("branch", "-q", "-D", "linked")
    assert scratch.git("config", "core.hooksPath") == str(scratch.path / ".git/gitsession-hooks")
    deinit(scratch.path)
    assert see(scratch) == before
    assert scratch.git("config", "core.hooksPath") == ".husky/_"


def test_husky_that_led_git_back_to_itself_is_mended(scratch: Scratch) -> None:
    init(scratch)
    add_hook(scratch.path / ".husky" / "_", "post-commit", "echo husky")
    scratch.git("config", "core.hooksPath", ".husky/_")
    [problem] = check(scratch.path)
    assert "past our hooks" in problem.what
    mend(scratch.path)
    assert check(scratch.path) == []
    assert commit(scratch).stderr == "husky\n"
    deinit(scratch.path)
    assert scratch.git("config", "core.hooksPath") == ".husky/_"
    assert not (hooks(scratch) / "post-commit").exists()


def test_a_tracked_folder_is_not_written_to(scratch: Scratch) -> None:
    add_hook(scratch.path / "githooks", "pre-commit", "echo team; exit 1")
    add_hook(scratch.path / "githooks", "reference-transaction", "exit 0")
    scratch.git("add", "githooks")
    scratch.git("commit", "-q", "-m", "hooks")
    scratch.git("config", "core.hooksPath", "githooks")
    init(scratch)
    assert scratch.git("status", "--short") == ""
    done = commit(scratch)
    assert (done.returncode, done.stderr) == (1, "team\n")
    add_hook(scratch.path / "githooks", "commit-msg", "echo new")
    (scratch.path / "githooks" / "pre-commit").unlink()
    assert commit(scratch).stderr == "new\n"
    assert (scratch.path / ".git/gitsession-hooks/reference-transaction").exists()
    assert not (scratch.path / ".git/gitsession-hooks/post-index-change").exists()


def test_a_global_folder_is_not_written_to(scratch: Scratch, tmp_path: Path) -> None:
    add_hook(tmp_path / "home" / "my hooks", "post-commit", "echo global")
    scratch.git("config", "--global", "core.hooksPath", "~/my hooks")
    before = see(scratch, tmp_path / "home")
    init(scratch)
    again = see(scratch, tmp_path / "home")
    init(scratch)
    assert see(scratch, tmp_path / "home") == again
    assert check(scratch.path) == []
    assert commit(scratch).stderr == "global\n"
    assert count(scratch) == 1
    deinit(scratch.path)
    assert see(scratch, tmp_path / "home") == before
    assert scratch.git("config", "--local", "core.hooksPath", check=False) == ""


def test_a_tool_that_writes_to_our_folder_goes_on(scratch: Scratch) -> None:
    scratch.git("config", "core.hooksPath", "githooks")
    add_hook(scratch.path / "githooks", "pre-push", "echo team")
    init(scratch)
    ours = scratch.path / ".git/gitsession-hooks"
    for name in ("post-commit", "commit-msg"):
        add_hook(ours, name, f"echo {name}")
    assert len(check(scratch.path)) == 2
    mend(scratch.path)
    assert check(scratch.path) == []
    assert commit(scratch).stderr == "commit-msg\npost-commit\n"
    assert count(scratch) == 1
    done = deinit(scratch.path).done
    assert f"left post-commit.before-git-session, another tool's, in {ours}" in done
    assert sorted(path.name for path in ours.iterdir()) == [
        "commit-msg.before-git-session", "post-commit.before-git-session"
    ]  # fmt: skip


def test_the_program_is_kept_while_it_is_there(scratch: Scratch, notes: Path) -> None:
    init(scratch)
    here = site.find(scratch.path)
    assert githooks.find_program(here) == str(notes.parent / "git-session")
    (notes.parent / "git-session").unlink()
    assert githooks.find_program(here) != str(notes.parent / "git-session")
