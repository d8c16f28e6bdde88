"""A story as Markdown, fit to be pasted into a pull request.

What was said is shown as it was, but can do nothing: no HTML, no mention of
people, no reference that would link, or even close, an issue.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from gitsession.model import Turn
from gitsession.render import dates
from gitsession.render.escape import one_line, plain
from gitsession.render.timeline import (
    Action,
    Aside,
    Note,
    Piece,
    Story,
    Thought,
    Words,
    describe_tokens,
    pieces,
    summarize,
)

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_REFERENCE = re.compile(r"(?<![\w&/])@(?=\w)|(?<!&)#(?=\d)|(?<=\bGH)-(?=\d)", re.IGNORECASE)
_ADDRESS = re.compile(r"\bhttps?://\S+")
MARKS = {"done": "✓", "failed": "✗", "open": "…"}


def render_markdown(story: Story) -> str:
    """The whole story; tools and thinking are folded."""
    parts = [_title(story), *_facts(story)]
    for turn in story.turns:
        parts += _turn(turn, story.root)
    return "\n\n".join(part for part in parts if part) + "\n"


def _title(story: Story) -> str:
    name = one_line(story.subject) or f"Session {story.session}"
    return "## " + defuse(name)


def _facts(story: Story) -> Iterator[str]:
    summary = summarize(story)
    models = ", ".join(summary.models)
    agent = f"{story.agent.name} {story.agent.version}".strip()
    facts = [
        ("Session", code(story.session)),
        ("Commit", code(story.commit) if story.commit else ""),
        ("Branch", code(story.branch) if story.branch else ""),
        ("Task", defuse(one_line(story.task or ""))),
        ("Agent", defuse(one_line(f"{agent} ({models})" if models else agent))),
        ("Duration", dates.duration(summary.started_at, summary.ended_at)),
        ("Turns", str(summary.turns) if summary.turns else ""),
        ("Tokens", describe_tokens(summary.tokens)),
        ("Files", ", ".join(code(path) for path in summary.files)),
    ]
    yield "\n".join(f"- **{label}:** {text}" for label, text in facts if text)


def _turn(turn: Turn, root: str) -> Iterator[str]:
    yield f"### Turn {turn.number}" if turn.number else "### Before the first prompt"
    if turn.prompt:
        yield _quote(turn.prompt)
    folded: list[Piece] = []
    for piece in pieces(turn, root):
        if not isinstance(piece, Words):
            folded.append(piece)
            continue
        yield _fold(folded)
        folded = []
        yield _words(piece)
    yield _fold(folded)


def _words(piece: Words) -> str:
    if piece.role == "user":
        return _quote(piece.text)
    if piece.role == "assistant":
        return defuse(piece.text)
    if "\n" not in piece.text.strip():
        return f"<sub>{html.escape(one_line(piece.text))}</sub>"
    return details("client", fence(piece.text))


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in defuse(text).split("\n"))


def _fold(group: list[Piece]) -> str:
    """Tools and thinking between two answers, behind one line that says what they are."""
    if not group:
        return ""
    calls = sum(isinstance(piece, Action) for piece in group)
    failed = sum(isinstance(piece, Action) and piece.status == "failed" for piece in group)
    thoughts = sum(isinstance(piece, Thought) for piece in group)
    asides = [piece for piece in group if isinstance(piece, Aside)]
    notes = sum(isinstance(piece, Note) for piece in group)
    facts = [
        _count(thoughts, "thought"),
        _count(calls, "tool call") + (f" ({failed} failed)" if failed else ""),
        _count(len(asides), "subagent"),
        _count(notes, "attachment"),
    ]
    return details(", ".join(fact for fact in facts if fact), "\n\n".join(map(_detail, group)))


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'s' * (number != 1)}" if number else ""


def _detail(piece: Piece) -> str:
    if isinstance(piece, Thought):
        return _quote(piece.text)
    if isinstance(piece, Action):
        return _action(piece)
    if isinstance(piece, Aside):
        inner = "\n\n".join(map(_detail, piece.pieces))
        return details(f"{piece.name}, {_count(piece.calls, 'tool call') or 'no tool call'}", inner)
    if isinstance(piece, Words):
        return _words(piece)
    return f"*{defuse(one_line(piece.text))}*"


def _action(piece: Action) -> str:
    end = f" {defuse(piece.outcome)}" if piece.outcome else ""
    brief = f" {code(piece.brief)}" if piece.brief else ""
    head = f"**{defuse(piece.name)}**{brief} {MARKS[piece.status]}{end}"
    if piece.diff:
        return f"{head}\n\n{fence(piece.diff, 'diff')}"
    return f"{head}\n\n{fence(piece.output)}" if piece.output.strip() else head


def details(summary: str, body: str) -> str:
    """A part that is folded until somebody opens it."""
    return f"<details><summary>{html.escape(one_line(summary))}</summary>\n\n{body}\n\n</details>"


def fence(text: str, language: str = "") -> str:
    """A block of code, with a fence longer than any inside."""
    text = plain(text).strip("\n")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}{language}\n{text}\n{mark}"


def code(text: str) -> str:
    """Code within a line."""
    text = one_line(text)
    if not text:
        return ""
    mark = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    gap = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{mark}{gap}{text}{gap}{mark}"


def defuse(text: str) -> str:
    """Markdown that somebody wrote, unable to do more than be read.

    Fences are kept, and closed where they were left open: else they would
    swallow what follows.
    """
    lines: list[str] = []
    opened = ""
    for line in plain(text).strip("\n").split("\n"):
        found = _FENCE.match(line)
        if opened:
            if found and found[1].startswith(opened) and not line[found.end() :].strip():
                opened = ""
            lines.append(line)
        elif found and ("`" not in line[found.end() :] or found[1][0] == "~"):
            opened = found[1]
            lines.append(line)
        else:
            lines.append(_defuse_line(line))
    if opened:
        lines.append(opened)
    return "\n".join(lines)


def _defuse_line(line: str) -> str:
    """Escape all of a line but the code in it."""
    shown = []
    end = 0
    for found in _CODE.finditer(line):
        shown += [_defuse_words(line[end : found.start()]), found[0]]
        end = found.end()
    return "".join([*shown, _defuse_words(line[end:])])


def _defuse_words(text: str) -> str:
    shown = []
    end = 0
    for found in _ADDRESS.finditer(text):
        shown += [_defuse_plain(text[end : found.start()]), _no_html(found[0])]
        end = found.end()
    return "".join([*shown, _defuse_plain(text[end:])])


def _defuse_plain(text: str) -> str:
    return _REFERENCE.sub(lambda found: found[0] + "<!-- -->", _no_html(text))


def _no_html(text: str) -> str:
    return text.replace("<", "&lt;")
