"""What the worker takes for a capture: small and large, in a new repository and in a huge one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from gitsession.actions.capture import capture_transcript
from gitsession.git import refs
from gitsession.ids import SessionId
from tests.bench import repository
from tests.bench.clock import Contender, command, compare, python_pass
from tests.bench.corpus import closing
from tests.bench.ground import Ground, copy_repository, tell_of_commit, transcript
from tests.bench.report import Row, ms
from tests.scratch import Scratch

COMMITS = 100_000


class Site:
    """A repository in which a session that was captured before grows, and is captured again."""

    def __init__(self, ground: Ground, repo: Scratch, size: int) -> None:
        self.ground, self.repo = ground, repo
        self.opening = b"".join(ground.corpus.lines(100_000))
        self.delta = ground.corpus.lines(size, skip=100_000)
        self.session = ""
        self.before = ""

    def contender(self) -> Contender:
        """The real worker on a spool with one event."""
        git_dir = self.repo.path / ".git"
        run = command(self.ground.program, "worker", "--git-dir", git_dir, cwd=self.repo.path)
        return Contender(run=run, before=self.prepare, after=self.check)

    def prepare(self) -> None:
        """A session with one capture, its new lines, and a commit that they led to."""
        self.session = str(uuid.uuid4())
        source = transcript(self.session)
        source.write_bytes(self.opening)
        capture_transcript(self.repo.path, source, session=self.session)
        self.before = self._tip()
        commit = self.repo.commit("more", {"README": self.session + "\n"})
        with source.open("ab") as file:
            file.writelines([*self.delta, closing(self.delta, self.session, commit)])
        tell_of_commit(self.repo, self.session, commit)

    def check(self) -> None:
        """The capture was taken: a worker that does nothing is fast as well."""
        if self._tip() == self.before:
            raise SystemExit("error: the worker took no capture; see .git/gitsession/log")
        transcript(self.session).unlink()

    def _tip(self) -> str:
        return self.repo.git("rev-parse", refs.session(SessionId(self.session)))


def measure_size(ground: Ground) -> Iterator[Row]:
    """A delta of 1 MB, and of 10."""
    sizes = {"1 MB": (1_000_000, 25.0), "10 MB": (10_000_000, 60.0)}
    for name, (size, budget) in sizes.items():
        site = Site(ground, ground.repository("capture"), size)
        contenders = {"pass": python_pass(site.repo.path), "worker": site.contender()}
        found = compare(contenders, ground.rounds(9 if size < 5_000_000 else 5))
        worker, base = found["worker"], found["pass"]
        yield Row(
            what=f"capture of a {name} delta, worker from start to end, against `python -c pass`",
            measured=worker.median / base.median, budget=budget,
            note=f"{ms(worker.median)} against {ms(base.median)}; best {ms(worker.best)} "
            f"against {ms(base.best)}",
        )  # fmt: skip


def measure_flat(ground: Ground) -> Iterator[Row]:
    """The same capture in an empty repository and in one with a long history of sessions."""
    commits = 400 if ground.quick else COMMITS
    built = repository.get(ground.cache, ground.corpus, commits)
    huge = copy_repository(built, ground.place("huge"))
    sites = {
        "empty": Site(ground, ground.repository("empty"), 1_000_000),
        "huge": Site(ground, huge, 1_000_000),
    }
    found = compare({n: s.contender() for n, s in sites.items()}, ground.rounds(9))
    yield Row(
        what=f"1 MB capture with {commits:,} annotated commits and {commits // 2:,} sessions, "
        "against an empty repository",
        measured=found["huge"].median / found["empty"].median, budget=1.2,
        note=f"{ms(found['huge'].median)} against {ms(found['empty'].median)}; "
        f"best {ms(found['huge'].best)} against {ms(found['empty'].best)}",
    )  # fmt: skip
