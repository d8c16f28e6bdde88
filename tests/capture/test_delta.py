"""The new lines of a source, found from what is stored: put together they are the whole."""

from __future__ import annotations

import random
import uuid
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitsession.actions.work import pipeline_of
from gitsession.capture import reader
from gitsession.capture.leftover import end_of
from gitsession.capture.pipeline import Order, Pipeline
from gitsession.git.plumbing import discover
from gitsession.ids import SessionId
from gitsession.model import Record
from gitsession.store import codec, sessions
from tests.conversation import Conversation
from tests.scratch import Scratch


def take(pipeline: Pipeline, talk: Conversation, *, closed: bool = False) -> Record | None:
    """Capture what is new."""
    end = end_of(talk.path) if closed else reader.last_newline(talk.path)
    session = SessionId(talk.session)
    return pipeline.take(
        Order(
            session=session, agent="claude-code", source=str(talk.path), kind="checkpoint", end=end
        )
    )


def kept(pipeline: Pipeline, session: str) -> bytes:
    """All lines that are kept of a session."""
    stored = sessions.open_session(pipeline.repo, SessionId(session))
    blobs = (sessions.segment_blob(pipeline.repo, stored, seq) for seq in stored.seqs)
    return b"".join(codec.unpack(blob) for blob in blobs)


steps = st.lists(
    st.sampled_from(["prompt", "say", "note", "bash", "torn", "broken", "capture"]), max_size=14
)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps)
def test_deltas_concatenate_to_the_whole(
    scratch: Scratch, tmp_path: Path, given: list[str]
) -> None:
    talk = Conversation.begin(tmp_path / uuid.uuid4().hex, scratch.path)
    with discover(scratch.path) as repo:
        pipeline = pipeline_of(repo)
        torn = b""
        for step in given:
            if torn:
                with talk.path.open("ab") as file:
                    file.write(torn)
                torn = b""
            match step:
                case "prompt":
                    talk.prompt("do something")
                case "say":
                    talk.say("something " * random.randrange(50))
                case "note":
                    talk.note("mode", mode="normal")
                case "bash":
                    talk.bash("make", "made")
                case "broken":
                    with talk.path.open("ab") as file:
                        file.write(b'{"uuid": \xff\n\n')
                case "torn":
                    before = talk.path.stat().st_size
                    talk.say("torn")
                    data = talk.path.read_bytes()
                    cut = (before + len(data)) // 2
                    talk.path.write_bytes(data[:cut])
                    torn = data[cut:]
            if step in ("capture", "torn"):
                take(pipeline, talk)
        if torn:
            with talk.path.open("ab") as file:
                file.write(torn)
        take(pipeline, talk, closed=True)
        assert kept(pipeline, talk.session) == talk.path.read_bytes()


def test_a_capture_knows_where_it_ended(scratch: Scratch, tmp_path: Path) -> None:
    talk = Conversation.begin(tmp_path, scratch.path)
    with discover(scratch.path) as repo:
        pipeline = pipeline_of(repo)
        talk.prompt("one")
        first = take(pipeline, talk)
        assert first is not None
        assert first.offset == talk.path.stat().st_size
        assert take(pipeline, talk) is None
        last = talk.say("two")
        second = take(pipeline, talk)
        assert second is not None
        assert (second.seq, second.first, second.last) == (2, last, last)


def test_lines_that_were_captured_without_a_newline_are_not_taken_again(
    scratch: Scratch, tmp_path: Path
) -> None:
    talk = Conversation.begin(tmp_path, scratch.path)
    with discover(scratch.path) as repo:
        pipeline = pipeline_of(repo)
        talk.prompt("one")
        talk.path.write_bytes(talk.path.read_bytes().removesuffix(b"\n"))
        take(pipeline, talk, closed=True)
        with talk.path.open("ab") as file:
            file.write(b"\n")
        talk.say("two")
        take(pipeline, talk)
        assert kept(pipeline, talk.session) == talk.path.read_bytes()


def test_every_line_of_a_long_session_is_kept_over_a_hundred_captures(
    scratch: Scratch, tmp_path: Path
) -> None:
    talk = Conversation.begin(tmp_path, scratch.path)
    with discover(scratch.path) as repo:
        pipeline = pipeline_of(repo)
        for number in range(103):
            talk.prompt(f"number {number}")
            take(pipeline, talk)
        assert kept(pipeline, talk.session) == talk.path.read_bytes()
        stored = sessions.open_session(repo, SessionId(talk.session))
        assert stored.seqs == tuple(range(1, 104))
    assert scratch.git("fsck", "--strict") == ""
