"""What one clone forgot leaves the remote, and no other clone brings it back."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zstandard

from gitsession.actions import forget, gc
from gitsession.actions.forget import Request
from gitsession.errors import SessionError
from gitsession.git import refs
from gitsession.store import folder
from gitsession.store.lock import held
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin

SECRET = "the-word-nobody-may-read"


@pytest.fixture(params=["sha1", "sha256"])
def origin(tmp_path: Path, request: pytest.FixtureRequest) -> Scratch:
    """What everybody shares."""
    return make_origin(tmp_path / "origin.git", object_format=request.param)


@pytest.fixture
def ann(origin: Scratch, tmp_path: Path) -> Clone:
    """One clone."""
    return Clone.of(origin, tmp_path / "ann")


@pytest.fixture
def bob(origin: Scratch, tmp_path: Path) -> Clone:
    """Another one."""
    return Clone.of(origin, tmp_path / "bob")


def objects(repo: Scratch, *, reachable: bool) -> list[str]:
    """The objects that refs lead to, or all there are."""
    if reachable:
        return [line.split()[0] for line in repo.git("rev-list", "--objects", "--all").splitlines()]
    every = "--batch-check=%(objectname)", "--batch-all-objects"
    return repo.git("cat-file", *every).splitlines()


def holders(repo: Scratch, text: str, *, reachable: bool = True) -> list[str]:
    """The objects in which a text stands, compressed or not."""
    found = []
    for oid in objects(repo, reachable=reachable):
        kind = repo.git("cat-file", "-t", oid)
        if kind != "tree" and text.encode() in plain(repo, kind, oid):
            found.append(oid)
    return found


def plain(repo: Scratch, kind: str, oid: str) -> bytes:
    """The bytes of an object, unpacked where it is packed itself."""
    data = subprocess.run(
        ["git", "cat-file", kind, oid], cwd=repo.path, check=True, capture_output=True
    ).stdout
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    except zstandard.ZstdError:
        return data


def is_nowhere(repo: Scratch, text: str = SECRET) -> None:
    """Neither a ref nor a reflog leads to the text, and once git has cleaned up it is gone."""
    assert holders(repo, text) == []
    repo.git("fsck", "--strict", "--no-dangling")
    repo.git("gc", "-q", "--prune=now")
    assert holders(repo, text, reachable=False) == []


def test_the_search_finds_what_is_there(ann: Clone, origin: Scratch) -> None:
    ann.capture("s1", SECRET)
    ann.sync()
    # In the record, which is the note as well, and in the segment's lines.
    assert len(holders(origin, SECRET)) == 2
    assert len(holders(ann.scratch, SECRET, reachable=False)) == 2


def test_a_session_leaves_the_remote_and_every_clone(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    ann.capture("s1", SECRET, commit=ann.scratch.head())
    ann.capture("s2", "stays", commit=ann.scratch.head())
    ann.sync()
    bob.fetch(everything=True)
    done = forget.carry_out(ann.path, Request(name="s1"), remote="")
    assert (done.sessions, done.remote) == (("s1",), "origin")
    for repo in (ann.scratch, origin):
        is_nowhere(repo)
    bob.sync()
    is_nowhere(bob.scratch)
    assert ann.prompts() == bob.prompts() == {"s2": ["stays"]}
    assert ann.index_tree() == bob.index_tree()
    assert "s1" not in origin.git("for-each-ref")
    for clone in (ann, bob):
        clone.check()


def test_an_ordinary_sync_takes_off_the_remote_what_was_forgotten_here(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    ann.capture("s1", SECRET)
    ann.sync()
    bob.sync()
    forget.carry_out(ann.path, Request(name="s1"))
    is_nowhere(ann.scratch)
    assert holders(origin, SECRET)
    # Somebody else captures before she syncs.
    bob.capture("s2", "by bob")
    bob.sync()
    ann.sync()
    is_nowhere(origin)
    is_nowhere(ann.scratch)
    bob.sync()
    is_nowhere(bob.scratch)
    assert ann.prompts() == bob.prompts() == {"s2": ["by bob"]}


def test_a_push_alone_does_the_same(ann: Clone, origin: Scratch) -> None:
    ann.capture("s1", SECRET)
    ann.sync()
    forget.carry_out(ann.path, Request(name="s1"))
    assert ann.push() == []
    is_nowhere(origin)
    is_nowhere(ann.scratch)


@pytest.mark.parametrize("first", ["push", "sync"])
def test_an_old_clone_brings_nothing_back(
    ann: Clone, bob: Clone, origin: Scratch, first: str
) -> None:
    ann.capture("s1", SECRET)
    ann.sync()
    bob.fetch("s1")
    # Bob goes on, with captures that Ann never sees.
    bob.capture("s1", f"{SECRET} again")
    bob.capture("s2", "by bob")
    forget.carry_out(ann.path, Request(name="s1"), remote="")
    ann.capture("s3", "by ann")
    ann.sync()
    if first == "push":
        assert bob.push() == []
    else:
        bob.sync()
    is_nowhere(origin)
    is_nowhere(bob.scratch)
    ann.sync()
    is_nowhere(ann.scratch)
    assert ann.prompts() == bob.prompts() == {"s2": ["by bob"], "s3": ["by ann"]}
    assert ann.index_tree() == bob.index_tree()


def test_an_old_clone_with_nothing_but_a_session_to_push_is_refused(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    ann.capture("s1", "begun")
    ann.sync()
    bob.fetch("s1")
    bob.capture("s1", SECRET)
    # The index went out, and the session didn't.
    bob.git("push", "-q", "origin", refs.INDEX)
    bob.git("update-ref", refs.seen("origin", refs.INDEX), refs.INDEX)
    forget.carry_out(ann.path, Request(name="s1"), remote="")
    assert bob.push() == []
    is_nowhere(origin)
    is_nowhere(bob.scratch)


def test_one_capture_leaves_and_the_others_stay(ann: Clone, bob: Clone, origin: Scratch) -> None:
    ann.capture("s1", "before")
    capture = ann.capture("s1", SECRET)
    ann.capture("s1", "after")
    ann.sync()
    bob.fetch("s1")
    bob.capture("s1", "by bob")
    forget.carry_out(ann.path, Request(name=capture.id[:8]), remote="")
    is_nowhere(origin)
    is_nowhere(ann.scratch)
    bob.sync()
    is_nowhere(bob.scratch)
    is_nowhere(origin)
    ann.sync()
    whole = ["before", "", "after", "by bob"]
    assert ann.texts("s1") == bob.texts("s1") == whole
    assert ann.prompts() == bob.prompts() == {"s1": ["before", "after", "by bob"]}
    assert ann.index_tree() == bob.index_tree()
    ann.capture("s1", "still goes on")
    ann.sync()
    bob.sync()
    assert bob.texts("s1") == [*whole, "still goes on"]


def test_the_snapshots_of_a_session_go_with_any_part_of_it(ann: Clone, bob: Clone) -> None:
    capture = ann.capture("s1", SECRET)
    ann.capture("s2", "other")
    ann.sync()
    bob.fetch("s1")
    for clone in (ann, bob):
        for name in ("s1", "s2"):
            clone.git("update-ref", f"refs/snapshots/{name}", "HEAD")
    forget.carry_out(ann.path, Request(name=capture.id[:8]), remote="")
    bob.sync()
    for clone in (ann, bob):
        assert clone.git("for-each-ref", "--format=%(refname)", "refs/snapshots") == (
            "refs/snapshots/s2"
        )


def test_a_text_leaves_and_the_capture_stays(ann: Clone, bob: Clone, origin: Scratch) -> None:
    ann.capture("s1", "before")
    old = ann.capture("s1", f"the key is {SECRET} indeed")
    ann.sync()
    bob.fetch("s1")
    bob.capture("s1", f"bob knows {SECRET}, too")
    # Ann hasn't seen Bob's capture, but the remote has it.
    bob.sync()
    forget.carry_out(ann.path, Request(name="s1", text=SECRET), remote="")
    is_nowhere(origin)
    is_nowhere(ann.scratch)
    bob.sync()
    is_nowhere(bob.scratch)
    is_nowhere(origin)
    marker = "[REDACTED:forgotten-text]"
    whole = ["before", f"the key is {marker} indeed", f"bob knows {marker}, too"]
    for clone in (ann, bob):
        assert clone.texts("s1") == whole
        assert clone.prompts() == {"s1": whole}
        clone.check()
    assert old.id not in ann.git("cat-file", "-p", f"{refs.INDEX}:{note_of(ann)}")
    assert ann.index_tree() == bob.index_tree()


def note_of(clone: Clone) -> str:
    """Where the only note stands."""
    paths = clone.git("ls-tree", "-r", "--name-only", refs.INDEX).split()
    (found,) = (path for path in paths if not path.startswith("forgotten/"))
    return found


def test_an_emptied_and_a_cleaned_capture_meet(ann: Clone, bob: Clone, origin: Scratch) -> None:
    """An old clone empties what the tombstone names, and then takes what took its place."""
    ann.capture("s1", f"with {SECRET}")
    ann.sync()
    bob.fetch("s1")
    forget.carry_out(ann.path, Request(text=SECRET, all_sessions=True), remote="")
    bob.capture("s1", "goes on")
    bob.sync()
    ann.sync()
    whole = ["with [REDACTED:forgotten-text]", "goes on"]
    assert ann.texts("s1") == bob.texts("s1") == whole
    for repo in (ann.scratch, bob.scratch, origin):
        is_nowhere(repo)


def test_two_clones_forget_different_things(ann: Clone, bob: Clone, origin: Scratch) -> None:
    for name in ("s1", "s2", "s3"):
        ann.capture(name, f"{SECRET} {name}")
    ann.sync()
    bob.fetch(everything=True)
    forget.carry_out(ann.path, Request(name="s1"))
    forget.carry_out(bob.path, Request(name="s2"))
    ann.sync()
    bob.sync()
    ann.sync()
    assert ann.prompts() == bob.prompts() == {"s3": [f"{SECRET} s3"]}
    for repo in (ann.scratch, bob.scratch, origin):
        is_nowhere(repo, f"{SECRET} s1")
        is_nowhere(repo, f"{SECRET} s2")
    assert ann.index_tree() == bob.index_tree()


def test_a_server_that_lets_nothing_go_is_named(ann: Clone, origin: Scratch) -> None:
    ann.capture("s1", SECRET)
    ann.sync()
    hook = origin.path / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'this server keeps everything' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(SessionError, match="doesn't let go") as caught:
        forget.carry_out(ann.path, Request(name="s1"), remote="")
    assert "git session sync" in (caught.value.hint or "")
    # Here it is gone all the same, but for what the remote was seen to have.
    assert ann.prompts() == {}
    hook.unlink()
    ann.sync()
    is_nowhere(origin)
    is_nowhere(ann.scratch)


def test_without_a_remote_in_reach_nothing_is_forgotten(ann: Clone) -> None:
    ann.capture("s1", SECRET)
    ann.git("remote", "set-url", "origin", "file:///nowhere")
    with pytest.raises(SessionError, match="nothing was forgotten"):
        forget.carry_out(ann.path, Request(name="s1"), remote="")
    assert ann.prompts() == {"s1": [SECRET]}


def test_only_what_is_forgotten_is_pushed(ann: Clone, origin: Scratch) -> None:
    ann.capture("s1", SECRET)
    ann.sync()
    ann.capture("s2", "not to be shared yet")
    forget.carry_out(ann.path, Request(name="s1"), remote="")
    assert re.findall(r"refs/sessions/\S+", origin.git("for-each-ref")) == []


def test_a_session_that_only_the_remote_has_leaves_it(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    ann.capture("s1", SECRET)
    ann.sync()
    # Bob has the index alone.
    bob.sync()
    forget.carry_out(bob.path, Request(name="s1"), remote="")
    is_nowhere(origin)
    is_nowhere(bob.scratch)
    ann.sync()
    is_nowhere(ann.scratch)


def test_a_fetch_of_everything_does_not_keep_what_a_remote_still_has(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    ann.capture("s1", SECRET)
    ann.sync()
    bob.fetch("s1")
    forget.carry_out(ann.path, Request(name="s1"), remote="")
    # Somebody without our tool pushes it again.
    bob.git("push", "-q", "origin", "refs/sessions/s1")
    assert ann.fetch(everything=True) == ()
    is_nowhere(ann.scratch)
    with ann.open() as repo:
        exchange = ann.exchange(repo)
        exchange.fetch(everything=True)
        assert exchange.push().refs == ("refs/sessions/s1",)
    assert "s1" not in origin.git("for-each-ref", "refs/sessions")
    assert holders(origin, SECRET) == []


def test_an_archive_of_the_remote_loses_it_and_keeps_what_others_put_there(
    ann: Clone, bob: Clone, origin: Scratch
) -> None:
    ann.capture("s1", SECRET)
    ann.capture("s2", "of ann")
    ann.sync()
    bob.fetch(everything=True)
    gc.gc(ann.path, older_than=0)
    assert re.findall(r"refs/sessions/s", origin.git("for-each-ref")) == []
    # Bob puts one more into the same archive, before Ann forgets hers.
    bob.sync()
    bob.capture("s3", "of bob")
    bob.sync()
    gc.gc(bob.path, older_than=0)
    forget.carry_out(ann.path, Request(name="s1"), remote="")
    is_nowhere(origin)
    is_nowhere(ann.scratch)
    bob.sync()
    is_nowhere(bob.scratch)
    is_nowhere(origin)
    ann.fetch(everything=True)
    for clone in (ann, bob):
        assert (clone.texts("s1"), clone.texts("s2")) == ([], ["of ann"])
        assert clone.texts("s3") == ["of bob"]
        clone.check()


def test_the_worker_that_captures_meanwhile_is_waited_for(ann: Clone) -> None:
    ann.capture("s1", SECRET)
    with ann.open() as repo:
        lock = folder.home(repo.common_dir) / "lock"
    with ThreadPoolExecutor(1) as pool:
        with held(lock):
            done = pool.submit(forget.carry_out, ann.path, Request(name="s1"))
            ann.capture("s1", f"{SECRET} again")
        assert done.result().sessions == ("s1",)
    is_nowhere(ann.scratch)
