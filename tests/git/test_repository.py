"""Both ways to reach git keep to the one Protocol, in every kind of repository."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitsession.errors import Moved, NotFound, SessionError
from gitsession.git.library import open_library
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Draft, Link, Put, Repository, Swap, Update
from gitsession.ids import Oid
from gitsession.model import Author
from tests.scratch import Scratch

DEV = Author(name="Dev", email="dev@example.com")
REF = "refs/sessions/one"

Open = Callable[[Path], Repository]


def open_plumbing(path: Path) -> Repository:
    """Through the executable."""
    return discover(path)


def open_pygit2(path: Path) -> Repository:
    """Through libgit2."""
    found = discover(path)
    library = open_library(found.git_dir, found.common_dir, found.work_tree)
    assert library is not None
    return library


@contextmanager
def closing(repo: Repository) -> Iterator[Repository]:
    """Let go of a repository at the end."""
    try:
        yield repo
    finally:
        repo.close()


@pytest.fixture(params=["plumbing", "library"])
def opened(request: pytest.FixtureRequest) -> Open:
    """Each of the implementations."""
    return open_plumbing if request.param == "plumbing" else open_pygit2


@pytest.fixture(params=["plain", "packed", "worktree", "bare"])
def place(request: pytest.FixtureRequest, scratch: Scratch, tmp_path: Path) -> Scratch:
    """Each kind of repository, with the same commit."""
    if request.param == "packed":
        scratch.git("pack-refs", "--all")
        scratch.git("gc", "-q")
    if request.param == "worktree":
        scratch.git("worktree", "add", "-q", str(tmp_path / "linked"))
        return Scratch(tmp_path / "linked")
    if request.param == "bare":
        scratch.git("clone", "-q", "--bare", str(scratch.path), str(tmp_path / "bare.git"))
        return Scratch(tmp_path / "bare.git")
    return scratch


def update(old: Oid | None, *puts: Put, ref: str = REF, removes: tuple[str, ...] = ()) -> Update:
    """A commit on a session's ref."""
    return Update(ref=ref, old=old, message="story\n\nmore\n", puts=puts, removes=removes)


def test_names_resolve_as_rev_parse_does(opened: Open, place: Scratch) -> None:
    with closing(opened(place.path)) as repo:
        assert repo.resolve("HEAD") == place.head()
        assert repo.resolve("main") == place.git("rev-parse", "main")
        assert repo.resolve(place.head()[:9]) == place.head()
        assert repo.resolve("HEAD^{tree}") == place.git("rev-parse", "HEAD^{tree}")
        assert repo.resolve("HEAD:README") == place.git("rev-parse", "HEAD:README")


@pytest.mark.parametrize(
    "name",
    [
        "nothing", "HEAD:nothing", "HEAD:README/below", "nothing:README", "0" * 40, "f" * 40,
        "", " ", "a b", "two\nlines", "HEAD:two\nlines", "--all", "-h", "HEAD:..", "é", "HEAD^9",
        "x~y", "@{9}", "nothing blob 12", "HEAD:x y 12",
    ],
)  # fmt: skip
def test_an_unknown_or_odd_name_is_nothing(opened: Open, scratch: Scratch, name: str) -> None:
    with closing(opened(scratch.path)) as repo:
        assert repo.resolve(name) is None
        assert repo.read(name) is None
        assert repo.tree(name) == []
        with pytest.raises(NotFound):
            repo.get_commit(name)
        assert repo.resolve("HEAD") == scratch.head()


def test_contents_are_read(opened: Open, place: Scratch) -> None:
    with closing(opened(place.path)) as repo:
        assert repo.read("HEAD:README") == b"hello\n"
        assert repo.read(place.git("rev-parse", "HEAD:README")) == b"hello\n"
        assert list(repo.read_many(["HEAD:README", "no", "HEAD:README"])) == [
            b"hello\n", None, b"hello\n",
        ]  # fmt: skip


