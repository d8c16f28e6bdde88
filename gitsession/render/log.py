"""The entries of `git session log`: as `git log` prints them, on one line, or as asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

import msgspec

from gitsession.ids import Oid
from gitsession.model import RECORD_VERSION, Author, Foreign, Frozen, Record
from gitsession.render import dates
from gitsession.render.ansi import Style, style
from gitsession.render.escape import in_json, one_line
from gitsession.render.terminal import SHORT, commit_line, describe_parent, labelled, some
from gitsession.render.timeline import add_tokens, describe_tokens
from gitsession.render.width import clip, pad, width_of, wrap
from gitsession.store import records


class LogEntry(Frozen, frozen=True, kw_only=True):
    """A commit and its captures, or a capture that no commit has."""

    records: tuple[Record, ...]
    """The oldest first."""
    foreign: tuple[Foreign, ...] = ()
    """Lines of the index that this version can't read."""
    commit: Oid | None = None
    short: str = ""
    """The commit's hash as git abbreviates it."""
    subject: str = ""
    author: Author | None = None
    date: str = ""
    """Of the commit: RFC 3339, with its own time zone."""
    names: tuple[str, ...] = ()
    """The branches and tags that are at the commit."""


def render_log_entry(
    entry: LogEntry,
    *,
    width: int,
    color: bool,
    now: datetime,
    unicode: bool = True,
    date: dates.DateStyle = "default",
) -> Iterator[str]:
    """The lines of one entry, without newlines and without an empty line after it."""
    look = style(width=width, color=color, unicode=unicode)
    if entry.commit:
        yield commit_line(entry.commit, entry.names, look)
    else:
        kinds = " and ".join(dict.fromkeys(_kind(record) for record in entry.records))
        yield look.paint(kinds or "capture", "yellow")
    author = _author(entry)
    if author:
        yield from labelled("Author", one_line(f"{author.name} <{author.email}>"), look)
    when = dates.render_date(_date(entry), now, date)
    if when:
        yield from labelled("Date", when, look)
    for session in dict.fromkeys(record.session for record in entry.records):
        yield from labelled("Session", one_line(session), look)
    for parent in dict.fromkeys(r.parent for r in entry.records if r.parent):
        yield from labelled("Fork of", describe_parent(parent), look)
    for line in entry.foreign:
        yield from labelled("Session", describe_foreign(line), look)
    if entry.records:
        yield from _counts(entry.records, look)
    yield from _texts(entry, look)


def describe_foreign(line: Foreign) -> str:
    """What can be said of a line that can't be read."""
    if line.v is not None and line.v > RECORD_VERSION:
        return f"recorded by a later version of git session (format {line.v})"
    return "a record that can't be read"


def _kind(record: Record) -> str:
    kind = f"{record.kind} ({record.reason})" if record.reason else record.kind
    return kind if record.status == "complete" else f"{kind}, {record.status}"


def _author(entry: LogEntry) -> Author | None:
    return entry.author or next((r.author for r in entry.records if r.author), None)


def _date(entry: LogEntry) -> str:
    return entry.date or max((record.captured_at for record in entry.records), default="")


def _counts(records: tuple[Record, ...], look: Style) -> Iterator[str]:
    turns = sum(record.turns for record in records)
    tokens = describe_tokens(add_tokens(record.tokens for record in records))
    agents = some(list(dict.fromkeys(one_line(record.agent.name) for record in records)), 3)
    facts = [agents, _count(turns, "turn"), f"{tokens} tokens" if tokens else ""]
    said = f" {look.marks.dot} ".join(fact for fact in facts if fact)
    yield from labelled("Agent", said, look)
    files = list(dict.fromkeys(one_line(path) for record in records for path in record.files))
    if files:
        yield from labelled("Files", some(files, 4), look)


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'s' * (number != 1)}" if number else ""


