"""`make bench`: measures everything, prints it, and writes `docs/performance.md`.

With --only the other groups keep what was measured before: a ratio compares
two things of one group, which are always measured in the same run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.bench import (
    captures,
    corpus,
    hooks,
    many,
    memory,
    reading,
    report,
    snapshots,
    storage,
    sync,
)
from tests.bench.ground import Ground, sealed
from tests.bench.report import Row

ROOT = Path(__file__).parents[2]
Measure = Callable[[Ground], Iterator[Row]]

GROUPS: dict[str, tuple[str, tuple[Measure, ...]]] = {
    "hooks": ("Hooks", (hooks.measure_agent,)),
    "snapshots": ("Snapshots", (snapshots.measure_turn, snapshots.measure_hooks)),
    "commit": ("Committing", (hooks.measure_commit,)),
    "capture": ("Capturing", (captures.measure_size, captures.measure_flat)),
    "reading": ("Reading", (reading.measure_reading,)),
    "speed": ("Lines in memory", (storage.measure_speed,)),
    "storage": ("Storage", (storage.measure_import, storage.measure_deltas)),
    "reindex": ("Rebuilding the index", (reading.measure_reindex,)),
    "memory": ("Memory", (memory.measure,)),
    "many": ("Many captures", (many.measure,)),
    "sync": (
        "Sharing",
        (
            sync.measure_sync,
            sync.measure_fetch,
            sync.measure_clone,
            sync.measure_push,
            sync.measure_fold,
        ),
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are asked for."""
    asked = _parse(argv)
    cache = ROOT / ".cache" / "bench"
    cache.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="bench-", dir=cache))
    results: list[tuple[str, list[Row]]] = []
    with sealed(scratch):
        talks = corpus.load(asked.corpus, cache, quick=asked.quick)
        ground = Ground(cache=cache, scratch=scratch, corpus=talks, quick=asked.quick)
        for name, (title, measures) in GROUPS.items():
            if asked.only and name not in asked.only:
                continue
            print(f"{title}", flush=True)
            results.append((title, list(_run(ground, measures))))
    if not asked.quick:
        said = f"Measured with {talks.size / 1e6:.1f} MB of {talks.origin}"
        report.write(ROOT / "docs" / "performance.md", results, said)
    return 0


def _run(ground: Ground, measures: Sequence[Measure]) -> Iterator[Row]:
    start = time.monotonic()
    for measure in measures:
        for row in measure(ground):
            report.print_rows([row])
            yield row
    print(f"  ({time.monotonic() - start:.0f} s)", flush=True)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--corpus", type=Path, help="a folder of transcripts (*.jsonl)")
    parser.add_argument("--quick", action="store_true", help="a smoke run: small, and soon over")
    parser.add_argument("--only", action="append", choices=list(GROUPS), help="only this group")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