def test_a_commit_is_understood(opened: Open, place: Scratch) -> None:
    with closing(opened(place.path)) as repo:
        commit = repo.get_commit("HEAD")
        assert (commit.oid, commit.parents) == (place.head(), ())
        assert commit.tree == place.git("rev-parse", "HEAD^{tree}")
        assert (commit.author.name, commit.author.email) == ("Dev", "dev@example.com")
        assert commit.committer.at == int(place.git("log", "-1", "--format=%ct"))
        assert commit.subject == "first"


def test_what_is_no_commit_is_not_found(opened: Open, scratch: Scratch) -> None:
    with closing(opened(scratch.path)) as repo, pytest.raises(NotFound):
        repo.get_commit("HEAD:README")


def test_an_annotated_tag_leads_to_its_commit(opened: Open, scratch: Scratch) -> None:
    scratch.git("tag", "-a", "-m", "tag", "v1")
    with closing(opened(scratch.path)) as repo:
        assert repo.get_commit("v1").oid == scratch.head()
        assert [entry.path for entry in repo.tree("v1")] == ["README"]


def test_a_tree_lists_its_own_entries_only(opened: Open, scratch: Scratch) -> None:
    scratch.commit("nested", {"sub/deep/file": "x", "é \n": "y", "run": "z"})
    with closing(opened(scratch.path)) as repo:
        found = {entry.path: entry.is_tree for entry in repo.tree("HEAD")}
        assert found == {"README": False, "sub": True, "é \n": False, "run": False}
        assert [entry.path for entry in repo.tree("HEAD:sub")] == ["deep"]
        assert [entry.path for entry in repo.tree("HEAD:sub/deep")] == ["file"]
        assert repo.tree("HEAD:") == repo.tree("HEAD")
        assert repo.tree("HEAD:README") == []


def test_refs_are_listed_by_prefix_and_by_glob(opened: Open, place: Scratch) -> None:
    head = Oid(place.head())
    for name in ("ab", "abc", "xy"):
        place.git("update-ref", f"refs/sessions/{name}", head)
    place.git("update-ref", "refs/sessionsx/other", head)
    with closing(opened(place.path)) as repo:
        assert repo.refs("refs/sessions/") == {
            f"refs/sessions/{name}": head for name in ("ab", "abc", "xy")
        }
        assert list(repo.refs("refs/sessions/ab*")) == ["refs/sessions/ab", "refs/sessions/abc"]
        assert repo.refs("refs/nothing/") == {}


def test_refs_that_are_broken_or_symbolic_break_no_listing(opened: Open, scratch: Scratch) -> None:
    scratch.git("update-ref", "refs/sessions/ab", scratch.head())
    scratch.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
    with closing(opened(scratch.path)) as repo:
        assert list(repo.refs("refs/sessions/")) == ["refs/sessions/ab"]


def test_a_new_ref_gets_a_first_commit(opened: Open, place: Scratch, tmp_path: Path) -> None:
    big = tmp_path / "big"
    big.write_bytes(bytes(range(256)) * 9000)
    puts = (Put(path="a", data=b""), Put(path="b/c/d", data=b"x\n"), Put(path="b/e", data=big))
    with closing(opened(place.path)) as repo:
        (made,) = repo.apply([update(None, *puts)], DEV)
        assert repo.resolve(REF) == made
        commit = repo.get_commit(REF)
        assert (commit.parents, commit.message) == ((), "story\n\nmore\n")
        assert (commit.author.name, commit.author.email) == ("Dev", "dev@example.com")
        assert repo.read(f"{REF}:a") == b""
        assert repo.read(f"{REF}:b/c/d") == b"x\n"
        assert repo.read(f"{REF}:b/e") == big.read_bytes()
    assert place.git("fsck", "--strict", "--no-dangling") == ""


