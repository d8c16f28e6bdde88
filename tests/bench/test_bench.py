"""The benchmarks run, and their report says what they found. What they found is no test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gitsession.agents import claude_code
from tests.bench import corpus, report
from tests.bench.__main__ import GROUPS, ROOT
from tests.bench.clock import Contender, compare
from tests.bench.report import Row


@pytest.mark.slow
@pytest.mark.parametrize(
    "group", ["capture", "snapshots", "reading", "speed", "storage", "reindex", "many", "sync"]
)
def test_a_quick_run_of_what_needs_no_peer(group: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick", "--only", group],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(GROUPS[group][0])


def test_generated_sessions_are_understood_and_always_the_same(tmp_path: Path) -> None:
    lines = list(corpus.generate("s", 200_000, 1))
    assert lines == list(corpus.generate("s", 200_000, 1)) != list(corpus.generate("s", 200_000, 2))
    found = [claude_code.parse_line(line) for line in lines]
    assert all(line.uuid for line in found)
    assert {line.prompt is not None for line in found} == {True, False}
    calls = {call.id for line in found for call in line.calls}
    assert calls == {outcome.id for line in found for outcome in line.outcomes} != set()
    assert corpus.load(None, tmp_path, quick=True).size > 100_000


def test_lines_that_were_cut_anywhere_end_well() -> None:
    lines = list(corpus.generate("s", 100_000, 3))
    for cut in range(1, len(lines)):
        part = [*lines[:cut], *corpus.closing(lines[:cut], "s", "0" * 40).splitlines()]
        found = [claude_code.parse_line(line) for line in part]
        calls = {call.id for line in found for call in line.calls}
        assert calls == {outcome.id for line in found for outcome in line.outcomes}
        assert found[-1].outcomes[0].commits


def test_everything_is_measured_once_a_round_and_in_turns() -> None:
    order: list[str] = []
    a, b = Contender(run=lambda: order.append("a")), Contender(run=lambda: order.append("b"))
    found = compare({"a": a, "b": b}, 3)
    assert order == ["a", "b"] * 4
    assert set(found) == {"a", "b"}


def test_the_report_tells_of_what_falls_short(tmp_path: Path) -> None:
    rows = [
        Row(what="fast", measured=1.04, budget=1.2, note="n"),
        Row(what="slow", measured=3, budget=2),
        Row(what="much", measured=300, unit="MB/s", budget=200, at_least=True),
        Row(what="free", measured=5, unit="s"),
    ]
    report.write(tmp_path / "p.md", [("Group", rows)], "Said.")
    text = (tmp_path / "p.md").read_text()
    assert "| fast | ≤ 1.2x | 1.04x | holds | n |" in text
    assert "| much | ≥ 200 MB/s | 300 MB/s | holds |" in text
    assert "| free |  | 5.00 s |  |" in text
    assert text.endswith("- slow: 3.00x, budget ≤ 2x\n")
