"""The exceptions of git session, each with the exit code and hint a person sees.

SessionError            1  an expected failure
├── NotFound            1  nothing by that name, with what was meant perhaps
├── Moved               1  a ref was changed by somebody else meanwhile
├── GitFailed           1  git said no
├── Usage               2  the call itself is wrong
├── Unreadable          3  stored or given data that can't be understood
└── Findings            4  an audit found something
"""

from __future__ import annotations

import enum
from collections.abc import Sequence


class Exit(enum.IntEnum):
    """What the executable returns to the shell."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREADABLE = 3
    FINDINGS = 4
    BUG = 70
    INTERRUPTED = 130


class SessionError(Exception):
    """An expected failure: one sentence of what, and optionally what to do."""

    exit_code: Exit = Exit.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NotFound(SessionError):
    """No such session, commit, turn or task."""

    def __init__(
        self, what: str, name: str, *, candidates: Sequence[str] = (), hint: str | None = None
    ) -> None:
        if candidates and hint is None:
            hint = "did you mean: " + ", ".join(candidates)
        super().__init__(f"no {what} named '{name}'", hint=hint)


class Ambiguous(SessionError):
    """A prefix that more than one thing answers to."""

    def __init__(self, what: str, name: str, candidates: Sequence[str]) -> None:
        super().__init__(
            f"'{name}' is ambiguous: more than one {what} begins so",
            hint="candidates: " + ", ".join(candidates),
        )


class Moved(SessionError):
    """A ref no longer has the value that was read: read again and retry."""


class GitFailed(SessionError):
    """A git command failed; the message is git's own last word."""


class Usage(SessionError):
    """The call is wrong."""

    exit_code = Exit.USAGE


class Unreadable(SessionError):
    """Data that can't be understood."""

    exit_code = Exit.UNREADABLE


class Findings(SessionError):
    """An audit found something."""

    exit_code = Exit.FINDINGS
