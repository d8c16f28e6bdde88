"""The normalised view of `git session show --json`: the same for every agent."""

from __future__ import annotations

from typing import Any

import msgspec

from gitsession.model import Author, Block, Message, Opaque, Text, Turn
from gitsession.render.timeline import Story

VERSION = "1.0"


def normal_view(story: Story) -> dict[str, Any]:
    """The story as plain values, its keys always in the same order."""
    last = story.records[-1] if story.records else None
    author = story.author or (last.author if last else None) or Author()
    return {
        "version": VERSION,
        "session_id": story.session,
        "feature_branch": story.branch or (last.branch if last else None),
        "commit_hash": story.commit or (last.commit if last else None),
        "task_id": story.task or (last.task if last else None),
        "author": {"name": author.name, "email": author.email},
        "captured_at": last.captured_at if last else story.date,
        "messages": [_message(turn, m) for turn in story.turns for m in turn.messages],
    }


def _message(turn: Turn, message: Message) -> dict[str, Any]:
    """A message: its words are the content, all else are blocks."""
    words = [block.text for block in message.blocks if isinstance(block, Text)]
    rest = [_block(block) for block in message.blocks if not isinstance(block, Text)]
    shown: dict[str, Any] = {
        "role": message.role,
        "content": "\n\n".join(words),
        "timestamp": message.at,
        "turn": turn.number,
    }
    extra = {"uuid": message.uuid, "model": message.model, "subagent": message.subagent,
             "blocks": rest}  # fmt: skip
    return shown | {key: value for key, value in extra.items() if value}


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, Opaque):
        return {"type": "opaque", "raw": block.raw.decode("utf-8", "replace")}
    built: dict[str, Any] = msgspec.to_builtins(block)
    return built
