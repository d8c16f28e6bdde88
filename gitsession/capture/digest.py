"""What a run of lines amounts to: the numbers and names that a record keeps."""

from __future__ import annotations

from collections.abc import Callable

from gitsession.agents.base import Call, Edit, Line, Outcome
from gitsession.model import Tokens

_PROMPT_WORDS = 120
_PROMPT_READ = 1 << 16
"""What is kept of a prompt until it is redacted and shortened, in this order."""
_RESPONSES = 64
"""How many responses may be under way at once; an older one has had its last line."""

Relative = Callable[[str, str], str | None]
"""The path in the repository of a file (as named, seen from a folder); None if it isn't in it."""


class Digest:
    """Takes lines one by one, in a single pass, and holds no line."""

    def __init__(self, relative: Relative) -> None:
        self._relative = relative
        self._spoken: dict[str, Tokens] = {}
        self._spent = Tokens()
        self._files: dict[str, None] = {}
        self._models: dict[str, None] = {}
        self._open: dict[str, Call] = {}
        self.first: str | None = None
        self.last: str | None = None
        self.started_at: str | None = None
        self.ended_at: str | None = None
        self.branch = ""
        self.version = ""
        self.prompt = ""
        self.lines = 0
        self.messages = 0
        self.turns = 0
        self.tools: dict[str, int] = {}
        self.commits: list[str] = []

    def add(self, line: Line) -> list[Edit]:
        """Count a line in; gives back the edits that it shows to have been made."""
        self.lines += 1
        if line.uuid:
            self.first = self.first or line.uuid
            self.last = line.uuid
        if line.at:
            self.started_at = self.started_at or line.at
            self.ended_at = line.at
        self.branch = line.branch or self.branch
        self.version = line.version or self.version
        self._speak(line)
        for call in line.calls:
            self.tools[call.name] = self.tools.get(call.name, 0) + 1
            self._open[call.id] = call
        return [edit for outcome in line.outcomes for edit in self._close(outcome, line.cwd)]

    def _speak(self, line: Line) -> None:
        if line.prompt is not None:
            self.turns += 1
            if not self.prompt:
                self.prompt = line.prompt[:_PROMPT_READ]
        if not line.speaks:
            return
        if line.model:
            self._models[line.model] = None
        if line.message is None:
            self.messages += 1
            return
        if line.message not in self._spoken:
            self.messages += 1
        # The lines of one response repeat its usage; the last one has the final count.
        self._spoken[line.message] = line.tokens or self._spoken.get(line.message, Tokens())
        if len(self._spoken) > _RESPONSES:
            self._spent = _sum(self._spent, self._spoken.pop(next(iter(self._spoken))))

    def _close(self, outcome: Outcome, cwd: str) -> list[Edit]:
        call = self._open.pop(outcome.id, None)
        self.commits.extend(outcome.commits)
        if outcome.failed:
            return []
        edits = list(outcome.edits or (call.edits if call else ()))
        for edit in edits:
            path = self._relative(edit.path, cwd)
            if path is not None:
                self._files[path] = None
        return edits

    def include(self, other: Digest) -> None:
        """Count in what a subagent did on the session's behalf."""
        for name, count in other.tools.items():
            self.tools[name] = self.tools.get(name, 0) + count
        self._models.update(other._models)
        self._files.update(other._files)
        self._spent = _sum(self._spent, other.tokens or Tokens())
        self.messages += other.messages

    @property
    def models(self) -> tuple[str, ...]:
        """The models that spoke."""
        return tuple(self._models)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that were changed, by their path in the repository."""
        return tuple(sorted(self._files))

    @property
    def tokens(self) -> Tokens | None:
        """What all responses together cost; None when nothing was counted."""
        total = self._spent
        for used in self._spoken.values():
            total = _sum(total, used)
        return total if total != Tokens() else None


def _sum(a: Tokens, b: Tokens) -> Tokens:
    return Tokens(
        input=a.input + b.input,
        output=a.output + b.output,
        cache_read=a.cache_read + b.cache_read,
        cache_write=a.cache_write + b.cache_write,
    )


def shorten(text: str, limit: int = _PROMPT_WORDS) -> str:
    """The first words of a text, on one line."""
    flat = " ".join(text[: limit * 8].split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
