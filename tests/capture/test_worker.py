"""Which events wait, and for what."""

from __future__ import annotations

import json
from pathlib import Path

from gitsession.capture.worker import _ended, _waits_for
from gitsession.ids import SessionId
from gitsession.store.spool import Spooled

WHO = ("claude-code", SessionId("s"))
ENV = {"CLAUDE_CODE_SESSION_ID": "s"}


def agent(word: str, at: float) -> Spooled:
    name = {"turn-ended": "Stop", "session-start": "SessionStart", "prompt": "UserPromptSubmit"}
    body = json.dumps({"session_id": "s", "hook_event_name": name[word], "transcript_path": "/t"})
    return Spooled(
        path=Path(f"{word}-{at}"), event="agent", agent="claude-code", word=word,
        env=ENV, body=body.encode(), at=at,
    )  # fmt: skip


def commit(at: float, **env: str) -> Spooled:
    return Spooled(path=Path(f"commit-{at}"), event="post-commit", head="a" * 40, env=env, at=at)


def test_a_turn_is_over_at_its_last_end() -> None:
    found = [agent("turn-ended", 3.0), agent("turn-ended", 9.0), agent("prompt", 10.0)]
    assert _ended(found) == {"s": 9.0}
    assert _ended([agent("prompt", 1.0), commit(2.0, **ENV)]) == {}


def test_what_a_session_says_waits_for_its_own_commits_only() -> None:
    ours, foreign = commit(1.0, **ENV), commit(1.0, CLAUDE_CODE_SESSION_ID="other")
    assert _waits_for(agent("turn-ended", 2.0), WHO, [ours])
    assert not _waits_for(agent("turn-ended", 2.0), WHO, [foreign, commit(1.0)])
    assert not _waits_for(commit(2.0, **ENV), WHO, [ours])


def test_a_session_that_starts_anew_waits_for_nothing() -> None:
    assert not _waits_for(agent("session-start", 2.0), WHO, [commit(1.0, **ENV)])
