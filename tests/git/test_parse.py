"""Git's own formats are understood, whatever is in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitsession.errors import Unreadable
from gitsession.git.inspect import changes
from gitsession.git.parse import (
    clean_ident,
    parse_commit,
    parse_patch,
    parse_path,
    parse_signature,
    parse_tree,
)
from gitsession.git.plumbing import discover
from gitsession.git.repository import FileChange, Signature
from gitsession.ids import Oid
from tests.scratch import Scratch

ZERO = Oid("0" * 40)


def changed(scratch: Scratch, old: str | None, new: str, *paths: str) -> dict[str, FileChange]:
    """What changed between two commits, by path."""
    with discover(scratch.path) as repo:
        found = changes(repo, Oid(old) if old else None, Oid(new), paths)
    return {change.path: change for change in found}


# -- patches of the real git ----------------------------------------------------------------


def test_a_root_commit_adds_all_its_lines(scratch: Scratch) -> None:
    found = changed(scratch, None, scratch.head())
    assert found == {"README": FileChange(path="README", added=("hello",))}


def test_lines_that_look_like_headers_are_lines(scratch: Scratch) -> None:
    old = scratch.commit("a", {"sql": "-- a comment\nkept\n"})
    new = scratch.commit(
        "b", {"sql": "++ b/file\nkept\n@@ -1 +1 @@\n+++ x\n--- y\ndiff --git a b\n"}
    )
    (change,) = changed(scratch, old, new).values()
    assert change.removed == ("-- a comment",)
    assert change.added == ("++ b/file", "@@ -1 +1 @@", "+++ x", "--- y", "diff --git a b")


@pytest.mark.parametrize(
    "name",
    ["with space", "tab\tname", 'q"uote', "back\\slash", "new\nline", "é", "日本", " lead", "-dash",
     "a b/c d", "trail ", "\x01\x7f", "*", "[x]", ":(top)"],
)  # fmt: skip
def test_any_name_comes_back_as_it_is(scratch: Scratch, name: str) -> None:
    old = scratch.head()
    new = scratch.commit("odd", {name: "said\n"})
    assert changed(scratch, old, new) == {name: FileChange(path=name, added=("said",))}
    assert changed(scratch, old, new, name) == changed(scratch, old, new)


def test_only_the_asked_for_files_are_compared(scratch: Scratch) -> None:
    old = scratch.head()
    new = scratch.commit("three", {"a": "1\n", "ab": "2\n", "dir/a": "3\n"})
    assert list(changed(scratch, old, new, "a")) == ["a"]
    assert list(changed(scratch, old, new, *(f"no{i}" for i in range(600)), "a")) != []


def test_a_deleted_file_is_known_by_its_old_name(scratch: Scratch) -> None:
    old = scratch.head()
    scratch.git("rm", "-q", "README")
    new = scratch.commit("gone")
    assert changed(scratch, old, new) == {"README": FileChange(path="README", removed=("hello",))}


def test_a_renamed_file_is_two_changes(scratch: Scratch) -> None:
    old = scratch.head()
    scratch.git("mv", "README", "README.md")
    new = scratch.commit("moved")
    assert set(changed(scratch, old, new)) == {"README", "README.md"}


def test_binary_files_and_mode_changes_have_no_lines(scratch: Scratch) -> None:
    old = scratch.head()
    (scratch.path / "image").write_bytes(b"\0\1\2\n" * 20)
    (scratch.path / "README").chmod(0o755)
    scratch.git("add", "-A")
    new = scratch.commit("binary")
    assert changed(scratch, old, new) == {}


def test_no_final_newline_is_no_line(scratch: Scratch) -> None:
    old = scratch.commit("a", {"f": "one\ntwo"})
    new = scratch.commit("b", {"f": "one\ntwo\nthree"})
    assert changed(scratch, old, new)["f"].added == ("two", "three")


def test_carriage_returns_and_bad_bytes_stay_in_lines(scratch: Scratch) -> None:
    old = scratch.head()
    (scratch.path / "f").write_bytes(b"dos\r\n\xff\xfe bad\n\x0c\x0b\x85\n")
    scratch.git("add", "-A")
    new = scratch.commit("bytes")
    assert changed(scratch, old, new)["f"].added[0] == "dos\r"
    assert len(changed(scratch, old, new)["f"].added) == 3


def test_the_users_diff_settings_change_nothing(scratch: Scratch) -> None:
    settings = {
        "diff.mnemonicPrefix": "true", "diff.noprefix": "true", "color.ui": "always",
        "core.quotePath": "true", "diff.renames": "copies", "diff.external": "false",
        "diff.context": "9", "diff.algorithm": "histogram", "diff.srcPrefix": "x/",
        "diff.wsErrorHighlight": "all", "diff.colorMoved": "zebra",
    }  # fmt: skip
    for name, value in settings.items():
        scratch.git("config", name, value)
    scratch.write(".gitattributes", "*.up diff=up\n")
    scratch.git("config", "diff.up.textconv", "tr a-z A-Z <")
    old = scratch.head()
    new = scratch.commit("é", {"é": "said\n", "x.up": "low\n"})
    found = changed(scratch, old, new, "é", "x.up")
    assert {path: change.added for path, change in found.items()} == {
        "é": ("said",), "x.up": ("low",)
    }  # fmt: skip


def test_a_submodule_has_no_lines(scratch: Scratch, tmp_path: Path) -> None:
    other = Scratch.create(tmp_path / "other")
    scratch.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.path), "sub"
    )
    old = scratch.head()
    new = scratch.commit("with a submodule")
    assert set(changed(scratch, old, new)) == {".gitmodules"}


# -- pure -----------------------------------------------------------------------------------


@given(st.binary())
def test_any_bytes_make_a_list_of_changes(patch: bytes) -> None:
    assert isinstance(parse_patch(patch), list)


@given(st.lists(st.binary().filter(lambda x: b"\n" not in x), min_size=1))
def test_all_added_lines_come_back(lines: list[bytes]) -> None:
    body = b"".join(b"+" + line + b"\n" for line in lines)
    patch = b"diff --git f f\n--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n" + body
    (change,) = parse_patch(patch)
    assert change.added == tuple(line.decode("utf-8", "replace") for line in lines)


@pytest.mark.parametrize(
    ("quoted", "path"),
    [
        (b"plain", "plain"),
        (rb'"a\"b"', 'a"b'),
        (rb'"a\\b"', "a\\b"),
        (rb'"a\\nb"', "a\\nb"),
        (rb'"a\nb"', "a\nb"),
        (rb'"\303\251"', "é"),
        (rb'"\377"', "\udcff"),
        (b'"', '"'),
    ],
)
def test_paths_are_unquoted(quoted: bytes, path: str) -> None:
    assert parse_path(quoted) == path


@pytest.mark.parametrize(
    ("line", "who"),
    [
        ("Ann B <a@b> 12 +0100", Signature(name="Ann B", email="a@b", at=12, offset="+0100")),
        (" <> 12 +0000", Signature(name="", email="", at=12)),
        ("<a@b> 12 -0130", Signature(name="", email="a@b", at=12, offset="-0130")),
        ("Ann <a@b> 12", Signature(name="Ann", email="a@b", at=12)),
        ("Ann <a@b> -12 +0000", Signature(name="Ann", email="a@b", at=-12)),
        ("Ann > <a@b> 12 +0000", Signature(name="Ann >", email="a@b", at=12)),
        ("nonsense", Signature(name="nonsense", email="", at=0)),
    ],
)
def test_signatures_are_understood(line: str, who: Signature) -> None:
    assert parse_signature(line) == who


@given(st.text())
def test_any_text_is_some_signature_and_some_identity(text: str) -> None:
    assert isinstance(parse_signature(text), Signature)
    assert clean_ident(text) == clean_ident(clean_ident(text)) != ""


def test_a_signed_commit_with_extra_headers_is_understood() -> None:
    data = (
        b"tree " + b"1" * 40 + b"\nparent " + b"2" * 40 + b"\nparent " + b"3" * 40
        + b"\nauthor A <a@b> 1 +0000\ncommitter C <c@d> 2 +0000\nencoding latin1"
        + b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n parent x\n tree y\n -----END\n"
        + b"\nsubject \xff\n\nbody\n"
    )  # fmt: skip
    commit = parse_commit(ZERO, data)
    assert commit.tree == "1" * 40
    assert commit.parents == (Oid("2" * 40), Oid("3" * 40))
    assert (commit.author.name, commit.committer.name) == ("A", "C")
    assert (commit.subject, commit.message) == ("subject �", "subject �\n\nbody\n")


@given(st.binary())
def test_any_bytes_are_a_commit_or_a_clear_error(data: bytes) -> None:
    try:
        parse_commit(ZERO, data)
    except Unreadable:
        return


names = st.binary(min_size=1).filter(lambda x: b"\0" not in x)


@given(st.lists(st.tuples(names, st.binary(min_size=20, max_size=20))))
def test_all_entries_of_a_tree_come_back(entries: list[tuple[bytes, bytes]]) -> None:
    data = b"".join(b"100644 " + name + b"\0" + oid for name, oid in entries)
    found = list(parse_tree(data, 20))
    assert [(e.path.encode("utf-8", "surrogateescape"), bytes.fromhex(e.oid)) for e in found] == (
        entries
    )


@given(st.binary())
def test_any_bytes_are_a_tree_or_a_clear_error(data: bytes) -> None:
    try:
        list(parse_tree(data, 20))
    except Unreadable:
        return
