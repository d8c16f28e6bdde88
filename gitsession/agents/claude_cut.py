"""The conversation as it was at a moment, as lines that Claude Code resumes exactly there.

What comes out has one branch: without what was rewound away, without the
client's bookkeeping (it would lead elsewhere, and resuming doesn't need it),
with every result of parallel calls, and with what a compaction summarised, as
the client may have kept a part of that.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Raw

from gitsession.agents import claude_lines as form
from gitsession.agents.base import Cut
from gitsession.agents.claude_chain import Chain, Node, read_chain
from gitsession.errors import NotFound, SessionError, Usage

_NEAR = 5
_MOST_BROKEN = 16


def cut(lines: Iterable[bytes], *, turn: int | None = None, before: str | None = None) -> Cut:
    """The conversation at the end of a turn, or before a prompt; as it is now if neither is given.

    Raises NotFound, or SessionError where that moment can't be had exactly.
    """
    if turn is not None and before is not None:
        raise Usage("give a turn or a prompt, not both")
    chain = read_chain(lines)
    if before is not None:
        return _before(chain, _find_prompt(chain, before))
    if turn is None:
        return _now(chain)
    if not 0 <= turn <= len(chain.prompts):
        count = len(chain.prompts)
        hint = f"the turns here are 1 to {count}" if count else "nobody has asked anything yet"
        raise NotFound("turn", str(turn), hint=hint)
    return _before(chain, chain.prompts[0]) if turn == 0 and chain.prompts else _at_end(chain, turn)


def join(parent: Iterable[bytes], own: Iterable[bytes]) -> tuple[bytes, ...]:
    """A fork's own lines behind those of its parent that they go on from."""
    ours = tuple(own)
    chain = read_chain(ours)
    first = next((node for node in chain.nodes if not node.side), None)
    if first is None or not first.wants:
        return ours
    theirs = read_chain(parent)
    tip = theirs.at.get(first.wants)
    if tip is None:
        raise SessionError("the line that this session was forked at isn't in its parent")
    return (*_pick(theirs, keep(theirs, tip)), *ours)


# -- which moment -------------------------------------------------------------------------


def _find_prompt(chain: Chain, uuid: str) -> int:
    at = chain.at.get(uuid)
    if at is None or chain.nodes[at].kind != "prompt":
        known = [chain.nodes[p].uuid for p in chain.prompts]
        near = [one for one in known if uuid and one.startswith(uuid[:8])]
        raise NotFound("prompt", uuid, candidates=(near or known)[-_NEAR:])
    return at


def _before(chain: Chain, prompt: int) -> Cut:
    """The moment before a prompt was sent."""
    return _make(chain, chain.nodes[prompt].parent, prompt)


def _at_end(chain: Chain, turn: int) -> Cut:
    """The moment at the end of a turn."""
    following = chain.prompts[turn] if turn < len(chain.prompts) else None
    own = [n for n, node in enumerate(chain.nodes) if node.turn == turn and not node.side]
    spoken = [n for n in own if chain.nodes[n].kind != "other"]
    if following is not None:
        tip = chain.nodes[following].parent
        if (
            tip >= 0
            and chain.nodes[tip].turn == turn
            and (not spoken or spoken[-1] in keep(chain, tip))
        ):
            return _make(chain, tip, following)
    tip = spoken[-1] if spoken else -1
    for number in own:
        if chain.nodes[number].parent == tip and chain.nodes[number].kind == "other":
            tip = number
    result = _make(chain, tip, following)
    if _unfinished(chain, keep(chain, tip)):
        raise SessionError(
            f"turn {turn} isn't finished: a tool was called and has given nothing back",
            hint="without a turn, the session is taken up to its last complete step",
        )
    return result


def _now(chain: Chain) -> Cut:
    """The conversation as it would be resumed, up to its last complete step."""
    tip = _choose(chain)
    remark = ""
    for _ in range(_MOST_BROKEN):
        broken = _unfinished(chain, keep(chain, tip))
        if broken is None:
            return msgspec.structs.replace(_make(chain, tip, None), remark=remark)
        remark = "its last step isn't finished, and is left out"
        tip = chain.nodes[broken].parent
    raise SessionError("the calls of this session have no results")


