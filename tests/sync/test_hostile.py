"""A remote that holds anything: a warning names it, the good rest arrives, and ours stays.

Each test has an honest clone with a capture that isn't pushed yet, somebody's good
session on the remote, and something bad beside it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from gitsession.git import refs
from gitsession.ids import CaptureId
from gitsession.store import codec, records, tombstones
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin
from tests.sync.hostile import FILE, FOLDER, LINK, MODULE, PROGRAM, Evil, record

PROGRAM_PATH = Path(sys.executable).with_name("git-session")
OURS = "0urs"
ESC = "\x1b]0;owned\x07\x1b[31mred\u202etxt"
_MEMORY = 400 << 20


@pytest.fixture
def origin(tmp_path: Path) -> Scratch:
    return make_origin(tmp_path / "origin.git")


@pytest.fixture
def evil(origin: Scratch, tmp_path: Path) -> Evil:
    """The remote, with a good session of somebody's."""
    friend = Clone.of(origin, tmp_path / "friend")
    friend.capture("good", "good", commit=friend.scratch.head())
    friend.sync()
    return Evil(origin)


@pytest.fixture
def ann(evil: Evil, tmp_path: Path) -> Iterator[Clone]:
    """The honest clone; whatever happened, its own is there and nothing else was written."""
    clone = Clone.of(evil.origin, tmp_path / "ann")
    clone.capture(OURS, "mine", commit=clone.scratch.head())
    before = pictures(clone)
    yield clone
    assert "mine" in clone.texts(OURS)
    assert "mine" in clone.prompts()[OURS]
    assert pictures(clone) == before
    assert not (tmp_path / "owned").exists()


def pictures(clone: Clone) -> dict[str, object]:
    """All that fetching sessions may not touch: branches, the work tree, git's own files."""
    places = (*refs_kept(), "gitsession", "objects", "logs")
    common = clone.path / ".git"
    return {
        "refs": clone.git("for-each-ref", "refs/heads", "refs/remotes", "refs/tags"),
        "status": clone.git("--no-optional-locks", "status", "--porcelain", "--ignored"),
        "files": sorted(p.name for p in clone.path.parent.iterdir()),
        "git": sorted(
            (str(p.relative_to(common)), p.read_bytes() if p.is_file() else b"")
            for p in common.rglob("*")
            if not str(p.relative_to(common)).startswith(places)
        ),
    }


def refs_kept() -> tuple[str, ...]:
    """Where fetched sessions are to be."""
    return (
        "refs/sessions", "refs/notes", "refs/session-remotes", "packed-refs", "refs/gitsession",
    )  # fmt: skip


