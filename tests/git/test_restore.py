"""A state is put back exactly, as a whole or not at all, and nothing else is touched."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gitsession.errors import SessionError
from gitsession.git import restore, worktree
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.putback import Plan, plan
from gitsession.git.repository import Listed
from gitsession.ids import Oid
from tests.scratch import Scratch

Picture = dict[str, tuple[str, bytes]]
"""What is in a work tree: kind and content by path."""


class Tree:
    """A work tree whose states are taken and put back."""

    def __init__(self, repo: Plumbing) -> None:
        assert repo.work_tree is not None
        self.repo = repo
        self.top = repo.work_tree
        self.place = repo.common_dir / "restoring" / "main"

    def take(self) -> Oid:
        """The present state."""
        return worktree.take(self.repo, self.repo.common_dir / "side" / "main").tree

    def check(self, target: Oid, *paths: str) -> restore.Checked:
        """Look whether a state can be put back."""
        wanted = restore.plan_restore(self.repo, target, self.take(), paths)
        return restore.check(self.repo, wanted, self.place)

    def put_back(self, target: Oid, *paths: str) -> list[str]:
        """Put a state back."""
        left = restore.apply(self.repo, self.check(target, *paths), self.place)
        assert not self.place.exists()
        return left

    def picture(self) -> Picture:
        """Everything that is on disk but git's own."""
        found: Picture = {}
        for folder, names, files in os.walk(self.top):
            if folder == str(self.top):
                names.remove(".git")
            links = [name for name in names if (Path(folder) / name).is_symlink()]
            for name in (*files, *links):
                path = Path(folder) / name
                found[path.relative_to(self.top).as_posix()] = look_at(path)
        return found


def look_at(path: Path) -> tuple[str, bytes]:
    """A file's kind and content."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "link", os.fsencode(path.readlink())
    if not stat.S_ISREG(mode):
        return "other", b""
    return ("program" if mode & stat.S_IXUSR else "file"), path.read_bytes()


@pytest.fixture
def tree(scratch: Scratch) -> Iterator[Tree]:
    with discover(scratch.path) as repo:
        yield Tree(repo)


# -- a model of random edits ----------------------------------------------------------------

NAMES = ["a", "b", "A b", "é\n", "-d", os.fsdecode(b"\xff"), "x.ign"]
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
CONTENTS = st.sampled_from([b"", b"one\n", b"two\r\n", b"\0\xff", b"x" * 5000])
EDITS = st.one_of(
    st.tuples(st.just("write"), PATHS, CONTENTS),
    st.tuples(st.just("write"), PATHS, CONTENTS),
    st.tuples(st.just("delete"), PATHS, st.none()),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.just("chmod"), PATHS, st.none()),
    st.tuples(st.just("link"), PATHS, PATHS),
    st.tuples(st.just("folder"), PATHS, st.none()),
    st.tuples(st.just("nested"), PATHS, st.none()),
    st.tuples(st.just("add"), PATHS, st.none()),
    st.tuples(st.just("commit"), PATHS, st.none()),
)
Edit = tuple[str, str, object]


def edit(top: Path, change: Edit, seed: Path) -> None:
    """Do to a work tree what somebody might."""
    kind, name, more = change
    path = top / name
    match kind:
        case "add":
            subprocess.run(["git", "add", "-A"], cwd=top, capture_output=True, check=False)
        case "commit":
            subprocess.run(
                ["git", "commit", "-qam", "x"], cwd=top, capture_output=True, check=False
            )
        case "delete":
            clear(top, path)
        case "chmod" if path.is_file() and not path.is_symlink():
            path.chmod(path.stat().st_mode ^ 0o111)
        case "rename" if os.path.lexists(path) and isinstance(more, str):
            target = top / more
            if path != target and path not in target.parents and target not in path.parents:
                make_room(top, target)
                path.rename(target)
        case "write" if isinstance(more, bytes):
            make_room(top, path)
            path.write_bytes(more)
        case "link" if isinstance(more, str):
            make_room(top, path)
            path.symlink_to(more)
        case "folder":
            make_room(top, path)
            path.mkdir()
        case "nested":
            make_room(top, path)
            shutil.copytree(seed, path)


def make_room(top: Path, path: Path) -> None:
    """Remove what is at a path, and what above it is no folder."""
    for up in reversed(path.relative_to(top).parents):
        if (top / up).is_symlink() or (top / up).is_file():
            (top / up).unlink()
    clear(top, path)
    path.parent.mkdir(parents=True, exist_ok=True)


def clear(top: Path, path: Path) -> None:
    if any((top / up).is_symlink() for up in path.relative_to(top).parents):
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def links_in_index(top: Path) -> set[str]:
    """The places of other repositories, as git has them: what is there is theirs, or nobody's."""
    words = ["git", "ls-files", "-z", "--stage"]
    done = subprocess.run(words, cwd=top, capture_output=True, check=True)
    entries = (os.fsdecode(entry).partition("\t") for entry in done.stdout.split(b"\0"))
    return {path for head, _, path in entries if head.startswith("160000 ")}


