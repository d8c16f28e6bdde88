"""Dates as git writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitsession.render import dates
from gitsession.render.dates import DateStyle

NOW = datetime(2026, 11, 18, 13, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("default", "Wed Nov 18 13:15:00 2026 +0000"),
        ("iso", "2026-11-18 13:15:00 +0000"),
        ("iso-strict", "2026-11-18T13:15:00+00:00"),
        ("short", "2026-11-18"),
        ("unix", "1795007700"),
        ("relative", "0 seconds ago"),
    ],
)
def test_styles(style: DateStyle, shown: str) -> None:
    assert dates.render_date("2026-11-18T13:15:00.123Z", NOW, style) == shown


def test_a_date_keeps_its_zone() -> None:
    assert dates.render_date("2026-03-01T09:05:00-05:30", NOW) == "Sun Mar 1 09:05:00 2026 -0530"
    assert dates.render_date("2026-03-01T09:05:00", NOW) == "Sun Mar 1 09:05:00 2026 +0000"


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "\x1b[31m", "9" * 50])
def test_what_is_no_date_is_nothing(text: str) -> None:
    assert dates.render_date(text, NOW) == ""
    assert dates.age(text, NOW) == ""
    assert dates.duration(text, "2026-01-01T00:00:00Z") == ""


@pytest.mark.parametrize(
    ("ago", "shown", "brief"),
    [
        (timedelta(seconds=-5), "in the future", "0s"),
        (timedelta(seconds=1), "1 second ago", "1s"),
        (timedelta(seconds=89), "89 seconds ago", "1m"),
        (timedelta(seconds=90), "2 minutes ago", "1m"),
        (timedelta(minutes=89), "89 minutes ago", "1h"),
        (timedelta(hours=2), "2 hours ago", "2h"),
        (timedelta(hours=35), "35 hours ago", "1d"),
        (timedelta(hours=36), "2 days ago", "1d"),
        (timedelta(days=13), "13 days ago", "1w"),
        (timedelta(days=14), "2 weeks ago", "2w"),
        (timedelta(days=70), "2 months ago", "10w"),
        (timedelta(days=364), "12 months ago", "52w"),
        (timedelta(days=365), "1 year ago", "1y"),
        (timedelta(days=400), "1 year, 1 month ago", "1y"),
        (timedelta(days=1000), "2 years, 9 months ago", "2y"),
        (timedelta(days=2000), "5 years ago", "5y"),
    ],
)
def test_ages_round_as_gits_do(ago: timedelta, shown: str, brief: str) -> None:
    assert dates.relative(NOW - ago, NOW) == shown
    assert dates.age((NOW - ago).isoformat(), NOW) == brief


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (59, "59s"), (252, "4m 12s"), (7500, "2h 05m"), (200_000, "2d 07h"), (-1, "")],
)
def test_durations(seconds: int, shown: str) -> None:
    end = (NOW + timedelta(seconds=seconds)).isoformat()
    assert dates.duration(NOW.isoformat(), end) == shown
