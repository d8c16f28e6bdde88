"""Hypothesis strategies for what the tests invent."""

from __future__ import annotations

from hypothesis import strategies as st

from gitsession.ids import CaptureId, Oid, SessionId
from gitsession.model import RECORD_VERSION, Agent, Author, Evidence, Parent, Record, Tokens

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
counts = st.integers(0, 1 << 40)
oids = st.sampled_from([Oid(digit * 40) for digit in "abc"] + [Oid("d" * 64)])
tallies = st.dictionaries(words, counts, max_size=3)
moments = st.sampled_from([f"2026-11-18T12:00:0{second}.000Z" for second in range(5)])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 53), 1 << 53) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)

records = st.builds(
    Record,
    v=st.just(RECORD_VERSION),
    id=st.sampled_from([CaptureId(digit * 40) for digit in "12"]),
    session=words.map(SessionId),
    seq=st.integers(1, 1000),
    kind=st.sampled_from(["commit", "task", "checkpoint"]),
    agent=st.builds(Agent, name=words, version=words),
    captured_at=moments,
    reason=st.none() | st.sampled_from(["clear", "compact", "end", "manual", "threshold"]),
    status=st.sampled_from(["complete", "rejected", "abandoned"]),
    commit=st.none() | oids,
    base=st.none() | oids,
    branch=st.none() | words,
    task=st.none() | words,
    author=st.none() | st.builds(Author, name=words, email=words),
    models=st.lists(words, max_size=2).map(tuple),
    messages=counts,
    turns=counts,
    tools=tallies,
    tokens=st.none() | st.builds(Tokens, input=counts, output=counts),
    files=st.lists(words, max_size=2).map(tuple),
    offset=counts,
    parent=st.none() | st.builds(Parent, session=words.map(SessionId), turn=counts),
    prompt=words,
    redactions=tallies,
    evidence=st.none()
    | st.builds(Evidence, by=st.sampled_from(["environment", "turn", "content"]), lines=counts),
    rewritten_from=st.none() | oids,
    unknown=st.dictionaries(words.map(lambda word: "x_" + word), values, max_size=2),
)

plain_records = st.builds(
    Record,
    v=st.just(RECORD_VERSION),
    id=st.sampled_from([CaptureId(digit * 40) for digit in "12"]),
    session=st.just(SessionId("s")),
    seq=st.integers(1, 3),
    kind=st.just("commit"),
    agent=st.just(Agent(name="claude-code")),
    captured_at=moments,
    commit=st.none() | oids,
    summary=st.sampled_from(["", "a", "b"]),
)
"""Records that often speak of the same capture and commit."""
