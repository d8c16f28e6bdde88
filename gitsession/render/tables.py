"""Tables on a terminal: the turns of a session, and what it changed and used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitsession.render import diffstat
from gitsession.render.ansi import Style, style
from gitsession.render.diffstat import Change
from gitsession.render.escape import one_line
from gitsession.render.terminal import SHORT
from gitsession.render.timeline import (
    Story,
    TurnRow,
    describe_tokens,
    relative_path,
    short,
    summarize,
)
from gitsession.render.width import clip, pad, width_of


def render_turns(
    rows: Sequence[TurnRow], *, width: int, color: bool, unicode: bool = True
) -> Iterator[str]:
    """One line for each turn: number, age, prompt, what changed, and the commit."""
    look = style(width=width, color=color, unicode=unicode)
    digits = max((len(str(row.number)) for row in rows), default=1)
    changed = [_changed(row) for row in rows]
    room = max((len(plain) for plain in changed), default=0)
    hashes = [_hashes(row, look) for row in rows]
    end = max((width_of(text) for text in hashes), default=0)
    columns = max(look.width - digits - 5 - (room + 2) * bool(room) - (end + 2) * bool(end) - 2, 8)
    for row, plain, commits in zip(rows, changed, hashes, strict=True):
        prompt = one_line(row.prompt) or "(before the first prompt)"
        parts = [
            look.paint(f"{row.number:>{digits}}", "yellow"),
            look.paint(f"{row.age:>4}", "dim"),
            pad(clip(prompt, columns, look.marks.more), columns),
        ]
        if room:
            parts.append(_paint_changed(plain, room, look))
        if end:
            parts.append(look.paint(commits, "yellow"))
        yield "  ".join([" ".join(parts[:2]), *parts[2:]]).rstrip()


def _changed(row: TurnRow) -> str:
    if not row.files:
        return ""
    return f"{row.files} file{'s' * (row.files != 1)} +{short(row.added)} -{short(row.removed)}"


def _paint_changed(plain: str, room: int, look: Style) -> str:
    if not plain:
        return " " * room
    files, added, removed = plain.rsplit(" ", 2)
    painted = f"{files} {look.paint(added, 'green')} {look.paint(removed, 'red')}"
    return painted + " " * (room - len(plain))


def _hashes(row: TurnRow, look: Style) -> str:
    shown = [one_line(commit)[:SHORT] for commit in row.commits]
    return " ".join(shown[:2]) + (look.marks.more if len(shown) > 2 else "")


def render_stat(story: Story, *, width: int, color: bool, unicode: bool = True) -> Iterator[str]:
    """What was changed, as `git diff --stat` has it, and what was used for it."""
    look = style(width=width, color=color, unicode=unicode)
    changes = _changes(story)
    yield from _diffstat(changes, look)
    summary = summarize(story)
    facts = (
        ("Tools", ", ".join(f"{one_line(name)} {n}" for name, n in summary.tools.items())),
        ("Tokens", describe_tokens(summary.tokens)),
        ("Models", ", ".join(map(one_line, summary.models))),
    )
    if changes and any(text for _, text in facts):
        yield ""
    for label, text in facts:
        if text:
            yield f" {pad(label + ':', 8)}{clip(text, look.width - 9, look.marks.more)}"


def _changes(story: Story) -> list[Change]:
    """The files' changes by the tools' results; files that only records know have none."""
    found = diffstat.total(
        Change(path=relative_path(c.path, story.root), added=c.added, removed=c.removed)
        for c in diffstat.changes_of(story.turns)
    )
    for path in summarize(story).files:
        found.setdefault(path, Change(path=path))
    return sorted(found.values(), key=lambda change: change.path)


def _diffstat(changes: Sequence[Change], look: Style) -> Iterator[str]:
    if not changes:
        return
    names = [one_line(change.path) for change in changes]
    most = max(change.added + change.removed for change in changes)
    digits = len(str(most))
    longest = min(max(map(width_of, names)), max(look.width - digits - 16, 8))
    room = max(look.width - longest - digits - 5, 4)
    for name, change in zip(names, changes, strict=True):
        number = change.added + change.removed
        line = f" {pad(clip(name, longest, look.marks.more), longest)} | {number:>{digits}}"
        yield f"{line} {_bar(change, most, room, look)}".rstrip()
    added, removed = sum(c.added for c in changes), sum(c.removed for c in changes)
    parts = [f"{len(changes)} file{'s' * (len(changes) != 1)} changed"]
    if added:
        parts.append(f"{added} insertion{'s' * (added != 1)}(+)")
    if removed:
        parts.append(f"{removed} deletion{'s' * (removed != 1)}(-)")
    yield " " + ", ".join(parts)


def _bar(change: Change, most: int, room: int, look: Style) -> str:
    """`+++--`, scaled to the room, with one sign at least for each kind."""
    plus, minus = change.added, change.removed
    if most > room:
        plus, minus = (max(n * room // most, 1) if n else 0 for n in (plus, minus))
    return look.paint("+" * plus, "green") + look.paint("-" * minus, "red")
