"""`make demo`: the main job end to end, on a scratch repository with the real git.

The agent's part is played back from recorded transcripts of the real client: its
lines are written as they come, its shell commands really run, and the hooks that
`git session init` installed are called as the client calls them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "tests/data/claude"
RECORDED_IN = "/home/dev/project"


class Stage:
    """A scratch repository, and an environment in which nothing of the user's is touched."""

    def __init__(self, folder: Path) -> None:
        self.repo = folder / "project"
        self.transcripts = folder / "claude" / "projects" / re.sub(r"\W|_", "-", str(self.repo))
        kept = {
            name: os.environ[name] for name in ("TERM", "LANG", "COLUMNS") if name in os.environ
        }
        self.env = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "CLAUDE_CONFIG_DIR": str(folder / "claude"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat",
        }
        self.repo.mkdir()
        self.transcripts.mkdir(parents=True)
        for key, value in {"user.name": "Dev", "user.email": "dev@example.com"}.items():
            self.quietly("git", "config", "--global", key, value)
        self.quietly("git", "init", "-q", "-b", "main")
        self.quietly("git", "commit", "-q", "--allow-empty", "-m", "Begin")

    def quietly(self, *command: str, stdin: str = "", **env: str) -> str:
        """Run something and give back what it printed."""
        done = subprocess.run(
            command, cwd=self.repo, env={**self.env, **env}, input=stdin, text=True,
            stdout=subprocess.PIPE, check=False,
        )  # fmt: skip
        return done.stdout

    def type(self, command: str) -> None:
        """Show a command, run it, show its output; a failure ends the demo."""
        say(f"\n$ {command}", bold=True)
        code = subprocess.run(["sh", "-c", command], cwd=self.repo, env=self.env, check=False)
        if code.returncode:
            raise SystemExit(f"error: the demo failed at: {command}")


class Client:
    """Plays a recorded session back, as the real client would have it."""

    def __init__(self, stage: Stage, recording: str, turns: int) -> None:
        self.stage = stage
        text = (RECORDED / recording).read_text(encoding="utf-8")
        self.lines = text.replace(RECORDED_IN, str(stage.repo)).splitlines(keepends=True)
        self.session = next(json.loads(line)["sessionId"] for line in self.lines)
        self.path = stage.transcripts / f"{self.session}.jsonl"
        self.turns = turns

    def play(self) -> None:
        """Write the lines, run the commands, call the hooks."""
        self.fire("SessionStart", source="startup")
        prompts = 0
        with self.path.open("w", encoding="utf-8") as file:
            for line in self.lines:
                entry = json.loads(line)
                prompts += "promptSource" in entry
                if prompts > self.turns:
                    break
                if "promptSource" in entry:
                    say(f"  > {entry['message']['content']}")
                    self.fire("UserPromptSubmit", prompt=entry["message"]["content"])
                file.write(self.retold(line))
                file.flush()
                for block in blocks(entry):
                    self.act(block)
        self.fire("Stop")
        self.fire("SessionEnd", reason="other")

    def act(self, block: dict[str, Any]) -> None:
        """Do what the model asked for."""
        given = block.get("input", {})
        if block["type"] == "text":
            say(f"  {block['text']}")
        elif block.get("name") == "Bash":
            say(f"  [{given['command']}]")
            shell = {"CLAUDE_CODE_SESSION_ID": self.session, "CLAUDECODE": "1"}
            self.stage.quietly("sh", "-c", given["command"], **shell)
        elif block.get("name") == "Write":
            say(f"  [write {Path(given['file_path']).name}]")
            Path(given["file_path"]).write_text(given["content"])
        elif block.get("name") == "Edit":
            path = Path(given["file_path"])
            say(f"  [edit {path.name}]")
            path.write_text(path.read_text().replace(given["old_string"], given["new_string"]))

    def retold(self, line: str) -> str:
        """A line whose results name the commits of this run, not those of the recording."""
        head = self.stage.quietly("git", "rev-parse", "--short=7", "HEAD").strip()
        return re.sub(r"\[main [0-9a-f]{7}\]", f"[main {head}]", line)

    def fire(self, event: str, **fields: str) -> None:
        """Call the hooks that the repository's settings name for an event."""
        settings = json.loads((self.stage.repo / ".claude/settings.local.json").read_text())
        payload = {
            "session_id": self.session, "transcript_path": str(self.path),
            "cwd": str(self.stage.repo), "hook_event_name": event, **fields,
        }  # fmt: skip
        for group in settings["hooks"].get(event, []):
            for hook in group["hooks"]:
                self.stage.quietly(
                    "sh", "-c", hook["command"], stdin=json.dumps(payload),
                    CLAUDE_PROJECT_DIR=str(self.stage.repo),
                )  # fmt: skip


def blocks(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the model said in a line."""
    if entry["type"] == "assistant":
        yield from entry["message"]["content"]


def say(text: str, *, bold: bool = False) -> None:
    """Print at once, before what a command prints."""
    print(f"\033[1m{text}\033[m" if bold and sys.stdout.isatty() else text, flush=True)


def main() -> None:
    """Play the demo."""
    with tempfile.TemporaryDirectory(prefix="git-session-", ignore_cleanup_errors=True) as folder:
        stage = Stage(Path(folder).resolve())
        say("A new repository. One command, once:")
        stage.type("git session init")
        say("\nThe agent works, and commits by itself:")
        Client(stage, "commits.jsonl", turns=2).play()
        say("\nAnother session only edits files:")
        Client(stage, "files.jsonl", turns=1).play()
        say("\nand you commit them by hand:")
        stage.type("git add n.txt && git commit -q -m 'Add n.txt'")
        say("\nThe hooks capture in the background; this waits for them:")
        stage.type("git session capture")
        stage.type("git session log")
        stage.type("git session show HEAD")
        stage.type("git session show --stat HEAD~1")
        say("\nShared by nothing but push and fetch. A teammate's clone:")
        stage.quietly("git", "init", "-q", "--bare", "-b", "main", "../hub.git")
        stage.quietly("git", "remote", "add", "origin", "../hub.git")
        stage.type("git push -q origin main && git session push")
        stage.type("git clone -q ../hub.git ../teammate")
        stage.repo = stage.repo.with_name("teammate")
        stage.type("git session fetch")
        stage.type("git session log --oneline")
        stage.type("git session show --stat HEAD")


if __name__ == "__main__":
    main()
