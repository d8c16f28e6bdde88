"""How small sessions are kept, and how fast their lines are read and cleaned."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from gitsession import agents
from gitsession.actions.import_sessions import import_sessions
from gitsession.actions.work import pipeline_of
from gitsession.capture import reader
from gitsession.capture.history import capture_history
from gitsession.capture.ledger import Tie
from gitsession.capture.pipeline import Order, Pipeline
from gitsession.capture.redact import Redactor
from gitsession.capture.rules import ruleset_from
from gitsession.git.plumbing import discover
from gitsession.ids import SessionId
from gitsession.store.registry import Known
from tests.bench.clock import throughput
from tests.bench.ground import Ground, disk_use
from tests.bench.report import Row
from tests.scratch import Scratch

_DELTAS = (100_000, 400_000)


def measure_import(ground: Ground) -> Iterator[Row]:
    """The corpus captured as sessions that were over before: speed and size."""
    repo = ground.repository("import")
    corpus = ground.corpus
    start = time.perf_counter()
    done = import_sessions(repo.path, [path.resolve() for path in corpus.files])
    spent = time.perf_counter() - start
    if done.failures or not done.records:
        raise SystemExit(f"error: the corpus could not be imported: {done.failures}")
    yield Row(
        what="import of the corpus", measured=done.sessions / spent, unit="sessions/s",
        note=f"{corpus.size / spent / 1e6:.0f} MB/s, {len(done.records)} captures",
    )  # fmt: skip
    yield from _sizes(repo, corpus.size, "a capture for each session", len(done.records), 9)


def measure_deltas(ground: Ground) -> Iterator[Row]:
    """The corpus captured piece by piece, as commits would have cut it."""
    for size in _DELTAS:
        repo = ground.repository("deltas")
        taken = sum(1 for _ in _captures(repo, ground.corpus.files, size))
        title = f"a capture for each {size // 1000} kB"
        yield from _sizes(repo, ground.corpus.size, title, taken, None)


def _captures(repo: Scratch, files: tuple[Path, ...], size: int) -> Iterator[object]:
    with discover(repo.path) as seen:
        pipeline = pipeline_of(seen)
        for path in files:
            yield from _pieces(pipeline, path, size)


def _pieces(pipeline: Pipeline, path: Path, size: int) -> Iterator[object]:
    """Captures of one session, each when so many bytes are new."""
    session = SessionId(path.stem)
    tie = Tie(base=pipeline.repo.resolve("HEAD"))
    at = 0
    for end, _ in reader.lines(path):
        if end - at >= size:
            at = end
            yield pipeline.take(
                Order(session=session, agent="claude-code", source=str(path),
                      kind="checkpoint", reason="threshold", end=end, tie=tie)
            )  # fmt: skip
    known = Known(session=session, agent="claude-code", source=str(path), state="ended")
    yield from capture_history(pipeline, known)


def _sizes(
    repo: Scratch, raw: int, title: str, captures: int, budget: float | None
) -> Iterator[Row]:
    objects = repo.path / ".git" / "objects"
    loose, blocks = disk_use(objects)
    repo.git("gc", "-q", "--prune=now")
    packed, _ = disk_use(objects)
    content = sum(int(x) for x in _content(repo))
    yield Row(
        what=f"packed size, {title}: raw / packed", measured=raw / packed, budget=budget,
        at_least=True, note=f"{packed / 1e6:.2f} MB of {raw / 1e6:.1f} MB; the lines alone "
        f"{raw / content:.1f} x; before gc {blocks / captures / 1000:.0f} kB on disk a capture "
        f"({loose / captures / 1000:.0f} kB apparent)",
    )  # fmt: skip


def _content(repo: Scratch) -> list[str]:
    """The sizes of the stored segments."""
    found = repo.git(
        "for-each-ref", "--format=%(objectname)", "refs/sessions/"
    ).splitlines()  # fmt: skip
    lines = [line for tip in found for line in repo.git("ls-tree", "-rl", tip).splitlines()]
    return [line.split()[3] for line in lines if line.endswith(".zst")]


def measure_speed(ground: Ground) -> Iterator[Row]:
    """Redaction and parsing, in memory."""
    blocks = [block for path in ground.corpus.files for block in reader.blocks(path)]
    lines = [line for block in blocks for line in block.split(b"\n") if line]
    size = sum(map(len, blocks))
    redactor = Redactor(ruleset_from((), (), None))
    adapter = agents.get("claude-code")
    yield Row(
        what="redaction", unit="MB/s", budget=200, at_least=True,
        measured=throughput(lambda: [redactor.redact_lines(b) for b in blocks], size,
                            ground.rounds(7)),
    )  # fmt: skip
    yield Row(
        what="understanding lines", unit="MB/s",
        measured=throughput(lambda: [adapter.parse_line(x) for x in lines], size, ground.rounds(7)),
        note=f"{len(lines):,} lines",
    )  # fmt: skip
