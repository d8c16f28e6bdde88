"""Runs the real Claude Code client, sealed off, headless or in a terminal of its own.

The client gets an environment built from scratch, the test's HOME, and a network
in which there is nothing but this machine.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

_PACKAGE = "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
BINARY = Path(os.environ.get("CLAUDE_BIN") or Path(".cache/claude", _PACKAGE)).absolute()
PATH = os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"])

_KEY = "sk-ant-fake-key-for-tests"
_TOOLS = "Bash,Read,Write,Edit,Glob,Grep,Agent,Task,BashOutput,TaskOutput"
_NEW_NETWORK = 0x40000000
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41


def isolate_network() -> bool:
    """Put this thread and all that it starts where only loopback exists; False if not allowed."""
    if sys.platform != "linux" or ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = struct.pack("16sh14x", b"lo", _UP_AND_RUNNING)
        fcntl.ioctl(any_socket, _SET_FLAGS, flags)
    return True


def project_name(folder: Path) -> str:
    """The client's name for the folder of a project's transcripts."""
    name = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(folder))
    assert len(name) <= 200, "the client shortens longer names: use a shorter temporary folder"
    return name


class Claude:
    """The client with a HOME of its own."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self.env = {
            "PATH": PATH, "HOME": str(home), "TMPDIR": str(home / "tmp"), "LANG": "C.UTF-8",
            "TERM": "xterm-256color", "SHELL": "/bin/bash", "USER": "dev", "TZ": "UTC",
            "IS_SANDBOX": "1", "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": _KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1", "DISABLE_BUG_COMMAND": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            # A second lock beside the empty network: a proxy that nobody listens on.
            "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost",
            **{name: value for name, value in os.environ.items() if name.startswith("GIT_")},
        }  # fmt: skip
        Path(self.env["TMPDIR"]).mkdir(parents=True, exist_ok=True)

    def transcript(self, folder: Path, session: str) -> Path:
        """Where the client keeps a session that began in a folder."""
        return self.home / ".claude/projects" / project_name(folder) / f"{session}.jsonl"

    def start(
        self, folder: Path, prompt: str, *flags: str, env: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a headless run of one prompt."""
        words = [str(BINARY), "-p", "--output-format", "json", "--allowedTools", _TOOLS, *flags]
        process = subprocess.Popen(
            words, cwd=folder, env={**self.env, **(env or {})}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin
        process.stdin.write(prompt)
        process.stdin.close()
        process.stdin = None
        return process

    def finish(self, process: subprocess.Popen[str]) -> str:
        """Wait for a headless run; gives back its session."""
        with process:
            out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
        result = json.loads(out)
        session = (result[-1] if isinstance(result, list) else result)["session_id"]
        assert isinstance(session, str)
        return session

    def terminal(self, folder: Path, session: str) -> Terminal:
        """The interactive client, at home in a folder."""
        self.answer_in_advance(folder)
        mode = ["--permission-mode", "manual", "--allowedTools", _TOOLS]
        return Terminal(self.env, folder, [str(BINARY), "--session-id", session, *mode])

    def answer_in_advance(self, folder: Path) -> None:
        """Spare the interactive client its first questions in a folder."""
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        answers = {
            "hasCompletedOnboarding": True, "theme": "dark", "autoUpdates": False,
            "lastOnboardingVersion": "99.0.0", "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
            "projects": {os.path.realpath(folder): trusted},
        }  # fmt: skip
        (self.home / ".claude.json").write_text(json.dumps(answers))


class Terminal:
    """The interactive client in a tmux of its own; a context manager."""

    def __init__(self, env: dict[str, str], folder: Path, words: list[str]) -> None:
        self._env, self._folder, self._words = env, folder, words
        # A short path: tmux refuses long socket names.
        self._socket = Path(tempfile.mkdtemp(prefix="tmux-")) / "s"

    def _tmux(self, *args: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", str(self._socket), *args],
            env=self._env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def __enter__(self) -> Self:
        size = ["-x", "140", "-y", "50"]
        self._tmux("new-session", "-d", *size, "-c", str(self._folder), "--", *self._words)
        self._tmux("set-option", "-g", "remain-on-exit", "on")
        self.wait(r"(?m)^\s*[\u276f>]\s")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tmux("kill-server", check=False)
        shutil.rmtree(self._socket.parent, ignore_errors=True)

    def screen(self) -> str:
        """What is to be seen."""
        return self._tmux("capture-pane", "-p", check=False)

    def wait(self, pattern: str) -> None:
        """Wait until the screen shows something."""
        end = time.monotonic() + 30
        while not re.search(pattern, self.screen()):
            assert time.monotonic() < end, f"no {pattern!r} on the screen:\n{self.screen()}"
            time.sleep(0.1)

    def enter(self, line: str) -> None:
        """Type a line; the client drops an Enter that follows the words at once."""
        self._tmux("send-keys", "-l", line)
        # A `!` in front becomes the prompt itself.
        self.wait(re.escape(line.removeprefix("!")[:60]))
        time.sleep(0.6)
        self._tmux("send-keys", "Enter")

    def press(self, key: str) -> None:
        """Press a key by its name, when what is on the screen had time to listen."""
        time.sleep(2)
        self._tmux("send-keys", key)

    def quit(self) -> None:
        """End the client as a user does."""
        self.enter("/exit")
        end = time.monotonic() + 30
        while self._tmux("list-panes", "-F", "#{pane_dead}", check=False).strip() == "0":
            assert time.monotonic() < end, f"the client goes on:\n{self.screen()}"
            time.sleep(0.1)


def new_id() -> str:
    """An id for a session."""
    return str(uuid.uuid4())
