"""The whole conversation of a Claude Code session, as readers want it.

Lines become drafts of messages, in the order of the file: branches left by a
rewind stay where they are. A response's lines share an id and become one
message. Then the subagents' messages are put behind the calls that began them,
and a turn begins at every real prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Raw, Struct

from gitsession.agents import claude_blocks, claude_prompts
from gitsession.agents import claude_lines as form
from gitsession.agents.claude_edits import EDITORS
from gitsession.model import Block, Message, Opaque, Role, Text, ToolCall, ToolResult, Turn

_NOTICES = frozenset({"local_command", "api_error", "informational"})


class Draft(Struct):
    """A message that may still grow."""

    role: Role
    blocks: list[Block]
    entry: form.Entry
    subagent: str = ""
    prompt: str | None = None
    ended_at: str = ""

    def message(self) -> Message:
        """The finished message."""
        model = self.entry.message.model if self.entry.message else None
        return Message(
            role=self.role,
            blocks=tuple(self.blocks),
            uuid=self.entry.uuid or "",
            at=self.entry.timestamp or "",
            model=model if model and model != "<synthetic>" else "",
            subagent=self.subagent,
        )


class Stream(Struct):
    """One source's drafts, and which call began which subagent as it tells."""

    drafts: list[Draft] = []
    begun: dict[str, str] = {}
    """The id of a subagent → the id of the call."""


class Progress(Struct, rename="camel"):
    """The `data` of a progress line."""

    agent_id: str | None = None


class Attachment(Struct, rename="camel"):
    """The `attachment` of a line."""

    type: str | None = None
    prompt: Raw = form.ABSENT
    command_mode: str | None = None


def read_turns(
    lines: Iterable[bytes], *, subagents: Mapping[str, Sequence[bytes]] | None = None
) -> list[Turn]:
    """The conversation in stored lines; messages before the first prompt make turn 0."""
    main = read_stream(lines)
    others = {name: read_stream(told, name) for name, told in (subagents or {}).items()}
    return [_turn(number, drafts) for number, drafts in _split(_weave(main, others)) if drafts]


def read_stream(lines: Iterable[bytes], subagent: str = "") -> Stream:
    """Fold the lines of one source into messages."""
    stream = Stream()
    answers: dict[str, Draft] = {}
    for raw in lines:
        if not raw.strip():
            continue
        entry = form.decode_entry(raw)
        if entry is None:
            stream.drafts.append(Draft("system", [Opaque(raw=raw)], form.Entry(), subagent))
            continue
        _note_beginning(entry, stream.begun)
        draft = _draft(raw, entry, subagent)
        if draft is None:
            continue
        id = entry.message.id if entry.message and draft.role == "assistant" else None
        if id and id in answers:
            answers[id].blocks += draft.blocks
            answers[id].ended_at = draft.ended_at
            continue
        if id:
            answers[id] = draft
        stream.drafts.append(draft)
    _fill_diffs(stream.drafts)
    return stream


def _fill_diffs(drafts: list[Draft]) -> None:
    """Take from the calls what results don't tell: a subagent's have no `toolUseResult`."""
    calls: dict[str, ToolCall] = {}
    for draft in drafts:
        told = form.is_given(draft.entry.tool_use_result)
        for index, block in enumerate(draft.blocks):
            if isinstance(block, ToolCall) and block.name in EDITORS:
                calls[block.id] = block
            elif isinstance(block, ToolResult) and not told and not block.failed:
                call = calls.get(block.id)
                diff = claude_blocks.intended_diff(call) if call else ""
                if diff:
                    draft.blocks[index] = ToolResult(id=block.id, text=block.text, diff=diff)


def _note_beginning(entry: form.Entry, begun: dict[str, str]) -> None:
    """Remember the call that a subagent belongs to: results and old progress lines tell it."""
    if entry.type == "progress" and entry.parent_tool_use_id:
        progress = form.understand(entry.data, Progress)
        if progress and progress.agent_id:
            begun.setdefault(progress.agent_id, entry.parent_tool_use_id)
    elif form.is_given(entry.tool_use_result) and entry.message:
        result = form.decode_result(entry.tool_use_result)
        content = form.decode_content(entry.message.content)
        if isinstance(result, form.Result) and result.agent_id and not isinstance(content, str):
            for block in content:
                if block.type == "tool_result" and block.tool_use_id:
                    begun.setdefault(result.agent_id, block.tool_use_id)