def test_a_commit_on_top_keeps_what_it_does_not_touch(opened: Open, place: Scratch) -> None:
    with closing(opened(place.path)) as repo:
        (one,) = repo.apply(
            [update(None, Put(path="a/b", data=b"1"), Put(path="c", data=b"2"))], DEV
        )
        (two,) = repo.apply(
            [update(one, Put(path="a/d", data=b"3"), Put(path="c", data=b"4"))], DEV
        )
        assert repo.get_commit(REF).parents == (one,)
        assert [repo.read(f"{two}:{path}") for path in ("a/b", "a/d", "c")] == [b"1", b"3", b"4"]
        assert repo.read(f"{one}:c") == b"2"


def test_removing_takes_files_folders_and_nothing(opened: Open, place: Scratch) -> None:
    puts = tuple(Put(path=path, data=b"x") for path in ("a/b/c", "a/d", "e", "f/g"))
    with closing(opened(place.path)) as repo:
        (one,) = repo.apply([update(None, *puts)], DEV)
        removes = ("a/b/c", "e", "f", "no", "no/where")
        (two,) = repo.apply([update(one, Put(path="h", data=b"x"), removes=removes)], DEV)
        assert [entry.path for entry in repo.tree(two)] == ["a", "h"]
        assert [entry.path for entry in repo.tree(f"{two}:a")] == ["d"]
    assert place.git("fsck", "--strict", "--no-dangling") == ""


def test_a_file_may_take_a_folders_place(opened: Open, scratch: Scratch) -> None:
    with closing(opened(scratch.path)) as repo:
        (one,) = repo.apply([update(None, Put(path="ab/cd", data=b"x"))], DEV)
        (two,) = repo.apply([update(one, Put(path="ab", data=b"y"), removes=("ab/cd",))], DEV)
        assert repo.read(f"{two}:ab") == b"y"
        (three,) = repo.apply([update(two, Put(path="ab/ef", data=b"z"), removes=("ab",))], DEV)
        assert repo.read(f"{three}:ab/ef") == b"z"
    assert scratch.git("fsck", "--strict", "--no-dangling") == ""


def test_two_refs_move_together(opened: Open, place: Scratch) -> None:
    with closing(opened(place.path)) as repo:
        made = repo.apply(
            [update(None, Put(path="a", data=b"1")),
             update(None, Put(path="b", data=b"2"), ref="refs/notes/sessions")], DEV,
        )  # fmt: skip
        assert made == [repo.resolve(REF), repo.resolve("refs/notes/sessions")]


def test_a_ref_that_moved_is_left_alone(opened: Open, place: Scratch) -> None:
    with closing(opened(place.path)) as repo:
        (one,) = repo.apply([update(None, Put(path="a", data=b"1"))], DEV)
        (two,) = repo.apply([update(one, Put(path="a", data=b"2"))], DEV)
        with pytest.raises(Moved):
            repo.apply([update(one, Put(path="a", data=b"3"))], DEV)
        assert repo.resolve(REF) == two


def test_a_ref_that_somebody_is_moving_counts_as_moved(opened: Open, scratch: Scratch) -> None:
    with closing(opened(scratch.path)) as repo:
        (one,) = repo.apply([update(None, Put(path="a", data=b"1"))], DEV)
        (scratch.path / ".git" / f"{REF}.lock").touch()
        with pytest.raises(Moved):
            repo.apply([update(one, Put(path="a", data=b"3"))], DEV)
        assert repo.resolve(REF) == one


def test_a_ref_that_appeared_is_left_alone(opened: Open, place: Scratch) -> None:
    with closing(opened(place.path)) as repo:
        (one,) = repo.apply([update(None, Put(path="a", data=b"1"))], DEV)
        with pytest.raises(Moved):
            repo.apply([update(None, Put(path="a", data=b"3"))], DEV)
        assert repo.resolve(REF) == one


def test_a_ref_that_is_gone_is_not_made_again(opened: Open, place: Scratch) -> None:
    with closing(opened(place.path)) as repo:
        (one,) = repo.apply([update(None, Put(path="a", data=b"1"))], DEV)
        place.git("update-ref", "-d", REF)
        with pytest.raises(Moved):
            repo.apply([update(one, Put(path="a", data=b"3"))], DEV)
        assert repo.resolve(REF) is None


