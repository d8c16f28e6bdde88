"""Which session is to be resumed, wherever it is: here, in the repository, or on the remote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from gitsession import agents, config
from gitsession.actions import fork_source, transcripts
from gitsession.actions.fork_plan import is_same_person, own_turns
from gitsession.actions.fork_trust import Doubt
from gitsession.actions.transcripts import Transcript
from gitsession.agents.base import Adapter
from gitsession.errors import Ambiguous, NotFound, SessionError
from gitsession.git import notes, refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.ids import SessionId
from gitsession.model import Author, Frozen, Record, Turn
from gitsession.query.index import read_all
from gitsession.query.names import recent
from gitsession.render.dates import parse_date
from gitsession.store import records, registry, sessions
from gitsession.sync import content
from gitsession.sync.lately import take_in

_MOMENT = re.compile(r"(?P<session>.+)@(?:(?P<turn>\d{1,7})|(?P<uuid>[0-9a-fA-F-]{8,}))")
_LOOKED_AT = 20
_COMMITS = 100
_MOST_PARENTS = 50


class Chosen(Frozen, frozen=True, kw_only=True):
    """A session, whole, and what is known of it."""

    found: Transcript
    turns: tuple[Turn, ...]
    """Its own."""
    turn: int | None = None
    """A moment of it that the name told."""
    before: str = ""
    doubt: Doubt | None = None
    remarks: tuple[str, ...] = ()


def choose(path: Path, name: str, env: Mapping[str, str]) -> Chosen:
    """The session that a name stands for, or without one the latest of this folder."""
    remarks: list[str] = []
    with discover(path) as repo:
        if repo.work_tree is None:
            raise SessionError(
                f"no work tree at {repo.git_dir}", hint="go to a work tree of the repository"
            )
        take_in(repo)
        wanted = name or _latest(repo, repo.work_tree, env)
        told = _MOMENT.fullmatch(wanted)
        session = told["session"] if told else wanted
        try:
            _fetch(repo, session, remarks)
        except NotFound:
            local = _find_local(session, repo.work_tree, env)
            if local is None:
                raise
            turns = agents.get(local.agent).read_turns(local.lines)
            return Chosen(
                found=local,
                turns=own_turns(turns, local.inherited),
                turn=int(told["turn"]) if told and told["turn"] else None,
                before=(told["uuid"] or "") if told else "",
            )
    origin = fork_source.find(path, wanted, env)
    return Chosen(
        found=origin.found,
        turns=origin.turns,
        # Of a commit the turn is known, too; but it is the session that goes on.
        turn=origin.turn if told and not origin.before else None,
        before=origin.before,
        doubt=origin.doubt,
        remarks=tuple(remarks),
    )


# -- on the remote ------------------------------------------------------------------------


def _fetch(repo: Plumbing, name: str, remarks: list[str]) -> None:
    """Bring what is captured of a session elsewhere, and of those that it goes on from."""
    try:
        session: SessionId | None = _session_of(repo, name)
    except NotFound:
        known = content.in_index(repo, name)
        if not known:
            raise
        content.bring(repo, known)
        session = _session_of(repo, name)
    seen: set[SessionId] = set()
    while session is not None and session not in seen and len(seen) < _MOST_PARENTS:
        seen.add(session)
        _bring(repo, session, remarks)
        stored = sessions.open_session(repo, session)
        session = stored.head.parent.session if stored.head and stored.head.parent else None


def _session_of(repo: Plumbing, name: str) -> SessionId | None:
    """The session by a name; None for what stands for something else."""
    try:
        stored = sessions.get_session(repo, name)
    except NotFound:
        if repo.resolve(name + "^{commit}") is None and not _is_known(repo, name):
            raise
        return None
    return stored.head.session if stored.head else None


def _is_known(repo: Plumbing, name: str) -> bool:
    """Whether it is a session without captures, or a task."""
    if any(known.session.startswith(name) for known in registry.all_known(repo.common_dir)):
        return True
    return any(
        record.task == name
        for _, note in read_all(repo)
        for record in records.readable(records.decode_note(note))
    )


def _bring(repo: Plumbing, session: SessionId, remarks: list[str]) -> None:
    known = [r for r in content.in_index(repo, _slug(session)) if r.session == session]
    try:
        content.bring(repo, known)
    except SessionError as error:
        if sessions.open_session(repo, session).tip is None:
            raise
        remarks.append(f"what others captured since isn't here: {error.message}")


def _slug(session: SessionId) -> str:
    return refs.slug_of(refs.session(session))


# -- on this machine ----------------------------------------------------------------------


def _find_local(name: str, top: Path, env: Mapping[str, str]) -> Transcript | None:
    """A session of this folder that was never captured."""
    found = {s: (a, p) for a, s, p, _ in _locals(top, env) if s.startswith(name)}
    if len(found) > 1 and name not in found:
        raise Ambiguous("session", name, sorted(found)[:8])
    for session, (adapter, source) in found.items():
        if name in (session, "") or len(found) == 1:
            return transcripts.read_local(adapter, session, source)
    return None


def _locals(top: Path, env: Mapping[str, str]) -> Iterator[tuple[Adapter, SessionId, str, float]]:
    """(adapter, session, source, time of change) of what the agents have for a folder."""
    for name in agents.NAMES:
        adapter = agents.get(name)
        for source in adapter.list_sources(top, env):
            session = adapter.session_of(source)
            with suppress(OSError):
                # A copy that was made for something else is named otherwise.
                if session is not None and adapter.find_source(session, env) == source:
                    yield adapter, session, source, Path(source).stat().st_mtime


# -- the latest one -----------------------------------------------------------------------


def _latest(repo: Plumbing, top: Path, env: Mapping[str, str]) -> str:
    """The newest session of this folder: the user's own, or else anybody's."""
    here = list(_locals(top, env))
    times = {s: at for a, s, source, at in here if _has_prompt(a, source)}
    user = config.load(repo.common_dir).author
    own = _captured(_recent(repo), user)
    others: dict[SessionId, float] = {}
    if not own and not times:
        every = list(_every(repo))
        own, others = _captured(every, user), _captured(every, user, theirs=True)
    for session, at in own.items():
        if session in times or not _is_elsewhere(session, env):
            times[session] = max(at, times.get(session, 0.0))
    times = times or others
    if not times:
        raise SessionError("no session was held here yet", hint="`git session start` begins one")
    return max((at, session) for session, at in times.items())[1]


def _has_prompt(adapter: Adapter, source: str) -> bool:
    with suppress(OSError), Path(source).open("rb") as file:
        return any(adapter.parse_line(raw).prompt is not None for raw in file)
    return False


def _is_elsewhere(session: SessionId, env: Mapping[str, str]) -> bool:
    """Whether an agent has it on this machine, and not for this folder."""
    return any(agents.get(name).find_source(session, env) for name in agents.NAMES)


def _captured(
    found: Iterable[Record], user: Author, *, theirs: bool = False
) -> dict[SessionId, float]:
    """When each session was last captured, of the user's own or of others'."""
    times: dict[SessionId, float] = {}
    for record in found:
        mine = record.author is None or is_same_person(record.author, user)
        date = parse_date(record.ended_at or record.captured_at)
        if date is not None and mine != theirs:
            times[record.session] = max(date.timestamp(), times.get(record.session, 0.0))
    return times


def _recent(repo: Plumbing) -> Iterator[Record]:
    """The captures of the sessions that were captured last here, and of the last commits."""
    for slug in recent(repo, _LOOKED_AT):
        last = sessions.last_record(repo, sessions.open_ref(repo, refs.SESSIONS + slug))
        if last is not None:
            yield last
    if repo.resolve("HEAD") is not None:
        commits = repo.git("rev-list", f"--max-count={_COMMITS}", "HEAD", "--").decode().split()
        for commit in commits:
            yield from records.readable(records.decode_note(notes.read(repo, commit)))  # type: ignore[arg-type]


def _every(repo: Plumbing) -> Iterator[Record]:
    for _, note in read_all(repo):
        yield from records.readable(records.decode_note(note))
