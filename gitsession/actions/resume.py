"""Goes on with a session: where it is, or put together from what was captured elsewhere.

First everything is looked at (`look`), then what the agent needs is put where it
looks for it (`prepare`). A transcript that is newer than what is stored, or
another one, is never touched: then the conversation goes on as a fork.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gitsession import agents
from gitsession.actions import launching, placing, resume_source, transcripts
from gitsession.actions.fork_trust import Doubt
from gitsession.actions.transcripts import Transcript
from gitsession.agents.base import Adapter, Cut, Launch
from gitsession.capture import reader
from gitsession.capture.events import is_running
from gitsession.errors import SessionError, Usage
from gitsession.git import branches, refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.run import run
from gitsession.ids import SessionId
from gitsession.model import Frozen
from gitsession.store import forks, registry
from gitsession.store.registry import Known

_FRESH = "it begins anew: nothing was said before that moment"


class Wish(Frozen, frozen=True, kw_only=True):
    """What is to be resumed, and how."""

    name: str = ""
    """The latest session of this folder, if empty."""
    at: str = ""
    """A turn, or the uuid of a prompt; the end if empty."""
    prompt: str = ""
    """To go on with this prompt alone, without a terminal."""
    launches: bool = True
    """The agent is started at the end, so it has to be there."""


class Found(Frozen, frozen=True, kw_only=True):
    """A session that can be resumed; nothing was written yet."""

    found: Transcript
    cut: Cut
    whole: bool
    """The cut is the end of it."""
    turn: int
    """The last one that is part of it."""
    doubt: Doubt | None = None
    remarks: tuple[str, ...] = ()


class Ready(Frozen, frozen=True, kw_only=True):
    """What was prepared; nothing has a default, so that `--json` always says everything."""

    session: SessionId
    """The one that goes on."""
    parent: SessionId | None
    """The one that it is a fork of, if it had to be one."""
    turn: int
    branch: str
    worktree: str
    """Where the agent is started."""
    transcript: str
    """What the agent goes on from; empty for a fresh start."""
    command: tuple[str, ...]
    remarks: tuple[str, ...]


# -- looking ------------------------------------------------------------------------------


def look(path: Path, wish: Wish, env: Mapping[str, str] | None = None) -> Found:
    """The session that is meant, and the moment; fetches what isn't here."""
    env = os.environ if env is None else env
    chosen = resume_source.choose(path, wish.name, env)
    turn, before = _moment(wish.at, chosen)
    found = chosen.found
    if found.forgotten:
        raise SessionError(
            "a part of this session was forgotten, so that nothing can go on from it",
            hint="`git session start` begins a new one",
        )
    cut, whole = transcripts.cut(found, turn=turn, before=before), True
    if turn is not None or before is not None:
        whole = not cut.fresh and cut.leaf == transcripts.cut(found).leaf
    return Found(
        found=found,
        cut=cut,
        whole=whole,
        turn=max(cut.turns, default=0),
        doubt=chosen.doubt,
        remarks=chosen.remarks,
    )


def _moment(at: str, chosen: resume_source.Chosen) -> tuple[int | None, str | None]:
    if at and (chosen.turn is not None or chosen.before):
        raise Usage("the name tells the moment already", hint="leave --at away")
    if at.isdigit():
        return int(at), None
    return chosen.turn, at or chosen.before or None


# -- preparing ----------------------------------------------------------------------------


def prepare(
    path: Path, looked: Found, wish: Wish, env: Mapping[str, str] | None = None
) -> tuple[Ready, Launch]:
    """Put the conversation where the agent looks for it, and say how the agent is started."""
    env = os.environ if env is None else env
    with discover(path) as repo:
        if repo.work_tree is None:
            raise SessionError(f"no work tree at {repo.git_dir}")
        adapter = agents.get(looked.found.agent)
        if wish.launches:
            launching.find_program(adapter.launch(repo.work_tree, looked.found.session, env))
        for tree in branches.worktrees(repo):
            adapter.sweep(tree, env)
        forks.sweep(repo)
        return _Preparation(repo, repo.work_tree, adapter, looked, wish, env).make()


