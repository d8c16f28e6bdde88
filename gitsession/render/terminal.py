"""A story on a terminal: a header as `git log` has it, then the turns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from gitsession.model import Frozen, Parent, Record, Turn
from gitsession.render import dates
from gitsession.render.ansi import Style, style
from gitsession.render.escape import first_line, one_line, plain
from gitsession.render.timeline import (
    Action,
    Aside,
    Note,
    Piece,
    Story,
    Summary,
    Thought,
    Words,
    describe_tokens,
    pieces,
    summarize,
)
from gitsession.render.width import clip, pad, width_of, wrap

SHORT = 7
"""The digits of a short hash."""
LABEL = 10
"""The columns of the header's labels."""
PROMPT_LINES = 30
DIFF_LINES = 12
OUTPUT_LINES = 20


class View(Frozen, frozen=True, kw_only=True):
    """What is unfolded."""

    full: bool = False
    tools: bool = False
    thinking: bool = False


def render_story(
    story: Story,
    *,
    width: int,
    color: bool,
    now: datetime,
    full: bool = False,
    tools: bool = False,
    thinking: bool = False,
    turn: int | None = None,
    unicode: bool = True,
    date: dates.DateStyle = "default",
) -> Iterator[str]:
    """The lines of a story, without newlines; of one turn only, if asked."""
    look = style(width=width, color=color, unicode=unicode)
    view = View(full=full, tools=tools or full, thinking=thinking or full)
    yield from _header(story, look, now, date)
    for one in story.turns:
        if turn is None or one.number == turn:
            yield ""
            yield from _turn(one, story.root, look, view)


def render_turn(
    turn: Turn, *, root: str, width: int, color: bool, unicode: bool = True
) -> Iterator[str]:
    """The lines of one turn by itself."""
    yield from _turn(turn, root, style(width=width, color=color, unicode=unicode), View())


def render_diff(diff: str, *, color: bool) -> Iterator[str]:
    """A diff's lines, harmless and coloured."""
    look = style(width=80, color=color)
    for line in plain(diff).rstrip("\n").split("\n"):
        yield look.paint(line.rstrip(), _diff_color(line))


# -- header -------------------------------------------------------------------------------


def _header(story: Story, look: Style, now: datetime, date: dates.DateStyle) -> Iterator[str]:
    summary = summarize(story)
    if story.commit:
        yield commit_line(story.commit, (story.branch,) if story.branch else (), look)
    for label, text in _facts(story, summary, now, date):
        if text:
            yield from labelled(label, text, look)
    subject = one_line(story.subject)
    if subject:
        yield ""
        yield from ("    " + line for line in wrap(subject, look.width - 4))


def commit_line(commit: str, names: tuple[str, ...], look: Style) -> str:
    """`commit <hash> (branch)`, in git's colours."""
    line = look.paint(f"commit {one_line(commit)}", "yellow")
    if not names:
        return line
    shown = look.paint(", ", "yellow").join(look.paint(one_line(n), "green") for n in names)
    return line + look.paint(" (", "yellow") + shown + look.paint(")", "yellow")


def labelled(label: str, text: str, look: Style) -> Iterator[str]:
    """`Label:    text`, with further lines under the text."""
    lines = wrap(text, look.width - LABEL)
    yield pad(label + ":", LABEL) + lines[0]
    yield from (" " * LABEL + line for line in lines[1:])


def _facts(
    story: Story, summary: Summary, now: datetime, date: dates.DateStyle
) -> Iterator[tuple[str, str]]:
    yield "Session", one_line(story.session)
    if story.parent:
        yield "Fork of", describe_parent(story.parent)
    yield "Task", one_line(story.task or "")
    if story.author:
        yield "Author", one_line(f"{story.author.name} <{story.author.email}>")
    yield "Date", dates.render_date(story.date or summary.ended_at, now, date)
    models = ", ".join(one_line(model) for model in summary.models)
    agent = one_line(f"{story.agent.name} {story.agent.version}")
    yield "Agent", f"{agent} ({models})" if models else agent
    yield "Kind", _kind(story.records)
    yield "Duration", dates.duration(summary.started_at, summary.ended_at)
    yield "Turns", str(summary.turns) if summary.turns else ""
    yield "Tokens", describe_tokens(summary.tokens)
    yield "Files", some([one_line(path) for path in summary.files], 5)


