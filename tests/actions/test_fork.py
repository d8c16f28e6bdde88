"""Forking a session at a turn: what is made, what stays, and what is refused with which reason."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from gitsession.actions import fork, fork_plan
from gitsession.actions.fork import Made, Wish
from gitsession.actions.fork_plan import Reached
from gitsession.actions.fork_source import find
from gitsession.actions.import_sessions import import_sessions
from gitsession.agents import claude_code
from gitsession.errors import Ambiguous, NotFound, SessionError
from gitsession.git import worktree
from gitsession.git.plumbing import discover
from gitsession.ids import Oid, SessionId
from gitsession.model import Author
from gitsession.store import forks, registry, snapshots
from gitsession.store.registry import Known
from gitsession.store.states import Draft, Moment, Snapshot, stamp
from tests.agents.claude_samples import answer, call, result, user
from tests.scratch import Scratch

PROGRAM = str(Path(sys.executable).with_name("git-session"))
SESSION = SessionId("11111111-2222-3333-4444-555555555555")
BEGAN = 1_800_000_000.0
PROMPTS = {1: "one", 2: "two \x1b[31mred", 3: "three"}


# -- the ground ---------------------------------------------------------------------------


def lines_of(top: Path) -> list[bytes]:
    found, last = [], None
    for turn, prompt in PROMPTS.items():
        where = {"cwd": str(top), "timestamp": stamp(BEGAN + 10 * turn)}
        path = str(top / f"{turn}.py")
        told = {"filePath": path, "type": "create", "content": "x\n", "structuredPatch": []}
        found += [
            user(prompt, uuid=f"p{turn}", parentUuid=last, promptSource="typed", **where),
            answer(call("Write", f"t{turn}", file_path=path, content="x\n"), id=f"m{turn}",
                   uuid=f"a{turn}", parentUuid=f"p{turn}", **where),
        ]  # fmt: skip
        given = json.loads(result(told, id=f"t{turn}"))
        given |= {"uuid": f"r{turn}", "parentUuid": f"a{turn}", **where}
        done = answer({"type": "text", "text": "Done."}, id=f"e{turn}", uuid=f"e{turn}",
                      parentUuid=f"r{turn}", **where)  # fmt: skip
        found += [json.dumps(given).encode() + b"\n", done]
        last = f"e{turn}"
    return found


def capture(scratch: Scratch, session: SessionId = SESSION) -> Path:
    """Keep a session of three turns, and leave it where the client has it."""
    source = claude_code.place_of(scratch.path, session, os.environ)
    source.parent.mkdir(parents=True, exist_ok=True)
    text = b"".join(lines_of(scratch.path))
    source.write_bytes(text.replace(SESSION.encode(), session.encode()))
    assert import_sessions(scratch.path, [source]).failures == ()
    return source


def keep(scratch: Scratch, at: float, moment: Moment = "end") -> None:
    """Keep the state of the work tree."""
    with discover(scratch.path) as repo:
        taken = worktree.take(repo, snapshots.side_index(repo.common_dir, repo.git_dir))
        draft = Draft(session=SESSION, moment=moment, at=at, worktree=str(scratch.path))
        snapshots.write(repo, taken, draft, Author(name="Dev", email="dev@example.com"))


def make(scratch: Scratch, name: str = "", turn: int | None = None, **wish: str | bool) -> Made:
    origin = find(scratch.path, name)
    chosen = turn if turn is not None else origin.turn if origin.turn is not None else origin.last
    wanted = fork.plan(scratch.path, origin, chosen)
    made, launch = fork.make(scratch.path, wanted, Wish(**{"launch": False, **wish}))  # type: ignore[arg-type]
    assert launch.cwd == made.worktree
    return made


def command(
    scratch: Scratch, *words: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "fork", *words], cwd=scratch.path, env=env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def everything(scratch: Scratch) -> tuple[object, ...]:
    """All that a fork that was refused, or taken back, leaves as it was."""
    top = scratch.path.parent
    files = {str(p): p.lstat().st_mode for p in top.rglob("*") if "/.git/" not in str(p)}
    contents = {str(p): p.read_bytes() for p in scratch.path.iterdir() if p.is_file()}
    forked = sorted((scratch.path / ".git/gitsession").glob("forks/*"))
    head = (scratch.path / ".git/HEAD").read_bytes()
    return (
        files, contents, forked, head, scratch.git("for-each-ref"), scratch.git("status", "-uall"),
        scratch.git("worktree", "list"), scratch.git("ls-files", "--stage"),
        scratch.git("config", "--list"),
    )  # fmt: skip


@pytest.fixture
def kept(scratch: Scratch) -> Iterator[Scratch]:
    """A repository with a session in it."""
    capture(scratch)
    yield scratch


# -- what is made -------------------------------------------------------------------------


def test_the_conversation_and_the_code_of_a_turn(scratch: Scratch) -> None:
    keep(scratch, BEGAN + 9, "start")
    scratch.write("README", "changed\n")
    scratch.write("new", "new\n").chmod(0o755)
    keep(scratch, BEGAN + 15)
    scratch.git("add", "new")
    scratch.git("rm", "-q", "--cached", "README")
    source = capture(scratch)
    before = (everything(scratch), source.read_bytes())
    made = make(scratch, f"{SESSION}@1")
    there = Scratch(Path(made.worktree))
    assert (there.path / "README").read_text() == "changed\n"
    assert os.access(there.path / "new", os.X_OK)
    assert there.git("status", "--porcelain") == " M README\n?? new"
    assert (made.commit, there.head()) == (scratch.head(), scratch.head())
    assert (made.branch, there.path.name) == (
        f"session/{made.session[:8]}", f"repo-{made.session[:8]}"
    )  # fmt: skip
    placed = [json.loads(raw) for raw in Path(made.transcript).read_bytes().splitlines()]
    prompts = [x["uuid"] for x in placed if x.get("promptSource")]
    assert prompts == ["p1"]
    assert {x["cwd"] for x in placed if "cwd" in x} == {made.worktree}
    assert made.command == (
        "claude", "-r", Path(made.transcript).stem, "--fork-session", "--session-id", made.session
    )  # fmt: skip
    told = forks.find(scratch.path / ".git", made.session)
    assert told is not None
    assert (told.session, told.turn, told.commit) == (SESSION, 1, scratch.head())
    # The source is as it was: work tree, index, branch, transcript.
    scratch.git("worktree", "remove", "--force", made.worktree)
    scratch.git("branch", "-D", made.branch)
    Path(made.transcript).unlink()
    Path(made.transcript).parent.rmdir()
    forks.drop(scratch.path / ".git", made.session)
    assert (everything(scratch), source.read_bytes()) == before


def test_the_first_turn_is_a_fresh_start(kept: Scratch) -> None:
    made = make(kept, f"{SESSION}@0")
    assert made.transcript == ""
    assert made.command == ("claude", "--session-id", made.session, "--", "one")
    assert make(kept, f"{SESSION}@0", prompt="other").command[-2:] == ("--", "other")


def test_a_prompt_stands_for_the_moment_before_it(kept: Scratch) -> None:
    lines = lines_of(kept.path)
    uuid = "aaaaaaaa-0000-0000-0000-000000000000"
    other = SessionId("22222222-2222-3333-4444-555555555555")
    source = claude_code.place_of(kept.path, other, os.environ)
    text = b"".join(lines).replace(b'"p3"', f'"{uuid}"'.encode())
    source.write_bytes(text.replace(SESSION.encode(), other.encode()))
    import_sessions(kept.path, [source])
    made = make(kept, f"{other}@{uuid}")
    assert made.turn == 2
    assert b'"e2"' in Path(made.transcript).read_bytes()
    with pytest.raises(NotFound, match="no prompt named"):
        make(kept, f"{other}@aaaaaaaa-0000-0000-0000-00000000000f")


def test_this_work_tree_is_switched(scratch: Scratch) -> None:
    scratch.commit("ignore", {".gitignore": "secret\n"})
    keep(scratch, BEGAN + 9, "start")
    scratch.write("new", "new\n")
    keep(scratch, BEGAN + 15)
    (scratch.path / "new").unlink()
    scratch.write("secret", "mine\n")
    capture(scratch)
    main = scratch.head()
    made = make(scratch, f"{SESSION}@1", here=True, branch="try/it")
    assert (made.worktree, made.branch) == (str(scratch.path), "try/it")
    assert scratch.git("branch", "--show-current") == "try/it"
    assert scratch.git("status", "--porcelain") == "?? new"
    assert (scratch.path / "secret").read_text() == "mine\n"
    assert scratch.git("rev-parse", "main") == main


def test_a_work_tree_where_the_user_wants_it(kept: Scratch, tmp_path: Path) -> None:
    kept.git("config", "session.worktrees", str(tmp_path / "a" / "b"))
    made = make(kept)
    assert Path(made.worktree).parent == tmp_path / "a" / "b"
    # A fork that is made in a fork's work tree has the repository's name, not that one's.
    again = make(Scratch(Path(made.worktree)), str(SESSION))
    assert Path(again.worktree).name == f"repo-{again.session[:8]}"


def test_a_detached_head_and_submodules(kept: Scratch, tmp_path: Path) -> None:
    inner = Scratch.create(tmp_path / "inner")
    kept.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub"
    )
    kept.commit("sub")
    kept.git("checkout", "-q", "--detach")
    keep(kept, BEGAN + 35)
    made = make(kept)
    assert any(remark.startswith("submodules are empty") for remark in made.remarks)
    assert list((Path(made.worktree) / "sub").iterdir()) == []
    assert kept.git("rev-parse", "HEAD") == made.commit


def test_a_session_that_was_never_captured(scratch: Scratch) -> None:
    source = claude_code.place_of(scratch.path, SESSION, os.environ)
    source.parent.mkdir(parents=True)
    source.write_bytes(b"".join(lines_of(scratch.path)))
    known = Known(session=SESSION, agent="claude-code", source=str(source), cwd=str(scratch.path))
    registry.save(scratch.path / ".git", known)
    for name in ("", str(SESSION[:6]), f"{SESSION}@3"):
        made = make(scratch, name)
        assert (made.parent, made.turn) == (SESSION, 3)
        assert made.remarks == ("nothing tells what the code was at that turn: it is that of HEAD",)


def test_what_is_printed(kept: Scratch) -> None:
    done = command(kept, "--latest", "--no-launch", "--json")
    found = json.loads(done.stdout)
    assert set(found) >= {"session", "turn", "branch", "worktree", "transcript", "command"}
    assert found["turn"] == 3
    done = command(kept, f"{SESSION}@2", "--print")
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"cd {kept.path}-")
    assert " && claude -r " in line
    assert f"forked {SESSION} at turn 2" in done.stderr
    done = command(kept, "--latest", "--json")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: --json needs --no-launch")


def test_the_agent_is_started_there_and_its_exit_code_is_ours(
    kept: Scratch, tmp_path: Path
) -> None:
    client = tmp_path / "client"
    client.write_text('#!/bin/sh\npwd\nprintf "%s\\n" "$@"\nexit 7\n')
    client.chmod(0o755)
    env = {**os.environ, "CLAUDE_BIN": str(client), "CLAUDE_CODE_SESSION_ID": "x"}
    done = command(kept, f"{SESSION}@2", "--prompt", "-go on", env=env)
    assert done.returncode == 7
    cwd, *words = done.stdout.splitlines()
    assert cwd.startswith(f"{kept.path}-")
    assert (words[0], words[-2:]) == ("-p", ["--", "-go on"])


# -- what is refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        (f"{SESSION}@4", "no turn named '4'", "the turns here are 1 to 3"),
        ("unknown", "no commit, session or task named 'unknown'", f"did you mean: {SESSION}"),
        ("unknown@1", "no commit, session or task named 'unknown@1'", f"did you mean: {SESSION}"),
        ("HEAD", "has no session", "`git session log` lists the commits that have one"),
    ],
)
def test_names_that_stand_for_nothing(kept: Scratch, name: str, message: str, hint: str) -> None:
    kept.commit("by hand", {"x": "x"})
    with pytest.raises(SessionError, match=message) as error:
        make(kept, name)
    assert error.value.hint == hint


def test_no_session_at_all(scratch: Scratch) -> None:
    with pytest.raises(SessionError, match="no session was held here yet"):
        find(scratch.path)


def test_sessions_that_begin_alike(kept: Scratch) -> None:
    capture(kept, SessionId("11111111-2222-3333-4444-666666666666"))
    with pytest.raises(Ambiguous):
        find(kept.path, "1111")


def test_a_bare_repository(kept: Scratch, tmp_path: Path) -> None:
    kept.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    with pytest.raises(SessionError, match="no work tree at"):
        find(tmp_path / "bare", str(SESSION))


def test_no_commit_yet(tmp_path: Path) -> None:
    scratch = Scratch.create(tmp_path / "repo", commit=False)
    capture(scratch)
    with pytest.raises(SessionError, match="there is no commit yet"):
        make(scratch, str(SESSION))


@pytest.mark.parametrize("change", ["modified", "untracked", "staged"])
def test_a_work_tree_with_changes_is_not_switched(kept: Scratch, change: str) -> None:
    kept.write("README" if change == "modified" else "other", "mine\n")
    if change == "staged":
        kept.git("add", "other")
    before = everything(kept)
    with pytest.raises(SessionError, match="this work tree has changes") as error:
        make(kept, here=True)
    assert "--here" in str(error.value.hint)
    assert everything(kept) == before


@pytest.mark.parametrize("name", ["main", "-x", "a..b", "with space", "HEAD"])
def test_branches_that_cannot_be_made(kept: Scratch, name: str) -> None:
    before = everything(kept)
    with pytest.raises(SessionError, match="branch"):
        make(kept, branch=name)
    assert everything(kept) == before


def test_a_branch_that_is_in_the_way_of_ours(kept: Scratch) -> None:
    kept.git("branch", "session")
    before = everything(kept)
    with pytest.raises(SessionError, match="can't be made") as error:
        make(kept)
    assert error.value.hint == "choose another name with --branch"
    assert everything(kept) == before


def test_what_cannot_be_cut_exactly_is_refused(scratch: Scratch) -> None:
    source = claude_code.place_of(scratch.path, SESSION, os.environ)
    source.parent.mkdir(parents=True)
    source.write_bytes(b"".join(lines_of(scratch.path)[:-2]))
    import_sessions(scratch.path, [source])
    with pytest.raises(SessionError, match="turn 3 isn't finished"):
        make(scratch, f"{SESSION}@3")
    assert make(scratch, f"{SESSION}@2").turn == 2


def test_what_is_ignored_is_never_overwritten(scratch: Scratch) -> None:
    keep(scratch, BEGAN + 9, "start")
    scratch.write("secret", "the snapshot's\n")
    keep(scratch, BEGAN + 15)
    scratch.write("secret", "mine\n")
    (scratch.path / ".git/info/exclude").write_text("secret\n")
    capture(scratch)
    before = everything(scratch)
    with pytest.raises(SessionError, match="'secret' is in the way"):
        make(scratch, f"{SESSION}@1", here=True)
    assert everything(scratch) == before
    assert (Path(make(scratch, f"{SESSION}@1").worktree) / "secret").exists()


# -- what fails, or is killed, is taken back ----------------------------------------------


def test_no_client(kept: Scratch) -> None:
    before = everything(kept)
    env = {**os.environ, "CLAUDE_BIN": "no-such-client"}
    done = command(kept, "--latest", env=env)
    assert done.returncode == 1
    assert done.stderr.startswith("error: 'no-such-client' is not here")
    assert everything(kept) == before


def _no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(claude_code, "install", refuse)


def _no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise SessionError("the work tree can't be put back")

    monkeypatch.setattr(fork, "check", refuse)


def _interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fork, "_put", refuse)


@pytest.mark.parametrize("here", [True, False])
@pytest.mark.parametrize("fault", [_no_room, _no_state, _interrupted])
def test_a_step_that_fails(
    scratch: Scratch,
    monkeypatch: pytest.MonkeyPatch,
    here: bool,
    fault: Callable[[pytest.MonkeyPatch], None],
) -> None:
    keep(scratch, BEGAN + 9, "start")
    scratch.write("new", "new\n")
    keep(scratch, BEGAN + 15)
    (scratch.path / "new").unlink()
    capture(scratch)
    before = everything(scratch)
    fault(monkeypatch)
    with pytest.raises((OSError, SessionError, KeyboardInterrupt)):
        make(scratch, f"{SESSION}@1", here=here)
    assert everything(scratch) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_fork_that_is_told_to_end(kept: Scratch, tmp_path: Path, number: int) -> None:
    hook = kept.path / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/there'; sleep 30\n")
    hook.chmod(0o755)
    before = everything(kept)
    process = subprocess.Popen(
        [PROGRAM, "fork", "--latest", "--no-launch"], cwd=kept.path,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    end = time.monotonic() + 30
    while not (tmp_path / "there").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    (tmp_path / "there").unlink()
    assert everything(kept) == before


def test_a_fork_that_was_killed_is_told_of_by_the_next(kept: Scratch) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    fork_of = forks.Fork(session=SESSION, turn=1, branch="session/x", worktree="/there")
    broken = SessionId("33333333-2222-3333-4444-555555555555")
    forks.save(kept.path / ".git", broken, msgspec.structs.replace(fork_of, maker=dead.pid))
    made = make(kept)
    assert made.remarks[0] == (
        "a fork was broken off earlier; what there is of it is on the branch session/x"
        " and in /there"
    )
    assert forks.find(kept.path / ".git", broken) is None
    told = forks.find(kept.path / ".git", made.session)
    assert told is not None
    assert (told.maker, told.branch, told.worktree) == (0, made.branch, made.worktree)
    assert "broken" not in " ".join(make(kept).remarks)


def test_notes_of_forks_go_when_captures_tell(kept: Scratch) -> None:
    common = kept.path / ".git"
    made = make(kept, f"{SESSION}@0")
    source = claude_code.place_of(Path(made.worktree), made.session, os.environ)
    source.parent.mkdir(parents=True)
    text = b"".join(lines_of(Path(made.worktree))).replace(SESSION.encode(), made.session.encode())
    # Lines of its own have names of their own.
    source.write_bytes(re.sub(rb'(?i)(uuid": ")', rb"\1own-", text))
    import_sessions(kept.path, [source])
    head = json.loads(kept.git("cat-file", "-p", f"refs/sessions/{made.session}:session.json"))
    assert head["parent"] == {"session": SESSION, "commit": made.commit}
    assert forks.find(common, made.session) is not None
    make(kept)
    assert forks.find(common, made.session) is None
    (common / "gitsession/forks/bad.json").write_text("{")
    assert forks.find(common, "bad") is None


# -- whose it is --------------------------------------------------------------------------


@pytest.fixture
def anns(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    """A session that somebody else captured."""
    with monkeypatch.context() as other:
        other.setenv("GIT_AUTHOR_NAME", "Ann")
        other.setenv("GIT_AUTHOR_EMAIL", "ann@example.com")
        capture(scratch).unlink()
    return scratch


def test_somebody_elses_session_is_asked_about(anns: Scratch) -> None:
    before = everything(anns)
    done = command(anns, f"{SESSION}@3", "--no-launch")
    assert done.returncode == 1
    assert f"warning: session {SESSION} is by Ann <ann@example.com>, not by you" in done.stderr
    assert "  > one\n  > two red\n  > three\n" in done.stderr
    assert "\x1b" not in done.stderr
    assert "error: nobody is here to ask" in done.stderr
    assert everything(anns) == before
    done = command(anns, f"{SESSION}@3", "--no-launch", "--yes")
    assert done.returncode == 0, done.stderr
    assert "is by Ann" in done.stderr


def test_without_a_name_somebody_elses_session_is_not_meant(anns: Scratch) -> None:
    with pytest.raises(SessionError, match="no session was held here yet"):
        find(anns.path)


def test_a_session_whose_content_is_not_that_of_its_records(kept: Scratch) -> None:
    assert find(kept.path, str(SESSION)).doubt is None
    ref = f"refs/sessions/{SESSION}"
    record = json.loads(kept.git("cat-file", "-p", f"{ref}:captures/1.json"))
    record["id"] = "0" * 40
    blob = kept.git("hash-object", "-w", "--stdin", stdin=json.dumps(
        record, sort_keys=True, separators=(",", ":")) + "\n")  # fmt: skip
    env = {**os.environ, "GIT_INDEX_FILE": str(kept.path / ".git/forged")}

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=kept.path, env=env, capture_output=True,
                              text=True, check=True)  # fmt: skip
        return done.stdout.strip()

    git("read-tree", ref)
    git("update-index", "--cacheinfo", f"100644,{blob},captures/1.json")
    git("update-ref", ref, git("commit-tree", "-p", ref, "-m", "forged", git("write-tree")))
    doubt = find(kept.path, str(SESSION)).doubt
    assert doubt is not None
    assert any("its lines are not those of its record" in reason for reason in doubt.reasons)


# -- pure ---------------------------------------------------------------------------------


def snapshot(head: str | None) -> Snapshot:
    return Snapshot(oid=Oid("s" * 40), tree=Oid("t" * 40), moment="end", at=stamp(BEGAN),
                    head=Oid(head) if head else None, worktree="/work")  # fmt: skip


def test_the_code_is_what_is_best_known() -> None:
    a, b, base, head = (Oid(x * 40) for x in "abcd")
    reached = [Reached(turn=1, commit=a), Reached(turn=3, commit=b)]

    def choose(turn: int, state: Snapshot | None = None, **known: Oid | None) -> tuple[object, ...]:
        code = fork_plan.choose_code(turn, state, reached, **{"base": base, "head": head, **known})
        return (code.commit, code.tree, code.top) if code else ()

    assert choose(2, snapshot(b)) == (b, "t" * 40, "/work")
    assert choose(2, snapshot(None)) == (a, None, "")
    assert [choose(n)[0] for n in range(4)] == [base, a, a, b]
    assert choose(0, base=None)[0] == head
    assert choose(0, base=None, head=None) == ()


@pytest.mark.parametrize(
    ("setting", "place"),
    [("", "/w/repo-11111111"), ("/x", "/x/repo-11111111"), ("../y", "/w/tree/../y/repo-11111111"),
     (".trees", "/w/tree/.trees/repo-11111111")],
)  # fmt: skip
def test_where_a_work_tree_is_put(setting: str, place: str) -> None:
    found = fork_plan.place_worktree(Path("/w/repo"), Path("/w/tree"), SESSION, setting)
    assert str(found) == os.path.normpath(place)


def test_one_person_has_one_address() -> None:
    ann = Author(name="Ann", email="ann@example.com")
    assert fork_plan.is_same_person(ann, Author(name="A.", email="Ann@Example.com"))
    assert not fork_plan.is_same_person(ann, Author(name="Ann", email="bob@example.com"))
    assert not fork_plan.is_same_person(Author(name="Ann"), Author(name="Bob"))
    assert fork_plan.is_same_person(Author(name="Ann"), Author(name="Ann"))


def test_rows_are_the_newest_first(kept: Scratch) -> None:
    origin = find(kept.path, str(SESSION))
    found = origin.rows(datetime.fromtimestamp(BEGAN + 150, UTC))
    assert [row.number for row in found] == [3, 2, 1, 0]
    assert [(row.age, row.prompt) for row in found][:2] == [("2m", "three"), ("2m", "two red")]
