"""What a shared repository takes, and what it refuses: one line for each, and no traceback."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitsession.actions.receive import receive
from gitsession.git import refs
from gitsession.ids import Oid
from gitsession.model import Author, Record
from gitsession.store import codec, records, tombstones
from tests.actions.pushes import (
    ANN,
    LINK,
    MODULE,
    Server,
    Tree,
    a_record,
    head_of,
    index_tree,
    nest,
    numbers,
    session_tree,
    stone,
)

S1 = "refs/sessions/s1"
INDEX = refs.INDEX
MONTH = "refs/sessions/archive/2026-01"
OTHER = "bob@example.com"


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server.create(tmp_path / "shared.git")


def a_session(server: Server, seqs: range, *parents: str, session: str = "s1") -> str:
    """A commit that holds a session's captures."""
    return server.files(session_tree(session, *numbers(session, seqs)), *parents)


def why(server: Server, moves: dict[str, str | None], **env: str) -> str:
    """The one reason for which a push is refused."""
    (said,) = server.says(moves, **env)
    assert len(said.splitlines()) == 1
    return said


# -- sessions -----------------------------------------------------------------------------


def test_a_session_is_taken_and_continued(server: Server) -> None:
    first = a_session(server, range(1, 3))
    assert server.says({S1: first}) == []
    server.set(S1, first)
    assert server.says({S1: a_session(server, range(1, 4), first)}) == []


def test_captures_in_folders_of_a_hundred_are_taken(server: Server) -> None:
    first = server.set(S1, a_session(server, range(98, 101)))
    assert server.says({S1: a_session(server, range(98, 103), first)}) == []
    said = why(server, {S1: a_session(server, range(98, 100), first)})
    assert "lost 1 captures that are here: 100" in said


def test_other_refs_are_not_looked_at(server: Server) -> None:
    blob = server.blob(b"x")
    assert server.says({"refs/heads/main": blob, "refs/tags/x": blob, "refs/notes/x": blob}) == []


@pytest.mark.parametrize(
    "ref",
    ["refs/sessions/-x", "refs/sessions/a/b", "refs/sessions/archive", "refs/sessions/ü",
     "refs/sessions/archive/2026", "refs/sessions/archive/x", "refs/sessions", "refs/snapshots",
     "refs/snapshots/a/b", "refs/notes/sessions/x", "refs/sessions/" + "a" * 101,
     "refs/sessions/a.b", "refs/sessions/$(touch x)", "refs/sessions/a\x1b]0;x\x07"],
)  # fmt: skip
def test_a_ref_that_is_no_name_of_ours_is_refused_and_may_go(server: Server, ref: str) -> None:
    session = a_session(server, range(1, 2))
    zero = "0" * 40
    (refusal,) = receive(server.path, f"{zero} {session} {ref}\n", {})
    assert (refusal.ref, refusal.why) == (ref, "it is no name of a ref of sessions")
    assert receive(server.path, f"{session} {zero} {ref}\n", {}) == []


def test_what_is_private_to_a_clone_is_refused(server: Server) -> None:
    ref = "refs/session-remotes/origin/sessions/s1"
    session = a_session(server, range(1, 2))
    assert "one clone remembers" in why(server, {ref: session})
    server.set(ref, session)
    assert server.says({ref: None}) == []


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
def test_a_ref_to_no_commit_is_refused(server: Server, kind: str) -> None:
    session = a_session(server, range(1, 2))
    oid = {
        "blob": lambda: server.blob(b"x"),
        "tree": lambda: server.tree(nest(session_tree("s1", a_record("s1", 1)))),
        "tag": lambda: server.git("mktag", stdin=f"object {session}\ntype commit\ntag x\n"
                                  f"tagger A <a@b> 1 +0000\n\nx\n".encode()),
    }[kind]()  # fmt: skip
    assert kind in why(server, {S1: oid})


def test_a_session_under_anothers_name_is_refused(server: Server) -> None:
    assert "says to be session 's1'" in why(
        server, {"refs/sessions/s2": a_session(server, range(1, 2))}
    )


