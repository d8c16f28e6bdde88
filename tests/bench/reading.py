"""What readers wait for: `show` and `log`, in a small repository and in a huge one."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

from gitsession.actions.capture import capture_transcript
from gitsession.actions.reindex import reindex
from gitsession.git import refs
from tests.bench import repository
from tests.bench.captures import COMMITS
from tests.bench.clock import Contender, command, compare, python_pass
from tests.bench.ground import Ground, copy_repository, transcript
from tests.bench.report import Row, ms
from tests.scratch import Scratch


def measure_reading(ground: Ground) -> Iterator[Row]:
    """`show HEAD` and `log -n 20`, warm."""
    commits = 400 if ground.quick else COMMITS
    places = {"small": _told(ground, 40), "huge": _told(ground, commits)}
    contenders = {"pass": python_pass(places["small"].path)}
    verbs = {"show HEAD": ("show", "HEAD"), "log -n 20": ("log", "-n", "20")}
    for verb, words in verbs.items():
        for name, repo in places.items():
            run = command(ground.program, *words, cwd=repo.path)
            contenders[f"{verb} {name}"] = Contender(run=run)
    found = compare(contenders, ground.rounds(15))
    base = found["pass"].median
    for verb in verbs:
        huge, small = found[f"{verb} huge"].median, found[f"{verb} small"].median
        yield Row(
            what=f"`git session {verb}`, {commits:,} annotated commits, against `python -c pass`",
            measured=huge / base, budget=12, note=f"{ms(huge)} against {ms(base)}",
        )  # fmt: skip
        yield Row(
            what=f"the same against a repository with 40 ({verb})",
            measured=huge / small, budget=1.2, note=f"{ms(huge)} against {ms(small)}",
        )  # fmt: skip


def _told(ground: Ground, commits: int) -> Scratch:
    """A repository whose HEAD has a conversation of some size."""
    built = repository.get(ground.cache, ground.corpus, commits)
    repo = copy_repository(built, ground.place("told"))
    session = str(uuid.uuid4())
    source = transcript(session)
    source.write_bytes(b"".join(ground.corpus.lines(150_000)))
    repo.commit("the last", {"README": "hello\n"})
    capture_transcript(repo.path, source, session=session, commit="HEAD")
    return repo


def measure_reindex(ground: Ground) -> Iterator[Row]:
    """The index rebuilt from all sessions, when it is whole and when it is gone."""
    commits = 400 if ground.quick else COMMITS
    built = repository.get(ground.cache, ground.corpus, commits)
    repo = copy_repository(built, ground.place("reindex"))
    for title in ("nothing wrong", "index gone"):
        if title == "index gone":
            repo.git("update-ref", "-d", refs.INDEX)
        start = time.perf_counter()
        done = reindex(repo.path)
        spent = time.perf_counter() - start
        yield Row(
            what=f"`git session reindex`, {done.sessions:,} sessions, {title}",
            measured=spent, unit="s", note=f"{done.sessions / spent:,.0f} sessions a second",
        )  # fmt: skip
