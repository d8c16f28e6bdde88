"""The work tree as a tree: everything that git would take, exactly, and nothing else touched."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitsession.errors import SessionError
from gitsession.git import worktree
from gitsession.git.inspect import listing
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.worktree import Taken
from tests.scratch import Scratch


def take(repo: Scratch, *, largest: int = worktree.LARGEST) -> Taken:
    """Take the state of a work tree, and look that git sees all as it was before."""
    with discover(repo.path) as found:
        side = found.common_dir / "side" / found.git_dir.name
        before = untouched(repo, found)
        taken = worktree.take(found, side, largest=largest)
        assert untouched(repo, found) == before
        return taken


def untouched(repo: Scratch, found: Plumbing) -> list[object]:
    """All that a snapshot must leave alone."""
    index = found.git_dir / "index"
    config = [path.read_bytes() for path in sorted(found.common_dir.glob("config*"))]
    return [
        index.read_bytes() if index.exists() else None,
        index.stat().st_mtime_ns if index.exists() else None,
        repo.git("for-each-ref"), repo.git("reflog", check=False), config,
        sorted(path.name for path in found.git_dir.iterdir() if path.name != "side"),
    ]  # fmt: skip


def files(repo: Scratch, taken: Taken) -> dict[str, tuple[str, bytes | None]]:
    """What a state holds: mode and content by path."""
    with discover(repo.path) as found:
        return {x.path: (x.mode, found.read(x.oid)) for x in listing(found, taken.tree)}


def names(repo: Scratch) -> list[str]:
    """The paths that the state of a work tree holds now."""
    return sorted(files(repo, take(repo)))


def nested(repo: Scratch, name: str, *, commit: bool = True) -> Scratch:
    """A repository inside of a work tree."""
    return Scratch.create(repo.path / name, commit=commit)


# -- what is in it --------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_all_that_is_not_ignored_is_kept_as_it_is(tmp_path: Path, form: str) -> None:
    repo = Scratch.create(tmp_path / "repo", object_format=form)
    repo.commit("more", {"gone": "x", "changed": "x", "staged": "x", "kept.log": "x"})
    repo.write(".gitignore", "*.log\nbuild/\n")
    repo.write("changed", "changed\n")
    repo.write("staged", "staged\n")
    repo.git("add", "staged")
    repo.write("staged", "and changed\n")
    repo.write('fresh/dé\nep/ "odd\\ name', "fresh\n")
    (repo.path / "gone").unlink()
    (repo.path / "run").write_text("#!/bin/sh\n")
    (repo.path / "run").chmod(0o755)
    (repo.path / "link").symlink_to("../no\nwhere")
    os.write(
        os.open(repo.path / os.fsdecode(b"by\xfftes"), os.O_CREAT | os.O_WRONLY, 0o644), b"\0\xff"
    )
    repo.write("x.log", "ignored")
    repo.write("build/x", "ignored")
    taken = take(repo)
    assert files(repo, taken) == {
        ".gitignore": ("100644", b"*.log\nbuild/\n"),
        "README": ("100644", b"hello\n"),
        "changed": ("100644", b"changed\n"),
        "kept.log": ("100644", b"x"),
        "staged": ("100644", b"and changed\n"),
        'fresh/dé\nep/ "odd\\ name': ("100644", b"fresh\n"),
        "run": ("100755", b"#!/bin/sh\n"),
        "link": ("120000", b"../no\nwhere"),
        os.fsdecode(b"by\xfftes"): ("100644", b"\0\xff"),
    }
    assert (taken.head, taken.branch, taken.left_out) == (repo.head(), "main", ())


def test_the_next_state_has_what_changed_since(scratch: Scratch) -> None:
    scratch.write("a", "1")
    first = take(scratch)
    assert take(scratch) == first
    scratch.write("a", "2")
    scratch.write("README", "changed")
    assert files(scratch, take(scratch))["a"] == ("100644", b"2")
    (scratch.path / "a").unlink()
    (scratch.path / "README").unlink()
    assert names(scratch) == []
    scratch.write("a", "1")
    scratch.git("checkout", "README")
    assert take(scratch).tree == first.tree


def test_files_become_folders_and_links_and_back(scratch: Scratch) -> None:
    scratch.commit("more", {"a": "x", "d/e/f": "x", "d/g": "x"})
    first = take(scratch)
    (scratch.path / "a").unlink()
    scratch.write("a/b", "x")
    scratch.git("rm", "-rq", "--cached", "d")
    scratch.git("reset", "-q")
    for name in ("d/e/f", "d/g"):
        (scratch.path / name).unlink()
    (scratch.path / "d/e").rmdir()
    (scratch.path / "d").rmdir()
    (scratch.path / "d").symlink_to("a")
    assert names(scratch) == ["README", "a/b", "d"]
    (scratch.path / "d").unlink()
    (scratch.path / "a/b").unlink()
    (scratch.path / "a").rmdir()
    for name in ("a", "d/e/f", "d/g"):
        scratch.write(name, "x")
    assert take(scratch).tree == first.tree


def test_what_comes_to_be_ignored_is_left_out_from_then_on(scratch: Scratch) -> None:
    scratch.write("a.log", "x")
    scratch.write("b.log", "x")
    scratch.git("add", "b.log")
    assert names(scratch) == ["README", "a.log", "b.log"]
    scratch.write(".gitignore", "*.log\n")
    assert names(scratch) == [".gitignore", "README", "b.log"]
    scratch.git("rm", "-q", "--cached", "b.log")
    assert names(scratch) == [".gitignore", "README"]
    scratch.git("add", "-f", "a.log")
    assert names(scratch) == [".gitignore", "README", "a.log"]


def test_a_conflict_is_kept_as_the_files_are(scratch: Scratch) -> None:
    scratch.git("checkout", "-q", "-b", "side")
    scratch.commit("side", {"README": "side\n", "both": "side\n"})
    scratch.git("checkout", "-q", "main")
    scratch.commit("main", {"README": "main\n"})
    scratch.git("rm", "-q", "README")
    scratch.commit("gone", {"both": "main\n"})
    scratch.git("merge", "side", check=False)
    found = files(scratch, take(scratch))
    assert found["README"] == ("100644", b"side\n")
    assert (found["both"][1] or b"").startswith(b"<<<<<<< HEAD\n")


def test_entries_that_only_announce_a_file(scratch: Scratch) -> None:
    scratch.write("soon", "soon\n")
    scratch.write("never", "x")
    scratch.git("add", "-N", "soon", "never")
    (scratch.path / "never").unlink()
    assert files(scratch, take(scratch))["soon"] == ("100644", b"soon\n")
    assert names(scratch) == ["README", "soon"]


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_files_that_git_was_told_not_to_look_at(scratch: Scratch, flag: str) -> None:
    scratch.commit("more", {"a": "x", "b": "x"})
    scratch.git("update-index", flag, "a", "b")
    scratch.write("a", "changed\n")
    assert files(scratch, take(scratch))["a"] == ("100644", b"changed\n")
    (scratch.path / "b").unlink()
    scratch.write("a", "again\n")
    found = files(scratch, take(scratch))
    assert found["a"] == ("100644", b"again\n")
    # A file that isn't to be in the work tree isn't missing there.
    assert ("b" in found) == (flag == "--skip-worktree")


@pytest.mark.parametrize("sparse_index", ["--sparse-index", "--no-sparse-index"])
def test_a_sparse_checkout_has_all_that_it_leaves_out(scratch: Scratch, sparse_index: str) -> None:
    scratch.commit("more", {f"{d}/{f}": f"{d}{f}" for d in ("in", "out") for f in "ab"})
    scratch.git("sparse-checkout", "set", "--cone", sparse_index, "in")
    assert not (scratch.path / "out").exists()
    scratch.write("in/a", "changed")
    scratch.write("in/fresh", "x")
    found = files(scratch, take(scratch))
    assert found["out/a"] == ("100644", b"outa")
    assert found["in/a"] == ("100644", b"changed")
    scratch.write("out/a", "there all the same")
    assert files(scratch, take(scratch))["out/a"] == ("100644", b"there all the same")
    scratch.git("sparse-checkout", "disable")
    assert names(scratch) == ["README", "in/a", "in/b", "in/fresh", "out/a", "out/b"]


# -- repositories inside --------------------------------------------------------------------


def test_repositories_inside_are_links(scratch: Scratch, tmp_path: Path) -> None:
    other = Scratch.create(tmp_path / "other")
    allow = ["-c", "protocol.file.allow=always"]
    scratch.git(*allow, "submodule", "--quiet", "add", str(other.path), "sub")
    scratch.git("commit", "-qm", "sub")
    inner, empty = nested(scratch, "deep/inner"), nested(scratch, "empty", commit=False)
    empty.write("x", "x")
    inner.write("x", "x")
    taken = take(scratch)
    found = {x.path: (x.mode, x.oid) for x in listing(discover(scratch.path), taken.tree)}
    assert found["deep/inner"] == (worktree.LINK, inner.head())
    assert found["sub"] == (worktree.LINK, other.head())
    assert sorted(found) == [".gitmodules", "README", "deep/inner", "sub"]
    assert taken.left_out == ("empty",)
    sub = Scratch(scratch.path / "sub")
    head = sub.commit("on", {"y": "y"})
    empty.commit("now", {"x": "x"})
    found = {x.path: (x.mode, x.oid) for x in listing(discover(scratch.path), take(scratch).tree)}
    assert found["sub"] == (worktree.LINK, head)
    assert found["empty"] == (worktree.LINK, empty.head())


def test_a_folder_becomes_a_repository_and_a_folder_again(scratch: Scratch) -> None:
    scratch.write("d/x", "x")
    scratch.write("d/e/y", "y")
    assert names(scratch) == ["README", "d/e/y", "d/x"]
    inner = nested(scratch, "d")
    found = {x.path: x.oid for x in listing(discover(scratch.path), take(scratch).tree)}
    assert (sorted(found), found["d"]) == (["README", "d"], inner.head())
    shutil.rmtree(scratch.path / "d" / ".git")
    assert names(scratch) == ["README", "d/README", "d/e/y", "d/x"]


def test_a_submodules_own_work_tree_is_found(scratch: Scratch, tmp_path: Path) -> None:
    other = Scratch.create(tmp_path / "other")
    allow = ["-c", "protocol.file.allow=always"]
    scratch.git(*allow, "submodule", "--quiet", "add", str(other.path), "sub")
    sub = Scratch(scratch.path / "sub")
    sub.write("x", "x")
    assert names(sub) == ["README", "x"]
    inner = scratch.path / ".git" / "modules" / "sub"
    assert worktree.at_git_dir(inner, inner).work_tree == sub.path


def test_a_linked_work_tree_has_a_state_of_its_own(scratch: Scratch, tmp_path: Path) -> None:
    scratch.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "li\nnked"))
    linked = Scratch(tmp_path / "li\nnked")
    linked.write("only here", "x")
    taken = take(linked)
    assert (taken.branch, sorted(files(linked, taken))) == ("other", ["README", "only here"])
    assert names(scratch) == ["README"]
    common = scratch.path / ".git"
    (git_dir,) = (common / "worktrees").iterdir()
    assert worktree.at_git_dir(git_dir, common).work_tree == linked.path
    assert worktree.at_git_dir(common, common).work_tree == scratch.path


def test_without_a_work_tree_there_is_no_state(scratch: Scratch, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    scratch.git("clone", "-q", "--bare", ".", str(bare))
    assert worktree.at_git_dir(bare, bare).work_tree is None
    with pytest.raises(SessionError, match="no work tree"):
        worktree.take(discover(bare), tmp_path / "side")


def test_before_the_first_commit(tmp_path: Path) -> None:
    repo = Scratch.create(tmp_path / "repo", commit=False)
    taken = take(repo)
    assert (taken.head, taken.branch, files(repo, taken)) == (None, "main", {})
    repo.write("a", "x")
    repo.write("b", "x")
    repo.git("add", "a")
    assert names(repo) == ["a", "b"]
    repo.git("checkout", "-q", "--orphan", "x")
    repo.commit("first")
    repo.git("checkout", "-q", "--detach")
    assert take(repo).branch is None


# -- what can't be kept, and what could go wrong -----------------------------------------------


def test_what_is_too_large_is_named_unless_it_is_tracked(scratch: Scratch) -> None:
    scratch.commit("large", {"tracked": "x" * 2000})
    scratch.write("tracked", "y" * 2000)
    scratch.write("large", "x" * 2000)
    scratch.write("grows", "x")
    taken = take(scratch, largest=1000)
    assert taken.left_out == ("large",)
    assert sorted(files(scratch, taken)) == ["README", "grows", "tracked"]
    scratch.write("grows", "x" * 2000)
    taken = take(scratch, largest=1000)
    assert taken.left_out == ("grows", "large")
    assert sorted(files(scratch, taken)) == ["README", "tracked"]
    scratch.write("grows", "less")
    assert sorted(files(scratch, take(scratch, largest=1000))) == ["README", "grows", "tracked"]


def test_what_is_no_file_is_passed_over(scratch: Scratch) -> None:
    os.mkfifo(scratch.path / "pipe")
    (scratch.path / "README").unlink()
    os.mkfifo(scratch.path / "README")
    assert names(scratch) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cant_be_read_is_named(scratch: Scratch) -> None:
    scratch.write("secret", "x").chmod(0)
    taken = take(scratch)
    assert (taken.left_out, sorted(files(scratch, taken))) == (("secret",), ["README"])


@pytest.mark.parametrize("required", ["true", "false"])
def test_a_filter_that_fails_spoils_nothing(scratch: Scratch, required: str) -> None:
    scratch.git("config", "filter.bad.clean", "false")
    scratch.git("config", "filter.bad.required", required)
    scratch.git("config", "filter.good.clean", "tr a-z A-Z")
    scratch.write(".gitattributes", "*.bad filter=bad\n*.good filter=good\n")
    for name in ("a.bad", "b.bad", "a.good", "z"):
        scratch.write(name, "text\n")
    found = files(scratch, take(scratch))
    assert found["a.bad"] == found["b.bad"] == found["z"] == ("100644", b"text\n")
    assert found["a.good"] == ("100644", b"TEXT\n")


def test_line_ends_are_as_git_add_has_them(scratch: Scratch) -> None:
    scratch.git("config", "core.autocrlf", "true")
    scratch.git("config", "core.safecrlf", "true")
    (scratch.path / "a").write_bytes(b"one\r\ntwo\n")
    assert files(scratch, take(scratch))["a"] == ("100644", b"one\ntwo\n")


def test_a_file_system_without_modes_and_links(scratch: Scratch) -> None:
    scratch.commit("more", {"run": "x"})
    scratch.git("update-index", "--chmod=+x", "run")
    scratch.git("config", "core.fileMode", "false")
    scratch.write("run", "y")
    scratch.write("fresh", "x").chmod(0o755)
    found = files(scratch, take(scratch))
    assert (found["run"][0], found["fresh"][0]) == ("100755", "100644")


def test_no_program_of_the_users_runs(scratch: Scratch, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman"):
        hook = scratch.path / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >>'{ran}'\n")
        hook.chmod(0o755)
    scratch.git("config", "core.fsmonitor", ".git/hooks/fsmonitor-watchman")
    scratch.git("config", "core.splitIndex", "true")
    scratch.git("status")
    ran.unlink(missing_ok=True)
    scratch.write("a", "x")
    with discover(scratch.path) as found:
        worktree.take(found, found.common_dir / "side")
    assert not ran.exists()


@pytest.mark.parametrize("harm", ["torn", "locked", "gone", "of another"])
def test_an_index_of_ours_that_is_spoilt_is_made_anew(scratch: Scratch, harm: str) -> None:
    scratch.write("a", "x")
    first = take(scratch)
    (side,) = (scratch.path / ".git" / "side").glob(".git")
    if harm == "torn":
        side.write_bytes(side.read_bytes()[:50])
    elif harm == "locked":
        side.with_name(side.name + ".lock").touch()
    elif harm == "gone":
        side.unlink()
    else:
        side.write_bytes(b"nonsense")
    scratch.write("b", "x")
    scratch.write("README", "changed")
    assert sorted(files(scratch, take(scratch))) == ["README", "a", "b"]
    (scratch.path / "b").unlink()
    scratch.git("checkout", "README")
    assert take(scratch).tree == first.tree


def test_a_change_right_after_the_users_index_was_written_is_seen(scratch: Scratch) -> None:
    for number in range(10):
        scratch.write("README", f"{number}aaaa\n")
        scratch.git("add", "README")
        scratch.write("README", f"{number}bbbb\n")
        assert files(scratch, take(scratch))["README"][1] == b"%dbbbb\n" % number


def test_what_was_pruned_since_is_written_again(scratch: Scratch) -> None:
    scratch.write("d/a", "x")
    first = take(scratch)
    scratch.git("gc", "-q", "--prune=now")
    with discover(scratch.path) as found:
        assert found.resolve(first.tree) is None
    scratch.write("b", "x")
    found_files = files(scratch, take(scratch))
    assert found_files["d/a"] == ("100644", b"x")
    assert sorted(found_files) == ["README", "b", "d/a"]


def test_nothing_is_missing_in_a_partial_clone(scratch: Scratch, tmp_path: Path) -> None:
    scratch.commit("old", {"a": "1"})
    scratch.commit("new", {"a": "2"})
    scratch.git("config", "uploadpack.allowFilter", "true")
    words = ["git", "clone", "-q", "--filter=blob:none", f"file://{scratch.path}", "clone"]
    subprocess.run(words, cwd=tmp_path, check=True)
    clone = Scratch(tmp_path / "clone")
    clone.git("sparse-checkout", "set", "--cone", "none")
    clone.write("b", "x")
    with discover(clone.path) as found:
        taken = worktree.take(found, found.common_dir / "side")
        assert sorted(x.path for x in listing(found, taken.tree)) == ["README", "a", "b"]