def run(clone: Clone, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the real program with little memory; it ends as programs of ours do."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))

    done = subprocess.run(
        [str(PROGRAM_PATH), *words], cwd=clone.path, capture_output=True, text=True,
        errors="surrogateescape", check=False, preexec_fn=bound, timeout=120,
        env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode in (0, 1, 3), done.stderr
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert all(c >= " " or c in "\n\t" for c in said), repr(said)
    assert not any("\x7f" <= c < "\xa0" or c in "\u202e\u2066" for c in said), repr(said)
    if done.returncode:
        assert done.stderr.splitlines()[-1].startswith(("error: ", "hint: "))
    return done


def everywhere(clone: Clone) -> str:
    """Fetch all, sync and look, as a person does; gives back what the fetch warned of."""
    first = run(clone, "fetch", "--all")
    run(clone, "sync")
    run(clone, "sync", "--json")
    run(clone, "log", "--all")
    run(clone, "log", "--all", "--json")
    run(clone, "show", "HEAD")
    assert "good" in run(clone, "show", "--raw", "good").stdout
    assert clone.prompts()["good"] == ["good"]
    return first.stderr


# -- the index --------------------------------------------------------------------------------

SOME = "ab" * 20
LINES = {
    "no JSON": b"{]\n",
    "wrong types": b'{"v":1,"id":[],"session":7,"seq":"x","kind":9}\n',
    "a list": b"[" * 5000 + b"]" * 5000 + b"\n",
    "deep": b'{"v":1,"x":' + b'{"a":' * 5000 + b"1" + b"}" * 5001 + b"\n",
    "huge number": b'{"v":1,"x":' + b"9" * 4000 + b"}\n",
    "later version": b'{"v":99,"session":"s","what":"ever"}\n',
    "long": b'{"v":1,"x":"' + b"a" * (2 << 20) + b'"}\n',
    "no UTF-8": b'{"v":1,"x":"\xff\xfe"}\n',
    "controls": ESC.encode() + b"\n",
    "no newline": b"\0\0\0",
    "empty": b"",
    "lies": records.encode(
        record("../../../owned", seq=10**15, commit="f" * 40, prompt=ESC, branch="--x")
    ),
    "about ours": records.encode(record(OURS, id=CaptureId("9" * 40), seq=-5, captured_at="~")),
    "odd moments": records.encode(record("odd", captured_at=ESC, ended_at="9" * 400)),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_that_are_no_records(ann: Clone, evil: Evil, name: str) -> None:
    head = ann.scratch.head()
    evil.index({f"{SOME[:2]}/{SOME[2:]}": LINES[name], f"{head[:2]}/{head[2:]}": LINES[name]})
    # The note of HEAD held somebody's good record, which the session brings back.
    run(ann, "fetch", "--all")
    run(ann, "reindex")
    everywhere(ann)


def test_a_note_with_very_many_records(ann: Clone, evil: Evil) -> None:
    lines = (records.encode(record("many", seq=n)) for n in range(1, 50_000))
    evil.index({f"{SOME[:2]}/{SOME[2:]}": b"\n".join(lines) + b"\n"})
    assert "warning" not in everywhere(ann)


def test_files_that_are_none_of_an_index(ann: Clone, evil: Evil) -> None:
    blob = evil.blob(b"x\n")
    inner = evil.tree((FILE, b"config", blob))
    evil.index_tree(
        (LINK, b"link", evil.blob(b"/etc/passwd")),
        (MODULE, b"module", evil.tip("refs/heads/main")),
        (PROGRAM, b"program", blob), (FOLDER, b".git", inner), (FOLDER, b"..", inner),
        (FOLDER, b".GIT", inner), (FILE, b"back\\slash", blob), (FILE, b"new\nline", blob),
        (FILE, b"--upload-pack=x", blob), (FILE, ESC.encode(), blob), (FILE, b"\xff\xfe", blob),
        (FILE, b"a/b", blob), (FILE, b"x" * 300, blob),
    )  # fmt: skip
    said = everywhere(ann)
    for name in ("link", "module", "program", "'.git'", "'..'", "'.GIT'",
                 "back", "new", "--upload-pack=x", "owned", "udcff", "xxx"):  # fmt: skip
        assert name in said, name
    names = ann.git("ls-tree", "-r", "--name-only", refs.INDEX).splitlines()
    assert all(len(name) == 41 for name in names), names


def test_folders_that_hold_themselves_many_times(ann: Clone, evil: Evil) -> None:
    tree = evil.tree((FILE, b"f", evil.blob(b"x")))
    for _ in range(9):
        tree = evil.tree(*((FOLDER, b"%d" % n, tree) for n in range(10)))
    evil.index_tree((FOLDER, b"bomb", tree))
    evil.session("refs/sessions/bomb", (FOLDER, b"results", tree))
    said = everywhere(ann)
    assert "bomb" in said
    assert "refs/sessions/bomb is left out" in said


def test_files_of_the_index_beyond_measure(ann: Clone, evil: Evil) -> None:
    large = b"\n" * (15 << 20)
    evil.index({f"{n:02x}/{SOME[2:]}": large + b"%d" % n for n in range(6)})
    evil.index({f"ff/{SOME[2:]}": b"x" * (60 << 20), "forgotten/x": b" " * (60 << 20)})
    said = everywhere(ann)
    assert f"ff/{SOME[2:]}" in said
    assert "forgotten/x" in said


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
def test_an_index_that_is_no_commit(ann: Clone, evil: Evil, kind: str) -> None:
    evil.point(refs.INDEX, odd_object(evil, kind))
    done = run(ann, "fetch", "--all")
    assert "refs/notes/sessions" in done.stderr
    assert "good" in run(ann, "show", "--raw", "good").stdout
    run(ann, "sync")


def odd_object(evil: Evil, kind: str) -> str:
    blob = evil.blob(b"tree x\n\n")
    if kind == "blob":
        return blob
    if kind == "tree":
        return evil.tree((FILE, b"session.json", evil.blob(b'{"v":1,"session":"odd","agent":"a"}')))
    name = f"tag-{len(evil.origin.git('tag').split())}"
    evil.origin.git("tag", "-a", "-m", "x", name, "refs/sessions/good")
    oid = evil.tip(f"refs/tags/{name}")
    evil.origin.git("update-ref", "-d", f"refs/tags/{name}")
    return oid


# -- sessions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
@pytest.mark.parametrize("name", ["odd", OURS])
def test_a_session_that_is_no_commit(ann: Clone, evil: Evil, kind: str, name: str) -> None:
    evil.point(f"refs/sessions/{name}", odd_object(evil, kind))
    assert f"refs/sessions/{name} is left out" in everywhere(ann)


def test_files_that_are_none_of_a_session(ann: Clone, evil: Evil) -> None:
    blob = evil.blob(b"x")
    inner = evil.tree((FILE, b"config", blob))
    odd = [
        (LINK, b"results", evil.blob(b"/etc")), (MODULE, b"m", evil.tip("refs/heads/main")),
        (PROGRAM, b"program", blob), (FOLDER, b"..", inner), (FOLDER, b".git", inner),
        (FOLDER, b".GIT", inner), (FILE, b"a\\b", blob), (FILE, b"a\nb", blob),
        (FILE, b"--upload-pack=x", blob), (FILE, ESC.encode(), blob), (FILE, b"\xff", blob),
        (FILE, b"a/b", blob),
    ]  # fmt: skip
    for number, entry in enumerate(odd):
        evil.session(f"refs/sessions/odd{number}", entry)
    said = everywhere(ann)
    for number, entry in enumerate(odd):
        assert f"refs/sessions/odd{number} is left out" in said, entry
    assert "odd" not in ann.git("for-each-ref", "refs/sessions")


HEADS = {
    "another": b'{"v":1,"session":"good","agent":"a"}',
    "types": b'{"v":"1","session":[],"agent":{}}',
    "deep": b'{"v":1,"session":"odd","agent":"a","x":' + b"[" * 9999 + b"]" * 9999 + b"}",
    "empty": b"",
    "controls": ESC.encode(),
    "huge": b" " * (600 << 20),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_session_with_an_odd_head(ann: Clone, evil: Evil, name: str) -> None:
    evil.session("refs/sessions/odd", head=HEADS[name])
    assert "refs/sessions/odd is left out" in everywhere(ann)


NAMES = ["--upload-pack=x", "-c", "\u202eevil", "ünï", "x;id", "$(id)", "a/b",
         "`x`", "archive/2026-01", "archive/--x"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_of_refs(ann: Clone, evil: Evil, name: str) -> None:
    ref = f"refs/sessions/{name}"
    evil.session("refs/heads/tmp")
    evil.point(ref, evil.tip("refs/heads/tmp"))
    evil.origin.git("update-ref", "-d", "refs/heads/tmp")
    assert "warning: origin: " in everywhere(ann)


def test_a_folder_where_a_session_was(ann: Clone, evil: Evil) -> None:
    evil.session("refs/sessions/s1")
    run(ann, "fetch", "--all")
    evil.origin.git("update-ref", "-d", "refs/sessions/s1")
    evil.session("refs/sessions/s1/x")
    assert "refs/sessions/s1/x is left out" in everywhere(ann)


def test_records_that_lie_about_their_number(ann: Clone, evil: Evil) -> None:
    lie = evil.captures(record(OURS, seq=999_999_999))
    head = evil.blob(b'{"agent":"claude-code","session":"%s","v":1}\n' % OURS.encode())
    tree = evil.tree((FOLDER, b"captures", lie), (FILE, b"session.json", head))
    evil.point(f"refs/sessions/{OURS}", evil.commit(tree))
    assert f"refs/sessions/{OURS} is left out" in everywhere(ann)
    ann.capture(OURS, "more")
    assert ann.texts(OURS) == ["mine", "more"]


def test_another_history_of_our_session_is_joined(ann: Clone, evil: Evil) -> None:
    ann.capture(OURS, "more")
    evil.session(f"refs/sessions/{OURS}")
    everywhere(ann)
    assert sorted(ann.texts(OURS)) == ["mine", "more", "text"]


def test_a_push_that_can_never_be_merged_ends_soon(ann: Clone, evil: Evil) -> None:
    evil.point(f"refs/sessions/{OURS}", evil.commit(evil.tree()))
    ann.capture("another", "another")
    done = run(ann, "sync")
    assert done.returncode == 1
    assert "session.json" in done.stderr
    assert "another" in evil.origin.git("for-each-ref", "refs/sessions")


# -- contents ---------------------------------------------------------------------------------

SEGMENTS = {
    "no zstd": b"nothing of the kind",
    "cut": codec.pack(b"text\n" * 9999)[:-9],
    "bomb": zstandard.ZstdCompressor(level=19).compress(bytes(1 << 30)),
    "controls": codec.pack(json.dumps(ESC).encode() + b"\n" + ESC.encode() + b"\n"),
    "deep": codec.pack(b"[" * 99999 + b"\n"),
    "empty": b"",
}


@pytest.mark.parametrize("name", SEGMENTS)
def test_segments(ann: Clone, evil: Evil, name: str) -> None:
    captures = evil.captures(record("odd"), segment=SEGMENTS[name])
    head = evil.blob(b'{"agent":"claude-code","session":"odd","v":1}\n')
    tree = evil.tree((FOLDER, b"captures", captures), (FILE, b"session.json", head))
    evil.point("refs/sessions/odd", evil.commit(tree))
    everywhere(ann)
    run(ann, "show", "odd")
    run(ann, "turns", "odd")
    run(ann, "verify")


# -- forgetting, and what servers say ---------------------------------------------------------


def test_forgetting_what_was_never_pushed_is_told(ann: Clone, evil: Evil) -> None:
    ann.capture("secret", "never pushed")
    stone = tombstones.Tombstone(v=1, session=record("secret").session)
    evil.index({"forgotten/secret": tombstones.encode([stone])})
    said = everywhere(ann)
    assert "session 'secret' was forgotten" in said
    assert "never been pushed" in said
    assert "secret" not in ann.git("for-each-ref", "refs/sessions")


def test_what_a_server_says_is_only_shown(ann: Clone, evil: Evil) -> None:
    hook = evil.origin.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nprintf '\\033]0;owned\\007error: no \\033[31m\\n' >&2\nexit 1\n")
    hook.chmod(0o755)
    for _ in range(3):
        assert run(ann, "push").returncode == 1
    assert "\x1b" not in (ann.path / ".git/gitsession/notice").read_text()
