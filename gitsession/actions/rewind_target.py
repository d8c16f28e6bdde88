"""Where a rewind leads: a session of this work tree, a moment of it, and the state kept of that."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gitsession import agents, config
from gitsession.actions import fork_source
from gitsession.actions.fork_source import Origin
from gitsession.capture import events, reader
from gitsession.capture.leftover import end_of
from gitsession.errors import NotFound, SessionError, Usage
from gitsession.git import branches, refs
from gitsession.git.plumbing import Plumbing
from gitsession.ids import Oid, SessionId
from gitsession.store import moments, registry, snapshots
from gitsession.store.registry import Known
from gitsession.store.states import Snapshot, seconds

_TURN = re.compile(r"@?(\d{1,7})")
_PROMPT = re.compile(r"@?([0-9a-fA-F]{8}-[0-9a-fA-F-]{8,})")
_DAY = 86400.0


# -- work trees ---------------------------------------------------------------------------


def get_top(repo: Plumbing) -> Path:
    """The top of the work tree; raises where there is none."""
    if repo.work_tree is None:
        raise SessionError(
            f"no work tree at {repo.git_dir}", hint="go to a work tree of the repository"
        )
    return repo.work_tree


class Places:
    """The work trees of a repository, one of which is here."""

    def __init__(self, repo: Plumbing) -> None:
        self.top = os.path.realpath(get_top(repo))
        self._tops = {os.path.realpath(tree) for tree in branches.worktrees(repo)} | {self.top}

    def is_here(self, folder: str) -> bool:
        """Whether a folder is in this work tree, and in none that lies inside of it."""
        path = os.path.realpath(folder) if folder else ""
        around = [top for top in self._tops if f"{path}/".startswith(f"{top.rstrip('/')}/")]
        return max(around, key=len, default="") == self.top

    def other(self, state: Snapshot) -> str:
        """The other work tree that a state is of, if that is still one."""
        path = os.path.realpath(state.worktree) if state.worktree else self.top
        return path if path in self._tops - {self.top} else ""


def relative(top: Path, where: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Paths as they are named in a tree; none at all when the whole work tree is meant."""
    found = []
    for path in paths:
        plain = Path(os.path.normpath(Path(os.path.realpath(where), path)))
        # A link is meant itself, what is above it may be another name for the work tree.
        real = Path(os.path.realpath(plain.parent), plain.name)
        inside = next((one for one in (plain, real) if one.is_relative_to(top)), None)
        if not path or inside is None:
            raise SessionError(f"'{path}' is outside of the work tree", hint=f"it is {top}")
        found.append(inside.relative_to(top).as_posix())
    return () if "." in found else tuple(dict.fromkeys(found))


# -- sessions -----------------------------------------------------------------------------


def find(path: Path, repo: Plumbing, moment: str, session: str, env: Mapping[str, str]) -> Origin:
    """The session and the moment in it that somebody named."""
    if not moment:
        raise Usage("say where to go back to", hint="a turn's number, or the uuid of a prompt")
    bare = _TURN.fullmatch(moment) or _PROMPT.fullmatch(moment)
    if bare is None:
        if "@" not in moment:
            raise NotFound("turn or prompt", moment, hint=_turns_of(session or latest(repo)))
        if session:
            raise Usage("say the session once", hint="--session ID, or ID@N")
        return _get_moment(path, moment, env)
    return _get_moment(path, f"{session or latest(repo)}@{bare[1]}", env)


def _get_moment(path: Path, name: str, env: Mapping[str, str]) -> Origin:
    origin = fork_source.find(path, name, env)
    if origin.turn is None:
        raise Usage(f"'{name}' names no moment of a session", hint="ID@N, or ID@UUID of a prompt")
    numbers = {0, *(turn.number for turn in origin.turns)}
    if origin.turn not in numbers:
        raise NotFound("turn", str(origin.turn), hint=f"the turns here are 0 to {max(numbers)}")
    return origin


def _turns_of(session: str) -> str:
    return f"`git session turns {session}` lists them"


def latest(repo: Plumbing) -> SessionId:
    """The session that was last held in this work tree."""
    places = Places(repo)
    found = [
        (known.seen_at, known.session)
        for known in registry.all_known(repo.common_dir)
        if places.is_here(known.cwd) and Path(known.source).is_file()
    ]
    for session, at in _kept(repo):
        last = snapshots.find_last(repo, session)
        if last is not None and not places.other(last):
            found.append((seconds(last.at) or at, SessionId(last.session)))
            break
    if not found:
        raise SessionError(
            "no session was held in this work tree yet",
            hint="name one: `git session log --all` lists them",
        )
    return max(found)[1]


def _kept(repo: Plumbing, prefix: str = "") -> Iterator[tuple[SessionId, float]]:
    """The sessions that have snapshots, with the time of the last one, newest first."""
    out = repo.git("for-each-ref", "--sort=-committerdate",
                   "--format=%(committerdate:unix) %(refname)", refs.SNAPSHOTS)  # fmt: skip
    for line in out.decode("utf-8", "replace").splitlines():
        at, _, ref = line.partition(" ")
        slug = ref.removeprefix(refs.SNAPSHOTS)
        if at.isdigit() and slug.startswith(prefix):
            yield SessionId(slug), float(at)


