"""The table of verbs: what there is, without importing any of it.

Each verb's module defines `command`, a click command (but for the worker, which
parses nothing). The table is all that
`--help`, a mistyped verb and a shell's completion need, and stays free of the
libraries that the verbs import.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    import click


class Verb(NamedTuple):
    """One command of the executable."""

    summary: str
    group: str
    module: str
    """The module in this package that defines it."""


GROUPS = ("set up", "look", "go back", "keep", "share")
INTERNAL = "internal"

VERBS = {
    "init": Verb("keep the sessions of this repository from now on", "set up", "init"),
    "deinit": Verb("take the hooks out again", "set up", "deinit"),
    "status": Verb("show active sessions, what waits, and the last error", "set up", "status"),
    "doctor": Verb("find what is misconfigured, and the command that mends it", "set up", "doctor"),
    "completion": Verb("print the completion script of a shell", "set up", "completion"),
    "show": Verb("show the conversation behind a commit", "look", "show"),
    "log": Verb("list commits and their sessions, newest first", "look", "log"),
    "turns": Verb("list the turns of a session", "look", "turns"),
    "start": Verb("begin a session on a branch of its own", "go back", "start"),
    "resume": Verb("go on with a session, wherever it was captured", "go back", "resume"),
    "fork": Verb("branch off from a turn, its conversation and its code", "go back", "fork"),
    "rewind": Verb("put files, conversation or both back to a turn", "go back", "rewind"),
    "squash": Verb("turn the commits of a session's turns into one", "go back", "squash"),
    "capture": Verb("capture now what the hooks would capture later", "keep", "capture"),
    "import": Verb("capture the sessions the agent already has on disk", "keep", "import_"),
    "redact": Verb("show what redaction would find in a file", "keep", "redact"),
    "reindex": Verb("rebuild the index from the session refs", "keep", "reindex"),
    "verify": Verb(
        "check captures against their records, the index and signatures", "keep", "verify"
    ),
    "forget": Verb("take a session, or a secret in one, out of every place", "keep", "forget"),
    "gc": Verb("fold old sessions into archives and pack what lies loose", "keep", "gc"),
    "sync": Verb("fetch the sessions of others and push those of this clone", "share", "sync"),
    "fetch": Verb("fetch the index, and the sessions that are named", "share", "fetch"),
    "push": Verb("push what the remote doesn't have", "share", "push"),
    "export": Verb("write sessions to a bundle, to hand over without a network", "share", "export"),
    "receive": Verb(
        "check what is pushed; a server's pre-receive hook calls it", INTERNAL, "receive"
    ),
    "worker": Verb("take captures from the spool; the hooks start it", INTERNAL, "worker"),
}


def visible() -> list[str]:
    """The verbs that people use, group by group."""
    return [name for group in GROUPS for name, verb in VERBS.items() if verb.group == group]


def load(name: str) -> click.Command:
    """Import a verb."""
    module = importlib.import_module(f"{__name__}.{VERBS[name].module}")
    return cast("click.Command", module.command)
