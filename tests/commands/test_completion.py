"""Completion in the shells themselves, for `git-session` and for `git session`."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitsession import commands, entry
from gitsession.commands import completion

BIN = Path(sys.executable).parent
GIT_COMPLETION = [
    Path("/usr/share/bash-completion/completions/git"),
    Path("/opt/homebrew/etc/bash_completion.d/git-completion.bash"),
    Path("/usr/local/etc/bash_completion.d/git-completion.bash"),
]
VERBS = commands.visible()

ASK_BASH = """
source "$1" 2>/dev/null; shift
eval "$(git-session completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=()
if [[ $1 == git ]]; then __git_wrap__git_main; else _git_session_alone; fi 2>/dev/null
((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
"""

CASES = [
    (["git-session", ""], VERBS),
    (["git-session", "re"], ["resume", "rewind", "redact", "reindex"]),
    (["git-session", "completion", ""], ["bash", "zsh", "fish"]),
    (["git-session", "completion", "z"], ["zsh"]),
    (["git", "session", ""], VERBS),
    (["git", "session", "re"], ["resume", "rewind", "redact", "reindex"]),
    (["git", "session", "completion", "f"], ["fish"]),
    (["git", "-C", "/", "session", "comp"], ["completion"]),
]


def environment() -> dict[str, str]:
    """Ours is on PATH."""
    return {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def find_git_completion() -> Path | None:
    """Git's own completion for bash."""
    return next((path for path in GIT_COMPLETION if path.exists()), None)


@pytest.mark.parametrize(("words", "offered"), CASES, ids=lambda v: " ".join(v)[:30])
@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
def test_bash(words: list[str], offered: list[str]) -> None:
    git = find_git_completion()
    if words[0] == "git" and git is None:
        pytest.skip("git's own completion isn't installed here")
    done = subprocess.run(
        ["bash", "-c", ASK_BASH, "bash", str(git or "/dev/null"), *words],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [line.rstrip(" ") for line in done.stdout.splitlines()] == offered


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
def test_bash_offers_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "one two").mkdir()
    done = subprocess.run(
        ["bash", "-c", ASK_BASH, "bash", "/dev/null", "git-session", "-C", f"{tmp_path}/o"],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{tmp_path}/one two\n"


@pytest.mark.parametrize(("words", "offered"), CASES, ids=lambda v: " ".join(v)[:30])
@pytest.mark.skipif(not shutil.which("fish"), reason="no fish here")
def test_fish(words: list[str], offered: list[str]) -> None:
    line = " ".join(words)
    done = subprocess.run(
        ["fish", "-c", f"git-session completion fish | source; complete -C '{line}'"],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert sorted(found) == sorted(offered)


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_zsh(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").write_text(
        "PS1='%% '\nunsetopt beep\nautoload -U compinit; compinit -u -D\n"
        'eval "$(git-session completion zsh)"\nprint RE""ADY\n'
    )
    env = {**environment(), "ZDOTDIR": str(tmp_path), "TERM": "dumb", "COLUMNS": "200"}
    with Terminal(["zsh", "-i"], env) as zsh:
        zsh.wait_for("READY")
        for typed, completed in {
            "git-session comp": "git-session completion ",
            "git session comp": "git session completion ",
            "git session completion z": "git session completion zsh ",
            "git session re": "reindex  -- rebuild the index",
            "git sess": "git session ",
        }.items():
            zsh.type(typed + "\t")
            zsh.wait_for(completed)
            zsh.type("\x15")


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, args: list[str], env: dict[str, str]) -> None:
        import pty

        self._mine, theirs = pty.openpty()
        self._process = subprocess.Popen(
            args, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._mine)

    def type(self, text: str) -> None:
        """Type."""
        os.write(self._mine, text.encode())

    def wait_for(self, text: str, seconds: float = 20) -> None:
        """Read until the text has been shown."""
        seen = ""
        end = time.monotonic() + seconds
        while text not in seen and time.monotonic() < end:
            if select.select([self._mine], [], [], 0.1)[0]:
                seen += os.read(self._mine, 65536).decode(errors="replace")
        assert text in seen


def test_the_verbs_are_offered_without_importing_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(name: str) -> None:
        raise AssertionError(name)

    monkeypatch.setattr(commands, "load", never)
    monkeypatch.setenv(completion.VARIABLE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "git-session s")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert entry.main([]) == 0
    assert (
        capsys.readouterr().out
        == "plain,status\nplain,show\nplain,start\nplain,squash\nplain,sync\n"
    )


@pytest.mark.parametrize(
    "instruction", ["bash_source", "ksh_complete", "nonsense", "bash_complete"]
)
def test_nonsense_is_not_answered(monkeypatch: pytest.MonkeyPatch, instruction: str) -> None:
    monkeypatch.setenv(completion.VARIABLE, instruction)
    assert entry.main([]) == 1


@pytest.mark.parametrize("shell", sorted(completion.SCRIPTS))
def test_each_shell_accepts_its_script(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    script = tmp_path / "script"
    script.write_text(completion.SCRIPTS[shell])
    subprocess.run([shell, "-n", str(script)], check=True)


def test_the_variable_is_the_one_that_the_executable_looks_for() -> None:
    assert completion.VARIABLE == entry.COMPLETE
    assert all(f"{entry.COMPLETE}=" in script for script in completion.SCRIPTS.values())
