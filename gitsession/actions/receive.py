"""Decides, on the server, whether a push of sessions may be taken."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gitsession.errors import GitFailed, SessionError
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.run import quarantine
from gitsession.sync import received
from gitsession.sync.received import Command, Ground, Refusal, Refused, Refusing, Rules
from gitsession.sync.received_index import check_index
from gitsession.sync.received_sessions import check_archive, check_session, unpack_fresh

VARIABLE = "GIT_PUSHER_EMAIL"
"""What names the one who pushes, unless `session.pusherVariable` names another."""
_HINT = "what is checked, and why, is in docs/server.md of git session"
_ORDER = (received.INDEX, received.ARCHIVE, received.SESSION, received.SNAPSHOT)
"""The index first: it says what was forgotten."""


def receive(where: Path, lines: str, env: Mapping[str, str] | None = None) -> list[Refusal]:
    """What is wrong with a push, given as git gives it to a pre-receive hook; empty if nothing."""
    env = os.environ if env is None else env
    every = [c for c in received.parse(lines) if received.kind_of(c.ref) is not None]
    if not every:
        return []
    # A hook is told where its repository is; looking for it, git would ask whose it is.
    with discover(where, git_dir=Path(env["GIT_DIR"]) if "GIT_DIR" in env else None) as repo:
        # An object that stands in for another one would be looked at in its place.
        repo.more = {**quarantine(env), "GIT_NO_REPLACE_OBJECTS": "1"}
        return _check(repo, every, env)


def _check(repo: Plumbing, every: Sequence[Command], env: Mapping[str, str]) -> list[Refusal]:
    first = every[0].ref
    try:
        ground = Ground(repo, every, _rules(repo, env))
    except SessionError as error:
        return [_refusal(first, error)]
    found = [x for c in every for x in _named_wrongly(c)]
    for kinds in ((received.INDEX,), (received.ARCHIVE, received.SESSION), (received.SNAPSHOT,)):
        group = [c for c in every if received.kind_of(c.ref) in kinds]
        group.sort(key=lambda c: _ORDER.index(received.kind_of(c.ref) or ""))
        found += _check_group(ground, group) if group else []
    return found


def _named_wrongly(command: Command) -> list[Refusal]:
    """A ref that nobody may have here; taking one away does no harm."""
    kind = received.kind_of(command.ref)
    if command.new is None or kind not in (received.PRIVATE, received.MISNAMED):
        return []
    if kind == received.MISNAMED:
        return [Refusal(ref=command.ref, why="it is no name of a ref of sessions", hint=_HINT)]
    why = "it is what one clone remembers of its remotes"
    return [Refusal(ref=command.ref, why=why, hint="push refs by name, not all (`--mirror`)")]


def _check_group(ground: Ground, group: Sequence[Command]) -> list[Refusal]:
    """Look at what these refs bring together, then at each of them."""
    kind = received.kind_of(group[0].ref)
    try:
        ground.take_in(group, plain=kind != received.SNAPSHOT)
        ground.vouch_for_commits(group)
        if kind in (received.ARCHIVE, received.SESSION):
            unpack_fresh(ground, group)
    except Refusing as error:
        return [_refusal(error.ref, error)]
    except SessionError as error:
        return [_refusal(group[0].ref, error)]
    return [refusal for command in group for refusal in _check_one(ground, command)]


def _check_one(ground: Ground, command: Command) -> list[Refusal]:
    try:
        _CHECKS[received.kind_of(command.ref) or ""](ground, command)
    except SessionError as error:
        return [_refusal(command.ref, error)]
    if received.kind_of(command.ref) == received.INDEX:
        ground.index_is_good = True
    return []


def _check_snapshot(ground: Ground, command: Command) -> None:
    """What a work tree held may be anything; it only isn't thrown away."""
    if command.new is not None:
        ground.commit(command.new)
    slug = command.ref.rpartition("/")[2]
    if slug in ground.forgotten_slugs:
        if command.new is not None:
            raise Refused("its session was forgotten")
    elif not ground.moves_on(command):
        raise Refused("it throws away snapshots that are here")


_CHECKS: dict[str, Callable[[Ground, Command], None]] = {
    received.INDEX: check_index,
    received.ARCHIVE: check_archive,
    received.SESSION: check_session,
    received.SNAPSHOT: _check_snapshot,
}


def _refusal(ref: str, error: SessionError) -> Refusal:
    return Refusal(ref=ref, why=error.message, hint=error.hint or _HINT)


# -- the server's configuration -----------------------------------------------------------


def _rules(repo: Plumbing, env: Mapping[str, str]) -> Rules:
    usual = Rules()
    checked = _setting(repo, "bool", "session.checkAuthor", "false") == "true"
    return Rules(
        max_segment=int(_setting(repo, "int", "session.maxSegment", str(usual.max_segment))),
        max_blob=int(_setting(repo, "int", "session.maxBlob", str(usual.max_blob))),
        pusher=_pusher(repo, env) if checked else None,
    )


def _setting(repo: Plumbing, kind: str, name: str, default: str) -> str:
    try:
        out = repo.git("config", f"--type={kind}", "--default", default, "--get", name)
    except GitFailed as error:
        hint = "tell who looks after the server"
        raise SessionError(f"the server's {name} is wrong: {error.message}", hint=hint) from None
    return out.decode("utf-8", "surrogateescape").rstrip("\n")


def _pusher(repo: Plumbing, env: Mapping[str, str]) -> frozenset[str]:
    """The addresses of the one who pushes, as the server has found out; raises when it hasn't."""
    name = repo.git("config", "--default", VARIABLE, "--get", "session.pusherVariable").decode()
    words = re.split(r"[\s,]+", env.get(name.strip(), "").lower())
    found = frozenset(word for word in words if word)
    if not found:
        raise SessionError(
            f"the server checks authors (session.checkAuthor), and {name.strip()} doesn't say who "
            "pushes",
            hint="tell who looks after the server: session.pusherVariable names the variable",
        )
    return found