GOOD = session_tree("s1", a_record("s1", 1))
SECOND = records.encode(a_record("s1", 2))
BAD_FILES: dict[str, tuple[dict[str, bytes], str]] = {
    "no head": ({"captures/1.json": b"{}"}, "has no session.json"),
    "head is no json": ({"session.json": b"{"}, "no readable session"),
    "later format": ({"session.json": head_of("s1", 2)}, "its format is 2"),
    "record is no json": ({**GOOD, "captures/1.json": b"{"}, "can't be read"),
    "deep json": ({**GOOD, "captures/1.json": b"[" * 100_000}, "can't be read"),
    "no record": ({**GOOD, "captures/1.json": b"\n"}, "can't be read"),
    "record of another": (session_tree("s1", a_record("s2", 1)), "of another session"),
    "number of another": ({**GOOD, "captures/1.json": SECOND}, "of another"),
    "no lines": ({k: v for k, v in GOOD.items() if "zst" not in k}, "has no lines"),
    "not compressed": ({**GOOD, "captures/1.jsonl.zst": b"plain"}, "isn't compressed"),
    "cut short": ({**GOOD, "captures/1.jsonl.zst": codec.pack(bytes(999))[:-3]}, "damaged"),
    "not where it belongs": ({**GOOD, "captures/9/2.json": SECOND}, "isn't where"),
    "odd name": ({**GOOD, "results/a b": b"x"}, "odd name"),
    "option": ({**GOOD, "results/--x": b"x"}, "odd name"),
    "control": ({**GOOD, "results/\x1b[2J": b"x"}, "odd name"),
    "newline": ({**GOOD, "results/a\nhint: b": b"x"}, "odd name"),
    "git's own": ({**GOOD, ".git/config": b"x"}, "odd name"),
    "up": ({**GOOD, "../x": b"x"}, "odd name"),
    "deep": ({**GOOD, "a/" * 20 + "b": b"x"}, "deep"),
    "long name": ({**GOOD, "results/" + "a" * 500: b"x"}, "odd name"),
    "large record": ({**GOOD, "captures/1.json": bytes((16 << 20) + 1)}, "bytes"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_tree_that_is_no_session_is_refused(server: Server, name: str) -> None:
    files, reason = BAD_FILES[name]
    said = why(server, {S1: server.files(files)})
    assert said.startswith(f"{S1}: ")
    assert reason in said


@pytest.mark.parametrize("mode", [LINK, MODULE, "100755", "100664", "040000"])
@pytest.mark.parametrize("later", [False, True])
def test_links_and_modules_are_refused_wherever_they_are(
    server: Server, mode: str, later: bool
) -> None:
    good = nest(session_tree("s1", a_record("s1", 1)))
    oid = server.blob(b"/etc/passwd") if mode != "040000" else server.tree({"a": b"x"})
    tip = server.commit({**good, "results": {"x": (mode, oid)}})
    if later:
        # Further down in its history a clone would fetch it all the same.
        tip = server.commit(good, tip)
    assert "neither a plain file nor a folder" in why(server, {S1: tip})


def test_trees_that_git_would_not_write_are_refused(server: Server) -> None:
    good = nest(session_tree("s1", a_record("s1", 1)))
    oid = bytes.fromhex(server.blob(b"x"))
    slash = server.raw_tree(b"100644 a/../../b\0" + oid)
    twice = server.raw_tree(b"100644 a\0" + oid + b"100644 a\0" + oid)
    wrong = server.raw_tree(b"100644 b\0" + oid + b"100644 a\0" + oid)
    for tree, reason in ((slash, "odd name"), (twice, "twice"), (wrong, "out of order")):
        assert reason in why(server, {S1: server.commit({**good, "results": ("40000", tree)})})


def test_a_tree_that_holds_itself_many_times_is_refused(server: Server) -> None:
    tree = server.tree({"x": b"x"})
    for _ in range(3):
        tree = server.tree({f"a{n:03}": ("40000", tree) for n in range(50)})
    bomb = server.commit({**nest(GOOD), "results": ("40000", tree)})
    assert "more than 70000 folders" in why(server, {S1: bomb})
    assert "more than 70000 folders" in why(server, {INDEX: bomb})


# -- how much -----------------------------------------------------------------------------


def with_segment(server: Server, blob: bytes) -> str:
    """A session whose one capture holds this."""
    return server.files({**session_tree("s1", a_record("s1", 1)), "captures/1.jsonl.zst": blob})


def bomb(size: int, *, declared: bool = True) -> bytes:
    """Zeros, packed."""
    packer = zstandard.ZstdCompressor(level=19, write_content_size=declared).compressobj(
        size=size if declared else -1
    )
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()


@pytest.mark.parametrize("declared", [True, False])
def test_a_bomb_is_refused(server: Server, declared: bool) -> None:
    said = why(server, {S1: with_segment(server, bomb(65 << 20, declared=declared))})
    assert "unpack" in said
    assert server.says({S1: with_segment(server, bomb(63 << 20, declared=declared))}) == []


def test_a_bomb_further_down_is_refused(server: Server) -> None:
    first = with_segment(server, bomb(65 << 20))
    assert "unpack" in why(server, {S1: a_session(server, range(1, 2), first)})


def test_a_size_that_is_a_lie_is_refused(server: Server) -> None:
    # A frame of 8 bytes of size: the header says far more than there is.
    header = b"\x28\xb5\x2f\xfd\xe0" + (1 << 50).to_bytes(8, "little") + b"\x01\x00\x00"
    assert "unpack" in why(server, {S1: with_segment(server, header)})


def test_limits_are_the_servers(server: Server) -> None:
    tip = with_segment(server, codec.pack(bytes(range(256)) * 1000))
    server.git("config", "session.maxSegment", "100k")
    assert "unpack" in why(server, {S1: tip})
    server.git("config", "session.maxSegment", "1m")
    assert server.says({S1: tip}) == []
    server.git("config", "session.maxBlob", "50")
    assert "bytes; 50 are allowed" in why(server, {S1: tip})
    server.git("config", "session.maxBlob", "much")
    assert "the server's session.maxBlob is wrong" in why(server, {S1: tip})


def test_only_what_is_new_is_measured(server: Server) -> None:
    first = server.set(S1, with_segment(server, codec.pack(bytes(range(256)) * 1000)))
    server.git("config", "session.maxSegment", "100k")
    files = session_tree("s1", *numbers("s1", range(1, 3)))
    segment = {"captures/1.jsonl.zst": codec.pack(bytes(range(256)) * 1000)}
    assert server.says({S1: server.files({**files, **segment}, first)}) == []


# -- rewrites -----------------------------------------------------------------------------


def test_a_rewrite_is_refused(server: Server) -> None:
    server.set(S1, a_session(server, range(1, 3)))
    assert "throws history away" in why(server, {S1: a_session(server, range(1, 4))})


def test_a_capture_that_is_lost_is_refused(server: Server) -> None:
    first = server.set(S1, a_session(server, range(1, 4)))
    said = why(server, {S1: server.files(session_tree("s1", *numbers("s1", [1, 3])), first)})
    assert "lost 1 captures that are here: 2" in said


def test_a_capture_that_holds_something_else_is_refused(server: Server) -> None:
    first = server.set(S1, a_session(server, range(1, 2)))
    files = session_tree("s1", a_record("s1", 1))
    other = {**files, "captures/1.jsonl.zst": codec.pack(b"forged\n")}
    assert "not what it held" in why(server, {S1: server.files(other, first)})
    packed = zstandard.ZstdCompressor(level=1).compress(b"s1-1\n")
    assert packed != files["captures/1.jsonl.zst"]
    assert server.says({S1: server.files({**files, "captures/1.jsonl.zst": packed}, first)}) == []


def test_captures_may_move_up(server: Server) -> None:
    first = server.set(S1, a_session(server, range(1, 3)))
    one, two = numbers("s1", [1, 2])
    moved = msgspec.structs.replace(two, seq=3)
    between = msgspec.structs.replace(a_record("s1", 2), id="other")
    assert server.says({S1: server.files(session_tree("s1", one, between, moved), first)}) == []


def test_a_session_is_not_taken_away(server: Server) -> None:
    server.set(S1, a_session(server, range(1, 3)))
    assert "it would be lost" in why(server, {S1: None})


@pytest.mark.parametrize("together", [True, False])
def test_a_forgotten_session_may_go_and_not_come_back(server: Server, together: bool) -> None:
    tip = server.set(S1, a_session(server, range(1, 3)))
    index = server.files(index_tree(s1=stone("s1")))
    if together:
        assert server.says({S1: None, INDEX: index}) == []
    server.set(INDEX, index)
    assert server.says({S1: None}) == []
    assert "holds what was forgotten" in why(server, {S1: a_session(server, range(1, 4), tip)})


def test_exactly_what_was_forgotten_may_be_missing(server: Server) -> None:
    server.set(S1, a_session(server, range(1, 4)))
    index = {INDEX: server.files(index_tree(s1=stone("s1", "s1-2")))}
    right = server.files(session_tree("s1", *numbers("s1", [1, 3])))
    wrong = server.files(session_tree("s1", *numbers("s1", [1])))
    assert server.says({S1: right, **index}) == []
    assert "lost 1 captures" in why(server, {S1: wrong, **index})
    assert "lost 1 captures that are here: 2" in why(server, {S1: right})


def test_a_tombstone_in_a_refused_index_counts_for_nothing(server: Server) -> None:
    server.set(S1, a_session(server, range(1, 3)))
    bad = server.commit({**nest(index_tree(s1=stone("s1"))), "x": (LINK, server.blob(b"/"))})
    said = server.says({S1: None, INDEX: bad})
    assert [x.partition(":")[0] for x in said] == [INDEX, S1]


# -- archives -----------------------------------------------------------------------------


def an_archive(server: Server, *parents: str, **found: range) -> str:
    """A commit that holds several sessions."""
    trees = {s: nest(session_tree(s, *numbers(s, seqs))) for s, seqs in found.items()}
    return server.commit(trees, *parents)


def test_a_session_may_go_when_an_archive_has_all_of_it(server: Server) -> None:
    server.set(S1, a_session(server, range(1, 3)))
    whole = an_archive(server, s1=range(1, 3), s2=range(1, 2))
    assert server.says({S1: None, MONTH: whole}) == []
    part = an_archive(server, s1=range(1, 2))
    assert "it would be lost" in why(server, {S1: None, MONTH: part})
    assert "it would be lost" in why(server, {S1: None, MONTH: an_archive(server, s2=range(1, 2))})
    server.set(MONTH, whole)
    assert server.says({S1: None}) == []


def test_archives_are_united(server: Server) -> None:
    first = server.set(MONTH, an_archive(server, s1=range(1, 3)))
    assert server.says({MONTH: an_archive(server, first, s1=range(1, 4), s2=range(1, 2))}) == []
    assert "lost the session s1" in why(server, {MONTH: an_archive(server, first, s2=range(1, 2))})
    said = why(server, {MONTH: an_archive(server, first, s1=range(1, 2))})
    assert "session s1: it has lost 1 captures" in said
    beside = an_archive(server, s1=range(1, 3), s2=range(1, 2))
    assert "throws history away" in why(server, {MONTH: beside})
    assert "lost the session s1" in why(server, {MONTH: None})


def test_a_forgotten_session_leaves_its_archive(server: Server) -> None:
    server.set(MONTH, an_archive(server, s1=range(1, 3), s2=range(1, 2)))
    index = {INDEX: server.files(index_tree(s1=stone("s1")))}
    assert server.says({MONTH: an_archive(server, s2=range(1, 2)), **index}) == []


def test_what_is_in_an_archive_is_looked_at_as_a_session_is(server: Server) -> None:
    tree = nest(session_tree("s2", a_record("s2", 1)))
    assert "session s1: it says to be session 's2'" in why(
        server, {MONTH: server.commit({"s1": tree})}
    )
    assert "which is no session" in why(server, {MONTH: server.commit({"x.txt": b"x"})})
    assert "which is no session" in why(server, {MONTH: server.commit({"archive": tree})})


# -- the index ----------------------------------------------------------------------------


def test_an_index_grows(server: Server) -> None:
    one, two = a_record("s1", 1), a_record("s2", 1)
    assert server.says({INDEX: server.files(index_tree(one))}) == []
    first = server.set(INDEX, server.files(index_tree(one)))
    assert server.says({INDEX: server.files(index_tree(one, two), first)}) == []
    assert "throws history away" in why(server, {INDEX: server.files(index_tree(one, two))})
    assert "has lost a record of s1" in why(server, {INDEX: server.files(index_tree(two), first)})
    assert "has lost a record of s1" in why(server, {INDEX: server.files({}, first)})
    assert "can't be taken away" in why(server, {INDEX: None})


def test_a_note_may_be_moved_and_not_be_lost_by_it(server: Server) -> None:
    one, two = a_record("s1", 1), a_record("s2", 1, commit="2" * 40)
    name = "1" * 40
    flat = {name: records.merge_note(b"", [one])}
    first = server.set(INDEX, server.files(flat))
    assert server.says({INDEX: server.files(index_tree(one, two), first)}) == []
    assert "has lost" in why(server, {INDEX: server.files(index_tree(two), first)})
    both = server.set(INDEX, server.files({**flat, **index_tree(one)}, first))
    assert server.says({INDEX: server.files(index_tree(one), both)}) == []


def test_a_record_may_go_with_a_tombstone_that_stays(server: Server) -> None:
    one, two = a_record("s1", 1), a_record("s2", 1, commit="2" * 40)
    server.set(INDEX, server.files(index_tree(one, two)))
    without = server.files(index_tree(two, s1=stone("s1")))
    assert server.says({INDEX: without}) == []
    server.set(INDEX, without)
    # Once it has travelled it is no reason any more to throw history away.
    assert "throws history away" in why(
        server, {INDEX: server.files(index_tree(two, s1=stone("s1")), email=OTHER)}
    )
    assert "would come back" in why(server, {INDEX: server.files(index_tree(two), without)})
    assert "has lost a record of s2" in why(
        server, {INDEX: server.files(index_tree(s1=stone("s1")), without)}
    )


BAD_INDEX: dict[str, tuple[dict[str, bytes], str]] = {
    "no record": ({"11/" + "1" * 38: b"hello\n"}, "a line that is no record"),
    "half a record": ({"11/" + "1" * 38: b'{"v":1}\n'}, "a line that is no record"),
    "tombstone of another": ({"forgotten/s2": stone("s1")}, "the tombstone of another"),
    "no tombstone": ({"forgotten/s1": b"{}\n"}, "can't be read"),
    "odd path": ({"a b/\x07": b"x"}, "odd name"),
    "up": ({"../x": b"x"}, "odd name"),
    "option": ({"-x": b"x"}, "odd name"),
    "deep": ({"a/" * 20 + "b": b"x"}, "deep"),
    "large": ({"11/" + "1" * 38: bytes((16 << 20) + 1)}, "bytes"),
}


@pytest.mark.parametrize("name", BAD_INDEX)
def test_what_is_no_index_is_refused(server: Server, name: str) -> None:
    files, reason = BAD_INDEX[name]
    assert reason in why(server, {INDEX: server.files(files)})


def test_lines_of_a_later_version_are_kept(server: Server) -> None:
    note = {"11/" + "1" * 38: b'{"v":9,"x":"y"}\n'}
    first = server.files(note)
    assert server.says({INDEX: first}) == []
    server.set(INDEX, first)
    assert "has lost a line" in why(server, {INDEX: server.files({}, first)})


def test_an_object_that_stands_in_for_another_deceives_nobody(server: Server) -> None:
    good, bad = a_session(server, range(1, 2)), server.files({"x": b"x"})
    server.set(f"refs/replace/{bad}", good)
    assert "has no session.json" in why(server, {S1: bad})


# -- snapshots ----------------------------------------------------------------------------


def test_snapshots_hold_anything_and_are_not_thrown_away(server: Server) -> None:
    ref = "refs/snapshots/s1"
    tree: Tree = {"a b": b"x", "link": (LINK, server.blob(b"/etc"))}
    first = server.commit(tree)
    assert server.says({ref: first}) == []
    server.set(ref, first)
    assert server.says({ref: server.commit(tree, first, email=OTHER)}) == []
    assert "throws away snapshots" in why(server, {ref: server.commit(tree, email=OTHER)})
    assert "throws away snapshots" in why(server, {ref: None})
    server.set(INDEX, server.files(index_tree(s1=stone("s1"))))
    assert server.says({ref: None}) == []
    server.git("config", "session.maxBlob", "10")
    assert "11 bytes; 10 are allowed" in why(
        server, {"refs/snapshots/s2": server.commit({"x": bytes(11)})}
    )


# -- who ----------------------------------------------------------------------------------


@pytest.fixture
def strict(server: Server) -> Server:
    """A server that checks authors."""
    server.git("config", "session.checkAuthor", "true")
    return server


def test_without_a_name_for_the_pusher_nothing_is_taken(strict: Server) -> None:
    moves: dict[str, str | None] = {S1: a_session(strict, range(1, 2))}
    assert "GIT_PUSHER_EMAIL doesn't say who pushes" in why(strict, moves)
    assert strict.says(moves, GIT_PUSHER_EMAIL=f"other@example.com, {ANN.upper()}") == []
    strict.git("config", "session.pusherVariable", "WHO")
    assert "WHO doesn't say" in why(strict, moves, GIT_PUSHER_EMAIL=ANN)
    assert strict.says(moves, WHO=ANN) == []


def test_forged_authors_are_refused(strict: Server) -> None:
    def says(moves: dict[str, str | None]) -> str:
        return why(strict, moves, GIT_PUSHER_EMAIL=ANN)

    record = a_record("s1", 1, email=OTHER)
    assert f"is by {OTHER}, who isn't pushing" in says(
        {S1: strict.files(session_tree("s1"), email=OTHER)}
    )
    assert f"is by {OTHER}" in says({S1: strict.files(session_tree("s1", record))})
    assert f"is by {OTHER}" in says({INDEX: strict.files(index_tree(record))})
    assert f"is by {OTHER}" in says(
        {MONTH: strict.commit({"s1": nest(session_tree("s1", record))})}
    )
    mark = tombstones.Tombstone(v=1, session=record.session, author=Author(email=OTHER))
    later = strict.files({"11/" + "1" * 38: b'{"v":9}\n'})
    assert "whose author this server can't read" in says({INDEX: later})
    said = says({INDEX: strict.files(index_tree(s1=tombstones.encode([mark])))})
    assert f"tombstone by {OTHER}" in said


def test_what_others_brought_stays_theirs(strict: Server) -> None:
    theirs = a_record("s1", 1, email=OTHER)
    first = strict.set(S1, strict.files(session_tree("s1", theirs), email=OTHER))
    index = strict.set(INDEX, strict.files(index_tree(theirs), email=OTHER))
    carried = msgspec.structs.replace(theirs, commit=Oid("2" * 40), rewritten_from=theirs.commit)
    again = msgspec.structs.replace(theirs, commit=Oid("3" * 40), rewritten_from=Oid("2" * 40))
    forged = msgspec.structs.replace(a_record("s9", 1, email=OTHER), commit=Oid("2" * 40))

    def says(**moves: str) -> list[str]:
        named = {S1: moves.get("session"), INDEX: moves.get("index"), MONTH: moves.get("archive")}
        return strict.says({k: v for k, v in named.items() if v}, GIT_PUSHER_EMAIL=ANN)

    def indexed(*found: Record) -> str:
        return strict.files(index_tree(theirs, *found), index)

    assert says(session=strict.files(session_tree("s1", theirs, a_record("s1", 2)), first)) == []
    assert says(index=indexed(carried)) == []
    assert says(index=indexed(carried, again)) == []
    assert says(archive=strict.commit({"s1": nest(session_tree("s1", theirs))})) == []
    assert f"is by {OTHER}" in says(index=indexed(forged))[0]
    lie = msgspec.structs.replace(forged, rewritten_from=theirs.commit)
    assert f"is by {OTHER}" in says(index=indexed(lie))[0]


# -- whatever comes -----------------------------------------------------------------------


@given(data=st.binary(max_size=200), name=st.sampled_from(
    ["session.json", "captures/1.json", "captures/1.jsonl.zst", "results/x.zst", "captures"]
))  # fmt: skip
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_bytes_are_taken_or_refused_in_a_line(server: Server, data: bytes, name: str) -> None:
    files = session_tree("s1", a_record("s1", 1))
    if name == "captures":
        files = {k: v for k, v in files.items() if not k.startswith("captures")}
    said = server.says({S1: server.files({**files, name: data})})
    assert all(x.startswith(f"{S1}: ") and "\n" not in x for x in said)


@given(data=st.binary(min_size=1, max_size=120))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_tree_is_taken_or_refused(server: Server, data: bytes) -> None:
    oid = server.raw_tree(data)
    good = nest(session_tree("s1", a_record("s1", 1)))
    commit = server.commit({**good, "results": ("40000", oid)})
    said = server.says({S1: commit})
    assert said and all(x.startswith(f"{S1}: ") for x in said)
