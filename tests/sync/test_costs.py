"""What grows with the number of sessions is done once: counted in processes, not in time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitsession.actions import show
from gitsession.git import refs
from gitsession.sync import content
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin

ODD = "an id that no ref's name can have"


@pytest.fixture
def origin(tmp_path: Path) -> Scratch:
    return make_origin(tmp_path / "origin.git")


@pytest.fixture
def ann(origin: Scratch, tmp_path: Path) -> Clone:
    return Clone.of(origin, tmp_path / "ann")


def started(trace: Path) -> list[list[str]]:
    """The command lines of git that a trace tells of."""
    events = map(json.loads, trace.read_text().splitlines())
    return [event["argv"] for event in events if event["event"] == "start"]


def test_a_push_looks_at_all_sessions_once(
    ann: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for session in ("s1", "s2"):
        ann.capture(session, "hello", commit=ann.scratch.head())
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(tmp_path / "trace"))
    assert ann.push() == []
    monkeypatch.delenv("GIT_TRACE2_EVENT")
    found = [words for words in started(tmp_path / "trace") if "for-each-ref" in words]
    assert [words[-1] for words in found].count(refs.SESSIONS) == 1
    with ann.open() as repo:
        assert ann.exchange(repo).unpushed() == []


@pytest.mark.parametrize(("name", "session"), [("s1", "s1"), ("s", "s1"), ("x", ODD), ("x-", ODD)])
def test_a_session_that_only_the_index_knows_is_found_by_the_beginning_of_its_name(
    ann: Clone, origin: Scratch, tmp_path: Path, name: str, session: str
) -> None:
    ann.capture("s1", "hello", commit=ann.scratch.head())
    ann.capture(ODD, "hello", commit=ann.scratch.head())
    ann.sync()
    bob = Clone.of(origin, tmp_path / "bob")
    bob.fetch()
    with bob.open() as repo:
        assert [record.session for record in content.in_index(repo, name)] == [session]
    assert [story.session for story in show.show(bob.path, name)] == [session]
