"""What a fork can be made of: a session that a name stands for, its turns, and their code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from gitsession import agents, config
from gitsession.actions import fork_plan, stories, transcripts
from gitsession.actions.fork_plan import Reached, Row, is_same_person
from gitsession.actions.fork_trust import Doubt, find_doubt
from gitsession.actions.transcripts import Transcript
from gitsession.errors import Ambiguous, NotFound, SessionError
from gitsession.git.plumbing import Plumbing, discover
from gitsession.ids import Oid, SessionId
from gitsession.model import Frozen, Record, Turn
from gitsession.query.index import find_records
from gitsession.query.names import Target, get_target, recent
from gitsession.store import records, registry, sessions, snapshots
from gitsession.store.registry import Known
from gitsession.store.states import Snapshot
from gitsession.sync import content
from gitsession.sync.lately import take_in

_PROMPT = re.compile(r"(?P<session>.+)@(?P<uuid>[0-9a-fA-F-]{8,})")
_TURN = re.compile(r"(?P<session>.+)@(?P<turn>\d{1,7})")
_LOOKED_AT = 20


class Origin(Frozen, frozen=True, kw_only=True):
    """A session that can be forked, and all that tells how."""

    found: Transcript
    turns: tuple[Turn, ...]
    """Its own, numbered as `show` numbers them."""
    top: str
    """The work tree that was looked from."""
    turn: int | None = None
    """The one that was named."""
    before: str = ""
    """The prompt that was named, by its uuid."""
    reached: tuple[Reached, ...] = ()
    base: Oid | None = None
    """What the session began on."""
    head: Oid | None = None
    snapshots: tuple[Snapshot, ...] = ()
    doubt: Doubt | None = None

    def rows(self, now: datetime) -> list[Row]:
        """The moments to choose from, the newest first."""
        roots = {self.top, *transcripts.find_roots(self.found, "")}
        return fork_plan.rows(self.turns, roots, now)

    @property
    def last(self) -> int:
        """The newest turn."""
        return max((turn.number for turn in self.turns), default=0)


def find(path: Path, name: str = "", env: Mapping[str, str] | None = None) -> Origin:
    """The session that a name stands for; the latest one of this work tree without a name."""
    env = os.environ if env is None else env
    with discover(path) as repo:
        if repo.work_tree is None:
            raise SessionError(
                f"no work tree at {repo.git_dir}", hint="go to a work tree of the repository"
            )
        take_in(repo)
        target = _find(repo, name or _latest(repo, env), env)
        if isinstance(target, Uncaptured):
            found = _read_local(target.known, env)
            return _describe(path, repo, None, found, target.turn, target.before)
        stored, turn, before = _session_of(repo, target)
        found = transcripts.assemble(repo, stored, env)
        return _describe(path, repo, stored, found, turn, before)


class Uncaptured(Frozen, frozen=True, kw_only=True):
    """A session that is known here, and of which no capture was taken yet."""

    known: Known
    turn: int | None = None
    before: str = ""


class Named(Frozen, frozen=True, kw_only=True):
    """What a name stands for, and the prompt in it."""

    target: Target
    before: str = ""


# -- names --------------------------------------------------------------------------------


def _find(repo: Plumbing, name: str, env: Mapping[str, str]) -> Named | Uncaptured:
    try:
        return _find_stored(repo, name)
    except NotFound:
        local = _find_uncaptured(repo, name, env)
        if local is None:
            raise
        return local


def _find_stored(repo: Plumbing, name: str) -> Named:
    """What a name stands for: a session that only the index knows is fetched."""
    try:
        return _understand(repo, name)
    except NotFound:
        known = content.in_index(repo, name.partition("@")[0])
        if not known:
            raise
    content.bring(repo, known)
    return _understand(repo, name)


def _understand(repo: Plumbing, name: str) -> Named:
    try:
        return Named(target=get_target(repo, name))
    except NotFound:
        prompt = _PROMPT.fullmatch(name)
        if prompt is None:
            raise
    stored = sessions.get_session(repo, prompt["session"])
    return Named(target=Target(session=stored), before=prompt["uuid"])


def _find_uncaptured(repo: Plumbing, name: str, env: Mapping[str, str]) -> Uncaptured | None:
    turn = _TURN.fullmatch(name)
    prompt = None if turn else _PROMPT.fullmatch(name)
    session = turn["session"] if turn else prompt["session"] if prompt else name
    known = [one for one in registry.all_known(repo.common_dir) if Path(one.source).is_file()]
    found = [one for one in known if one.session.startswith(session)]
    found = found or [one for one in _held_here(repo, env) if one.session.startswith(session)]
    if not session or not found:
        return None
    if len(found) > 1:
        raise Ambiguous("session", session, [one.session for one in found[:8]])
    return Uncaptured(
        known=found[0],
        turn=int(turn["turn"]) if turn else None,
        before=prompt["uuid"] if prompt else "",
    )


def _held_here(repo: Plumbing, env: Mapping[str, str]) -> Iterator[Known]:
    """The sessions that agents have of this work tree, the newest first."""
    for name in agents.NAMES:
        adapter = agents.get(name)
        for source in reversed(adapter.list_sources(Path(str(repo.work_tree)), env)):
            session = adapter.session_of(source)
            if session is not None:
                yield Known(session=session, agent=name, source=source)


def _latest(repo: Plumbing, env: Mapping[str, str]) -> str:
    """The session that was last held in this work tree, else the user's newest that is kept."""
    for known in _held_here(repo, env):
        return known.session
    user = config.load(repo.common_dir).author
    for slug in recent(repo, _LOOKED_AT):
        last = sessions.last_record(repo, sessions.open_session(repo, SessionId(slug)))
        if last and last.author and is_same_person(last.author, user):
            return last.session
    raise SessionError(
        "no session was held here yet", hint="name one: `git session log --all` lists them"
    )


