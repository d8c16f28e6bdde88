"""A program's captures are those that the hooks would have taken of the same lines."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from gitsession import Sessions
from gitsession.actions import show
from gitsession.actions.capture import capture_transcript
from gitsession.errors import NotFound, SessionError, Usage
from gitsession.git import refs
from gitsession.ids import SessionId
from gitsession.library import GivenLine
from gitsession.model import Parent, Status
from tests.client import captures, check, is_untouched, records_of
from tests.conversation import Conversation
from tests.library.lines import asked, raw, said, talk, uuids
from tests.scratch import Scratch
from tests.test_startup import HEAVY

SECRET = "ghp_" + "a8Kd0Lq2Xv5Bn7Mz1Pw4Rt6Yu9Ih3Gf2Js5C"


def test_lines_come_back_as_they_were_given(store: Sessions, repo: Scratch) -> None:
    session = store.create()
    given: list[GivenLine] = [
        b'{"a":1}\n',
        b'{ "b" : 2 }',
        '{"c":"\u00e9"}',
        "not JSON\r\n",
        {"d": "\u00e9"},
        b"\n",
    ]
    record = store.append(session, given)
    kept = [b'{"a":1}\n', b'{ "b" : 2 }\n', '{"c":"\u00e9"}\n'.encode(), b"not JSON\r\n",
            '{"d":"\u00e9"}\n'.encode(), b"\n"]  # fmt: skip
    assert [*store.load(session)] == kept
    assert record.raw_size == record.offset == len(b"".join(kept))
    assert (record.kind, record.reason, record.seq) == ("checkpoint", "manual", 1)
    check(repo)


def test_the_record_is_the_one_of_a_capture_by_hand(store: Sessions, repo: Scratch) -> None:
    told = Conversation.begin(Path.home(), repo.path)
    told.prompt("Greet people")
    told.write("greet.py", f"TOKEN = '{SECRET}'\n")
    told.say("Done.")
    given = told.path.read_bytes().splitlines(keepends=True)
    repo.git("checkout", "-q", "--detach")
    other = Scratch(repo.path.parent / "other")
    repo.git("clone", "-q", str(repo.path), str(other.path))
    other.git("checkout", "-q", "--detach")
    by_hand = capture_transcript(repo.path, told.path, commit="HEAD").record
    with Sessions(other.path) as theirs:
        theirs.create(session=told.session)
        # The files that were touched lie in the work tree of the first.
        ours = theirs.append(told.session, given, commit="HEAD")
        assert b"".join(theirs.load(told.session)) == b"".join(show.raw(repo.path, told.session))
    assert by_hand is not None
    same = msgspec.structs.replace(ours, captured_at=by_hand.captured_at, files=by_hand.files)
    assert same == by_hand
    assert by_hand.redactions


def test_secrets_are_taken_out_of_lines_and_of_the_prompt(store: Sessions, repo: Scratch) -> None:
    session = store.create()
    record = store.append(session, [asked("u1", None, f"use {SECRET} please")])
    assert sum(record.redactions.values()) == 1
    assert SECRET not in record.prompt
    assert "[REDACTED:" in record.prompt
    assert SECRET.encode() not in b"".join(store.load(session))


def test_the_users_own_rules_hold_from_the_next_capture_on(store: Sessions, repo: Scratch) -> None:
    session = store.create()
    store.append(session, [asked("u1", None, "project falcon")])
    repo.git("config", "session.redactRule", "code-name falcon")
    store.append(session, [asked("u2", "u1", "project falcon")])
    first, second = store.load(session)
    assert (b"falcon" in first, b"falcon" in second) == (True, False)


def test_a_capture_belongs_to_the_commit_that_is_named(store: Sessions, repo: Scratch) -> None:
    old, new = repo.head(), repo.commit("second", {"a": "b\n"})
    session = store.create()
    record = store.append(session, talk(1), commit="HEAD", status="rejected")
    assert (record.commit, record.base, record.branch) == (new, old, "main")
    assert (record.kind, record.status) == ("commit", "rejected")
    assert record.evidence is not None
    assert record.evidence.by == "manual"
    assert records_of(repo) == [record]
    assert [story.session for story in show.show(repo.path, "HEAD")] == [session]
    past = store.append(session, talk(1, "v"), commit=old, task="T-1")
    assert (past.commit, past.branch, past.kind, past.task) == (old, None, "commit", "T-1")
    loose = store.append(session, talk(1, "w"), task="T-2")
    assert (loose.commit, loose.base, loose.branch, loose.kind) == (None, new, "main", "task")
    assert captures(repo, session) == [record, past, loose] == [*store.records(session)]


def test_a_repository_without_commits_and_a_bare_one_will_do(tmp_path: Path) -> None:
    empty = Scratch.create(tmp_path / "empty", commit=False)
    empty.git("clone", "-q", "--bare", str(empty.path), str(tmp_path / "bare"))
    for path in (empty.path, tmp_path / "bare"):
        with Sessions(path) as store:
            session = store.create()
            store.append(session, talk(1))
            store.append(session, talk(1, "v"))
            assert uuids(store.load(session)) == ["u1", "u2", "v1", "v2"]
            assert [(i.id, i.captures) for i in store.list()] == [(session, 2)]


def test_a_session_begins_with_its_first_capture(store: Sessions, repo: Scratch) -> None:
    parent = Parent(session=SessionId("before"), turn=3)
    session = store.create(session="my session/1", parent=parent)
    assert is_untouched(repo)
    assert ([*store.load(session)], store.turns(session), store.records(session)) == ([], (), ())
    assert ([*store.load(session, turn=0)], store.list(), store.latest()) == ([], [], None)
    assert store.append(session, talk(1)).parent == parent
    assert [info.parent for info in store.list()] == [parent]
    assert store.append(session, talk(1, "v")).parent == parent
    assert not [*(repo.path / ".git/gitsession/created").iterdir()]


def test_two_sessions_cannot_have_one_id(store: Sessions, repo: Scratch) -> None:
    store.create(session="one")
    with pytest.raises(SessionError, match="there already"):
        store.create(session="one")
    store.append("one", talk(1))
    with Sessions(repo.path) as other, pytest.raises(SessionError, match="there already"):
        other.create(session="one")


def broken() -> Iterator[dict[str, Any]]:
    yield asked("u1", None)
    raise ZeroDivisionError


def unreadable() -> Iterator[dict[str, Any]]:
    yield asked("u1", None)
    raise OSError(5, "Input/output error", "source.jsonl")


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ([], Usage),
        (b'{"a":1}\n', Usage),
        ('{"a":1}\n', Usage),
        ({"a": 1}, Usage),
        ([b"a\nb\n"], Usage),
        ([1], Usage),
        (None, Usage),
        ([{"a": object()}], Usage),
        (["\ud800"], Usage),
        (broken, ZeroDivisionError),
        (unreadable, SessionError),
    ],
)
def test_what_cannot_be_appended_leaves_nothing(
    store: Sessions, repo: Scratch, lines: Any, error: type[Exception]
) -> None:
    session = store.create()
    with pytest.raises(error):
        store.append(session, lines() if callable(lines) else lines)
    assert is_untouched(repo)
    assert not [*(repo.path / ".git/gitsession/given").glob("*")]


Call = Callable[[Sessions], object]
CALLS: dict[str, tuple[Call, type[SessionError]]] = {
    "append": (lambda s: s.append("nobody", talk(1)), NotFound),
    "load": (lambda s: s.load("nobody"), NotFound),
    "turns": (lambda s: s.turns("nobody"), NotFound),
    "records": (lambda s: s.records("nobody"), NotFound),
    "fork": (lambda s: s.fork("nobody"), NotFound),
    "delete": (lambda s: s.delete("nobody"), NotFound),
    "empty name": (lambda s: s.load(""), NotFound),
    "odd name": (lambda s: s.append("--all\n", talk(1)), NotFound),
    "agent": (lambda s: s.create(agent="nobody"), NotFound),
    "empty id": (lambda s: s.create(session=""), Usage),
    "odd id": (lambda s: s.create(session="a\nb"), Usage),
    "half a character": (lambda s: s.create(session="\ud800"), Usage),
    "date": (lambda s: s.list(since="yesterday"), Usage),
    "commit": (lambda s: s.append(s.create(), talk(1), commit="nothing"), NotFound),
    "no commit": (lambda s: s.append(s.create(), talk(1), commit=""), NotFound),
    "status": (lambda s: s.append(s.create(), talk(1), status=cast(Status, "odd")), Usage),
    "task": (lambda s: s.append(s.create(), talk(1), task="a\nb"), Usage),
    "fork of nothing": (lambda s: s.fork(s.create()), SessionError),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_not_there_is_said(store: Sessions, repo: Scratch, name: str) -> None:
    call, error = CALLS[name]
    with pytest.raises(error):
        call(store)
    assert is_untouched(repo)


def test_what_is_closed_stays_closed(repo: Scratch) -> None:
    store = Sessions(repo.path)
    session = store.create()
    store.append(session, talk(2))
    lines = store.load(session)
    store.close()
    store.close()
    for call in (lambda: next(lines), lambda: store.load(session), store.list, store.create):
        with pytest.raises(Usage, match="closed"):
            call()


def test_a_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(SessionError):
            Sessions(path)


def test_who_is_switched_off_reads_and_writes_nothing(store: Sessions, repo: Scratch) -> None:
    session = store.create()
    store.append(session, talk(1))
    repo.git("config", "session.enabled", "false")
    for call in (store.create, lambda: store.append(session, talk(1, "v"))):
        with pytest.raises(SessionError, match="switched off"):
            call()
    assert uuids(store.load(session)) == ["u1", "u2"]


def test_the_newest_capture_is_the_last_though_the_clock_was_set_back(
    store: Sessions, repo: Scratch
) -> None:
    session = store.create()
    first = store.append(session, talk(1))
    moments = [first.captured_at, *(store.append(session, talk(1, n)).captured_at for n in "vwx")]
    assert moments == sorted(set(moments))


def test_an_append_says_what_has_to_be_pushed(store: Sessions, repo: Scratch) -> None:
    store.append(store.create(), talk(1))
    assert (repo.path / ".git/gitsession/unpushed").exists()


def test_the_package_offers_it_and_imports_nothing_for_it() -> None:
    code = (
        "import sys, gitsession\n"
        f"assert not set(sys.modules) & {HEAVY!r}\n"
        "from gitsession import Sessions\n"
        "from gitsession.library import Sessions as Same\n"
        "assert Sessions is Same is gitsession.Sessions\n"
        "assert 'git' not in sys.modules and 'click' not in sys.modules\n"
        "try:\n    gitsession.nothing\nexcept AttributeError: pass\nelse: raise SystemExit(1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_line_may_come_from_the_session_itself(store: Sessions) -> None:
    one, other = store.create(), store.create()
    store.append(one, talk(3))
    store.append(other, store.load(one))
    assert [*store.load(other)] == [*store.load(one)] == [*map(raw, talk(3))]


def test_what_killed_programs_left_is_removed(store: Sessions, repo: Scratch) -> None:
    left = repo.path / ".git/gitsession/given"
    left.mkdir(parents=True)
    (left / "old").write_text("x")
    (left / "young").write_text("x")
    os.utime(left / "old", (0, 0))
    store.append(store.create(), talk(1))
    assert [file.name for file in left.iterdir()] == ["young"]


def test_lines_are_taken_as_they_come(store: Sessions) -> None:
    """Nobody else waits for a writer whose lines are still to come."""
    one, other = store.create(), store.create()
    store.append(other, talk(1))

    def slow() -> Iterator[dict[str, Any]]:
        yield asked("a", None)
        # In the middle of one append another one, and a look at the whole.
        store.append(other, talk(1, "v"))
        assert uuids(store.load(other)) == ["u1", "u2", "v1", "v2"]
        yield said("b", "a")

    store.append(one, slow())
    assert uuids(store.load(one)) == ["a", "b"]


def test_the_session_ref_tells_the_story(store: Sessions, repo: Scratch) -> None:
    session = store.create()
    store.append(session, talk(1), commit="HEAD")
    log = repo.git("log", "--format=%an %s", refs.session(session))
    assert log == f"Dev commit {repo.head()[:12]}: prompt u1"
