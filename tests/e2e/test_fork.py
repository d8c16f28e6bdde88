"""`git session fork` with the real client: what a fork is told, and what it finds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitsession.agents import claude_code
from gitsession.ids import SessionId
from tests.e2e.client import BINARY, PATH, Terminal
from tests.e2e.fake_anthropic import Json, blocks_of, prompt_of
from tests.e2e.scenario import Ground, bash, wait_until, write
from tests.scratch import Scratch

pytestmark = pytest.mark.e2e

Files = dict[str, tuple[int, bytes]]


# -- the ground ---------------------------------------------------------------------------


def env_of(ground: Ground, **more: str) -> dict[str, str]:
    return {**os.environ, **ground.claude.env, "CLAUDE_BIN": str(BINARY), **more}


def fork(ground: Ground, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "session", "fork", *words], cwd=ground.repo.path, env=env_of(ground, **more),
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


def prepare(ground: Ground, *words: str) -> Json:
    done = fork(ground, *words, "--no-launch", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def start(ground: Ground, made: Json, prompt: str) -> None:
    """Run the prepared command, as a person would, but for the terminal."""
    words = [*made["command"], "-p", "--allowedTools", "Bash,Write", "--", prompt]
    done = subprocess.run(
        words, cwd=made["worktree"], env=env_of(ground), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    ground.settle()


def files_of(top: Path) -> Files:
    """The work tree: kinds, modes and contents, without git's own and the client's settings."""
    found: Files = {}
    for folder, names, files in os.walk(top):
        names[:] = [name for name in names if name not in (".git", ".claude")]
        for name in files:
            path = Path(folder) / name
            if path.name == ".git":
                continue
            data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            found[str(path.relative_to(top))] = (path.lstat().st_mode, data)
    return found


def original(ground: Ground) -> tuple[object, ...]:
    """All of the source that a fork must leave as it is."""
    git = ground.repo.git
    return (
        ground.transcript().read_bytes(),
        files_of(ground.repo.path),
        (ground.common / "index").read_bytes(),
        (ground.common / "HEAD").read_bytes(),
        (ground.common / "logs/HEAD").read_bytes(),
        git("for-each-ref", "refs/heads/main", "refs/stash"),
        git("for-each-ref", f"refs/*/{ground.session}"),
    )


def sent(ground: Ground, prompt: str) -> list[str]:
    """The prompts that came before one, in the request that had it first."""
    for messages in ground.api.conversations():
        prompts = [words for message in messages if (words := prompt_of(message))]
        if prompt in prompts:
            return prompts[: prompts.index(prompt)]
    raise AssertionError(f"{prompt!r} was never sent")


def results(ground: Ground, prompt: str) -> int:
    """How many results of tools came before a prompt."""
    for messages in ground.api.conversations():
        at = next((n for n, m in enumerate(messages) if prompt_of(m) == prompt), None)
        if at is not None:
            blocks = [block for message in messages[:at] for block in blocks_of(message)]
            return sum(block["type"] == "tool_result" for block in blocks)
    raise AssertionError(f"{prompt!r} was never sent")


def snapping(ground: Ground) -> list[Path]:
    """The moments that are still to be kept."""
    return list((ground.common / "gitsession" / "snapping").glob("*"))


@pytest.fixture
def three(ground: Ground) -> tuple[Ground, list[Files]]:
    """A session of three turns, and the work tree after each; the second one committed."""
    ground.repo.commit("ground", {".gitignore": ".claude\n", "gone": "to be deleted\n"})
    states = [files_of(ground.repo.path)]
    top = ground.repo.path
    turns = [
        ("one", [write(top / "one.py", "1\n"), bash("chmod +x one.py; echo s >'a b'")]),
        ("two", [write(top / "two.py", "2\n"), bash("git add one.py two.py; git commit -qm two")]),
        ("three", [bash("rm gone; ln -s one.py link; echo 3 >>two.py; git add two.py")]),
    ]
    for prompt, calls in turns:
        ground.turn(prompt, *calls)
        wait_until(lambda: not snapping(ground), lambda: str(snapping(ground)))
        states.append(files_of(top))
    return ground, states


# -- tests --------------------------------------------------------------------------------


def test_a_fork_at_every_turn(three: tuple[Ground, list[Files]]) -> None:
    ground, states = three
    before = original(ground)
    commits = [ground.find("ground"), ground.find("ground"), ground.find("two"), ground.find("two")]
    prompts = ["one", "two", "three"]
    for turn in range(4):
        made = prepare(ground, f"{ground.session}@{turn}")
        there = Scratch(Path(made["worktree"]))
        assert files_of(there.path) == states[turn]
        assert (there.head(), made["commit"]) == (commits[turn], commits[turn])
        assert there.git("branch", "--show-current") == made["branch"]
        assert made["branch"] == f"session/{made['session'][:8]}"
        assert there.path == ground.repo.path.parent / f"repo-{made['session'][:8]}"
        # The index is that of the commit: what wasn't committed is not staged.
        assert there.git("diff", "--cached", "--name-only") == ""
        assert original(ground) == before
        if turn == 0:
            assert made["transcript"] == ""
            continue
        start(ground, made, f"go on from {turn}")
        assert sent(ground, f"go on from {turn}") == prompts[:turn]
        assert results(ground, f"go on from {turn}") == [0, 2, 4, 5][turn]
        assert ground.transcript().read_bytes() == before[0]
        # The conversation was moved to the fork's own work tree.
        told = Path(made["transcript"]).read_text()
        assert f'"cwd":"{there.path}"' in told
        assert f'"cwd":"{ground.repo.path}"' not in told
        _check_lineage(ground, made, turn, commits[turn])


def _check_lineage(ground: Ground, made: Json, turn: int, commit: str) -> None:
    (record,) = ground.chain(made["session"])
    assert record.parent is not None
    assert (record.parent.session, record.parent.turn) == (ground.session, turn)
    assert record.parent.commit == commit
    # What it has from its parent is not kept twice.
    assert [t.prompt for t in claude_code.read_turns(ground.segment(1, made["session"])
            .splitlines(keepends=True)) if t.number] == [f"go on from {turn}"]  # fmt: skip
    said = f"Fork of:  {ground.session}, after turn {turn} (commit {commit[:7]})"
    assert said in ground.repo.git("session", "show", made["session"])
    assert said in ground.repo.git("session", "log", "--all")


def test_a_fresh_start_knows_its_parent(three: tuple[Ground, list[Files]]) -> None:
    ground, _ = three
    done = fork(ground, f"{ground.session}@0", "--prompt", "begin anew")
    assert done.returncode == 0, done.stderr
    ground.settle()
    (session,) = set(ground.sessions()) - {ground.session}
    (record,) = ground.chain(session)
    assert record.parent is not None
    assert (record.parent.session, record.parent.turn) == (ground.session, 0)
    assert sent(ground, "begin anew") == []
    shown = ground.repo.git("session", "show", session)
    assert f"Fork of:  {ground.session}, before its first prompt" in shown


def test_a_fork_of_a_fork(three: tuple[Ground, list[Files]]) -> None:
    ground, states = three
    first = prepare(ground, f"{ground.session}@2")
    start(ground, first, "branch off")
    second = prepare(ground, f"{first['session']}@1")
    assert files_of(Path(second["worktree"])) == states[2]
    start(ground, second, "branch off again")
    assert sent(ground, "branch off again") == ["one", "two", "branch off"]
    (record,) = ground.chain(second["session"])
    assert record.parent is not None
    assert (record.parent.session, record.parent.turn) == (first["session"], 1)
    own = ground.segment(1, second["session"]).splitlines(keepends=True)
    assert [t.prompt for t in claude_code.read_turns(own) if t.number] == ["branch off again"]
    # Before its first own prompt it is where its parent was forked.
    third = prepare(ground, f"{second['session']}@0")
    start(ground, third, "and again")
    assert sent(ground, "and again") == ["one", "two", "branch off"]


def test_a_commit_stands_for_its_turn_and_the_agent_is_started(
    three: tuple[Ground, list[Files]],
) -> None:
    ground, states = three
    done = fork(ground, "HEAD", "--prompt", "from the commit", "--branch", "try/it")
    assert done.returncode == 0, done.stderr
    assert "echo: from the commit" in done.stdout
    assert f"forked {ground.session} at turn 2: branch try/it" in done.stderr
    assert sent(ground, "from the commit") == ["one", "two"]
    ground.settle()
    (tree,) = [x.removeprefix("worktree ") for x in
               ground.repo.git("worktree", "list", "--porcelain").splitlines()
               if x.startswith("worktree ")][1:]  # fmt: skip
    assert files_of(Path(tree)) == states[2]
    # The copy that was forked has served its purpose.
    folder = claude_code.place_of(Path(tree), SessionId(ground.session),
                                  ground.claude.env).parent  # fmt: skip
    (left,) = folder.glob("*.jsonl")
    assert left.stem != ground.session


def test_without_snapshots_the_code_is_that_of_the_commit(
    three: tuple[Ground, list[Files]],
) -> None:
    ground, _ = three
    ground.repo.git("update-ref", "-d", f"refs/snapshots/{ground.session}")
    made = prepare(ground, ground.session, "--latest")
    assert made["turn"] == 3
    assert made["remarks"] == ["no snapshot was kept of that turn: the code is that of the commit"]
    there = Scratch(Path(made["worktree"]))
    assert (there.head(), there.git("status", "--porcelain")) == (ground.find("two"), "")
    assert prepare(ground, f"{ground.session}@1")["commit"] == ground.find("ground")


def test_a_session_in_progress_is_forked(ground: Ground) -> None:
    ground.repo.commit("ground", {".gitignore": ".claude\n"})
    with ground.claude.terminal(ground.repo.path, ground.session) as client:
        client.enter("the first question")
        client.wait("echo: the first question")
        assert ground.sessions() == []
        wait_until(lambda: ground.transcript().exists(), client.screen)
        made = prepare(ground, "--latest")
        assert (made["parent"], made["turn"]) == (ground.session, 1)
        start(ground, made, "go on beside it")
        client.enter("the second question")
        client.wait("echo: the second question")
        client.quit()
    ground.settle()
    assert sent(ground, "go on beside it") == ["the first question"]
    (record,) = ground.chain(made["session"])
    assert record.parent is not None
    assert (record.parent.session, record.parent.turn) == (ground.session, 1)
    own = ground.segment(1, made["session"]).splitlines(keepends=True)
    assert [t.prompt for t in claude_code.read_turns(own) if t.number] == ["go on beside it"]


def test_the_client_is_missing(three: tuple[Ground, list[Files]]) -> None:
    ground, _ = three
    before = (
        original(ground),
        ground.repo.git("for-each-ref"),
        list(ground.repo.path.parent.iterdir()),
    )
    done = fork(ground, f"{ground.session}@1", CLAUDE_BIN="no-such-client")
    assert done.returncode == 1
    assert "error: 'no-such-client' is not here" in done.stderr
    assert before == (
        original(ground), ground.repo.git("for-each-ref"), list(ground.repo.path.parent.iterdir())
    )  # fmt: skip
    done = fork(ground, f"{ground.session}@1", "--print", CLAUDE_BIN="no-such-client")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"cd {ground.repo.path}-")
    assert " && no-such-client -r " in done.stdout


# -- in a terminal ------------------------------------------------------------------------


def shell(ground: Ground, path: str) -> Terminal:
    """A shell in a terminal, with these programs."""
    env = env_of(ground, PATH=path, PS1="> ")
    return Terminal(env, ground.repo.path, ["bash", "--norc", "--noprofile"])


def path_without_fzf(ground: Ground) -> str:
    """The programs that are needed, in a folder where fzf isn't."""
    folder = ground.repo.path.parent / "programs"
    folder.mkdir()
    for name in ("git", "git-session", "sh", "bash", "sleep", "cat", "tmux"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    return str(folder)


def forked(ground: Ground) -> list[str]:
    return ground.repo.git(
        "for-each-ref", "--format=%(refname:short)", "refs/heads/session/"
    ).split()


def test_fzf_shows_every_turn_and_what_it_did(three: tuple[Ground, list[Files]]) -> None:
    if shutil.which("fzf", path=PATH) is None:
        pytest.skip("fzf is missing: install it to drive the picker")
    ground, states = three
    with shell(ground, PATH) as terminal:
        terminal.enter("git session fork --no-launch")
        terminal.wait(r"fork at>")
        terminal.wait(r"(?s)Turn 3 .*Turn 2 .*Turn 1 .*Turn 0 ")
        terminal.wait(r"Turn 2 .*\+1 -0  two\.py  two")
        # The preview of the newest turn: its calls, and what they changed in the work tree.
        terminal.wait(r"(?s)rm gone.*deleted file mode")
        terminal.enter("two.py")
        terminal.wait(r"forked .* at turn 2: branch session/")
        (branch,) = forked(ground)
    (place,) = ground.repo.path.parent.glob("repo-*")
    assert branch == f"session/{place.name.removeprefix('repo-')}"
    assert files_of(place) == states[2]


def test_nothing_is_chosen(three: tuple[Ground, list[Files]]) -> None:
    if shutil.which("fzf", path=PATH) is None:
        pytest.skip("fzf is missing: install it to drive the picker")
    ground, _ = three
    with shell(ground, PATH) as terminal:
        terminal.enter("git session fork; echo code=$?")
        terminal.wait(r"fork at>")
        terminal.press("Escape")
        terminal.wait(r"code=130")
    assert forked(ground) == []


def test_a_number_is_asked_for_without_fzf(three: tuple[Ground, list[Files]]) -> None:
    ground, states = three
    with shell(ground, path_without_fzf(ground)) as terminal:
        terminal.enter("git session fork --no-launch")
        terminal.wait(r"(?s)Turn 3 .*Turn 2 .*Turn 1 .*Turn 0 .*fork at turn:")
        terminal.enter("77")
        terminal.wait("that is none of the turns")
        terminal.enter("1")
        terminal.wait(r"forked .* at turn 1: branch session/")
    (place,) = ground.repo.path.parent.glob("repo-*")
    assert files_of(place) == states[1]


def test_the_client_goes_on_in_the_terminal(three: tuple[Ground, list[Files]]) -> None:
    ground, _ = three
    ground.claude.answer_in_advance(ground.repo.path)
    with shell(ground, PATH) as terminal:
        terminal.enter(f"git session fork {ground.session}@2; echo code=$?")
        # It trusts the work trees of a repository that it trusts, and shows what was said.
        terminal.wait(r"(?s)\u276f one\b.*\u276f two\b.*\u276f\s*\n")
        terminal.enter("typed in the fork")
        terminal.wait("echo: typed in the fork")
        terminal.enter("/exit")
        terminal.wait(r"code=0")
    ground.settle()
    assert sent(ground, "typed in the fork") == ["one", "two"]
