"""Whatever is appended comes back, in whatever pieces it came; cuts are exact."""

from __future__ import annotations

import itertools
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitsession import Sessions
from tests.library.lines import Line, asked, raw, said, uuids

few = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

words = st.lists(
    st.sampled_from(
        ["please", "read", "the", "file", "é", "\u2028", '"quoted"', "\t", "{", "日本"]
    ),
    max_size=6,
).map(" ".join)
"""Nothing that could be a secret."""
odd = st.sampled_from([b"{", b"", b"\r", b"not JSON", b"\xff\xfe", b"[1]", b'{"uuid":3}', b"null"])


@st.composite
def transcripts(draw: st.DrawFn) -> list[bytes]:
    """Lines of an agent, written in either way, with odd ones between them."""
    found: list[bytes] = []
    last: str | None = None
    for number in range(draw(st.integers(1, 12))):
        name = f"u{number}"
        line: Line
        if last is None or draw(st.booleans()):
            line = asked(name, last, f"prompt {draw(words)}")
        else:
            line = said(name, last, f"answer {draw(words)}")
        last = name
        found.append(raw(line) if draw(st.booleans()) else json.dumps(line).encode() + b"\n")
        if draw(st.integers(0, 4)) == 0:
            found.append(draw(odd) + b"\n")
    return found


@st.composite
def pieces(draw: st.DrawFn) -> list[list[bytes]]:
    """A transcript in pieces, none of them empty."""
    lines = draw(transcripts())
    cuts = draw(st.sets(st.integers(1, max(len(lines) - 1, 1)), max_size=4))
    edges = [0, *sorted(cut for cut in cuts if cut < len(lines)), len(lines)]
    return [lines[a:b] for a, b in itertools.pairwise(edges)]


def name_of(line: bytes) -> str | None:
    """The uuid of a line that has one."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    uuid = found.get("uuid") if isinstance(found, dict) else None
    return uuid if isinstance(uuid, str) else None


@few
@given(parts=pieces())
def test_lines_come_back_byte_for_byte_in_whatever_pieces_they_came(
    store: Sessions, parts: list[list[bytes]]
) -> None:
    session = store.create()
    records = [store.append(session, part) for part in parts]
    whole = [line for part in parts for line in part]
    assert [*store.load(session)] == whole
    assert [record.seq for record in records] == [*range(1, len(parts) + 1)]
    assert [record.offset for record in records][-1] == len(b"".join(whole))
    assert sum(record.turns for record in records) == sum(b'"typed"' in line for line in whole)


@few
@given(parts=pieces(), data=st.data())
def test_up_to_a_line_is_a_prefix_that_ends_with_it(
    store: Sessions, parts: list[list[bytes]], data: st.DataObject
) -> None:
    session = store.create()
    for part in parts:
        store.append(session, part)
    whole = [line for part in parts for line in part]
    names = [name for line in whole if (name := name_of(line))]
    wanted = data.draw(st.sampled_from(names))
    found = [*store.load(session, until=wanted)]
    assert found == whole[: len(found)]
    assert name_of(found[-1]) == wanted


@few
@given(
    lengths=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    split=st.integers(4, 20),
    data=st.data(),
)
def test_a_fork_holds_the_turns_up_to_one(
    store: Sessions, lengths: list[int], split: int, data: st.DataObject
) -> None:
    lines: list[Line] = []
    last: str | None = None
    for turn, answers in enumerate(lengths, 1):
        lines.append(asked(f"p{turn}", last))
        last = f"p{turn}"
        for number in range(answers):
            lines.append(said(f"p{turn}a{number}", last))
            last = f"p{turn}a{number}"
    session = store.create()
    for start in range(0, len(lines), split):
        store.append(session, lines[start : start + split])
    turn = data.draw(st.integers(1, len(lengths)))
    fork = store.fork(session, turn=turn)
    assert store.turns(fork) == store.turns(session)[:turn]
    assert uuids(store.load(fork)) == uuids(store.load(session, turn=turn))
    parent = store.records(fork)[0].parent
    assert parent is not None
    assert (parent.session, parent.turn) == (session, turn)
    # A fork of the fork is cut from it alone.
    again = store.fork(fork, turn=1)
    assert store.turns(again) == store.turns(session)[:1]
