"""Lines on their way into the store: clean, whole, counted; nothing else reaches git."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from gitsession.actions.status import status
from gitsession.actions.work import make_worker
from gitsession.agents import claude_code
from gitsession.capture.redact import Redactor
from gitsession.capture.rules import ruleset_from
from gitsession.capture.segment import Segment, total_redactions, write_segment
from gitsession.store import codec
from tests.client import (
    Client,
    captures,
    common_of,
    is_untouched,
    raw,
    records_of,
    set_up,
    waiting,
    work,
)
from tests.scratch import Scratch

SECRET = "AKIA" + "Q3EXWZ7RJ5YTB2KM"


@pytest.fixture
def redactor() -> Redactor:
    """The rules that are built in."""
    return Redactor(ruleset_from((), (), None))


def unpack(segment: Segment) -> bytes:
    """What a segment holds."""
    return codec.unpack(segment.file.read_bytes())


def test_plain_lines_are_kept_byte_for_byte(redactor: Redactor, tmp_path: Path) -> None:
    blocks = [b'{"a": 1}\n{bro ken\n', b"\xff\n\n", b"no newline"]
    segment = write_segment(
        blocks, redactor=redactor, seal=claude_code.drop_broken_seals, scratch=tmp_path
    )
    assert unpack(segment) == b"".join(blocks)
    assert segment.raw_size == len(b"".join(blocks))
    assert segment.size == segment.file.stat().st_size
    assert segment.text_hash == hashlib.sha256(b"".join(blocks)).hexdigest()
    assert segment.redactions == {}


def test_secrets_are_replaced_and_lines_stay_lines(redactor: Redactor, tmp_path: Path) -> None:
    line = json.dumps({"uuid": "u", "text": f"key {SECRET} here"}).encode() + b"\n"
    segment = write_segment(
        [line, b"{}\n", line],
        redactor=redactor,
        seal=claude_code.drop_broken_seals,
        scratch=tmp_path,
    )
    kept = unpack(segment)
    assert SECRET.encode() not in kept
    assert [sorted(json.loads(x)) for x in kept.splitlines()] == [
        ["text", "uuid"],
        [],
        ["text", "uuid"],
    ]
    assert segment.raw_size == len(line) * 2 + 3
    assert sum(segment.redactions.values()) == 2
    assert total_redactions([segment, segment]) == {k: v * 2 for k, v in segment.redactions.items()}


def test_nothing_makes_an_empty_segment(redactor: Redactor, tmp_path: Path) -> None:
    segment = write_segment([], redactor=redactor, seal=None, scratch=tmp_path)
    assert (segment.raw_size, unpack(segment)) == (0, b"")


# -- through the whole way ------------------------------------------------------------------


@pytest.fixture
def repo(scratch: Scratch) -> Scratch:
    """A repository after init."""
    set_up(scratch)
    return scratch


def every_object(repo: Scratch) -> bytes:
    """All objects of a repository, trees and messages and notes too, as git prints them."""
    objects = repo.git(
        "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"
    )
    names = [line.split()[0] for line in objects.splitlines() if not line.endswith("blob")]
    texts = [repo.git("cat-file", "-p", name) for name in names]
    return "\n".join(texts).encode() + repo.git("log", "--all", "--format=%B").encode()


def test_no_secret_reaches_any_object(repo: Scratch) -> None:
    client = Client.start(repo)
    client.prompt(f"deploy with {SECRET}")
    sub = client.talk.subagent("a1")
    sub.prompt(f"use {SECRET}")
    results = client.talk.path.with_suffix("") / "tool-results"
    results.mkdir(parents=True)
    (results / "b1.txt").write_text(f"token {SECRET}\n")
    client.talk.think(f"the key is {SECRET}")
    client.talk.write("a.py", "import os\n")
    client.commit()
    client.end()
    work(repo)
    (record,) = records_of(repo)
    assert SECRET not in record.prompt
    assert sum(record.redactions.values()) >= 4
    assert SECRET.encode() not in raw(repo, client.session)
    assert SECRET.encode() not in every_object(repo)
    ref = f"refs/sessions/{client.session}"
    for path in repo.git("ls-tree", "-r", "--name-only", ref).splitlines():
        if path.endswith(".json"):
            assert SECRET not in repo.git("cat-file", "blob", f"{ref}:{path}")
    assert SECRET not in repo.git("notes", "--ref=sessions", "show", "HEAD")
    kept = [json.loads(line) for line in raw(repo, client.session).splitlines()]
    assert len(kept) == len(client.talk.path.read_bytes().splitlines())


def test_a_redacted_session_goes_on_without_repeating_itself(repo: Scratch) -> None:
    client = Client.start(repo)
    client.prompt(f"deploy with {SECRET}")
    client.fire("compacting")
    work(repo)
    client.prompt(f"once more with {SECRET}")
    client.end()
    work(repo)
    assert len(raw(repo, client.session).splitlines()) == 2
    assert len(captures(repo, client.session)) == 2


def test_without_redaction_nothing_is_stored(repo: Scratch) -> None:
    repo.git("config", "session.redactRule", "broken=(")
    client = Client.start(repo)
    client.prompt("write")
    client.talk.write("a.py", "import os\n")
    client.commit()
    worker = make_worker(common_of(repo), final=False)
    worker.run()
    assert worker.failures
    assert is_untouched(repo)
    assert "post-commit" in waiting(repo)
    assert status(repo.path).last_error
    repo.git("config", "--unset", "session.redactRule")
    work(repo)
    assert raw(repo, client.session) == client.talk.path.read_bytes()
