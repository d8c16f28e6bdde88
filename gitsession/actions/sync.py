"""Fetching, pushing and both, as somebody asked for it and watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gitsession import config
from gitsession.errors import NotFound
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.model import Frozen
from gitsession.query.index import find_records
from gitsession.store import outbox
from gitsession.sync import answers, content
from gitsession.sync.remote import find_remote, get_remote

if TYPE_CHECKING:
    from gitsession.sync.exchange import Exchange, Fetched, Pushed

Report = Callable[[str, float, float | None], None]


class Synced(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """What went where."""

    remote: str
    fetched: Fetched | None = None
    pushed: Pushed | None = None


class Outlook(Frozen, frozen=True, kw_only=True, omit_defaults=False):
    """What waits to be pushed; nothing has a default, so that `--json` says everything."""

    remote: str
    auto_push: bool
    unpushed: tuple[str, ...]
    failures: int
    reason: str
    failed_at: float


def sync(
    path: Path, remote: str = "", *, everything: bool = False, report: Report | None
) -> Synced:
    """Fetch what others captured, and push what they don't have."""
    with _exchange(path, remote, report) as exchange:
        fetched = exchange.fetch(everything=everything)
        return Synced(remote=_name(exchange), fetched=fetched, pushed=_push(exchange))


def fetch(
    path: Path, names: Sequence[str], remote: str = "", *, everything: bool, report: Report | None
) -> Synced:
    """Fetch the index, and the sessions that names stand for."""
    with _exchange(path, remote, report) as exchange:
        fetched = exchange.fetch(everything=everything)
        wanted = sorted({ref for name in names for ref in _refs_of(exchange.repo, name)})
        if wanted:
            fetched = exchange.fetch(wanted)
        return Synced(remote=_name(exchange), fetched=fetched)


def push(path: Path, remote: str = "", *, report: Report | None) -> Synced:
    """Push what the remote doesn't have."""
    with _exchange(path, remote, report) as exchange:
        return Synced(remote=_name(exchange), pushed=_push(exchange))


def outlook(path: Path) -> Outlook:
    """What waits to be pushed, and how pushing went; asks no remote."""
    with discover(path) as repo:
        return outlook_of(repo, config.load(repo.common_dir))


def outlook_of(repo: Plumbing, settings: config.Settings) -> Outlook:
    """The same, of a repository that is open."""
    remote = find_remote(settings)
    attempts = outbox.attempts(repo.common_dir)
    return Outlook(
        remote=answers.hide_password(remote.name) if remote else "",
        auto_push=settings.auto_push,
        unpushed=tuple(refs.unpushed(repo.refs, remote.slug)) if remote else (),
        failures=attempts.failures,
        reason=attempts.reason,
        failed_at=attempts.at,
    )


@contextmanager
def _exchange(path: Path, remote: str, report: Report | None) -> Iterator[Exchange]:
    # They import GitPython, which `status` has no need of.
    from gitsession.sync.exchange import Exchange
    from gitsession.sync.transport import Line

    with discover(path) as repo:
        settings = config.load(repo.common_dir)
        line = Line(repo, get_remote(settings, remote), watched=True, report=report)
        yield Exchange(repo, settings, line)


def _push(exchange: Exchange) -> Pushed:
    from gitsession.sync.exchange import try_push

    return try_push(exchange)


def _name(exchange: Exchange) -> str:
    return answers.hide_password(exchange.remote.name)


def _refs_of(repo: Plumbing, name: str) -> list[str]:
    """The session refs that a commit or the beginning of a session's id stands for."""
    commit = repo.resolve(name + "^{commit}")
    found = find_records(repo, commit) if commit else []
    found = found or content.in_index(repo, name)
    if not found:
        raise NotFound("session or commit with sessions", name, hint="`git session log` lists them")
    return [refs.session(record.session) for record in found]
