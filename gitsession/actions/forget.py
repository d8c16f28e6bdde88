"""Takes a session, a capture or a text out of every place that can be reached from here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gitsession import config
from gitsession.actions.forget_scope import Request, Scope, Touched
from gitsession.capture import events
from gitsession.config import Settings
from gitsession.errors import SessionError, Usage
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.ids import SessionId
from gitsession.query.forgettable import all_records, get_named
from gitsession.store import folder, spool
from gitsession.store.lock import held
from gitsession.sync import answers, forget
from gitsession.sync.remote import get_remote

if TYPE_CHECKING:
    from gitsession.sync.exchange import Exchange

__all__ = ["Request", "Touched", "carry_out", "look"]

_ROUNDS = 3
"""Times to look again whether others have pushed the text meanwhile."""


def look(path: Path, request: Request, *, remote: str | None = None) -> Touched:
    """Say what would be touched; changes nothing, and asks no remote."""
    _check(request)
    with discover(path) as repo:
        settings = config.load(repo.common_dir)
        name = get_remote(settings, remote).name if remote is not None else ""
        scope = Scope(repo, settings, request, write=False)
        return scope.touched(answers.hide_password(name))


def carry_out(path: Path, request: Request, *, remote: str | None = None) -> Touched:
    """Forget here, and with a remote (or the usual one for "") there as well."""
    _check(request)
    with discover(path) as repo:
        settings = config.load(repo.common_dir)
        repo.sign = settings.sign
        if remote is None:
            return _forget(repo, settings, request, "")
        return _forget_there(repo, settings, request, remote)


def _check(request: Request) -> None:
    if request.text is not None and request.rule:
        raise Usage("say either a text or a rule")
    if request.all_sessions and (request.name or not request.cleans):
        raise Usage("--all-sessions is for a text or a rule, without a name")
    if not request.name and not request.all_sessions:
        raise Usage("say what to forget", hint="a session, a capture, a commit; or --all-sessions")


def _forget(repo: Plumbing, settings: Settings, request: Request, remote: str) -> Touched:
    with held(folder.home(repo.common_dir) / "lock", wait=True):
        scope = Scope(repo, settings, request, write=True)
        touched = scope.touched(remote)
        if not touched.nothing:
            forget.forget(repo, settings, scope.order())
            _drop_events(repo.common_dir, scope.gone.sessions)
    return touched


def _forget_there(repo: Plumbing, settings: Settings, request: Request, remote: str) -> Touched:
    """First all that the remote has of it comes here, or others' captures would be missed."""
    from gitsession.sync.exchange import Exchange
    from gitsession.sync.transport import Line, TransferFailed

    line = Line(repo, get_remote(settings, remote), watched=True)
    name = answers.hide_password(line.remote.name)
    exchange = Exchange(repo, settings, line)
    try:
        _fetch(exchange, request)
    except TransferFailed as error:
        raise SessionError(
            f"nothing was forgotten: {error.message}",
            hint="without --remote it is forgotten here, and the next sync takes it off the remote",
        ) from None
    touched = _forget(repo, settings, request, name)
    _push(exchange)
    for _ in range(_ROUNDS if request.cleans else 0):
        if _forget(repo, settings, request, name).nothing:
            break
        _push(exchange)
    return touched


def _fetch(exchange: Exchange, request: Request) -> None:
    fetched = exchange.fetch(everything=request.all_sessions)
    if not request.cleans or request.all_sessions:
        return
    named = get_named(exchange.repo, request.name)
    every = all_records(exchange.repo)
    wanted = {r.session for r in every if r.session == named.session or r.id in named.captures}
    if wanted:
        fetched = exchange.fetch(sorted(refs.session(session) for session in wanted))
    if fetched.warnings:
        raise SessionError(f"nothing was forgotten: {fetched.warnings[0]}")


def _push(exchange: Exchange) -> None:
    from gitsession.sync.transport import TransferFailed

    hint = "it is forgotten here; `git session sync` tries again to take it off the remote"
    try:
        pushed = exchange.push(forgotten=True)
    except TransferFailed as error:
        raise SessionError(error.message, hint=hint) from None
    held_back = [x for x in pushed.held if x.ref == refs.INDEX or exchange.is_unwanted(x.ref)]
    if held_back:
        first = held_back[0]
        raise SessionError(
            f"the remote doesn't let go of {first.ref}: {first.reason}",
            hint=hint + ", once its hooks allow rewriting and deleting refs",
        )


def _drop_events(common_dir: Path, gone: Iterable[SessionId]) -> None:
    """Events of the agent hold prompts; those of git hold none, and may be of others."""
    names = set(gone)
    for event in spool.read(folder.spool(common_dir)) if names else ():
        told = events.understand(event) if event.event == "agent" else None
        if told is not None and told.session in names:
            spool.drop(event)