class _Preparation:
    """One session on its way to the agent."""

    def __init__(
        self,
        repo: Plumbing,
        top: Path,
        adapter: Adapter,
        looked: Found,
        wish: Wish,
        env: Mapping[str, str],
    ) -> None:
        self._repo, self._top, self._adapter, self._env = repo, top, adapter, env
        self._looked, self._wish, self._found = looked, wish, looked.found
        self._roots = transcripts.find_roots(looked.found, str(top))

    def make(self) -> tuple[Ready, Launch]:
        """Resume it as itself where that costs nobody anything, else as a fork."""
        if not self._looked.whole:
            return self._fork("")
        why = self._why_apart()
        if why:
            return self._fork(why)
        if self._found.standing in ("same", "ahead") or self._is_local():
            return self._go_on(self._home() or self._top, self._found.source)
        if self._found.source:
            return self._catch_up()
        return self._place()

    # -- as itself

    def _is_local(self) -> bool:
        """Nothing of it is stored: all there is is the agent's own."""
        return self._found.standing == "alone" and bool(self._found.source)

    def _home(self) -> Path | None:
        """The folder, in one of the repository's work trees, that the agent has it for."""
        lines = (self._adapter.parse_line(raw) for raw in self._found.lines)
        begun = next((line.cwd for line in lines if line.cwd), "")
        for folder in (
            self._top,
            *branches.worktrees(self._repo),
            *([Path(begun)] if begun else []),
        ):
            place = self._adapter.place_of(folder, self._found.session, self._env)
            if folder.is_dir() and self._is_ours(folder) and place == Path(self._found.source):
                return folder
        return None

    def _is_ours(self, folder: Path) -> bool:
        try:
            return discover(folder).common_dir == self._repo.common_dir
        except SessionError:
            return False

    def _why_apart(self) -> str:
        """Why it can't go on as itself, if it can't."""
        if not self._found.source:
            return ""
        if self._home() is None:
            return f"this machine has it for another folder: {self._found.source}"
        if self._found.standing == "apart":
            return "the transcript here has what was never captured, and lacks what was"
        if self._found.standing == "behind" and self._pid():
            return "it is open here, and lacks what was captured elsewhere"
        return ""

    def _pid(self) -> int:
        """The process that has it open, as far as that is known."""
        known = registry.find(self._repo.common_dir, self._found.session)
        if known is None or known.state != "active" or not is_running(known):
            return 0
        return known.pid

    def _go_on(self, folder: Path, transcript: str, *remarks: str) -> tuple[Ready, Launch]:
        own, pid = self._found.session, self._pid()
        told = [f"it is open in process {pid} as well"] if pid else []
        return self._ready(own, own, folder, transcript, (*remarks, *told))

    def _place(self) -> tuple[Ready, Launch]:
        done = placing.put(
            self._adapter, self._looked.cut.lines, self._found.sides,
            folder=self._top, session=self._found.session, env=self._env, roots=self._roots,
        )  # fmt: skip
        if done.placed == "taken":
            return self._fork("another transcript of it appeared meanwhile")
        self._remember(done.place)
        return self._go_on(self._top, str(done.place), self._looked.cut.remark)

    def _catch_up(self) -> tuple[Ready, Launch]:
        """Put behind the agent's own lines what was captured elsewhere since."""
        source = Path(self._found.source)
        local = transcripts.read_local(self._adapter, self._found.session, self._found.source)
        ours = transcripts.catch_up(self._adapter, local.lines, ())
        both = transcripts.catch_up(self._adapter, local.lines, self._found.lines)
        if (
            self._adapter.cut(both).leaf != self._looked.cut.leaf
            or local.stamp != self._found.stamp
        ):
            return self._fork("the transcript here went another way")
        placed = placing.append(
            self._adapter, ours, both[len(ours) :], self._found.sides,
            place=source, session=self._found.session, roots=self._roots,
            instead=self._found.stamp,
        )  # fmt: skip
        if placed == "taken":
            return self._fork("the transcript here was written to meanwhile")
        self._remember(source)
        more = "what was captured elsewhere was put behind what the transcript here has"
        return self._go_on(self._home() or self._top, str(source), more)

    def _remember(self, place: Path) -> None:
        """What is in the transcript now was captured: only what follows is to be looked at."""
        common, now = self._repo.common_dir, time.time()
        ends = {
            side.name: reader.last_newline(Path(side.path))
            for side in self._adapter.side_sources(str(place))
            if side.kind == "subagent"
        }
        known = registry.find(common, self._found.session) or Known(
            session=self._found.session, agent=self._found.agent, source="", started_at=now
        )
        registry.save(
            common,
            msgspec.structs.replace(
                known, source=str(place), cwd=str(self._top), state="active", seen_at=now, pid=0,
                scanned=place.stat().st_size, scanned_sides=ends,
            ),
        )  # fmt: skip

    # -- as a fork

    def _fork(self, why: str) -> tuple[Ready, Launch]:
        """A copy of it under a new id; what it is made of stays as it is."""
        session, copy = SessionId(str(uuid.uuid4())), SessionId(str(uuid.uuid4()))
        lineage = forks.Fork(
            session=self._found.session,
            turn=self._looked.turn,
            commit=self._repo.resolve("HEAD^{commit}"),
            at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        )
        forks.save(self._repo.common_dir, session, lineage)
        said = f"goes on as a fork: {why}" if why else f"goes on as a fork at turn {lineage.turn}"
        if self._looked.cut.fresh:
            return self._ready(session, None, self._top, "", (_FRESH,))
        done = placing.put(
            self._adapter, self._looked.cut.lines, self._found.sides,
            folder=self._top, session=copy, env=self._env, parent=self._found.session,
            roots=self._roots, staged_for=session,
        )  # fmt: skip
        return self._ready(
            session, copy, self._top, str(done.place), (said, self._looked.cut.remark)
        )

    # -- the answer

    def _ready(
        self,
        session: SessionId,
        resume: SessionId | None,
        folder: Path,
        transcript: str,
        remarks: tuple[str, ...],
    ) -> tuple[Ready, Launch]:
        asked = self._wish.prompt or (self._looked.cut.prompt if resume is None else "")
        launch = self._adapter.launch(
            folder, session, self._env,
            resume=resume, prompt=asked, headless=bool(self._wish.prompt),
        )  # fmt: skip
        head = run(["symbolic-ref", "-q", "HEAD"], cwd=folder, check=False).decode().strip()
        own = self._found.session
        ready = Ready(
            session=session,
            parent=own if session != own else None,
            turn=self._looked.turn,
            branch=refs.branch_of(head) or "",
            worktree=str(folder),
            transcript=transcript,
            command=launch.argv,
            remarks=(*self._looked.remarks, *filter(None, remarks)),
        )
        return ready, launch


def carry_out(launch: Launch, agent: str) -> int:
    """Start the agent, wait for it, and tidy up; gives back its exit code."""
    try:
        return launching.run(launch)
    finally:
        agents.get(agent).sweep(Path(launch.cwd), launch.env)