def get_last_rewind(repo: Plumbing, session: str = "") -> Snapshot:
    """What lay here before somebody last went back; raises when nobody has."""
    places, best, newest = Places(repo), None, 0.0
    for name, at in _kept(repo, session):
        # Its whole seconds are those of the last snapshot of that session.
        if best is not None and at < int(newest):
            break
        for one in snapshots.read_all(repo, name):
            when = seconds(one.at) or 0.0
            if one.moment == "rewind" and not places.other(one) and when >= newest:
                best, newest = one, when
    if best is None:
        raise SessionError(
            "nobody went back here, so that there is nothing to undo",
            hint="`git session rewind <turn>` goes back to a turn",
        )
    return best


# -- states -------------------------------------------------------------------------------


def get_state(repo: Plumbing, origin: Origin) -> Snapshot:
    """The state that was kept of a moment; raises with the reason when none was."""
    assert origin.turn is not None
    if origin.before:
        state = snapshots.snapshot_before(origin.snapshots, origin.turns, origin.turn + 1)
    else:
        state = snapshots.snapshot_at(origin.snapshots, origin.turns, origin.turn)
        if state is not None and not _is_over(repo, origin, state):
            raise SessionError(
                f"turn {origin.turn} isn't over, or was broken off: nothing was kept of its end",
                hint=_instead(origin),
            )
    if state is None:
        raise SessionError(_say_why(repo, origin), hint=_instead(origin))
    other = Places(repo).other(state)
    if other:
        raise SessionError(f"that state is one of another work tree, {other}", hint="go there")
    return state


def _is_over(repo: Plumbing, origin: Origin, state: Snapshot) -> bool:
    """Whether the last turn's end is known: a state that didn't change was not kept."""
    if origin.turn != origin.last or not origin.turn:
        return True
    begun = seconds(next(t.started_at for t in origin.turns if t.number == origin.turn)) or 0.0
    ended = moments.last_end(repo.common_dir, origin.found.session)
    kept = seconds(state.at) if state.moment == "end" else None
    return max(ended or 0.0, kept or 0.0) >= begun


def _say_why(repo: Plumbing, origin: Origin) -> str:
    """Why there is no state of a moment."""
    settings = config.load(repo.common_dir)
    session = origin.found.session
    ends = [at for t in origin.turns if (at := seconds(t.ended_at or t.started_at)) is not None]
    if not settings.snapshot:
        return "no snapshots are kept here: session.snapshot is false"
    if not origin.snapshots and not origin.found.source:
        return f"session {session} was held on another machine, and its snapshots stayed there"
    if (
        not origin.snapshots
        and max(ends, default=0.0) < time.time() - settings.snapshot_keep * _DAY
    ):
        return f"the snapshots of session {session} are gone after {settings.snapshot_keep} days"
    return f"no snapshot was kept of {moment_of(origin)}"


def _instead(origin: Origin) -> str:
    return f"`git session fork {origin.found.session}@{origin.turn}` begins at the turn's commit"


def moment_of(origin: Origin) -> str:
    """A moment, in words."""
    if origin.before:
        return f"the moment before prompt {(origin.turn or 0) + 1}"
    return f"the end of turn {origin.turn}" if origin.turn else "the moment before the first prompt"


# -- what is going on ---------------------------------------------------------------------


def count_since(repo: Plumbing, head: Oid | None) -> str:
    """What became of HEAD since it was at a commit, if anything."""
    now = repo.resolve("HEAD^{commit}")
    if now is None or now == head:
        return ""
    if head is None:
        return "commits were made since: they stay, only files go back"
    out = repo.git("rev-list", "--left-right", "--count", f"{head}...{now}", "--", ok=(0, 128))
    left, right = out.decode().split() if out.strip() else ("1", "0")
    if left == "0":
        count = f"{right} commit{'s were' if right != '1' else ' was'} made since"
        return f"{count}: {'they stay' if right != '1' else 'it stays'}, only files go back"
    return f"HEAD was at {head[:12]} then and is at {now[:12]}: it stays, only files go back"


def find_busy(repo: Plumbing) -> str:
    """A session that is at work on these files just now; empty when none is."""
    places = Places(repo)
    for known in registry.all_known(repo.common_dir):
        if known.state == "active" and places.is_here(known.cwd) and events.is_running(known):
            begun = _last_begun(repo, known)
            if begun and begun > (moments.last_end(repo.common_dir, known.session) or 0.0):
                return known.session
    return ""


def _last_begun(repo: Plumbing, known: Known) -> float:
    """When a session's last turn began; its transcript tells late, a snapshot not always."""
    last = snapshots.find_last(repo, known.session)
    started = last is not None and last.moment in ("start", "barrier")
    found = (seconds(last.at) or 0.0) if last is not None and started else 0.0
    path = Path(known.source)
    if known.agent in agents.NAMES and path.is_file():
        adapter = agents.get(known.agent)
        read = (adapter.parse_line(raw) for _, raw in reader.lines(path, 0, end_of(path)))
        prompts = (seconds(line.at or "") or 0.0 for line in read if line.prompt is not None)
        found = max(found, max(prompts, default=0.0))
    return found