def _session_of(repo: Plumbing, named: Named) -> tuple[sessions.Stored, int | None, str]:
    """The one session that a name stands for, and the moment of it."""
    target = named.target
    if target.session is not None:
        return target.session, target.turn, named.before
    told: list[Record] = list(target.task)
    if target.commit is not None:
        told = [r for r in find_records(repo, target.commit) if r.commit == target.commit]
    if not told:
        raise SessionError(
            f"commit {str(target.commit)[:12]} has no session",
            hint="`git session log` lists the commits that have one",
        )
    content.bring(repo, told)
    moments = {}
    for session in dict.fromkeys(record.session for record in told):
        stored = sessions.open_session(repo, session)
        captures = [record for record in told if record.session == session]
        last = stories.seqs_of(repo, stored, captures)[-1]
        moments[session] = (stored, stories.turns_before(repo, stored, last + 1))
    if len(moments) > 1:
        names = [f"{session}@{turn}" for session, (_, turn) in moments.items()]
        what = f"commit {target.commit[:12]}" if target.commit else "this task"
        raise SessionError(
            f"{what} belongs to {len(names)} sessions", hint=f"name one: {', '.join(names[:8])}"
        )
    ((stored, turn),) = moments.values()
    return stored, turn, ""


# -- what is known of it ------------------------------------------------------------------


def _read_local(known: Known, env: Mapping[str, str]) -> Transcript:
    return transcripts.read_local(agents.get(known.agent), known.session, known.source)


def _describe(
    path: Path,
    repo: Plumbing,
    stored: sessions.Stored | None,
    found: Transcript,
    turn: int | None,
    before: str,
) -> Origin:
    adapter = agents.get(found.agent)
    turns = fork_plan.own_turns(adapter.read_turns(found.lines), found.inherited)
    if before:
        turn = _turn_before(found, turns, before)
    stored = stored or sessions.open_session(repo, found.session)
    captures = [
        list(records.readable(sessions.record_lines(repo, stored, seq))) for seq in stored.seqs
    ]
    first = next((capture[0] for capture in captures if capture), None)
    inherited = found.parent.commit if found.parent else None
    return Origin(
        found=found,
        turns=turns,
        top=str(repo.work_tree),
        turn=turn,
        before=before,
        reached=tuple(fork_plan.reach(captures)),
        base=first.base if first and first.base else inherited,
        head=repo.resolve("HEAD^{commit}"),
        snapshots=tuple(snapshots.read_all(repo, found.session)),
        doubt=find_doubt(path, repo, stored, turns) if stored.tip else None,
    )


def _turn_before(found: Transcript, turns: tuple[Turn, ...], uuid: str) -> int:
    """The turn that was over when a prompt was sent."""
    adapter = agents.get(found.agent)
    prompts = 0
    for raw in found.lines:
        line = adapter.parse_line(raw)
        prompts += line.prompt is not None
        if line.uuid == uuid and line.prompt is not None:
            return max(prompts - found.inherited - 1, 0)
    known = [
        u for raw in found.lines if (one := adapter.parse_line(raw)).prompt and (u := one.uuid)
    ]
    raise NotFound("prompt", uuid, candidates=known[-5:])
