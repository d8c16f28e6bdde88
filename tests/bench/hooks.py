"""What the user waits for: the agent's hooks, and `git commit` with ours in the way."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from gitsession.actions import agenthooks
from gitsession.actions.install import install
from tests.bench.clock import Contender, command, compare, repeated
from tests.bench.corpus import closing
from tests.bench.ground import Ground, run, settle, transcript
from tests.bench.report import Row, ms
from tests.scratch import Scratch

_PAYLOADS = Path(__file__).parents[1] / "data" / "claude" / "hooks"
_SESSION = "5f1d7a52-3f3e-4e0c-9a55-0c5f7d0b7e11"
_PEER = "@wasabeef/agentnote"
_TIMES = 20


def installed(ground: Ground, name: str) -> Scratch:
    """A repository that `git session init` was run in."""
    repo = ground.repository(name)
    install(repo.path, shared=False, agent="claude-code", push=False)
    run("git", "config", "session.enabled", "true", cwd=repo.path)
    return repo


def measure_agent(ground: Ground) -> Iterator[Row]:
    """The agent's hook, for what brings no commit."""
    repo = installed(ground, "hooks")
    repo.commit("second", {"a": "a\n"})
    # With snapshots a prompt starts a process, which would be at work while others are timed.
    run("git", "config", "session.snapshot", "false", cwd=repo.path)
    contenders = {"git": repeated("git rev-parse HEAD", _TIMES, cwd=repo.path)}
    for word, name in (("tool-used", "PostToolUse-Bash"), ("prompt", "UserPromptSubmit")):
        payload = ground.scratch / f"{word}.json"
        recorded = json.loads((_PAYLOADS / f"{name}.json").read_text())
        payload.write_text(json.dumps({**recorded, "cwd": str(repo.path)}) + "\n")
        given = f"</{shlex.quote(str(payload.relative_to('/')))}"
        shim = f".git/gitsession-hooks/agent claude-code {word} {given}"
        full = f"sh -c {shlex.quote(agenthooks.command_line('claude-code', word))} {given}"
        contenders[f"{word} shim"] = repeated(shim, _TIMES, cwd=repo.path)
        contenders[f"{word} full"] = repeated(full, _TIMES, cwd=repo.path)
    run("sh", "-c", f".git/gitsession-hooks/agent claude-code tool-used <{payload}", cwd=repo.path)
    settle(repo)
    found = compare(contenders, ground.rounds(12))
    settle(repo)
    base = found["git"].median
    for word in ("tool-used", "prompt"):
        yield Row(
            what=f"agent's hook `{word}`: our shim, against `git rev-parse HEAD`",
            measured=found[f"{word} shim"].median / base, budget=4,
            note=f"{ms(found[f'{word} shim'].median)} against {ms(base)}",
        )  # fmt: skip
        yield Row(
            what=f"agent's hook `{word}`: the whole line in its settings",
            measured=found[f"{word} full"].median / base,
            note="with the `sh -c` and the `git rev-parse` that find the shim",
        )


def measure_commit(ground: Ground) -> Iterator[Row]:
    """`git commit`, with nothing, with ours, with a peer's."""
    active = {"CLAUDE_CODE_SESSION_ID": _SESSION}
    contenders = {
        "plain": _committing(ground.repository("plain")),
        "plain in a session": _committing(ground.repository("plain"), env=active),
        "idle": _committing(installed(ground, "idle")),
        "active": _active(ground, installed(ground, "active")),
    }
    peer = _peer(ground)
    if peer is not None:
        contenders["peer"] = _committing(peer, before=lambda: _tell_peer(ground, peer), env=active)
    found = compare(contenders, ground.rounds(15))
    plain = found["plain"].median
    for name, title in (("idle", "no session known"), ("active", "in a session")):
        yield Row(
            what=f"`git commit` with our hooks, {title}, against plain",
            measured=found[name].median / plain, budget=1.5,
            note=f"{ms(found[name].median)} against {ms(plain)}; best {ms(found[name].best)} "
            f"against {ms(found['plain'].best)}",
        )  # fmt: skip
    if peer is None:
        yield Row(what=f"the same with {_PEER}", measured=0, note="npm can't get it here")
    else:
        yield Row(what=f"the same with {_PEER} {_version(ground)}, in a session",
                  measured=found["peer"].median / plain, note=ms(found["peer"].median))  # fmt: skip


def _committing(
    repo: Scratch, after: Callable[[], object] | None = None,
    before: Callable[[], object] | None = None, env: Mapping[str, str] | None = None,
) -> Contender:  # fmt: skip
    def stage() -> None:
        repo.write("file", f"{time.time_ns()}\n")
        repo.git("add", "file")
        if before is not None:
            before()

    commit = command("git", "commit", "-q", "-m", "more", cwd=repo.path, env=env)
    return Contender(run=commit, before=stage, after=after or (lambda: settle(repo)))


def _active(ground: Ground, repo: Scratch) -> Contender:
    """Commits by an agent: its transcript tells of the call when it has ended."""
    source = transcript(_SESSION)
    source.write_bytes(b"".join(ground.corpus.lines(100_000)) + closing([], _SESSION, repo.head()))

    def finish() -> None:
        with source.open("ab") as file:
            file.write(closing([], _SESSION, repo.head()))
        settle(repo)

    return _committing(repo, finish, env={"CLAUDE_CODE_SESSION_ID": _SESSION})


def _peer(ground: Ground) -> Scratch | None:
    """A repository with the peer's hooks, set up as it says itself."""
    home = ground.cache / "peer"
    program = home / "node_modules" / ".bin" / "agentnote"
    if not program.exists():
        home.mkdir(parents=True, exist_ok=True)
        words = ["npm", "install", "--silent", "--no-audit", "--no-fund", f"--prefix={home}", _PEER]
        try:
            subprocess.run(words, cwd=home, capture_output=True, timeout=120, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
    repo = ground.repository("peer")
    run(program, "init", "--agent", "claude", "--no-action", cwd=repo.path)
    return repo


def _tell_peer(ground: Ground, repo: Scratch) -> None:
    """Tell the peer's own hook, untimed, what the client would: else it does nothing."""
    program = ground.cache / "peer" / "node_modules" / ".bin" / "agentnote"
    written = {"file_path": str(repo.path / "file"), "content": "x"}
    for name, more in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "Write the file"}),
        ("PreToolUse", {"tool_name": "Write", "tool_input": written}),
        ("PostToolUse", {"tool_name": "Write", "tool_input": written, "tool_response": {}}),
    ):
        said = {"session_id": _SESSION, "transcript_path": str(transcript(_SESSION)),
                "cwd": str(repo.path), "hook_event_name": name, **more}  # fmt: skip
        subprocess.run(
            [program, "hook", "--agent", "claude"], cwd=repo.path, input=json.dumps(said),
            text=True, capture_output=True, check=False,
        )  # fmt: skip


def _version(ground: Ground) -> str:
    package = ground.cache / "peer" / "node_modules" / _PEER / "package.json"
    return str(json.loads(package.read_text())["version"])