def is_foreign(top: Path, path: str, links: set[str]) -> bool:
    """Whether a file is no part of any state: ignored, or in another repository."""
    inside = root_of(top, path, links) != path
    return inside or any(part.endswith(".ign") for part in path.split("/"))


def root_of(top: Path, path: str, links: set[str]) -> str:
    """The other repository that a file is in, or the file."""
    parts = path.split("/")
    ups = ("/".join(parts[:n]) for n in range(1, len(parts)))
    return next((up for up in ups if (top / up / ".git").exists() or up in links), path)


def split(tree: Tree) -> tuple[Picture, Picture]:
    """What is the state's, and what isn't."""
    found, links = tree.picture(), links_in_index(tree.top)
    foreign = {path for path in found if is_foreign(tree.top, path, links)}
    ours = {path: what for path, what in found.items() if path not in foreign}
    return ours, {path: found[path] for path in foreign}


def collide(one: str, other: str) -> bool:
    """Whether two paths can't both be there."""
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")


@settings(
    max_examples=40, deadline=None, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(before=st.lists(EDITS, max_size=12), after=st.lists(EDITS, max_size=12))
@example([("write", "a", b"one\n")], [("delete", "a", None), ("folder", "a/b", None)])
@example([("write", "a/b", b"")], [("delete", "a", None), ("link", "a", "b")])
@example([("link", "a", "b"), ("write", "b/a", b"")], [("write", "a/a", b"one\n")])
@example([("write", "a/b", b"")], [("nested", "a", None), ("write", "b", b"")])
@example([("link", "a", "b/a/a")], [("link", "a/a", "a"), ("nested", "b/a/a", None)])
@example([("link", "a", "a")], [("link", "a/a", "a"), ("nested", "b/a/a", None)])
@example([("nested", "a", None)], [("delete", "a", None), ("write", "a/b", b"")])
@example([("write", "a/x.ign", b""), ("write", "b", b"")], [("rename", "a", "b")])
@example(
    [("delete", "a", None)],
    [("nested", "a", None), ("add", "a", None), ("write", "a", b""), ("write", "a/a", b"")],
)
@example(
    [], [("nested", "a", None), ("add", "a", None), ("write", "a", b""), ("write", "a/a", b"")]
)
def test_any_edits_are_taken_back(before: list[Edit], after: list[Edit]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        seed = Scratch.create(Path(folder) / "seed").path
        scratch = Scratch.create(Path(folder) / "repo")
        scratch.commit("first", {".gitignore": "*.ign\n", "a": "first\n"})
        with discover(scratch.path) as repo:
            tree = Tree(repo)
            for change in before:
                edit(tree.top, change, seed)
            target, (wanted, _) = tree.take(), split(tree)
            for change in after:
                edit(tree.top, change, seed)
            now, (ours, foreign) = tree.take(), split(tree)
            index = (repo.git_dir / "index").read_bytes()
            try:
                tree.put_back(target)
            except SessionError:
                links = links_in_index(tree.top)
                roots = {root_of(tree.top, path, links) for path in foreign}
                assert any(collide(one, other) for one in wanted for other in roots)
                assert split(tree) == (ours, foreign)
                return
            assert (repo.git_dir / "index").read_bytes() == index
            assert split(tree) == (wanted, foreign)
            tree.put_back(now)
            assert split(tree) == (ours, foreign)


# -- killed at every step -------------------------------------------------------------------

WRITES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "subprocess.Popen")


def die_at(step: int, act: Callable[[], object]) -> bool:
    """Do something in a child that dies before its nth step; tell whether it lived."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    count = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if event in WRITES or writes:
            count += 1
            if count == step:
                os._exit(9)

    try:
        sys.addaudithook(watch)
        act()
        os._exit(0)
    except BaseException:
        os._exit(1)


def many_changes(tree: Tree) -> Oid:
    """A state, and another one that differs from it in every way."""
    top = tree.top
    for name in ("gone", "changed", "was/file", "deep/er/x"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name)
    (top / "place").write_text("a file")
    (top / "link").symlink_to("gone")
    target = tree.take()
    (top / "gone").unlink()
    (top / "changed").write_text("other")
    (top / "was/file").unlink()
    (top / "was").rmdir()
    (top / "was").write_text("now a file")
    (top / "place").unlink()
    (top / "place").mkdir()
    (top / "place/in").write_text("x")
    (top / "link").unlink()
    (top / "link").mkdir()
    (top / "link/x").write_text("x")
    (top / "deep/er/x").chmod(0o755)
    (top / "fresh/er").mkdir(parents=True)
    (top / "fresh/er/x").write_text("x")
    return target


def test_killed_at_any_step_it_is_done_or_not(tree: Tree) -> None:
    before_edits = many_changes(tree)
    now, before = tree.take(), tree.picture()
    tree.put_back(before_edits)
    after = tree.picture()
    tree.put_back(now)
    assert tree.picture() == before
    outcomes = []
    for step in range(1, 200):
        checked = tree.check(before_edits)
        lived = die_at(step, lambda checked=checked: restore.apply(tree.repo, checked, tree.place))  # type: ignore[misc]
        committed = (tree.place / "journal").exists()
        if not committed and not lived:
            assert tree.picture() in (before, after)
        # Recovering is killed as well, at ever later steps, until it lives.
        again = next(
            n for n in range(1, 99) if die_at(n, lambda: restore.recover(tree.place, tree.top))
        )
        assert not tree.place.exists()
        found = tree.picture()
        assert found == after if committed or lived else found in (before, after), (step, again)
        outcomes.append(found == after)
        if lived:
            break
        tree.put_back(now)
    assert sorted(outcomes) == outcomes
    assert outcomes.count(True) > 10
    assert outcomes.count(False) > 3


def test_what_was_changed_since_is_not_overwritten(tree: Tree) -> None:
    target = many_changes(tree)
    checked = tree.check(target)
    for step in range(1, 100):
        if die_at(step, lambda: restore.apply(tree.repo, checked, tree.place)):
            raise AssertionError("it was never killed after it had begun")
        if (tree.place / "journal").exists():
            break
    (tree.top / "changed").write_text("since then")
    (tree.top / "gone").write_text("made since then")
    (tree.top / "place/in").write_text("changed since then")
    left = restore.recover(tree.place, tree.top)
    assert left == ["place/in", "gone", "changed", "place"] or sorted(left) == sorted(
        ["place/in", "gone", "changed", "place"]
    )
    assert (tree.top / "changed").read_text() == "since then"
    assert (tree.top / "gone").read_text() == "made since then"
    assert (tree.top / "place/in").read_text() == "changed since then"
    assert (tree.top / "was/file").read_text() == "was/file"


# -- refusals -------------------------------------------------------------------------------


def refuse(tree: Tree, target: Oid, match: str) -> None:
    """A state can't be put back, and nothing is changed."""
    before = tree.picture()
    with pytest.raises(SessionError, match=match) as caught:
        tree.put_back(target)
    assert caught.value.hint
    assert tree.picture() == before
    assert not tree.place.exists()


def test_an_ignored_file_in_the_way(tree: Tree, scratch: Scratch) -> None:
    scratch.write("x", "kept")
    target = tree.take()
    scratch.write(".gitignore", "x\n")
    scratch.write("x", "mine")
    refuse(tree, target, "'x' is in the way, and in no snapshot")
    # What is there already as it is to be is in nobody's way.
    scratch.write("x", "kept")
    tree.put_back(target)
    assert tree.picture() == {"README": ("file", b"hello\n"), "x": ("file", b"kept")}


def test_ignored_files_where_a_file_was(tree: Tree, scratch: Scratch) -> None:
    scratch.write("x", "kept")
    target = tree.take()
    (scratch.path / "x").unlink()
    scratch.write(".gitignore", "*.o\n")
    scratch.write("x/a.o", "mine")
    refuse(tree, target, "'x/a.o' is where the file 'x' has to be")


def test_a_link_where_a_folder_was(tree: Tree, scratch: Scratch, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    scratch.write("d/x", "kept")
    target = tree.take()
    shutil.rmtree(scratch.path / "d")
    (scratch.path / "d").symlink_to(outside)
    scratch.write(".gitignore", "d\n")
    refuse(tree, target, "'d' is in the way")
    # A link that is part of the state gives way.
    scratch.write(".gitignore", "")
    tree.put_back(target)
    assert tree.picture()["d/x"] == ("file", b"kept")
    assert list(outside.iterdir()) == []


def test_another_repository_is_never_written_to(tree: Tree, scratch: Scratch) -> None:
    scratch.write("n/x", "kept")
    scratch.write("m/x", "kept")
    target = tree.take()
    Scratch.create(scratch.path / "n")
    refuse(tree, target, "'n/x' is in another repository")
    shutil.rmtree(scratch.path / "n")
    Scratch.create(scratch.path / "m", commit=False)
    refuse(tree, target, "'m/x' is in another repository")
    shutil.rmtree(scratch.path / "m")
    scratch.write("m", "a file")
    tree.put_back(target)
    assert tree.take() == target


def test_a_repository_at_another_commit_is_left_and_told(tree: Tree, scratch: Scratch) -> None:
    inner = Scratch.create(scratch.path / "n")
    target = tree.take()
    inner.commit("more", {"x": "x"})
    scratch.write("y", "y")
    wanted = restore.plan_restore(tree.repo, target, tree.take())
    assert (wanted.links, wanted.deletes, wanted.writes) == (("n",), ("y",), ())
    head = inner.head()
    tree.put_back(target)
    assert inner.head() == head
    assert (inner.path / "x").exists()


def test_a_filter_that_fails(tree: Tree, scratch: Scratch) -> None:
    scratch.write(".gitattributes", "x filter=f\n")
    scratch.write("x", "one")
    target = tree.take()
    scratch.write("x", "two")
    scratch.git("config", "filter.f.smudge", "false")
    scratch.git("config", "filter.f.required", "true")
    scratch.git("config", "filter.f.clean", "cat")
    refuse_filter(tree, target)
    scratch.git("config", "filter.f.smudge", "tr a-z A-Z")
    scratch.git("config", "filter.f.clean", "tr A-Z a-z")
    # The attributes of the state hold, whatever those of today say.
    scratch.write(".gitattributes", "")
    tree.put_back(target)
    assert tree.picture()["x"] == ("file", b"ONE")


def refuse_filter(tree: Tree, target: Oid) -> None:
    before = tree.picture()
    with pytest.raises(SessionError, match="filter"):
        tree.put_back(target)
    assert tree.picture() == before
    assert not tree.place.exists()


def test_line_ends_are_as_a_checkout_makes_them(tree: Tree, scratch: Scratch) -> None:
    scratch.git("config", "core.autocrlf", "true")
    scratch.write("x", "one\r\n")
    target = tree.take()
    scratch.write("x", "two\n")
    tree.put_back(target)
    assert tree.picture()["x"] == ("file", b"one\r\n")


def test_names_that_differ_in_case_only(tree: Tree, scratch: Scratch) -> None:
    scratch.write("x", "x")
    target = tree.take()
    (scratch.path / "x").rename(scratch.path / "X")
    wanted = restore.plan_restore(tree.repo, target, tree.take())
    scratch.git("config", "core.ignoreCase", "true")
    with pytest.raises(SessionError, match="'X' and 'x' differ only in case"):
        restore.check(tree.repo, wanted, tree.place)


def test_no_room_on_the_disk(tree: Tree, scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch.write("x", "x" * 100_000)
    target = tree.take()
    scratch.write("x", "less")
    full = os.statvfs_result((4096, 4096, 100, 10, 10, 10, 10, 10, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    refuse(tree, target, "not enough room")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cant_be_written_to(tree: Tree, scratch: Scratch) -> None:
    scratch.write("d/x", "x")
    target = tree.take()
    scratch.write("d/x", "y")
    (scratch.path / "d").chmod(0o555)
    refuse(tree, target, "nothing can be written in 'd'")


def test_a_content_that_is_not_here(tree: Tree, scratch: Scratch) -> None:
    scratch.write("x", "only in the snapshot")
    target = tree.take()
    scratch.write("x", "y")
    oid = scratch.git("rev-parse", f"{target}:x")
    (scratch.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    refuse(tree, target, "the content of 'x' is not here")


@pytest.mark.parametrize("path", [".git/hooks/x", "a/.GIT/x", "../x", "a//b", "./x"])
def test_a_path_that_leads_elsewhere(tree: Tree, path: str) -> None:
    entry = Listed(mode="100644", oid=Oid(tree.repo.resolve("HEAD:README") or ""), path=path)
    with pytest.raises(SessionError, match="is no path of a file"):
        restore.check(tree.repo, Plan(writes=(entry,)), tree.place)


# -- other places ---------------------------------------------------------------------------


def test_some_files_only(tree: Tree, scratch: Scratch) -> None:
    for name in ("a", "d/x", "d/y", "dd"):
        scratch.write(name, "old")
    target = tree.take()
    for name in ("a", "d/x", "d/z", "dd", "e"):
        scratch.write(name, "new")
    tree.put_back(target, "d/", "e")
    found = {path: what[1] for path, what in tree.picture().items()}
    assert found == {
        "README": b"hello\n", "a": b"new", "d/x": b"old", "d/y": b"old", "dd": b"new",
    }  # fmt: skip
    tree.put_back(target, ".")
    assert tree.picture()["a"] == ("file", b"old")


@pytest.mark.parametrize("kind", ["linked", "sha256", "no commit", "beside"])
def test_work_trees_of_every_kind(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = "sha256" if kind == "sha256" else "sha1"
    scratch = Scratch.create(tmp_path / "repo", object_format=form, commit=kind != "no commit")
    if kind == "linked":
        scratch.git("worktree", "add", "-q", str(tmp_path / "linked"))
        scratch = Scratch(tmp_path / "linked")
    with discover(scratch.path) as repo:
        tree = Tree(repo)
        if kind == "linked":
            monkeypatch.setattr(Tree, "picture", lambda self: pictured(self.top))
        target = many_changes(tree)
        checked = tree.check(target)
        if kind == "beside":
            checked = restore.Checked(
                writes=checked.writes, deletes=checked.deletes, empties=checked.empties,
                attributes=checked.attributes, seen=checked.seen, beside=True,
            )  # fmt: skip
        assert restore.apply(repo, checked, tree.place) == []
        assert tree.take() == target
        assert not (tree.top / restore.BESIDE).exists()
        scratch.git("status")


def pictured(top: Path) -> Picture:
    return {str(path): look_at(path) for path in top.rglob("*") if not path.is_dir()}


def test_what_a_sparse_checkout_leaves_out_stays_out(tree: Tree, scratch: Scratch) -> None:
    scratch.commit("more", {"in/x": "1", "out/x": "1"})
    target = tree.take()
    scratch.commit("later", {"in/x": "2", "out/x": "2", "out/y": "2"})
    scratch.git("sparse-checkout", "set", "--cone", "in")
    tree.put_back(target)
    assert tree.picture() == {"README": ("file", b"hello\n"), "in/x": ("file", b"1")}


def test_a_bare_repository_has_nothing_to_put_back(scratch: Scratch, tmp_path: Path) -> None:
    scratch.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    with discover(tmp_path / "bare.git") as repo, pytest.raises(SessionError, match="no work tree"):
        restore.check(repo, Plan(), tmp_path / "place")


def test_the_users_index_tells_of_what_was_put_back(tree: Tree, scratch: Scratch) -> None:
    scratch.write("README", "changed!\n")
    target = tree.take()
    scratch.git("checkout", "README")
    assert scratch.git("status", "--porcelain") == ""
    tree.put_back(target)
    assert scratch.git("status", "--porcelain") == " M README"
    scratch.git("checkout", "README")
    assert scratch.git("status", "--porcelain") == ""


# -- the plan -------------------------------------------------------------------------------


def listed(path: str, mode: str = "100644", digit: str = "a") -> Listed:
    return Listed(mode=mode, oid=Oid(digit * 40), path=path)


def test_a_plan_names_what_changes_and_what_becomes_empty() -> None:
    now = [listed("a"), listed("d/e/f"), listed("d/g"), listed("was/x"), listed("mode")]
    target = [listed("a", digit="b"), listed("d/g"), listed("was"), listed("mode", "100755")]
    found = plan(now, target)
    assert [x.path for x in found.writes] == ["a", "mode", "was"]
    assert found.deletes == ("d/e/f", "was/x")
    assert found.empties == ("was", "d/e")
    assert found.changed == ("a", "mode")
    assert found.kept == ("d/g",)
    assert plan(target, target) == Plan(kept=("a", "d/g", "mode", "was"))
    assert plan(now, target, ["a", "."]) == plan(now, target)


def test_a_plan_leaves_repositories_alone() -> None:
    now = [listed("n", worktree.LINK), listed("m/x"), listed("d/l", worktree.LINK), listed("d/x")]
    target = [listed("n", worktree.LINK, "b"), listed("m", worktree.LINK)]
    found = plan(now, target)
    assert (found.links, found.nested) == (("d/l", "m", "n"), ("d/l", "n"))
    assert (found.writes, found.deletes, found.empties) == ((), ("d/x", "m/x"), ("m",))
