"""A program reads what is kept, wherever it is: as a whole, up to a moment, or from a remote."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from gitsession import Sessions
from gitsession.actions import gc
from gitsession.actions.capture import capture_transcript
from gitsession.actions.forget import Request, carry_out
from gitsession.actions.verify import verify
from gitsession.actions.work import pipeline_of
from gitsession.errors import Ambiguous, NotFound, SessionError, Usage
from gitsession.git import refs
from gitsession.git.plumbing import discover
from gitsession.ids import Oid
from tests.capture.test_forgotten import lay_stone
from tests.client import captures, check
from tests.conversation import Conversation
from tests.library.lines import asked, said, talk, uuids
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin

PAGE = Path(__file__).parent.parent.parent / "docs/library.md"


# -- load ---------------------------------------------------------------------------------


@pytest.fixture
def long(store: Sessions) -> str:
    """A session of four turns in captures that part turns: u1 | u2 u3 u4 u5 | u6 u7 u8."""
    session = store.create(session="long")
    every = [*talk(4, sessionId=session)]
    for start, stop in ((0, 1), (1, 5), (5, 8)):
        store.append(session, every[start:stop])
    return session


def test_a_session_is_loaded_up_to_a_line(store: Sessions, long: str) -> None:
    every = [f"u{n}" for n in range(1, 9)]
    assert uuids(store.load(long)) == every
    for number, uuid in enumerate(every, 1):
        assert uuids(store.load(long, until=uuid)) == every[:number]


def test_a_session_is_loaded_up_to_a_turn(store: Sessions, long: str) -> None:
    for turn in range(5):
        assert len([*store.load(long, turn=turn)]) == 2 * turn


@pytest.mark.parametrize("uuid", ["", "u", "u9", "U1", "nothing", "é", '"', "u1\n", "\ud800"])
def test_an_unknown_line_is_said_before_there_is_a_first(
    store: Sessions, long: str, uuid: str
) -> None:
    with pytest.raises(NotFound):
        store.load(long, until=uuid)


@pytest.mark.parametrize("turn", [-1, 5, 1 << 40])
def test_an_unknown_turn_is_said_before_there_is_a_first_line(
    store: Sessions, long: str, turn: int
) -> None:
    with pytest.raises(NotFound) as caught:
        store.load(long, turn=turn)
    assert caught.value.hint == "the turns here are 1 to 4"


def test_a_line_or_a_turn(store: Sessions, long: str) -> None:
    with pytest.raises(Usage):
        store.load(long, until="u1", turn=1)


def test_a_uuid_in_the_words_of_a_line_is_no_line(store: Sessions) -> None:
    session = store.create()
    store.append(session, [asked("u1", None, 'see "uuid":"u2"'), said("u2", "u1")])
    assert uuids(store.load(session, until="u2")) == ["u1", "u2"]
    odd = 'a "name" of é'
    store.append(session, [said(odd, "u2"), said("u4", odd)])
    assert uuids(store.load(session, until=odd))[-1] == odd


def test_what_was_loaded_stays_though_others_append(store: Sessions, repo: Scratch) -> None:
    session = store.create()
    store.append(session, talk(1))
    lines = store.load(session)
    with Sessions(repo.path) as other:
        other.append(session, talk(1, "v"))
    assert uuids(lines) == ["u1", "u2"]
    assert uuids(store.load(session)) == ["u1", "u2", "v1", "v2"]


def test_the_beginning_of_an_id_will_do(store: Sessions) -> None:
    for name in ("abc-1", "abd-1"):
        store.append(store.create(session=name), talk(1))
    assert uuids(store.load("abc")) == ["u1", "u2"]
    assert store.append("abd", talk(1, "v")).session == "abd-1"
    with pytest.raises(Ambiguous):
        store.load("ab")


def test_turns_and_records_are_those_of_the_commands(
    store: Sessions, repo: Scratch, long: str
) -> None:
    assert [(t.number, t.prompt, len(t.messages)) for t in store.turns(long)] == [
        (n, f"prompt u{2 * n - 1}", 2) for n in range(1, 5)
    ]
    assert [*store.records(long)] == captures(repo, long)
    assert [r.turns for r in store.records(long)] == [1, 2, 1]


# -- list and latest ----------------------------------------------------------------------


def test_sessions_are_listed_the_newest_first(store: Sessions, repo: Scratch) -> None:
    one, other = store.create(), store.create()
    store.append(one, talk(2), commit="HEAD")
    repo.git("checkout", "-q", "-b", "topic")
    store.append(other, talk(1, "v"))
    last = store.append(one, [asked("u5", "u4", "the end")], task="T")
    first, second = store.list()
    assert (first.id, second.id) == (one, other)
    assert (first.captures, first.turns, first.messages) == (2, 3, 5)
    assert (first.prompt, first.captured_at) == ("prompt u1", last.captured_at)
    assert (first.agent, first.parent, first.archived) == ("claude-code", None, False)
    assert (first.here, second.here) == (True, True)
    assert store.latest() == one
    assert [x.id for x in store.list(branch="topic")] == [one, other]
    assert [x.id for x in store.list(branch="main")] == [one]
    assert [x.id for x in store.list(since=last.captured_at)] == [one]
    assert store.list(agent="other") == store.list(since="2999-01-01") == []


def test_a_capture_of_several_commits_counts_once(store: Sessions, repo: Scratch) -> None:
    session = store.create()
    store.append(session, talk(1), commit="HEAD")
    repo.git("commit", "-q", "--amend", "-m", "again")
    with discover(repo.path) as found:
        old = found.resolve("HEAD@{1}")
        assert old is not None
        pipeline_of(found).ledger.carry([(old, Oid(repo.head()))])
    assert [(x.captures, x.turns) for x in store.list()] == [(1, 1)]


def test_captures_before_the_first_commit_are_counted(tmp_path: Path) -> None:
    repo = Scratch.create(tmp_path / "repo", commit=False)
    with Sessions(repo.path) as store:
        session = store.create()
        store.append(session, talk(1))
        repo.commit("first", {"a": "b\n"})
        store.append(session, talk(1, "v"))
        assert [(x.captures, x.prompt) for x in store.list()] == [(2, "prompt u1")]


def test_the_latest_of_a_folder_began_in_it(store: Sessions, repo: Scratch, tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("a", "a/b", "ab", "link")}
    for name in ("a", "a/b", "ab"):
        places[name].mkdir()
        store.append(store.create(session=name.replace("/", "-")), talk(1, cwd=str(places[name])))
    places["link"].symlink_to(places["a/b"])
    store.append(store.create(session="none"), talk(1))
    store.append(store.create(session="odd"), talk(1, cwd="/a\0b"))
    found = {name: store.latest(path) for name, path in places.items()}
    assert found == {"a": "a-b", "a/b": "a-b", "ab": "ab", "link": "a-b"}
    assert store.latest(repo.path) is None
    assert store.latest() == "odd"
    store.append("a", talk(1, "v", cwd="/elsewhere"))
    assert store.latest(tmp_path / "a") == "a"


def test_an_archived_session_is_read_and_goes_on(store: Sessions, repo: Scratch) -> None:
    session = store.create()
    store.append(session, talk(1))
    gc.gc(repo.path, older_than=0)
    assert not repo.git("for-each-ref", refs.session(session))
    assert [(x.archived, x.here, x.captures) for x in store.list()] == [(True, True, 1)]
    assert uuids(store.load(session)) == ["u1", "u2"]
    store.append(session, talk(1, "v"))
    assert [(x.archived, x.here, x.captures) for x in store.list()] == [(False, True, 2)]
    assert uuids(store.load(session)) == ["u1", "u2", "v1", "v2"]
    check(repo)


# -- fork ---------------------------------------------------------------------------------


def test_a_fork_holds_the_turns_up_to_one(store: Sessions, repo: Scratch, long: str) -> None:
    before = repo.git("rev-parse", refs.session(store.list()[0].id))
    for turn in range(1, 5):
        fork = store.fork(long, turn=turn)
        assert uuids(store.load(fork)) == [f"u{n}" for n in range(1, 2 * turn + 1)]
        assert store.turns(fork) == store.turns(long)[:turn]
        parent = store.records(fork)[0].parent
        assert parent is not None
        assert (parent.session, parent.turn) == (long, turn)
        for line in map(msgspec.json.decode, store.load(fork)):
            origin = {"sessionId": long, "messageUuid": line["uuid"]}
            assert (line["sessionId"], line["forkedFrom"]) == (fork, origin)
    assert repo.git("rev-parse", refs.session(store.list()[-1].id)) == before
    assert {x.parent.session for x in store.list() if x.parent} == {long}
    check(repo)


def test_a_fork_is_cut_before_a_prompt_and_now(store: Sessions, long: str) -> None:
    assert len(store.turns(store.fork(long, before="u5"))) == 2
    assert store.turns(store.fork(long)) == store.turns(long)
    with pytest.raises(NotFound):
        store.fork(long, before="u6")
    with pytest.raises(NotFound):
        store.fork(long, turn=5)
    with pytest.raises(Usage):
        store.fork(long, turn=1, before="u3")


def test_a_fork_before_the_first_prompt_is_empty_and_knows_its_parent(
    store: Sessions, long: str
) -> None:
    for fork in (store.fork(long, turn=0), store.fork(long, before="u1")):
        assert store.turns(fork) == ()
        parent = store.append(fork, talk(1, "v")).parent
        assert parent is not None
        assert (parent.session, parent.turn) == (long, 0)


def test_a_fork_leaves_out_what_was_rewound(store: Sessions) -> None:
    session = store.create()
    store.append(session, [*talk(2), asked("v1", "u2", "instead"), said("v2", "v1")])
    assert uuids(store.load(store.fork(session))) == ["u1", "u2", "v1", "v2"]
    assert uuids(store.load(store.fork(session, turn=2))) == ["u1", "u2", "u3", "u4"]


def test_a_turn_that_is_not_finished_cannot_be_forked(store: Sessions) -> None:
    session = store.create()
    call = said("u4", "u3")
    call["message"]["content"] = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]
    store.append(session, [*talk(1), asked("u3", "u2"), call])
    with pytest.raises(SessionError, match="isn't finished"):
        store.fork(session, turn=2)
    assert [x.id for x in store.list()] == [session]
    assert uuids(store.load(store.fork(session))) == ["u1", "u2", "u3"]


def test_a_fork_of_a_captured_session_has_its_subagents(store: Sessions, repo: Scratch) -> None:
    told = Conversation.begin(Path.home(), repo.path)
    told.prompt("Ask somebody")
    tool = told.call("Task", subagent_type="helper", description="look", prompt="look")
    helper = told.subagent("a1")
    helper.prompt("look")
    helper.say("I have looked.")
    told.result(tool, "seen", agentId="a1", status="completed")
    told.say("Done.")
    capture_transcript(repo.path, told.path)
    fork = store.fork(told.session, turn=1)
    assert store.turns(fork) == store.turns(told.session)
    assert any(m.subagent for t in store.turns(fork) for m in t.messages)
    (record,) = store.records(fork)
    (parent,) = store.records(told.session)
    assert (record.messages, record.tools) == (parent.messages, parent.tools)
    assert verify(repo.path, everything=True).findings == ()
    check(repo)


def test_nothing_goes_on_from_what_was_forgotten_in_part(
    store: Sessions, repo: Scratch, long: str
) -> None:
    carry_out(repo.path, Request(name=store.records(long)[1].id))
    with pytest.raises(SessionError, match="forgotten"):
        store.fork(long)
    assert uuids(store.load(long)) == ["u1", "u6", "u7", "u8"]


# -- delete -------------------------------------------------------------------------------


def test_what_was_deleted_does_not_come_back(store: Sessions, repo: Scratch, long: str) -> None:
    fork = store.fork(long, turn=1)
    store.delete(long)
    assert [x.id for x in store.list()] == [fork]
    assert len([*store.load(fork)]) == 2
    for call in (
        lambda: store.load(long),
        lambda: store.append(long, talk(1)),
        lambda: store.create(session=long),
    ):
        with pytest.raises(SessionError):
            call()
    check(repo)


def test_a_session_that_holds_nothing_is_deleted(store: Sessions) -> None:
    session = store.create()
    store.delete(session)
    with pytest.raises(NotFound):
        store.append(session, talk(1))


def test_a_session_that_is_forgotten_meanwhile_takes_no_more(
    store: Sessions, repo: Scratch
) -> None:
    session = store.create(session="one")
    lay_stone(repo, session)
    with pytest.raises(SessionError, match="was forgotten"):
        store.append(session, talk(1))


# -- elsewhere ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_a_session_that_only_the_remote_has_is_fetched(tmp_path: Path, form: str) -> None:
    origin = make_origin(tmp_path / "origin.git", object_format=form)
    ann = Clone.of(origin, tmp_path / "ann")
    with Sessions(ann.path) as store:
        for name in ("one", "two", "three"):
            store.append(store.create(session=name), talk(2), commit="HEAD")
    ann.sync()
    bob = Clone.of(origin, tmp_path / "bob")
    bob.fetch()
    with Sessions(bob.path) as store:
        assert {(x.id, x.here, x.turns) for x in store.list()} == {
            (name, False, 2) for name in ("one", "two", "three")
        }
        assert store.latest() == "three"
        assert store.latest(bob.path) is None
        with pytest.raises(SessionError, match="there already"):
            store.create(session="one")
        assert uuids(store.load("one", until="u3")) == ["u1", "u2", "u3"]
        assert store.append("two", talk(1, "v")).seq == 2
        store.delete("three")
        assert {(x.id, x.here) for x in store.list()} == {("one", True), ("two", True)}
    bob.sync()
    ann.sync()
    with Sessions(ann.path) as store:
        assert {(x.id, x.captures) for x in store.list()} == {("one", 1), ("two", 2)}
    for clone in (ann, bob):
        clone.check()


def test_the_remote_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    origin = make_origin(tmp_path / "origin.git")
    ann = Clone.of(origin, tmp_path / "ann")
    ann.capture("one", "hello", commit=ann.scratch.head())
    ann.sync()
    bob = Clone.of(origin, tmp_path / "bob")
    bob.fetch()
    origin.path.rename(tmp_path / "away.git")
    with Sessions(bob.path) as store:
        assert [(x.id, x.here) for x in store.list()] == [("one", False)]
        with pytest.raises(SessionError, match="one isn't here"):
            store.load("one")


def test_the_page_about_it_is_true(repo: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) > 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    public = {name for name in vars(Sessions) if not name.startswith("_")} - {"close"}
    assert {name for name in public if f"`{name}(" not in PAGE.read_text()} == set()
