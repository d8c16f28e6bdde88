"""The frame around every command: options before the verb, failures, exit codes."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from gitsession import __version__, commands, entry
from gitsession.errors import Moved, NotFound, SessionError, Unreadable, Usage
from tests.scratch import Scratch

EXECUTABLE = Path(sys.executable).parent / "git-session"


def raises(error: BaseException) -> Callable[[], None]:
    """A command's body that fails."""

    def body() -> None:
        raise error

    return body


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run `git session show …` in-process with a body of the test's own."""

    def call(
        body: Callable[[], None], *args: str, params: list[click.Parameter] | None = None
    ) -> tuple[int, str, str]:
        command = click.Command("show", callback=body, params=params or [])
        monkeypatch.setattr(commands, "load", lambda name: command)
        code = entry.main(["show", *args])
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


def execute(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the real executable."""
    return subprocess.run(
        [EXECUTABLE, *args],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


# -- before the verb ----------------------------------------------------------------------


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["--version"]) == 0
    assert capsys.readouterr().out == f"git-session version {__version__}\n"


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["help"]])
def test_help_lists_every_verb_under_its_group(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert entry.main(words) == 0
    out = capsys.readouterr().out
    for name in commands.visible():
        assert f"   {name} " in out
    for group in commands.GROUPS:
        assert f"\n{group}\n" in out
    assert "worker" not in out


def test_every_verb_has_a_group() -> None:
    assert {verb.group for verb in commands.VERBS.values()} == {
        *commands.GROUPS,
        commands.INTERNAL,
    }


def test_no_command_is_a_usage_error_that_shows_the_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert entry.main([]) == 2
    assert capsys.readouterr().err.startswith("usage: git session")


def test_an_unknown_verb_is_told_with_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["shoow"]) == 2
    assert capsys.readouterr().err == (
        "error: 'shoow' is not a git session command\nhint: did you mean 'show'?\n"
    )


def test_an_unknown_verb_like_nothing_points_at_the_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert entry.main(["xyzzy"]) == 2
    assert "hint: 'git session -h'" in capsys.readouterr().err


def test_internal_verbs_are_never_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    entry.main(["workr"])
    assert "worker" not in capsys.readouterr().err


@pytest.mark.parametrize("args", [["--wat"], ["-C"], ["-C", "/no/such/folder", "show"]])
def test_a_wrong_option_is_a_usage_error(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert entry.main(args) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_folders_add_up_as_in_git(
    tmp_path: Path,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    run(lambda: None)
    code = entry.main(["-C", "a", "-C", "", "-C", "b", "show"])
    assert (code, Path.cwd()) == (0, tmp_path / "a" / "b")
    assert capsys.readouterr().err == ""


def test_help_of_a_verb() -> None:
    assert entry.parse(["help", "show"]) == entry.Call([], "show", ("--help",))


def test_what_follows_the_verb_is_the_verbs() -> None:
    call = entry.parse(["show", "-C", "x", "--version", "-h"])
    assert call == entry.Call([], "show", ("-C", "x", "--version", "-h"))


def test_a_verb_explains_itself(run: Callable[..., tuple[int, str, str]]) -> None:
    for flag in ("-h", "--help"):
        code, out, _ = run(lambda: None, flag)
        assert code == 0
        assert out.startswith("Usage: git session show")


# -- failures -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (SessionError("no luck"), 1, "error: no luck\n"),
        (Moved("moved", hint="again"), 1, "error: moved\nhint: again\n"),
        (
            NotFound("session", "x", candidates=["xy"]),
            1,
            "error: no session named 'x'\nhint: did you mean: xy\n",
        ),
        (Usage("no"), 2, "error: no\n"),
        (Unreadable("bad"), 3, "error: bad\n"),
        (click.UsageError("Got wrong."), 2, "error: got wrong\nhint: see 'git session show -h'\n"),
        (click.ClickException("No such thing:\n\ta."), 1, "error: no such thing: a\n"),
        (click.exceptions.Exit(4), 4, ""),
        (click.Abort(), 130, ""),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 141, ""),
        (OSError(errno.ENOSPC, "No space", "f"), 1, "error: No space: 'f'\n"),
    ],
)
def test_what_is_raised_becomes_a_code_and_a_line(
    run: Callable[..., tuple[int, str, str]], error: BaseException, code: int, said: str
) -> None:
    assert run(raises(error)) == (code, "", said)


def test_a_wrong_option_of_a_verb_is_told_with_what_was_meant(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    code, _, err = run(lambda: None, "--stta", params=[click.Option(["--stat"], is_flag=True)])
    assert (code, err) == (2, "error: unknown option '--stta'\nhint: did you mean '--stat'?\n")


def test_a_message_cannot_command_the_terminal_or_pass_for_a_hint(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    _, _, err = run(raises(SessionError("a\x1b]0;x\x07\u202eb\x9b\nhint: rm -rf /")))
    assert err == "error: a\\x1b]0;x\\x07\\u202eb\\x9b\nerror: hint: rm -rf /\n"


def test_our_own_mistake_goes_to_a_log_that_only_the_owner_reads(
    run: Callable[..., tuple[int, str, str]], scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scratch.path)
    code, out, err = run(raises(ZeroDivisionError("oh")))
    assert (code, out) == (70, "")
    assert err.startswith("error: internal error: ZeroDivisionError: oh\nhint: ")
    log = scratch.path / ".git" / "gitsession" / "log"
    assert "Traceback" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("how", ["environment", "setting"])
def test_switched_off_means_no_log_either(
    run: Callable[..., tuple[int, str, str]],
    scratch: Scratch,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    monkeypatch.chdir(scratch.path)
    if how == "setting":
        scratch.git("config", "session.enabled", "no")
    else:
        monkeypatch.setenv("GIT_SESSION_DISABLE", "1")
    code, _, err = run(raises(ZeroDivisionError("oh")))
    assert code == 70
    assert "GIT_SESSION_TRACE=1" in err
    assert not (scratch.path / ".git" / "gitsession").exists()


def test_outside_a_repository_the_hint_is_to_trace(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, _, err = run(raises(ZeroDivisionError()))
    assert "hint: run it again with GIT_SESSION_TRACE=1" in err
    assert "Traceback" not in err


def test_tracing_shows_where_any_error_came_from(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_SESSION_TRACE", "1")
    _, _, err = run(raises(SessionError("no \x1b luck")))
    assert "Traceback" in err
    assert "\x1b" not in err


# -- the real executable ------------------------------------------------------------------


def test_git_finds_it(scratch: Scratch) -> None:
    path = f"{EXECUTABLE.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["git", "session", "--version"],
        cwd=scratch.path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"git-session version {__version__}\n"


def test_a_name_that_the_locale_cannot_spell_is_escaped(tmp_path: Path) -> None:
    done = execute("é\u202e", cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 2
    assert done.stderr.startswith("error: '\\xe9\\u202e' is not")


def test_a_name_that_is_not_unicode_is_escaped(tmp_path: Path) -> None:
    done = subprocess.run(
        [os.fsencode(EXECUTABLE), b"\xff"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nobody:
        done = subprocess.run(
            [EXECUTABLE, "-h"], cwd=tmp_path, stdout=nobody, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [EXECUTABLE, "-h"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"error: No space left on device\n")


def test_closed_output_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(["sh", "-c", f"'{EXECUTABLE}' -h >&- 2>&-"], cwd=tmp_path, check=False)
    assert done.returncode == 0
