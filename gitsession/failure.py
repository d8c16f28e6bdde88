"""The one place where exceptions become exit codes and lines on stderr.

| raised | exit code | said |
|---|---|---|
| SessionError | its own | `error:` and `hint:` |
| a usage error of click | 2 | `error:` and `hint:` |
| KeyboardInterrupt | 130 | nothing |
| BrokenPipeError | 141 | nothing, as git dies of SIGPIPE |
| a full or read-only disk | 1 | `error:` |
| anything else | 70 | `error: internal error`; the traceback goes to the log |
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import traceback
from pathlib import Path

from gitsession.errors import Exit, SessionError
from gitsession.render.errors import escape_controls, render_failure

TRACE = "GIT_SESSION_TRACE"
PIPE_CLOSED = 128 + 13
_MACHINE_TROUBLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


def report(error: BaseException) -> int:
    """Say on stderr what a person has to know, and give back the exit code."""
    if _is_set(TRACE):
        _say("".join(escape_controls(line) + "\n" for line in _trace(error).splitlines()))
    if isinstance(error, KeyboardInterrupt):
        return Exit.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _silence(sys.stdout)
        return PIPE_CLOSED
    if isinstance(error, SessionError):
        _say(render_failure(error.message, error.hint))
        return error.exit_code
    if isinstance(error, OSError) and error.errno in _MACHINE_TROUBLE:
        _silence(sys.stdout)
        where = f": '{error.filename}'" if error.filename else ""
        _say(render_failure(f"{error.strerror}{where}"))
        return Exit.FAILED
    code = _report_click(error) if "click" in sys.modules else None
    if code is not None:
        return code
    what = "".join(traceback.format_exception_only(error)).strip()
    _say(render_failure(f"internal error: {what}", _keep(error, what)))
    return Exit.BUG


def _report_click(error: BaseException) -> int | None:
    """The same for click's own exceptions; None when it isn't one."""
    import click

    if isinstance(error, click.Abort):
        return Exit.INTERRUPTED
    if not isinstance(error, click.ClickException):
        return None
    if isinstance(error, click.NoSuchOption):
        message = f"unknown option '{error.option_name}'"
    else:
        message = _in_our_words(error.format_message())
    _say(render_failure(message, _hint(error) if isinstance(error, click.UsageError) else None))
    return error.exit_code


def _hint(error: object) -> str:
    near = getattr(error, "possibilities", None)
    if near:
        return "did you mean " + " or ".join(f"'{name}'" for name in sorted(near)) + "?"
    context = getattr(error, "ctx", None)
    return f"see '{context.command_path if context else 'git session'} -h'"


def _in_our_words(message: str) -> str:
    """What click says in the manner of git: one line, no capital, no full stop."""
    message = " ".join(message.split()).removesuffix(".")
    return message if message[1:2].isupper() else message[:1].lower() + message[1:]


# -- our own mistakes ---------------------------------------------------------------------


def _keep(error: BaseException, what: str) -> str:
    """Note the traceback in the repository's log; give back the hint where to look."""
    try:
        # imported late: a broken installation fails here too, and has to be told
        from gitsession.store import folder, journal

        common = _find_repository()
        if common is not None:
            command = " ".join(sys.argv[1:])
            journal.note(common, f"git session {command}: {what}", details=_trace(error))
            return f"the details are in {folder.log(common)}"
    except Exception:  # the failure itself is what has to be told, not that of the log
        pass
    return f"run it again with {TRACE}=1 to see where"


def _find_repository() -> Path | None:
    """The common folder of the repository here, if git session may write to it."""
    from gitsession import config
    from gitsession.git.run import run

    if not config.load(Path.cwd()).enabled:
        return None
    return Path(os.fsdecode(run(["rev-parse", "--git-common-dir"]).removesuffix(b"\n")))


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _is_set(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


def _say(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)


def _silence(stream: object) -> None:
    """Send what is still buffered nowhere, so that leaving doesn't fail a second time."""
    if isinstance(stream, io.TextIOWrapper):
        with contextlib.suppress(OSError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