def _choose(chain: Chain) -> int:
    """The line that the client goes on from."""
    parents = {node.parent for node in chain.nodes if not node.side}
    named = chain.at.get(chain.leaf)
    if named is not None and (chain.explicit or named not in parents):
        return named
    tips = (n for n, node in enumerate(chain.nodes) if n not in parents and not node.side)
    return max(tips, default=-1)


# -- which lines --------------------------------------------------------------------------


def keep(chain: Chain, tip: int) -> set[int]:
    """The lines of the branch that ends with one, and what belongs to it beside that."""
    path = chain.path(tip)
    kept = set(path)
    nodes = chain.nodes
    calls = {call: n for n in path for call in nodes[n].calls}
    answered = {result for n in path for result in nodes[n].results}
    responses = {nodes[calls[one]].response for one in answered & calls.keys()} - {""}
    added: set[int] = set()
    for n, node in enumerate(nodes):
        if n in kept or node.side:
            continue
        if node.answers and node.response in responses:
            calls |= dict.fromkeys(node.calls, n)
        elif not (
            _is_sibling(nodes, node, calls, answered, responses)
            or (node.kind == "other" and node.parent in added)
        ):
            continue
        answered.update(node.results)
        added.add(n)
    kept |= added
    turns = {nodes[n].turn for n in kept}
    return kept | {n for n, node in enumerate(nodes) if node.side and node.turn in turns}


def _is_sibling(
    nodes: list[Node],
    node: Node,
    calls: dict[str, int],
    answered: set[str],
    responses: set[str],
) -> bool:
    """Whether a line is the first result of a call that was made beside one on the path."""
    return any(
        one in calls and one not in answered and nodes[calls[one]].response in responses
        for one in node.results
    )


def _unfinished(chain: Chain, kept: set[int]) -> int | None:
    """Where the last response begins, when a call of it has no result."""
    nodes = chain.nodes
    spoken = [n for n in sorted(kept) if nodes[n].kind != "other" and not nodes[n].side]
    answered = {result for n in spoken for result in nodes[n].results}
    response, first, missing = "", None, False
    for n in reversed(spoken):
        node = nodes[n]
        if node.kind == "prompt" or (
            node.answers and first is not None and node.response != response
        ):
            break
        if node.answers:
            response, first = node.response, n
            missing = missing or any(call not in answered for call in node.calls)
            if not response:
                break
        elif not node.results:
            break
    return first if missing else None


# -- the answer ---------------------------------------------------------------------------


def _make(chain: Chain, tip: int, following: int | None) -> Cut:
    """The cut that ends with a line."""
    nodes = chain.nodes
    prompt = nodes[following].prompt if following is not None else ""
    kept = keep(chain, tip)
    if not any(nodes[n].kind == "prompt" or nodes[n].summary or nodes[n].answers for n in kept):
        if not prompt:
            raise SessionError("nothing was said in this session yet", hint="start a new one")
        return Cut(fresh=True, prompt=prompt)
    numbers = {at: n for n, at in enumerate(chain.prompts, 1)}
    lines = _pick(chain, kept)
    if max(n for n in kept if not nodes[n].side) != tip:
        # Without this the client would go on from what is last.
        leaf = {"type": "last-prompt", "leafUuid": nodes[tip].uuid, "sessionId": ""}
        lines = (*lines, msgspec.json.encode(leaf) + b"\n")
    return Cut(
        lines=lines,
        leaf=nodes[tip].uuid,
        turns=tuple(sorted(numbers[n] for n in kept & numbers.keys())),
        prompt=prompt,
        compacted=any(nodes[n].summary for n in kept),
    )


def _pick(chain: Chain, kept: set[int]) -> tuple[bytes, ...]:
    """The lines themselves, each with its end, and none twice."""
    once = {chain.nodes[n].uuid or n: n for n in sorted(kept, reverse=True)}
    lines = (_tied(chain, chain.nodes[n]) for n in sorted(once.values()))
    return tuple(line if line.endswith(b"\n") else line + b"\n" for line in lines)


def _tied(chain: Chain, node: Node) -> bytes:
    """A line whose parent is gone, tied to the one that it follows: the client would end there."""
    if not node.wants or node.side:
        return node.raw
    uuid = next((u for n in chain.path(node.parent) if (u := chain.nodes[n].uuid)), None)
    parts = form.decode_parts(node.raw)
    if parts is None:
        return node.raw
    parts["parentUuid"] = Raw(msgspec.json.encode(uuid))
    return msgspec.json.encode(parts) + b"\n"