@pytest.mark.parametrize(
    "path", ["a b", 'q"uote', "back\\slash", "new\nline", "é", "-dash", "tab\t", "'", ":x", "\x01"]
)
def test_odd_file_names_are_kept(opened: Open, scratch: Scratch, path: str) -> None:
    with closing(opened(scratch.path)) as repo:
        (one,) = repo.apply([update(None, Put(path=f"d/{path}", data=b"x"))], DEV)
        assert [entry.path for entry in repo.tree(f"{one}:d")] == [path]


@pytest.mark.parametrize("name", ["Ann <b> \n C", "", "é ü", "a\0b"])
def test_an_odd_identity_makes_a_sound_commit(opened: Open, scratch: Scratch, name: str) -> None:
    with closing(opened(scratch.path)) as repo:
        repo.apply([update(None, Put(path="a", data=b""))], Author(name=name, email="a <b\n>@c"))
    assert scratch.git("fsck", "--strict", "--no-dangling") == ""


# -- commits without a ref, and refs moved anywhere -------------------------------------------


def test_a_draft_is_a_commit_that_no_ref_leads_to(opened: Open, place: Scratch) -> None:
    head = Oid(place.head())
    with closing(opened(place.path)) as repo:
        before = repo.refs("refs/")
        one, two = repo.write(
            [Draft(message="one\n", puts=(Put(path="a/b", data=b"1"),)),
             Draft(message="two\n", parents=(head,), puts=(Put(path="a/b", data=b"2"),))], DEV,
        )  # fmt: skip
        assert (repo.get_commit(one).parents, repo.read(f"{one}:a/b")) == ((), b"1")
        assert repo.get_commit(two).parents == (head,)
        assert (repo.read(f"{two}:README"), repo.read(f"{two}:a/b")) == (b"hello\n", b"2")
        assert repo.refs("refs/") == before


def test_a_draft_has_several_parents_and_may_begin_anew(opened: Open, scratch: Scratch) -> None:
    first, second = Oid(scratch.head()), Oid(scratch.commit("second", {"b": "x"}))
    with closing(opened(scratch.path)) as repo:
        puts = (Put(path="c", data=b"3"),)
        drafts = [Draft(message="m\n", parents=(second, first), puts=puts, anew=anew)
                  for anew in (False, True)]  # fmt: skip
        both, anew = repo.write(drafts, DEV)
        assert repo.get_commit(both).parents == repo.get_commit(anew).parents == (second, first)
        assert [entry.path for entry in repo.tree(both)] == ["README", "b", "c"]
        assert [entry.path for entry in repo.tree(anew)] == ["c"]
    assert scratch.git("fsck", "--strict", "--no-dangling") == ""


def test_a_draft_holds_files_and_folders_that_are_there_already(
    opened: Open, scratch: Scratch
) -> None:
    scratch.commit("second", {"sub/deep/file": "x", "sub/other": "y"})
    with closing(opened(scratch.path)) as repo:
        blob, tree = repo.resolve("HEAD:README"), repo.resolve("HEAD:sub")
        assert blob is not None
        assert tree is not None
        links = (Link(path="new/place", oid=blob), Link(path="kept", oid=tree, mode="040000"))
        (made,) = repo.write([Draft(message="m\n", links=links)], DEV)
        assert repo.read(f"{made}:new/place") == b"hello\n"
        assert repo.resolve(f"{made}:kept") == tree
        (again,) = repo.write([Draft(message="m\n", parents=(made,), removes=("kept",))], DEV)
        assert [entry.path for entry in repo.tree(again)] == ["new"]
    assert scratch.git("fsck", "--strict", "--no-dangling") == ""


def test_refs_are_swapped_forward_back_and_away(opened: Open, place: Scratch) -> None:
    head = Oid(place.head())
    with closing(opened(place.path)) as repo:
        (other,) = repo.write([Draft(message="m\n")], DEV)
        repo.swap([Swap(ref=REF, old=None, new=head), Swap(ref=REF + "b", old=None, new=head)])
        repo.swap([Swap(ref=REF, old=head, new=other), Swap(ref=REF + "b", old=head, new=None)])
        assert (repo.resolve(REF), repo.resolve(REF + "b")) == (other, None)
        repo.swap([])


