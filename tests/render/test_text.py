"""What content may do to a terminal (nothing), and how wide it is there."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsession.render import diffstat
from gitsession.render.diffstat import Change
from gitsession.render.escape import first_line, one_line, plain
from gitsession.render.width import clip, pad, width_of, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ntext", "plain\ntext"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("a\x1b]never ended\nb", "a\nb"),
        ("a\x1bPdcs\x1b\\b\x1b(Bc\x1bcd", "abcd"),
        ("a\x9b31mb\x9dtitle\x9cc", "abc"),
        ("a\x1b\x1b[31m[31mb", "a[31mb"),
        ("one\rtwo\r\nthree\x0bfour", "one\ntwo\nthree\nfour"),
        ("a\x00\x07\x08\x7f\x85b", "a\nb"),
        ("a\u202eb\u2066c\u200fd\u061ce", "abcde"),
        ("a\ufeffb\u200bc\U000e0041d", "abcd"),
        ("a\tb", "a   b"),
        ("a\ud83db", "a\ufffdb"),
        ("👩\u200d💻 é 日本", "👩\u200d💻 é 日本"),
    ],
)
def test_only_what_can_be_seen_stays(text: str, shown: str) -> None:
    assert plain(text) == shown


@settings(deadline=None)
@given(st.text() | st.text(alphabet="\x1b[]0;m\x07\\\n\x9b\x9d\u202ePa"))
def test_nothing_that_controls_stays(text: str) -> None:
    shown = plain(text)
    assert plain(shown) == shown
    for char in shown:
        assert char == "\n" or unicodedata.category(char) not in ("Cc", "Cs")
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e")
    assert "\n" not in one_line(text)


def test_the_first_line_says_something() -> None:
    assert first_line("\n \n\x1b[1m  one \ntwo") == "one"
    assert first_line("\n") == ""


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("日本", 4),
        ("e\u0301", 1),
        ("👩\u200d💻", 2),
        ("👍🏽", 2),
        ("❤\ufe0f", 2),
        ("", 0),
    ],
)
def test_columns(text: str, columns: int) -> None:
    assert width_of(text) == columns


@settings(deadline=None)
@given(st.text(), st.integers(0, 20))
def test_a_clipped_text_fits(text: str, columns: int) -> None:
    assert width_of(clip(one_line(text), columns)) <= columns
    assert width_of(pad(clip(one_line(text), columns), columns)) == columns


def test_clipping_says_so() -> None:
    assert clip("a long text", 7) == "a long…"
    assert clip("a long text", 7, "...") == "a lo..."
    assert clip("日本語", 5) == "日本…"
    assert clip("日本語", 4) == "日…"


def test_wrapping_keeps_words_code_and_lists() -> None:
    text = "- one two three four\n\n```\nx = 'a very long line of code'\n```\n" + "y" * 30
    assert wrap(text, 12) == [
        "- one two", "  three four", "", "```", "x = 'a very long line of code'", "```", "y" * 30,
    ]  # fmt: skip
    assert wrap("日本語日本語日本語", 6) == ["日本語", "日本語", "日本語"]
    assert wrap("", 10) == [""]


@settings(deadline=None)
@given(st.text(alphabet="ab 日é\n-`"), st.integers(8, 30))
def test_wrapping_loses_nothing(text: str, columns: int) -> None:
    lines = wrap(text, columns)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_diff_is_counted_by_its_hunks() -> None:
    diff = (
        "--- a\n+++ a\n@@ -1,2 +1,2 @@\n--- not a header\n+++ nor this\n same\n"
        "--- /dev/null\n+++ b c\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
        "--- a\n+++ a\n@@ -9 +9,0 @@\n-y\n"
    )
    changes = diffstat.count(diff)
    assert changes == [
        Change(path="a", added=1, removed=1),
        Change(path="b c", added=1),
        Change(path="a", removed=1),
    ]
    assert diffstat.total(changes)["a"] == Change(path="a", added=1, removed=2)


@settings(deadline=None)
@given(st.text(alphabet="+-@ 019,a\n"))
def test_any_diff_can_be_counted(diff: str) -> None:
    assert all(change.added >= 0 for change in diffstat.count(diff))