def describe_parent(parent: Parent) -> str:
    """Which moment of which session a fork goes on from."""
    when = f"after turn {parent.turn}" if parent.turn else "before its first prompt"
    code = f" (commit {one_line(parent.commit)[:SHORT]})" if parent.commit else ""
    return f"{one_line(parent.session)}, {when}{code}"


def _kind(records: tuple[Record, ...]) -> str:
    """Said only of what is no plain commit, and of what went wrong."""
    kinds = dict.fromkeys(
        f"{r.kind} ({r.reason})" if r.reason else r.kind for r in records if r.kind != "commit"
    )
    states = dict.fromkeys(r.status for r in records if r.status != "complete")
    return ", ".join([*kinds, *states])


def some(names: list[str], most: int) -> str:
    """The first of some names, and how many more there are."""
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join(names[: most - 1]) + f" and {len(names) - most + 1} more"


# -- turns --------------------------------------------------------------------------------


def _turn(turn: Turn, root: str, look: Style, view: View) -> Iterator[str]:
    yield _heading(turn, look)
    yield ""
    if turn.prompt:
        yield from _prompt(turn.prompt, look, view)
    compact = False
    for index, piece in enumerate(pieces(turn, root)):
        lines = list(_piece(piece, look, view))
        brief = isinstance(piece, Action | Note) and len(lines) == 1
        if not (brief and compact) and (index or turn.prompt):
            yield ""
        yield from lines
        compact = brief


def _heading(turn: Turn, look: Style) -> str:
    name = f"Turn {turn.number}" if turn.number else "Before the first prompt"
    name += ", continued" if turn.continued else ""
    date = dates.parse_date(turn.started_at)
    facts = [f"{date:%H:%M:%S}"] if date else []
    if time := dates.duration(turn.started_at, turn.ended_at):
        facts.append(time)
    said = f" {look.marks.dot} ".join(facts)
    room = look.width - width_of(name) - width_of(said) - 2
    if room < 2:
        return look.paint(name, "heading")
    rule = look.marks.rule * min(room, 100)
    return f"{look.paint(name, 'heading')} {look.paint(f'{rule} {said}'.rstrip(), 'dim')}"


def _prompt(text: str, look: Style, view: View) -> Iterator[str]:
    lines = wrap(plain(text), look.width - 2)
    shown, rest = cut(lines, PROMPT_LINES, view.full)
    for index, line in enumerate(shown):
        mark = look.marks.prompt if index == 0 else " "
        yield look.paint(f"{mark} {line}".rstrip(), "prompt")
    if rest:
        yield look.paint(f"  {_more(rest, look)}", "dim")


def cut(lines: list[str], most: int, full: bool) -> tuple[list[str], int]:
    """The first lines, and how many are left; one line is never left alone."""
    if full or len(lines) <= most + 1:
        return lines, 0
    return lines[:most], len(lines) - most


def _more(rest: int, look: Style) -> str:
    return f"{look.marks.more} {rest} more lines (--full)"


def _piece(piece: Piece, look: Style, view: View) -> Iterator[str]:
    if isinstance(piece, Words):
        yield from _words(piece, look, view)
    elif isinstance(piece, Thought):
        yield from _thought(piece, look, view)
    elif isinstance(piece, Action):
        yield from _action(piece, look, view)
    elif isinstance(piece, Aside):
        yield from _aside(piece, look, view)
    else:
        yield look.paint(
            f"  [{clip(one_line(piece.text), look.width - 4, look.marks.more)}]", "dim"
        )


