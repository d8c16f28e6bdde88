"""What one line of Claude Code's transcript means to a capture, and where a fork comes from."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Raw

from gitsession.agents import claude_edits as edits
from gitsession.agents import claude_lines as form
from gitsession.agents.base import Call, Line, Outcome
from gitsession.agents.claude_prompts import find_prompt
from gitsession.ids import SessionId
from gitsession.model import Parent, Tokens

SYNTHETIC = "<synthetic>"
"""The client's name for the model of answers that it wrote itself."""
_SHELLS = frozenset({"Bash", "PowerShell"})
_DELEGATES = frozenset({"Task", "Agent"})


def parse_line(raw: bytes) -> Line:
    """What a line means; a broken or unknown line is just `Line()`."""
    entry = form.decode_entry(raw)
    if entry is None:
        return Line()
    body = entry.message
    prompt: str | None = None
    calls: tuple[Call, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    speaks = body is not None and entry.type in ("assistant", "user")
    if body is not None and speaks:
        content = form.decode_content(body.content)
        if entry.type == "assistant":
            calls = _read_calls(content)
        else:
            prompt = find_prompt(entry, content)
            outcomes = _read_outcomes(entry, content)
    answers = body is not None and entry.type == "assistant"
    return Line(
        uuid=entry.uuid,
        at=entry.timestamp,
        cwd=entry.cwd or "",
        branch="" if entry.git_branch in (None, "HEAD") else entry.git_branch,
        version=entry.version or "",
        speaks=speaks and not entry.is_meta,
        message=body.id if body is not None and answers else None,
        prompt=prompt,
        model=body.model or "" if body is not None and answers and body.model != SYNTHETIC else "",
        tokens=_read_tokens(body.usage) if body is not None and answers and body.usage else None,
        calls=calls,
        outcomes=outcomes,
        inherits=_read_origin(entry),
    )


def _read_origin(entry: form.Entry) -> SessionId | None:
    origin = entry.forked_from.session_id if entry.forked_from else entry.request_session_id
    return SessionId(origin) if origin and origin != entry.session_id else None


def _read_tokens(usage: form.Usage) -> Tokens | None:
    tokens = Tokens(
        input=max(usage.input_tokens or 0, 0),
        output=max(usage.output_tokens or 0, 0),
        cache_read=max(usage.cache_read_input_tokens or 0, 0),
        cache_write=max(usage.cache_creation_input_tokens or 0, 0),
    )
    return tokens if tokens != Tokens() else None


def _read_calls(content: str | list[form.Block]) -> tuple[Call, ...]:
    if isinstance(content, str):
        return ()
    return tuple(
        _read_call(block.id, block.name or "", block.input)
        for block in content
        if block.type == "tool_use" and block.id
    )


def _read_call(id: str, name: str, asked: Raw) -> Call:
    if not form.is_given(asked) or name not in _SHELLS | edits.EDITORS:
        return Call(id=id, name=name, delegates=name in _DELEGATES)
    given = form.understand(asked, edits.ToolInput)
    if given is None:
        return Call(id=id, name=name)
    if name in _SHELLS:
        return Call(id=id, name=name, command=given.command or "")
    return Call(id=id, name=name, edits=edits.read_intent(given))


def _read_outcomes(entry: form.Entry, content: str | list[form.Block]) -> tuple[Outcome, ...]:
    if isinstance(content, str):
        return _read_typed_command(entry, content)
    results = [block for block in content if block.type == "tool_result" and block.tool_use_id]
    if not results:
        return ()
    # The line has one `toolUseResult`: of several blocks nobody knows whose it is.
    # A subagent's lines have none.
    told = form.decode_result(entry.tool_use_result) if len(results) == 1 else ""
    stopped = isinstance(told, form.Result) and bool(told.interrupted)
    return tuple(
        Outcome(
            id=block.tool_use_id or "",
            failed=bool(block.is_error) or stopped,
            edits=edits.read_edits(told) if isinstance(told, form.Result) else (),
            commits=edits.read_commits(told or form.decode_text(block.content) or ""),
        )
        for block in results
    )


def _read_typed_command(entry: form.Entry, text: str) -> tuple[Outcome, ...]:
    """A command that the user ran with `!` has no call; what it committed is told all the same."""
    if not text.startswith("<bash-stdout>") or entry.prompt_source is not None:
        return ()
    commits = edits.find_commits(text.removeprefix("<bash-stdout>"))
    return (Outcome(id=entry.uuid or "", commits=commits),) if commits else ()


def parent_of(lines: Iterable[bytes]) -> Parent | None:
    """The session whose lines these begin with, and how many of its turns they hold.

    A fork's copied lines come first, so that reading ends at the first answer of its own.
    """
    parent: Parent | None = None
    prompts = 0
    for raw in lines:
        line = parse_line(raw)
        prompts += line.prompt is not None
        if line.inherits:
            parent = Parent(session=line.inherits, turn=prompts)
        elif line.model:
            break
    return parent
