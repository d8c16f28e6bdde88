"""The real client's turns, gone back to one by one: its files, and what it sends from there."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.e2e.client import BINARY
from tests.e2e.fake_anthropic import Json, Step, blocks_of, text
from tests.e2e.scenario import Ground, bash, session_command, wait_until, write
from tests.hooks.ground import picture

pytestmark = pytest.mark.e2e

PROMPTS = ["the first turn", "the second turn", "the third turn"]
Files = dict[str, str]


def files(ground: Ground) -> Files:
    """The work tree, without what is git's or ignored."""
    found = picture(ground.common, ground.repo.path, but=("logs", "objects"))
    top = f"{ground.repo.path}/"
    inside = {str(path).removeprefix(top): str(what) for path, what in found.items()
              if str(path).startswith(top)}  # fmt: skip
    left_out = (".git/", ".claude/", "kept.ign")
    return {path: what for path, what in inside.items() if not path.startswith(left_out)}


def rewind(ground: Ground, *words: str) -> dict[str, Any]:
    """Go back, as a script does."""
    told = json.loads(session_command(ground.repo, "rewind", *words, "--yes", "--json"))
    assert isinstance(told, dict) and told["canRewind"]
    return told


def three_turns(ground: Ground) -> list[Files]:
    """Three turns, and the files before and after each."""
    top = ground.repo.path
    states = [files(ground)]
    commands = [
        "mkdir d && echo 1 >'d/\u00e9 x' && ln -s README link && echo never >kept.ign;chmod +x run",
        "rm -r d link && ln -s run link && printf '\\0\\1' >bytes && mkdir -p a/b && echo b >a/b/c",
        "rm README && echo d >d && chmod -x run && rm -r a && git add -A && git commit -qm all",
    ]
    for number, (prompt, command) in enumerate(zip(PROMPTS, commands, strict=True), 1):
        ground.turn(prompt, write(top / "run", f"echo {number}\n" * number), bash(command))
        waiting = ground.common / "gitsession" / "snapping"
        wait_until(lambda: not list(waiting.iterdir()), lambda: str(list(waiting.iterdir())))  # noqa: B023
        states.append(files(ground))
    return states


def sent_before(ground: Ground, prompt: str) -> list[Json]:
    """The messages that came before a prompt when it was first sent."""
    for messages in ground.api.conversations():
        for number, message in enumerate(messages):
            said = [block.get("text", "").strip() for block in blocks_of(message)]
            if prompt in said:
                return messages[:number]
    raise AssertionError(f"{prompt!r} was never sent")


def test_every_turn_of_a_real_session(ground: Ground) -> None:
    ground.repo.commit("ground", {".gitignore": ".claude\n*.ign\n"})
    states = three_turns(ground)
    original, head = ground.transcript().read_bytes(), ground.repo.head()
    for number in (1, 3, 0, 2):
        told = rewind(ground, str(number))
        assert told["session"] == ground.session
        assert files(ground) == states[number], number
    rewind(ground, "--undo")
    assert files(ground) == states[0]
    rewind(ground, "3")
    assert (ground.repo.path / "kept.ign").read_text() == "never\n"
    assert ground.repo.head() == head
    assert ground.transcript().read_bytes() == original
    ground.check()


def test_the_client_goes_on_from_a_turn(ground: Ground) -> None:
    ground.repo.commit("ground", {".gitignore": ".claude\n*.ign\n"})
    states = three_turns(ground)
    original = ground.transcript().read_bytes()
    for number in (3, 2, 1):
        told = rewind(ground, f"{ground.session}@{number}", "--both")
        assert files(ground) == states[number]
        prompt = f"on from {number}"
        ground.api.on(prompt, Step((text("Fine."),)))
        done = subprocess.run(
            [str(BINARY), *told["command"][1:], "-p", "--", prompt],
            cwd=told["folder"], env=ground.claude.env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        ground.settle()
        fork = told["command"][-1]
        before = [b.get("text", "").strip() for m in sent_before(ground, prompt)
                  for b in blocks_of(m)]  # fmt: skip
        assert [words for words in before if words in PROMPTS] == PROMPTS[:number]
        assert ground.transcript().read_bytes() == original
        assert ground.claude.transcript(ground.repo.path, fork).exists()
        shown = json.loads(session_command(ground.repo, "show", "--json", fork))
        assert shown["session_id"] == fork
        parent = ground.chain(fork)[0].parent
        assert parent is not None and (parent.session, parent.turn) == (ground.session, number)
    rewind(ground, f"{ground.session}@3")
    ground.check()
