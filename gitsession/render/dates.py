"""Dates and durations, written as git writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

DateStyle = Literal["default", "relative", "iso", "iso-strict", "short", "unix"]

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def parse_date(text: str) -> datetime | None:
    """Read an RFC 3339 date; None when it is none. Without a zone it is UTC."""
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def render_date(text: str, now: datetime, style: DateStyle = "default") -> str:
    """A date in a style of git's; nothing for what is no date."""
    date = parse_date(text)
    if date is None:
        return ""
    if style == "relative":
        return relative(date, now)
    if style == "short":
        return f"{date:%Y-%m-%d}"
    if style == "unix":
        return str(_seconds(date))
    if style == "iso-strict":
        return date.replace(microsecond=0).isoformat()
    time = f"{date:%H:%M:%S}"
    if style == "iso":
        return f"{date:%Y-%m-%d} {time} {date:%z}"
    day, month = _DAYS[date.weekday()], _MONTHS[date.month - 1]
    return f"{day} {month} {date.day} {time} {date.year} {date:%z}"


def _seconds(date: datetime) -> int:
    return int((date - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())


def relative(date: datetime, now: datetime) -> str:
    """How long ago, with git's own roundings."""
    seconds = _seconds(now) - _seconds(date)
    if seconds < 0:
        return "in the future"
    if seconds < 90:
        return _ago(seconds, "second")
    minutes = (seconds + 30) // 60
    if minutes < 90:
        return _ago(minutes, "minute")
    hours = (minutes + 30) // 60
    if hours < 36:
        return _ago(hours, "hour")
    days = (hours + 12) // 24
    if days < 14:
        return _ago(days, "day")
    if days < 70:
        return _ago((days + 3) // 7, "week")
    if days < 365:
        return _ago((days + 15) // 30, "month")
    if days < 1825:
        years, months = divmod((days * 12 * 2 + 365) // (365 * 2), 12)
        if months:
            return f"{_count(years, 'year')}, {_ago(months, 'month')}"
        return _ago(years, "year")
    return _ago((days + 183) // 365, "year")


def _ago(number: int, unit: str) -> str:
    return _count(number, unit) + " ago"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def age(text: str, now: datetime) -> str:
    """How long ago, in as little room as possible: `3m`, `2h`, `5d`."""
    date = parse_date(text)
    if date is None:
        return ""
    seconds = max(_seconds(now) - _seconds(date), 0)
    for size, unit in ((31_536_000, "y"), (604_800, "w"), (86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def duration(start: str, end: str) -> str:
    """The time between two moments: `41s`, `4m 12s`, `2h 05m`; nothing when unknown."""
    begin, finish = parse_date(start), parse_date(end)
    if begin is None or finish is None or finish < begin:
        return ""
    seconds = round((finish - begin).total_seconds())
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02}s"
    if seconds < 172_800:
        return f"{seconds // 3600}h {seconds % 3600 // 60:02}m"
    return f"{seconds // 86_400}d {seconds % 86_400 // 3600:02}h"
