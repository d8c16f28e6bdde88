"""What a turn costs: its states, in a large work tree, and the hooks around it."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

from gitsession.git import worktree
from gitsession.git.plumbing import discover
from gitsession.ids import SessionId
from gitsession.model import Author
from gitsession.store import snapshots
from gitsession.store.states import Draft
from tests.bench.clock import Contender, command, compare, repeated
from tests.bench.ground import Ground
from tests.bench.report import Row, ms
from tests.client import set_up
from tests.scratch import Scratch

_FILES = 50_000
_TIMES = 20


def measure_turn(ground: Ground) -> Iterator[Row]:
    """A state in which three files have changed, against `git status` in the same tree."""
    count = 500 if ground.quick else _FILES
    repo = _large(ground, count)
    with discover(repo.path) as found:
        side = snapshots.side_index(found.common_dir, found.git_dir)
        number = 0

        def change() -> None:
            nonlocal number
            number += 1
            for folder in (1, 2, 3):
                repo.write(f"d0/s{folder}/f{number % 7}", f"{number} {time.time_ns()}\n")

        def forget() -> None:
            change()
            for path in side.parent.glob(side.name + "*"):
                path.unlink()

        def keep() -> None:
            taken = worktree.take(found, side)
            draft = Draft(session=SessionId("s"), moment="end", at=time.time())
            snapshots.write(found, taken, draft, Author(name="Dev", email="dev@example.com"))

        contenders = {
            "status": Contender(run=command("git", "status", "--porcelain", cwd=repo.path),
                                before=change),
            "warm": Contender(run=keep, before=change),
            "same": Contender(run=keep),
            "cold": Contender(run=keep, before=forget),
        }  # fmt: skip
        timing = compare(contenders, ground.rounds(15))
    base = timing["status"].median
    for name, title, budget in (
        ("warm", "three files changed", 2.0),
        ("same", "nothing changed", None),
        ("cold", "the first one", None),
    ):
        yield Row(
            what=f"snapshot of {count:,} files, {title}, against `git status`",
            measured=timing[name].median / base, budget=budget,
            note=f"{ms(timing[name].median)} against {ms(base)}; best {ms(timing[name].best)} "
            f"against {ms(timing['status'].best)}",
        )  # fmt: skip


def measure_hooks(ground: Ground) -> Iterator[Row]:
    """What the client waits for before a tool that changes files, and at a prompt."""
    repo = ground.repository("snapshot-hooks")
    set_up(repo)
    contenders = {"git": repeated("git rev-parse HEAD", _TIMES, cwd=repo.path)}
    payload = ground.scratch / "tool.json"
    payload.write_text(json.dumps({"session_id": "s", "cwd": str(repo.path)}) + "\n")
    given = f"</{shlex.quote(str(payload.relative_to('/')))}"
    waiting = repo.path / ".git" / "gitsession" / "snapping"
    for word in ("tool-starting", "prompt"):
        script = f".git/gitsession-hooks/agent claude-code {word} {given}"
        plain = repeated(script, _TIMES, cwd=repo.path)
        contenders[word] = Contender(
            run=plain.run,
            times=_TIMES,
            before=lambda: _empty(waiting),
            after=lambda: _empty(waiting),
        )
    timing = compare(contenders, ground.rounds(12))
    base = timing["git"].median
    for word, title in (
        ("tool-starting", "before a tool, the start of the turn being kept"),
        ("prompt", "at a prompt"),
    ):
        yield Row(
            what=f"agent's hook {title}: our shim, against `git rev-parse HEAD`",
            measured=timing[word].median / base, budget=4,
            note=f"{ms(timing[word].median)} against {ms(base)}",
        )  # fmt: skip


def _large(ground: Ground, files: int) -> Scratch:
    repo = ground.repository("large")
    for number in range(files):
        path = repo.path / f"d{number // 5000}" / f"s{number // 100 % 50}" / f"f{number % 100}"
        if number % 100 == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n" * 20)
    # Git would pack it on its own, while others are timed.
    repo.git("config", "gc.auto", "0")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "many")
    repo.git("gc", "-q")
    return repo


def _empty(folder: Path) -> None:
    for path in folder.glob("*"):
        path.unlink()
