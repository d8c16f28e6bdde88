"""Which lines of Claude Code begin a turn, and what the client's own texts look like."""

from __future__ import annotations

import re

from gitsession.agents.claude_lines import Block, Entry, is_given

_INTERRUPTED = "[Request interrupted by user"
_ECHOES = (
    "<command-name>", "<local-command-", "<bash-input>", "<bash-stdout>", "<bash-stderr>",
    "<task-notification>", "<user-memory-input>", _INTERRUPTED,
)  # fmt: skip
_ASIDES = ("<ide_", "<system-reminder>")
_COMMAND = re.compile(r"<command-name>\s*(/?[^<]*?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_INPUT = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)
_TAGS = re.compile(r"</?(?:local-command-[a-z]+|bash-stdout|bash-stderr)>")


def words(content: str | list[Block]) -> str:
    """The text of a user's message; what isn't text is named."""
    if isinstance(content, str):
        return content
    texts = [b.text for b in content if b.type == "text" and b.text]
    said = [text for text in texts if not text.startswith(_ASIDES)]
    if said or texts:
        return "\n".join(said or texts)
    return " ".join(f"[{b.type}]" for b in content if b.type in ("image", "document"))


def find_prompt(entry: Entry, content: str | list[Block]) -> str | None:
    """The real prompt on a line, in the form the user typed it; None when it is none."""
    if entry.is_sidechain or entry.is_meta or entry.is_compact_summary:
        return None
    if is_given(entry.tool_use_result) or _holds_results(content):
        return None
    text = words(content)
    if entry.prompt_source is not None:
        return None if entry.prompt_source == "system" else show(text)
    if text.startswith("<command-message>"):
        return show(text)
    if text.startswith("<command-name>") and entry.turn_origin is not None:
        return show(text)
    if not text or text.startswith(_ECHOES):
        return None
    return text.strip()


def _holds_results(content: str | list[Block]) -> bool:
    return not isinstance(content, str) and any(b.type == "tool_result" for b in content)


def show(text: str) -> str:
    """The client's texts as a person knows them: `/review foo`, `!ls`, or the words themselves."""
    if text.startswith(("<command-message>", "<command-name>")):
        name, arguments = _COMMAND.search(text), _ARGUMENTS.search(text)
        if name:
            command = "/" + name[1].lstrip("/")
            return f"{command} {arguments[1].strip()}".strip() if arguments else command
    if text.startswith("<bash-input>") and (typed := _INPUT.search(text)):
        return "!" + typed[1].strip()
    if text.startswith(("<local-command-", "<bash-stdout>", "<bash-stderr>")):
        return _TAGS.sub("", text).strip()
    return text.strip()


def is_typed(text: str) -> bool:
    """Whether an echo is of something the user typed, rather than of the client's answer."""
    return text.startswith(("<command-name>", "<command-message>", "<bash-input>"))


def is_echo(text: str) -> bool:
    """Whether a user's line is the client speaking."""
    return text.startswith(_ECHOES)