def _draft(raw: bytes, entry: form.Entry, subagent: str) -> Draft | None:
    """The message on a line, if it holds one."""
    if entry.is_sidechain and not subagent:
        # Older clients wrote what subagents say into the main transcript.
        subagent = entry.agent_id or "subagent"
    role: Role
    prompt = None
    if entry.type == "user":
        role, prompt, blocks = _read_user(raw, entry)
    elif entry.type == "assistant":
        role = "system" if entry.is_api_error_message else "assistant"
        blocks = claude_blocks.read_blocks(raw, entry)
    elif entry.type == "system" and entry.subtype in _NOTICES:
        role, blocks = _read_notice(form.decode_text(entry.content) or "")
    elif entry.type == "attachment":
        role, blocks = _read_attachment(entry.attachment)
    else:
        return None
    if not blocks:
        return None
    return Draft(role, blocks, entry, subagent, prompt, entry.timestamp or "")


def _read_user(raw: bytes, entry: form.Entry) -> tuple[Role, str | None, list[Block]]:
    blocks = claude_blocks.read_blocks(raw, entry)
    if entry.message is None or entry.is_meta or entry.is_compact_summary:
        return "system", None, blocks
    content = form.decode_content(entry.message.content)
    prompt = None if entry.is_sidechain else claude_prompts.find_prompt(entry, content)
    text = claude_prompts.words(content)
    if prompt is not None and isinstance(content, str):
        return "user", prompt, [Text(text=prompt)]
    if prompt is None and not form.is_given(entry.tool_use_result) and claude_prompts.is_echo(text):
        role, shown = _read_notice(text)
        return role, None, shown
    return "user", prompt, blocks


def _read_notice(text: str) -> tuple[Role, list[Block]]:
    shown = claude_prompts.show(text)
    role: Role = "user" if claude_prompts.is_typed(text) else "system"
    return role, [Text(text=shown)] if shown else []


def _read_attachment(raw: Raw) -> tuple[Role, list[Block]]:
    """Words that the user typed while the model was at work; other attachments are reminders."""
    told = form.understand(raw, Attachment)
    if told is None or told.type != "queued_command":
        return "system", []
    blocks = claude_blocks.read_content(told.prompt)
    return "system" if told.command_mode == "task-notification" else "user", blocks


# -- putting it together ------------------------------------------------------------------


def _weave(main: Stream, others: Mapping[str, Stream]) -> list[Draft]:
    """Put each subagent's messages behind the call that began it, or at the end of its turn."""
    begun = {agent: call for s in [main, *others.values()] for agent, call in s.begun.items()}
    waiting: dict[str, list[str]] = {}
    for name in others:
        call = begun.get(name) or begun.get(name.removeprefix("agent-"))
        if call is not None:
            waiting.setdefault(call, []).append(name)
    placed: set[str] = set()
    drafts = list(_follow(main.drafts, waiting, others, placed))
    late = [name for name in others if name not in placed and others[name].drafts]
    for name in sorted(late, key=lambda name: _begin(others[name])):
        if name not in placed:
            placed.add(name)
            story = list(_follow(others[name].drafts, waiting, others, placed))
            at = _end_of_turn(drafts, _begin(others[name]))
            drafts[at:at] = story
    return drafts


def _follow(
    drafts: list[Draft],
    waiting: Mapping[str, list[str]],
    others: Mapping[str, Stream],
    placed: set[str],
) -> Iterator[Draft]:
    todo = [iter(drafts)]
    while todo:
        draft = next(todo[-1], None)
        if draft is None:
            todo.pop()
            continue
        yield draft
        names = [
            name
            for block in draft.blocks
            if isinstance(block, ToolCall)
            for name in waiting.get(block.id, ())
            if name not in placed
        ]
        placed.update(names)
        todo += [iter(others[name].drafts) for name in reversed(names)]


def _begin(stream: Stream) -> str:
    return next((d.entry.timestamp for d in stream.drafts if d.entry.timestamp), "")


def _end_of_turn(drafts: list[Draft], at: str) -> int:
    """Where the turn ends that was open at a time."""
    for index, draft in enumerate(drafts):
        if draft.prompt is not None and index and at and (draft.entry.timestamp or "") > at:
            return index
    return len(drafts)


def _split(drafts: list[Draft]) -> Iterator[tuple[int, list[Draft]]]:
    number = 0
    turn: list[Draft] = []
    for draft in drafts:
        if draft.prompt is not None:
            yield number, turn
            number, turn = number + 1, []
        turn.append(draft)
    yield number, turn


def _turn(number: int, drafts: list[Draft]) -> Turn:
    times = [d.entry.timestamp for d in drafts if d.entry.timestamp]
    ends = [d.ended_at for d in drafts if d.ended_at]
    return Turn(
        number=number,
        prompt=drafts[0].prompt or "" if number else "",
        uuid=drafts[0].entry.uuid or "",
        started_at=times[0] if times else "",
        ended_at=max(ends, default=""),
        messages=tuple(draft.message() for draft in drafts),
    )