def test_a_swap_of_a_ref_that_moved_moves_none(opened: Open, place: Scratch) -> None:
    head = Oid(place.head())
    with closing(opened(place.path)) as repo:
        (other,) = repo.write([Draft(message="m\n")], DEV)
        repo.swap([Swap(ref=REF, old=None, new=head)])
        for seen, new in ((None, other), (other, head), (other, None)):
            with pytest.raises(Moved):
                repo.swap([Swap(ref=REF + "b", old=None, new=head),
                           Swap(ref=REF, old=seen, new=new)])  # fmt: skip
        assert (repo.resolve(REF), repo.resolve(REF + "b")) == (head, None)


def test_git_speaks_sha256_and_libgit2_steps_aside(tmp_path: Path) -> None:
    place = Scratch.create(tmp_path / "repo", object_format="sha256")
    with discover(place.path) as repo:
        assert open_library(repo.git_dir, repo.common_dir, repo.work_tree) is None
        (one,) = repo.apply([update(None, Put(path="a/b", data=b"1"))], DEV)
        (two,) = repo.apply([update(one, Put(path="a/c", data=b"2"))], DEV)
        assert len(two) == 64
        assert [entry.path for entry in repo.tree(f"{two}:a")] == ["b", "c"]
        assert all(len(entry.oid) == 64 for entry in repo.tree(f"{two}:a"))
        assert repo.get_commit("HEAD").oid == place.head()
        with pytest.raises(Moved):
            repo.apply([update(one, Put(path="a", data=b"3"))], DEV)
        (draft,) = repo.write([Draft(message="m\n")], DEV)
        repo.swap([Swap(ref=REF, old=two, new=draft)])
        repo.swap([Swap(ref=REF, old=draft, new=None)])
        assert repo.resolve(REF) is None
    assert place.git("fsck", "--strict", "--no-dangling") == ""


def test_libgit2_steps_aside_from_what_is_no_repository(tmp_path: Path) -> None:
    assert open_library(tmp_path, tmp_path, None) is None


def test_a_repository_is_found_from_below(scratch: Scratch) -> None:
    below = scratch.write("sub/deep/file", "x").parent
    with discover(below) as repo:
        assert (repo.work_tree, repo.git_dir) == (scratch.path, scratch.path / ".git")
    with discover(scratch.path / ".git" / "refs") as repo:
        assert (repo.work_tree, repo.git_dir) == (None, scratch.path / ".git")


def test_a_linked_work_tree_knows_the_common_folder(scratch: Scratch, tmp_path: Path) -> None:
    scratch.git("worktree", "add", "-q", str(tmp_path / "linked"))
    with discover(tmp_path / "linked") as repo:
        assert repo.work_tree == tmp_path / "linked"
        assert repo.common_dir == scratch.path / ".git"
        assert repo.git_dir == scratch.path / ".git" / "worktrees" / "linked"


def test_outside_of_any_repository_is_said(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="not a git repository"):
        discover(tmp_path)
    with pytest.raises(SessionError):
        discover(tmp_path / "nothing")


def test_a_reader_is_started_again_after_closing(scratch: Scratch) -> None:
    repo = Plumbing(scratch.path / ".git", scratch.path / ".git")
    assert repo.resolve("HEAD") == scratch.head()
    repo.close()
    assert repo.resolve("HEAD") == scratch.head()
    repo.close()


def test_objects_and_refs_of_others_are_seen_at_once(opened: Open, scratch: Scratch) -> None:
    with closing(opened(scratch.path)) as repo:
        assert repo.resolve("HEAD") == scratch.head()
        second = scratch.commit("second", {"a": "b\n"})
        scratch.git("gc", "-q")
        assert repo.resolve("HEAD") == second
        assert repo.read("HEAD:a") == b"b\n"
