"""How the lines of a Claude Code transcript hang together: parents, turns, calls and results.

Parents alone don't tell a rewind from parallel calls. A branch that was rewound
away differs in its prompts; the results of parallel calls belong to one
response. So every line is known by the turn it descends from, and every result
by the call that it answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Literal

from msgspec import Struct

from gitsession.agents import claude_blocks
from gitsession.agents import claude_lines as form
from gitsession.agents.claude_prompts import find_prompt

Kind = Literal["prompt", "message", "other"]

_CALLS = frozenset({"tool_use", "server_tool_use"})
_UNKNOWN = -2
_MOST_LATE = 1000
"""Lines before their parents are rare; more of them were made to keep us busy."""


class Link(Struct, rename="camel"):
    """What few lines say of others."""

    logical_parent_uuid: str | None = None
    leaf_uuid: str | None = None
    explicit: bool | None = None


class Node(Struct):
    """One line that is part of the conversation."""

    raw: bytes
    uuid: str
    kind: Kind
    parent: int
    """The number of the line before it; -1 where the conversation begins."""
    wants: str = ""
    """The parent it names, when that came nowhere before it."""
    side: bool = False
    """Said by a subagent: older clients wrote that here as well."""
    turn: int = 0
    prompt: str = ""
    response: str = ""
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    summary: bool = False
    """The summary that took the place of what came before."""
    answers: bool = False
    """Said by the model."""


class Chain(Struct):
    """A transcript's lines, in its order."""

    nodes: list[Node] = []
    at: dict[str, int] = {}
    """Where a line is, by its uuid."""
    prompts: list[int] = []
    """Where turns begin: turn n at `prompts[n - 1]`."""
    leaf: str = ""
    """The line that the client named last as the one to go on from."""
    explicit: bool = False

    def path(self, tip: int) -> list[int]:
        """A line and all that it follows, the newest first."""
        found = []
        while tip >= 0:
            found.append(tip)
            tip = self.nodes[tip].parent
        return found


def read_chain(lines: Iterable[bytes]) -> Chain:
    """Tell how lines hang together. Broken lines are part of nothing, as the client has it."""
    chain = Chain()
    last = -1
    for raw in lines:
        entry = form.decode_entry(raw)
        if entry is None:
            continue
        if entry.type == "last-prompt":
            link = form.understand(raw, Link) or Link()
            chain.leaf, chain.explicit = link.leaf_uuid or "", bool(link.explicit)
        node = _node(raw, entry)
        if node is None:
            continue
        number = len(chain.nodes)
        _find_parent(chain, node, entry, last)
        chain.nodes.append(node)
        if node.uuid:
            chain.at.setdefault(node.uuid, number)
        if node.kind == "prompt":
            chain.prompts.append(number)
        if not node.side:
            last = number
    _look_ahead(chain)
    _number(chain)
    return chain


def _node(raw: bytes, entry: form.Entry) -> Node | None:
    speaks = entry.message is not None and entry.type in ("user", "assistant")
    if entry.uuid is None and not speaks:
        return None
    node = Node(raw=raw, uuid=entry.uuid or "", kind="other", parent=-1)
    node.side = bool(entry.is_sidechain)
    node.summary = bool(entry.is_compact_summary)
    if entry.message is None or not speaks:
        return node
    node.kind = "message"
    content = form.decode_content(entry.message.content)
    if entry.type == "assistant":
        node.answers = True
        node.response = entry.message.id or ""
    else:
        prompt = find_prompt(entry, content)
        # A turn begins with words, as `read_turns` has it.
        if prompt is not None and (
            isinstance(content, str) or claude_blocks.read_blocks(raw, entry)
        ):
            node.kind, node.prompt = "prompt", prompt
    if not isinstance(content, str):
        node.calls = tuple(b.id for b in content if b.type in _CALLS and b.id)
        node.results = tuple(
            b.tool_use_id
            for b in content
            if b.tool_use_id and (b.type or "").endswith("tool_result")
        )
    return node


def _find_parent(chain: Chain, node: Node, entry: form.Entry, last: int) -> None:
    named = entry.parent_uuid
    if entry.subtype == "compact_boundary" and named is None:
        # The client begins anew here; what it summarised came before.
        link = form.understand(node.raw, Link) or Link()
        node.parent = chain.at.get(link.logical_parent_uuid or "", last)
    elif named is not None:
        node.parent = chain.at.get(named, _UNKNOWN)
        if node.parent == _UNKNOWN:
            # What it followed is gone, or comes later: then it follows what is before it.
            node.wants, node.parent = named, -1 if node.side else last
    elif not entry.uuid:
        node.parent = last


def _look_ahead(chain: Chain) -> None:
    """Give the lines that were written before their parents their parents all the same."""
    late = ((n, node) for n, node in enumerate(chain.nodes) if node.wants in chain.at)
    for number, node in islice(late, _MOST_LATE):
        found = chain.at[node.wants]
        if number not in chain.path(found):
            node.parent, node.wants = found, ""


def _number(chain: Chain) -> None:
    """Give each line the turn that it descends from; a subagent's that in which it is told."""
    number = 0
    turns: dict[int, int] = {at: n for n, at in enumerate(chain.prompts, 1)}
    for at, node in enumerate(chain.nodes):
        number = turns.get(at, number) if node.kind == "prompt" else number
        if node.side:
            node.turn = number
            continue
        todo = []
        while at >= 0 and at not in turns:
            todo.append(at)
            at = chain.nodes[at].parent
        for one in todo:
            turns[one] = turns[at] if at >= 0 else 0
        node.turn = turns[todo[0]] if todo else turns[at]
