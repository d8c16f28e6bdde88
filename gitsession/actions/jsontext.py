"""Change a JSON file in place: every byte that isn't ours to change stays.

People format their settings by hand and keep them in git; writing the file anew
would turn one added line into a diff of the whole file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,\]}]+')
_INDENT = re.compile(r"\n([ \t]+)\S")


@dataclass(slots=True, kw_only=True)
class Node:
    """A value and where it stands in the text."""

    start: int
    end: int
    kind: str
    """`object`, `array` or `scalar`."""
    keys: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """Where each child begins: an item, or the key of a member."""
    children: list[Node] = field(default_factory=list)

    def member(self, key: str) -> Node | None:
        """A member's value; the last of several, as every reader has it."""
        found = [c for k, c in zip(self.keys, self.children, strict=False) if k == key]
        return found[-1] if found else None


def parse(text: str) -> Node:
    """Find every value of a document; raises ValueError when it isn't JSON."""
    json.loads(text)
    return _scan(text, _skip(text, 0))


def value(text: str, node: Node) -> Any:
    """What a node stands for."""
    return json.loads(text[node.start : node.end])


def insert(text: str, node: Node, new: object, key: str | None = None) -> str:
    """Add an item at the end of an array, or a member at the end of an object."""
    label = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = found[1] if (found := _INDENT.search(text)) else "  "
    if not node.children:
        outer = _line_indent(text, node.start)
        inner = newline + outer + unit
        body = inner + label + _render(new, unit, inner) + newline + outer
        return text[: node.start + 1] + body + text[node.end - 1 :]
    last = node.children[-1]
    if "\n" not in text[node.start : node.starts[0]]:
        piece = ", " + label + json.dumps(new, ensure_ascii=False)
    else:
        inner = newline + _line_indent(text, node.starts[-1])
        piece = "," + inner + label + _render(new, unit, inner)
    return text[: last.end] + piece + text[last.end :]


def remove(text: str, node: Node, index: int) -> str:
    """Take a child out, with its comma and the space before it."""
    if len(node.children) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if index == len(node.children) - 1:
        return text[: node.children[index - 1].end] + text[node.children[index].end :]
    return text[: node.starts[index]] + text[node.starts[index + 1] :]


def _render(new: object, unit: str, inner: str) -> str:
    return json.dumps(new, indent=unit, ensure_ascii=False).replace("\n", inner)


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _scan(text: str, at: int) -> Node:
    """Read the value that begins at a place, in a text that is known to be JSON."""
    if text[at] in "{[":
        return _scan_container(text, at, "object" if text[at] == "{" else "array")
    found = _SCALAR.match(text, at)
    return Node(start=at, end=found.end() if found else at, kind="scalar")


def _scan_container(text: str, at: int, kind: str) -> Node:
    node = Node(start=at, end=at, kind=kind)
    at = _skip(text, at + 1)
    while text[at] not in "]}":
        node.starts.append(at)
        if kind == "object":
            key = _scan(text, at)
            node.keys.append(value(text, key))
            at = _skip(text, _skip(text, key.end) + 1)
        child = _scan(text, at)
        node.children.append(child)
        at = _skip(text, child.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    node.end = at + 1
    return node