def _words(piece: Words, look: Style, view: View) -> Iterator[str]:
    text = plain(piece.text)
    if piece.role == "user":
        yield from _prompt(text, look, view)
        return
    if piece.role == "system" and not view.full:
        count = text.strip().count("\n") + 1
        size = f" ({count} lines)" if count > 1 else ""
        room = look.width - 2 - len(size)
        yield look.paint(f"  {clip(first_line(text), room, look.marks.more)}{size}", "dim")
        return
    for line in wrap(text, look.width - 2):
        shown = f"  {line}".rstrip()
        yield look.paint(shown, "dim") if piece.role == "system" else shown


def _thought(piece: Thought, look: Style, view: View) -> Iterator[str]:
    count = piece.lines
    yield look.paint(f"  thinking, {count} line{'s' * (count != 1)}", "dim")
    if view.thinking:
        for line in wrap(plain(piece.text), look.width - 4):
            yield look.paint(f"    {line}".rstrip(), "dim")


def _aside(piece: Aside, look: Style, view: View) -> Iterator[str]:
    spoken = sum(isinstance(inner, Words) for inner in piece.pieces)
    parts = f"{_count(spoken, 'message')}, {_count(piece.calls, 'tool call')}"
    yield look.paint(f"  {look.marks.aside} {one_line(piece.name)}: {parts}", "magenta")
    if not view.tools:
        return
    inner = Style(width=max(look.width - 4, 20), color=look.color, marks=look.marks)
    for part in piece.pieces:
        for line in _piece(part, inner, view):
            yield f"  {look.paint(look.marks.aside, 'magenta')} {line}".rstrip()


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'s' * (number != 1)}"


# -- tool calls ---------------------------------------------------------------------------


def _action(piece: Action, look: Style, view: View) -> Iterator[str]:
    yield _action_line(piece, look)
    if view.tools:
        yield from _block(piece.input, look, view)
        yield from _block(piece.output, look, view)
    if piece.diff:
        yield from _diff(piece.diff, look, view)


def _action_line(piece: Action, look: Style) -> str:
    marks = look.marks
    end, color = {
        "done": (marks.done, "green"),
        "failed": (f"{marks.failed} {piece.outcome}".rstrip(), "red"),
        "open": ("(no result)", "dim"),
    }[piece.status]
    name = clip(piece.name, look.width // 3, marks.more)
    room = look.width - 4 - len(marks.call) - width_of(name)
    least = max(room // 2, room - width_of(piece.brief) - 3)
    end = clip(end, least, marks.more)
    brief = clip(piece.brief, max(room - width_of(end) - 3, 0), marks.more)
    call = f"  {look.paint(marks.call, 'cyan')} {look.paint(name, 'bold')}"
    return "  ".join(part for part in (call, brief, look.paint(end, color)) if part)


def _block(text: str, look: Style, view: View) -> Iterator[str]:
    if not text.strip():
        return
    shown, rest = cut(plain(text).strip("\n").split("\n"), OUTPUT_LINES, view.full)
    for line in shown:
        yield look.paint(f"    {look.marks.aside} {line}".rstrip(), "dim")
    if rest:
        yield look.paint(f"    {look.marks.aside} {_more(rest, look)}", "dim")


def _diff(diff: str, look: Style, view: View) -> Iterator[str]:
    """The hunks: the line above names the file, so that headers are for --full."""
    lines = plain(diff).rstrip("\n").split("\n")
    if not view.full:
        lines = lines[2:] if lines[0].startswith("--- ") else lines
    shown, rest = cut(lines, DIFF_LINES, view.full)
    for line in shown:
        yield "    " + look.paint(line.rstrip(), _diff_color(line)) if line.strip() else ""
    if rest:
        yield look.paint(f"    {_more(rest, look)}", "dim")


def _diff_color(line: str) -> str:
    if line.startswith("@@"):
        return "hunk"
    return {"+": "green", "-": "red"}.get(line[:1], "dim")