def _texts(entry: LogEntry, look: Style) -> Iterator[str]:
    subject = one_line(entry.subject)
    if subject:
        yield ""
        yield from ("    " + line for line in wrap(subject, look.width - 4))
    prompt = first_prompt(entry.records)
    if prompt:
        yield ""
        for index, line in enumerate(wrap(prompt, look.width - 6)[:3]):
            mark = look.marks.prompt if index == 0 else " "
            yield look.paint(f"    {mark} {line}", "cyan")


def first_prompt(records: tuple[Record, ...]) -> str:
    """The first prompt of the captures, on one line."""
    return next((one_line(record.prompt) for record in records if record.prompt.strip()), "")


def render_log_oneline(
    entry: LogEntry,
    *,
    width: int,
    color: bool,
    now: datetime,
    unicode: bool = True,
    date: dates.DateStyle | None = None,
) -> str:
    """One line: hash, age, agent, turns, and as much of the prompt as fits."""
    look = style(width=width, color=color, unicode=unicode)
    when = _date(entry)
    shown = dates.render_date(when, now, date) if date else dates.age(when, now)
    names = some(list(dict.fromkeys(one_line(r.agent.name) for r in entry.records)), 2)
    turns = sum(record.turns for record in entry.records)
    parts = [
        (pad(_hash(entry), SHORT), "yellow"),
        (f"{shown:>4}", "dim"),
        (clip(names, 14, look.marks.more), "blue"),
        (f"{turns:>3}t", "dim"),
    ]
    used = sum(width_of(text) + 1 for text, _ in parts)
    said = first_prompt(entry.records) or one_line(entry.subject)
    if entry.foreign and not entry.records:
        said = describe_foreign(entry.foreign[0])
    line = " ".join(look.paint(text, name) for text, name in parts)
    return f"{line} {clip(said, max(look.width - used, 0), look.marks.more)}".rstrip()


def _hash(entry: LogEntry) -> str:
    if entry.commit:
        return one_line(entry.short or entry.commit[:SHORT])
    return one_line(entry.records[0].id)[:SHORT] if entry.records else ""


_PLACEHOLDER = re.compile(r"%(a[nedri]|[HhsbSiptkn%])")


def render_log_format(
    entry: LogEntry, template: str, *, now: datetime, date: dates.DateStyle = "default"
) -> str:
    """The template with its placeholders filled in; unknown ones stay as they are."""
    return _PLACEHOLDER.sub(lambda found: _value(found[1], entry, now, date), template)


def _value(name: str, entry: LogEntry, now: datetime, date: dates.DateStyle) -> str:
    if name in "n%":
        return "\n" if name == "n" else "%"
    records, author, when = entry.records, _author(entry) or Author(), _date(entry)
    values = {
        "H": entry.commit or "",
        "h": _hash(entry) if entry.commit else "",
        "an": author.name,
        "ae": author.email,
        "s": entry.subject,
        "b": _all(record.branch for record in records),
        "S": _all(record.session for record in records),
        "i": _all(record.id for record in records),
        "p": first_prompt(records),
        "k": _all(record.kind for record in records),
        "t": str(sum(record.turns for record in records)),
    }
    if name in ("ad", "ar", "ai"):
        styles: dict[str, dates.DateStyle] = {"ad": date, "ar": "relative", "ai": "iso"}
        return dates.render_date(when, now, styles[name])
    return one_line(values[name])


def _all(values: Iterator[str | None]) -> str:
    return " ".join(dict.fromkeys(value for value in values if value))


def render_log_json(line: Record | Foreign) -> str:
    """A record as it is kept; what isn't JSON at all as a text in some."""
    if isinstance(line, Record):
        return in_json(records.encode(line))
    try:
        return in_json(msgspec.json.format(line.raw, indent=-1))
    except (msgspec.DecodeError, RecursionError):
        return in_json(msgspec.json.encode({"unreadable": line.raw.decode("utf-8", "replace")}))
