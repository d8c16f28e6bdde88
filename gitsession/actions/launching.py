"""Starts an agent in the foreground and waits for it; or says how it is started."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from gitsession.agents.base import Launch
from gitsession.errors import SessionError

_KEYS = ("SIGINT", "SIGQUIT")
_ENDS = ("SIGTERM", "SIGHUP")


def describe(launch: Launch) -> str:
    """The command line that a person can type instead."""
    return f"cd {shlex.quote(launch.cwd)} && {shlex.join(launch.argv)}"


def find_program(launch: Launch) -> str:
    """The agent's program; raises when this machine has none, before anything is made for it."""
    name = launch.argv[0]
    found = shutil.which(name, path=launch.env.get("PATH", os.defpath))
    if found is None:
        raise SessionError(
            f"'{name}' is not here, or can't be run",
            hint="install the agent, or put it in PATH; `--print` prints the command",
        )
    return str(Path(found).absolute())


def run(launch: Launch) -> int:
    """Start the agent, give it the terminal, and wait; its exit code, as a shell has it."""
    program = find_program(launch)
    try:
        process = subprocess.Popen(
            launch.argv, executable=program, cwd=launch.cwd, env=dict(launch.env)
        )
    except OSError as error:
        raise SessionError(f"'{program}' can't be started: {error.strerror}") from None
    with _signals_are_for(process):
        code = process.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _signals_are_for(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Keys reach the agent from the terminal; what is sent to us alone is passed on."""

    def pass_on(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    wanted: list[tuple[str, Callable[[int, FrameType | None], None]]] = [
        *((name, lambda _number, _frame: None) for name in _KEYS),
        *((name, pass_on) for name in _ENDS),
    ]
    before = {}
    try:
        for name, handler in wanted:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    except ValueError:
        # Another thread than the main one can't take signals: they stay where they were.
        pass
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
