"""Files go back to a turn exactly, and nothing else does; what can't be done is refused."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gitsession import config
from gitsession.actions import rewind
from gitsession.actions import snapshots as keeping
from gitsession.actions.rewind_plan import Request
from gitsession.agents import claude_code
from gitsession.capture import snapshot
from gitsession.commands.rewind import command
from gitsession.errors import NotFound, SessionError, Usage
from gitsession.git import refs, restore
from gitsession.git.plumbing import discover
from gitsession.ids import SessionId
from gitsession.model import Parent
from gitsession.store import folder, forks, registry, snapshots
from tests.client import PAUSE, Client, common_of, set_up, state, work
from tests.git.test_restore import Picture, die_at, look_at
from tests.scratch import Scratch

TURN = snapshots.LAG + PAUSE
"""Seconds that every turn of a model takes."""
ODD = "d/\u00e9 \n-x"


@pytest.fixture(params=["sha1", "sha256", "linked"])
def anywhere(tmp_path: Path, request: pytest.FixtureRequest) -> Scratch:
    """A repository after init, of every kind."""
    form = "sha256" if request.param == "sha256" else "sha1"
    repo = begin(tmp_path / "repo", form)
    if request.param == "linked":
        repo.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
        return Scratch(tmp_path / "linked")
    return repo


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return begin(tmp_path / "repo")


def begin(path: Path, form: str = "sha1") -> Scratch:
    repo = Scratch.create(path, object_format=form)
    repo.commit("ground", {".gitignore": "*.ign\n.claude\n", "sub/kept": "kept\n"})
    set_up(repo)
    return repo


def picture(repo: Scratch) -> Picture:
    """All that is on disk, but git's own and the agent's settings."""
    found: Picture = {}
    for top, names, files in os.walk(repo.path):
        names[:] = [name for name in names if name not in (".git", ".claude")]
        for name in (*files, *(n for n in names if (Path(top) / n).is_symlink())):
            path = Path(top) / name
            if path.relative_to(repo.path) != Path(".git"):
                found[path.relative_to(repo.path).as_posix()] = look_at(path)
    return found


def turn(client: Client, prompt: str, act: Callable[[Path], object]) -> Picture:
    """A turn in which the agent does something; gives back what there is at its end."""
    client.prompt(prompt)
    keeping.take_due(common_of(client.repo))
    act(client.repo.path)
    client.talk.say("done")
    time.sleep(TURN)
    client.stop()
    work(client.repo)
    time.sleep(PAUSE)
    return picture(client.repo)


def first(top: Path) -> None:
    (top / "README").write_text("hello\nagain\n")
    (top / "new").write_text("one\n")
    (top / "d").mkdir()
    (top / ODD).write_text("odd\n")
    (top / "x.ign").write_text("never")
    (top / "link").symlink_to("README")


def second(top: Path) -> None:
    (top / "new").write_text("one\ntwo\nthree\n")
    (top / "new").chmod(0o755)
    shutil.rmtree(top / "d")
    (top / "link").unlink()
    (top / "link").symlink_to("new")
    (top / "sub/deep").mkdir()
    (top / "sub/deep/er").write_text("deep\n")
    (top / "bytes").write_bytes(b"\0\1\2" * 100)


def third(top: Path) -> None:
    (top / "README").unlink()
    (top / "sub/kept").unlink()
    (top / "d").write_text("a file now\n")
    (top / "x.ign").write_text("never, changed")
    (top / "last").write_text("last\n")


def three_turns(repo: Scratch) -> tuple[Client, list[Picture]]:
    """A session of three turns, and what there was before and after each."""
    client = Client.start(repo)
    begun = picture(repo)
    acts = [first, second, third]
    return client, [begun, *(turn(client, f"turn {n}", act) for n, act in enumerate(acts, 1))]


def ours(found: Picture) -> Picture:
    return {path: what for path, what in found.items() if not path.endswith(".ign")}


def run(repo: Scratch, *words: str, given: str | None = None) -> Result:
    """The command, at a place where nobody can be asked."""
    before = Path.cwd()
    os.chdir(repo.path)
    try:
        return CliRunner().invoke(command, list(words), input=given)
    finally:
        os.chdir(before)


def said(repo: Scratch, *words: str) -> dict[str, Any]:
    """What `--json` says."""
    done = run(repo, *words, "--json")
    told = json.loads(done.stdout)
    assert isinstance(told, dict)
    assert (done.exit_code == 0) is told["canRewind"], done.output
    return told


def kept_alone(repo: Scratch) -> list[str]:
    """What going back must leave as it is."""
    return [part for n, part in enumerate(state(repo)) if n not in (2, 4)]


def rewinds(repo: Scratch, session: str) -> int:
    with discover(repo.path) as found:
        every = snapshots.read_all(found, SessionId(session))
    return sum(one.moment == "rewind" for one in every)


# -- there and back -----------------------------------------------------------------------


def test_every_turn_can_be_gone_back_to(anywhere: Scratch) -> None:
    anywhere.write("staged", "in the index\n")
    anywhere.git("add", "staged")
    anywhere.write("stashed", "x")
    anywhere.git("stash", "push", "-q", "-u", "--", "stashed")
    client, states = three_turns(anywhere)
    alone, index = kept_alone(anywhere), anywhere.git("ls-files", "--stage")
    said_there = client.talk.path.read_bytes()
    for number in (1, 3, 0, 2, 3):
        told = said(anywhere, str(number), "--yes")
        assert ours(picture(anywhere)) == ours(states[number])
        assert (told["turn"], told["session"]) == (number, client.session)
        assert said(anywhere, f"{client.session[:9]}@{number}", "--dry-run")["filesChanged"] == []
    assert (anywhere.path / "x.ign").read_text() == "never, changed"
    assert kept_alone(anywhere) == alone
    assert anywhere.git("ls-files", "--stage") == index
    assert client.talk.path.read_bytes() == said_there


def test_it_says_just_what_changes(repo: Scratch) -> None:
    client, states = three_turns(repo)
    told = said(repo, "1", "--dry-run")
    assert told == {
        "canRewind": True, "error": None,
        "filesChanged": sorted(
            ["README", ODD, "bytes", "d", "last", "link", "new", "sub/deep/er", "sub/kept"]
        ),
        # README 2, the odd one 1, the link 1, kept 1 | d 1, last 1, link 1, new 2, deep 1
        "insertions": 5, "deletions": 6,
        "session": client.session, "turn": 1, "remarks": [], "folder": None, "command": [],
    }  # fmt: skip
    assert picture(repo) == states[3]
    assert said(repo, "1", "--yes") == told
    assert ours(picture(repo)) == ours(states[1])
    assert rewinds(repo, client.session) == 1
    assert said(repo, "1", "--yes")["filesChanged"] == []
    assert rewinds(repo, client.session) == 1


def test_people_are_told_the_same(repo: Scratch) -> None:
    client, _ = three_turns(repo)
    assert run(repo, "2", "--dry-run").stdout.splitlines() == [
        f"back to the end of turn 2 (session {client.session})",
        "  brought back  README  +2",
        "  deleted       d  -1",
        "  deleted       last  -1",
        "  brought back  sub/kept  +1",
        "4 files +3 -2",
    ]
    assert (
        run(repo, "2", "--yes").stdout.splitlines()[-1]
        == "4 files went back; --undo takes that back"
    )
    assert run(repo, "2", "--yes").stdout.splitlines()[-1] == "no file differs"


def test_a_prompt_is_the_moment_before_it(repo: Scratch) -> None:
    client = Client.start(repo)
    turn(client, "one", first)
    repo.write("mine", "by hand\n")
    before = picture(repo)
    turn(client, "two", second)
    uuid = claude_code.read_turns(client.lines())[1].uuid
    assert said(repo, uuid, "--yes")["turn"] == 1
    assert ours(picture(repo)) == ours(before)
    said(repo, f"{client.session}@{uuid}", "--yes")
    said(repo, "1", "--yes")
    assert not (repo.path / "mine").exists()


def test_some_paths_only(repo: Scratch) -> None:
    _, states = three_turns(repo)
    (repo.path / "sub").mkdir(exist_ok=True)
    below = Scratch(repo.path / "sub")
    told = said(below, "1", "deep/", "../new", "kept", "--yes")
    assert told["filesChanged"] == ["new", "sub/deep/er", "sub/kept"]
    now = picture(repo)
    for path, what in now.items():
        assert what == (states[1] if path in ("new", "sub/kept") else states[3])[path]
    assert "sub/deep/er" not in now
    assert said(repo, "1", "--dry-run", "sub", ".")["filesChanged"] == sorted(
        ["README", ODD, "bytes", "d", "last", "link"]
    )
    assert said(repo, "1", "--dry-run", "*")["canRewind"] is False
    for path in ("../repo2", "/", ""):
        assert "outside of the work tree" in str(said(repo, "1", "--dry-run", path)["error"])
    assert "neither here nor there" in str(said(repo, "1", "--dry-run", "x.ign")["error"])
    assert said(repo, "1", "--dry-run", str(repo.path / "last"))["filesChanged"] == ["last"]


def test_it_is_undone_and_that_is_undone(repo: Scratch) -> None:
    client, states = three_turns(repo)
    assert "nothing to undo" in str(said(repo, "--undo", "--yes")["error"])
    repo.write("since", "by hand\n")
    before = picture(repo)
    said(repo, "1", "--yes")
    told = said(repo, "--undo", "--yes")
    assert (told["turn"], told["session"]) == (None, client.session)
    assert ours(picture(repo)) == ours(before)
    said(repo, "--undo", "--yes")
    assert ours(picture(repo)) == ours(states[1])
    rewind.undo(repo.path)
    assert ours(picture(repo)) == ours(before)
    rewind.undo(repo.path, paths=["since"])
    assert not (repo.path / "since").exists()
    assert ours(picture(repo)) == {p: w for p, w in ours(before).items() if p != "since"}
    assert said(repo, "--undo", "--session", client.session[:6], "--dry-run")["canRewind"]
    assert not said(repo, "--undo", "--session", "other", "--dry-run")["canRewind"]


def test_turns_go_on_after_it(repo: Scratch) -> None:
    client, states = three_turns(repo)
    said(repo, "1", "--yes")
    fourth = turn(client, "turn 4", lambda top: None)
    fifth = turn(client, "turn 5", second)
    assert ours(fourth) == ours(states[1])
    for number, wanted in ((3, states[3]), (4, fourth), (5, fifth), (2, states[2])):
        said(repo, str(number), "--yes")
        assert ours(picture(repo)) == ours(wanted), number


def test_a_turn_that_was_broken_off_ends_before_somebody_went_back(repo: Scratch) -> None:
    client = Client.start(repo)
    turn(client, "one", first)
    client.prompt("two")
    keeping.take_due(common_of(repo))
    second(repo.path)
    time.sleep(0.3)
    broken = picture(repo)
    assert "isn't over" in str(said(repo, "2", "--dry-run")["error"])
    assert said(repo, "1", "--yes")["canRewind"]
    assert "isn't over" in str(said(repo, "2", "--dry-run")["error"])
    time.sleep(0.3)
    turn(client, "three", lambda top: None)
    said(repo, "2", "--yes")
    assert ours(picture(repo)) == ours(broken)


def test_what_comes_after_a_rewind_that_did_nothing_is_kept(repo: Scratch) -> None:
    client, states = three_turns(repo)
    mine = repo.write("mine", "by hand\n")
    with discover(repo.path) as found:
        last = snapshots.find_last(found, SessionId(client.session))
        assert last is not None
        settings = config.load(repo.path)
        # As a process leaves it that is killed when it has kept what lies here.
        snapshot.put_back(found, SessionId(client.session), last.tree, settings, ["nothing"])
    fourth = turn(client, "turn 4", lambda top: None)
    said(repo, "3", "--yes")
    assert ours(picture(repo)) == ours(states[3]) and not mine.exists()
    said(repo, "4", "--yes")
    assert ours(picture(repo)) == ours(fourth) and mine.exists()


def test_the_state_that_waits_is_kept_before(repo: Scratch) -> None:
    client, states = three_turns(repo)
    client.prompt("four")
    repo.write("four", "4")
    client.talk.say("done")
    time.sleep(TURN)
    client.stop()
    said(repo, "1", "--yes")
    said(repo, "4", "--yes")
    assert ours(picture(repo)) == ours({**states[3], "four": ("file", b"4")})


# -- which session ------------------------------------------------------------------------


def test_the_latest_session_of_this_work_tree(repo: Scratch, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "other", str(repo.path / "x.ign"))
    other = Scratch(repo.path / "x.ign")
    one = Client.start(repo)
    turn(one, "a", lambda top: None)
    two = Client.start(repo)
    turn(two, "b", lambda top: repo.write("b", "b"))
    work(repo)
    there = Client.start(other)
    turn(there, "c", lambda top: other.write("c", "c"))
    work(repo)
    assert said(repo, "0", "--dry-run")["session"] == two.session
    assert said(other, "0", "--dry-run")["session"] == there.session
    assert said(repo, "0", "--session", one.session, "--dry-run")["session"] == one.session
    told = said(repo, "0", "--session", there.session, "--dry-run")
    assert "another work tree" in str(told["error"])
    # What the registry has dropped, the snapshots still tell.
    one.end()
    work(repo)
    repo.write("b", "more")
    time.sleep(1)
    two.end()
    work(repo)
    for known in registry.all_known(common_of(repo)):
        registry.drop(common_of(repo), known.session)
    assert said(repo, "0", "--dry-run")["session"] == two.session


def test_nobody_was_here(repo: Scratch) -> None:
    assert "no session was held" in str(said(repo, "1", "--dry-run")["error"])


@pytest.mark.parametrize("name", ["4", "@9", "00000000-0000-4000-8000-000000000000", "nonsense"])
def test_what_is_unknown(repo: Scratch, name: str) -> None:
    _, states = three_turns(repo)
    with pytest.raises(NotFound) as caught:
        rewind.plan(repo.path, Request(moment=name))
    assert caught.value.hint
    assert said(repo, name, "--dry-run")["canRewind"] is False
    assert picture(repo) == states[3]


def test_calls_that_make_no_sense(repo: Scratch) -> None:
    client, _ = three_turns(repo)
    for request in (
        Request(),
        Request(moment="1", undo=True),
        Request(undo=True, part="both"),
        Request(moment="1", part="conversation", paths=("x",)),
        Request(moment=f"{client.session}@1", session=client.session),
    ):
        with pytest.raises(Usage):
            rewind.plan(repo.path, request)
    assert isinstance(run(repo, "--json").exception, Usage)


# -- refusals -----------------------------------------------------------------------------


def refuse(repo: Scratch, words: str, *args: str) -> None:
    before = picture(repo)
    told = said(repo, *(args or ("1", "--yes")))
    assert words in str(told["error"])
    assert picture(repo) == before


def test_while_git_is_half_way_through_something(repo: Scratch) -> None:
    three_turns(repo)
    git_dir = common_of(repo)
    for name in ("MERGE_HEAD", "BISECT_LOG", "CHERRY_PICK_HEAD", "rebase-merge"):
        (git_dir / name).write_text(repo.head() + "\n")
        refuse(repo, "is in progress here")
        (git_dir / name).unlink()
    repo.git("add", "-A")
    repo.git("commit", "-qm", "all")
    repo.write("last", "mine\n")
    repo.git("stash", "-q")
    repo.commit("theirs", {"last": "theirs\n"})
    repo.git("stash", "pop", "-q", check=False)
    refuse(repo, "there are conflicts here")


def test_while_a_turn_is_going_on(repo: Scratch) -> None:
    client, states = three_turns(repo)
    client.prompt("four")
    keeping.take_due(common_of(repo))
    told = said(repo, "1", "--dry-run")
    assert told["remarks"] == [
        f"session {client.session} is in the middle of a turn, and may be changing these files"
    ]
    assert "in the middle of a turn" in str(said(repo, "1")["error"])
    with pytest.raises(SessionError, match="in the middle of a turn"):
        rewind.carry_out(repo.path, rewind.plan(repo.path, Request(moment="1")))
    assert picture(repo) == states[3]
    assert said(repo, "1", "--yes")["canRewind"]
    assert ours(picture(repo)) == ours(states[1])


def test_nobody_is_asked_where_nobody_is(repo: Scratch) -> None:
    _, states = three_turns(repo)
    done = run(repo, "1")
    assert isinstance(done.exception, SessionError)
    assert done.exception.message == "nobody is here to ask"
    assert "nobody is here" in str(said(repo, "1")["error"])
    assert picture(repo) == states[3]


def test_somebody_is_asked(repo: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    _, states = three_turns(repo)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    done = run(repo, "1", given="n\n")
    assert isinstance(done.exception, SessionError)
    assert done.exception.message == "nothing was changed"
    assert picture(repo) == states[3]
    assert run(repo, "1", given="y\n").exit_code == 0
    assert ours(picture(repo)) == ours(states[1])


def test_what_changes_while_somebody_thinks(repo: Scratch) -> None:
    _, _ = three_turns(repo)
    wanted = rewind.plan(repo.path, Request(moment="1"))
    repo.write("new", "changed meanwhile\n")
    before = picture(repo)
    with pytest.raises(SessionError, match="have changed meanwhile"):
        rewind.carry_out(repo.path, wanted)
    assert picture(repo) == before


def test_a_file_in_the_way(repo: Scratch) -> None:
    client = Client.start(repo)
    turn(client, "one", lambda top: repo.write("thing", "x\n"))
    turn(client, "two", lambda top: (top / "thing").unlink())
    repo.write(".gitignore", "*.ign\n.claude\nthing\n")
    repo.write("thing", "mine\n")
    refuse(repo, "'thing' is in the way")


def test_why_there_is_no_state(repo: Scratch) -> None:
    client, _ = three_turns(repo)
    work(repo)
    common = common_of(repo)
    session = SessionId(client.session)
    client.end()
    work(repo)
    repo.git("update-ref", "-d", refs.snapshots(session))
    with pytest.raises(SessionError, match="no snapshot was kept of the end of turn 1") as caught:
        rewind.plan(repo.path, Request(moment="1", session=session))
    assert caught.value.hint and f"git session fork {session}@1" in caught.value.hint
    repo.git("config", "session.snapshotKeep", "0")
    refuse(repo, "are gone after 0 days", f"{session}@2", "--yes")
    repo.git("config", "session.snapshot", "false")
    refuse(repo, "session.snapshot is false", f"{session}@2", "--yes")
    repo.git("config", "session.snapshot", "true")
    registry.drop(common, session)
    client.talk.path.unlink()
    refuse(repo, "on another machine", f"{session}@2", "--yes")


def test_a_bare_repository(repo: Scratch, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    with pytest.raises(SessionError, match="no work tree"):
        rewind.plan(tmp_path / "bare.git", Request(moment="1"))


# -- what is said -------------------------------------------------------------------------


def test_commits_stay(repo: Scratch) -> None:
    _, states = three_turns(repo)
    repo.git("add", "-A")
    head = repo.commit("all of it")
    assert said(repo, "1", "--yes")["remarks"] == [
        "1 commit was made since: it stays, only files go back"
    ]
    assert repo.head() == head
    assert ours(picture(repo)) == ours(states[1])
    repo.git("checkout", "-q", "-f", "--orphan", "else")
    repo.git("commit", "-q", "--allow-empty", "-m", "else")
    (remark,) = said(repo, "3", "--dry-run")["remarks"]
    assert "it stays, only files go back" in remark and repo.head()[:12] in remark


def test_repositories_inside_are_left(repo: Scratch) -> None:
    client = Client.start(repo)
    inner = Scratch.create(repo.path / "inner")
    turn(client, "one", lambda top: repo.write("one", "1"))
    head = inner.commit("more", {"x": "x"})
    assert said(repo, "1", "--yes")["remarks"] == [
        "other repositories in here are left as they are: inner"
    ]
    assert inner.head() == head and (inner.path / "x").exists()


def test_what_the_snapshot_lacks(repo: Scratch) -> None:
    repo.git("config", "session.snapshotMaxFile", "1k")
    repo.write("large", "x" * 2000)
    client = Client.start(repo)
    turn(client, "one", lambda top: repo.write("one", "1"))
    (remark,) = said(repo, "0", "--yes")["remarks"]
    assert remark.endswith("couldn't be read: large")
    assert (repo.path / "large").exists()


# -- killed -------------------------------------------------------------------------------


def test_killed_at_any_step_it_is_before_or_after(repo: Scratch) -> None:
    _, states = three_turns(repo)
    seen = set()
    for step in range(1, 400):
        wanted = rewind.plan(repo.path, Request(moment="1"))
        alive = die_at(step * 3, lambda: rewind.carry_out(repo.path, wanted))  # noqa: B023
        # The next command puts it right, whichever it is.
        done = said(repo, "2", "--dry-run")
        assert done["canRewind"]
        now = ours(picture(repo))
        assert now in (ours(states[3]), ours(states[1]))
        seen.add(now == ours(states[1]))
        if alive:
            break
        if now == ours(states[1]):
            said(repo, "3", "--yes")
    assert alive
    assert seen == {True, False}
    assert not (repo.path / restore.BESIDE).exists()


def test_interrupted_in_the_middle_it_is_finished(
    repo: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, states = three_turns(repo)
    put, calls = restore._put, []

    def interrupt(*args: object) -> bool:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return put(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(restore, "_put", interrupt)
    with pytest.raises(KeyboardInterrupt):
        rewind.carry_out(repo.path, rewind.plan(repo.path, Request(moment="1")))
    assert ours(picture(repo)) == ours(states[1])


# -- the conversation ---------------------------------------------------------------------


def test_the_conversation_is_cut_in_a_copy(repo: Scratch) -> None:
    client, states = three_turns(repo)
    original = client.talk.path.read_bytes()
    told = said(repo, "2", "--conversation", "--yes")
    assert picture(repo) == states[3]
    assert client.talk.path.read_bytes() == original
    command, where = told["command"], told["folder"]
    assert isinstance(command, list) and where == str(repo.path)
    _, resume, copy, forks_it, named, fork = command
    assert (resume, forks_it, named) == ("-r", "--fork-session", "--session-id")
    place = claude_code.place_of(repo.path, SessionId(copy), os.environ)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    lines = place.read_bytes().splitlines(keepends=True)
    assert [t.prompt for t in claude_code.read_turns(lines)] == ["turn 1", "turn 2"]
    lineage = forks.find(common_of(repo), fork)
    assert lineage is not None
    assert lineage.parent == Parent(
        session=SessionId(client.session),
        turn=2,
        commit=repo.head(),  # type: ignore[arg-type]
    )
    assert told["filesChanged"] == []
    assert rewinds(repo, client.session) == 0


def test_both_at_once(repo: Scratch) -> None:
    _, states = three_turns(repo)
    done = run(repo, "1", "--both", "--yes")
    assert ours(picture(repo)) == ours(states[1])
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"cd {repo.path} && claude -r ") and "--fork-session" in last
    fresh = said(repo, "0", "--both", "--yes")
    assert ours(picture(repo)) == ours(states[0])
    assert fresh["command"] == ["claude", "--session-id", fresh["command"][-1]]


def test_nothing_is_placed_when_the_files_cant_go_back(repo: Scratch) -> None:
    client, _ = three_turns(repo)
    wanted = rewind.plan(repo.path, Request(moment="1", part="both"))
    repo.write("new", "changed meanwhile\n")
    with pytest.raises(SessionError, match="have changed meanwhile"):
        rewind.carry_out(repo.path, wanted)
    assert list(client.talk.path.parent.glob("*.jsonl")) == [client.talk.path]
    assert list((folder.home(common_of(repo)) / "forks").iterdir()) == []


def test_a_conversation_cant_be_cut_in_an_unfinished_turn(repo: Scratch) -> None:
    client, states = three_turns(repo)
    client.prompt("four")
    client.talk.call("Bash", command="sleep 100")
    for part in ("--conversation", "--both"):
        told = said(repo, "4", part, "--yes")
        assert told["canRewind"] is False
    assert picture(repo) == states[3]


def test_a_session_goes_on_in_its_own_folder(repo: Scratch) -> None:
    client = Client.start(repo)
    client.talk.cwd = repo.path / "sub"
    turn(client, "one", lambda top: None)
    assert said(repo, "1", "--conversation", "--yes")["folder"] == str(repo.path / "sub")
