"""Stories, logs and tables as people see them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsession.ids import Oid
from gitsession.model import Turn
from gitsession.render.log import (
    LogEntry,
    render_log_entry,
    render_log_format,
    render_log_oneline,
)
from gitsession.render.markdown import code, defuse, fence, render_markdown
from gitsession.render.normal import normal_view
from gitsession.render.tables import render_stat, render_turns
from gitsession.render.terminal import render_story
from gitsession.render.timeline import (
    Story,
    describe_tokens,
    find_root,
    short,
    summarize,
    turn_rows,
)
from gitsession.render.width import width_of
from tests.render import golden
from tests.render.stories import (
    COMMIT,
    ENTRY,
    NOW,
    RECORD,
    ROOT,
    STORY,
    TURNS,
    spoiled,
    spoiled_entry,
)

SGR = re.compile(r"\x1b\[[0-9;]*m")


def joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def told(story: Story = STORY, width: int = 80, color: bool = False, **view: Any) -> str:
    return joined(render_story(story, width=width, color=color, now=NOW, **view))


VIEWS: dict[str, dict[str, Any]] = {
    "default": {},
    "narrow": {"width": 40},
    "color": {"color": True},
    "full": {"full": True},
    "tools": {"tools": True},
    "thinking": {"thinking": True, "turn": 1},
    "ascii": {"unicode": False},
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_story_on_a_terminal(name: str) -> None:
    golden.check(f"story-{name}.txt", told(**VIEWS[name]))


def test_a_story_as_markdown() -> None:
    golden.check("story.md", render_markdown(STORY))


def test_a_story_normalised() -> None:
    view = msgspec.json.format(msgspec.json.encode(normal_view(STORY)), indent=2)
    golden.check("story.json", view.decode() + "\n")


@pytest.mark.parametrize("color", [False, True])
def test_the_log(color: bool) -> None:
    lines = render_log_entry(ENTRY, width=72, color=color, now=NOW)
    golden.check(f"log-{'color' if color else 'plain'}.txt", joined(lines))


def test_the_log_of_a_checkpoint() -> None:
    record = msgspec.structs.replace(
        RECORD, kind="checkpoint", reason="clear", commit=None, status="abandoned"
    )
    lines = render_log_entry(LogEntry(records=(record,)), width=72, color=False, now=NOW)
    golden.check("log-checkpoint.txt", joined(lines))


def test_the_log_on_one_line() -> None:
    line = render_log_oneline(ENTRY, width=72, color=False, now=NOW)
    assert line == "4f2c1a9   1h claude-code   2t Make the parser return nothing for what i…"
    assert width_of(line) == 72
    dated = render_log_oneline(ENTRY, width=72, color=False, now=NOW, date="short")
    assert dated.startswith("4f2c1a9 2026-11-18 claude-code")


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("%H %h", f"{COMMIT} 4f2c1a9"),
        ("%an <%ae>", "Dev <dev@example.com>"),
        ("%ad|%ar", "Wed Nov 18 14:15:00 2026 +0100|2 hours ago"),
        ("%s%n%b", "dates: return nothing for what is no date\nmain"),
        ("%S %i", f"{RECORD.session} {'c' * 40}"),
        ("%p", "Make the parser return nothing for what is no date"),
        ("%t %k", "2 commit"),
        ("100%% %z %a %", "100% %z %a %"),
    ],
)
def test_the_log_as_asked(template: str, shown: str) -> None:
    assert render_log_format(ENTRY, template, now=NOW) == shown


def test_the_table_of_turns() -> None:
    rows = turn_rows(TURNS, {2: [COMMIT, Oid("a" * 40), Oid("b" * 40)]}, NOW)
    assert [(row.files, row.added, row.removed) for row in rows] == [
        (0, 0, 0),
        (2, 44, 2),
        (0, 0, 0),
    ]
    golden.check("turns.txt", joined(render_turns(rows, width=72, color=False)))
    assert list(render_turns([], width=72, color=False)) == []


def test_the_statistics() -> None:
    golden.check("stat.txt", joined(render_stat(STORY, width=72, color=False)))


@pytest.mark.parametrize("here", [ROOT, "/another/machine", ""])
def test_the_work_tree_of_another_machine_is_told_by_the_records(here: str) -> None:
    assert find_root(STORY, here) == ROOT


def test_without_records_there_is_only_the_work_tree_here() -> None:
    bare = msgspec.structs.replace(STORY, records=())
    assert find_root(bare, "/another/machine") == "/another/machine"


def test_without_records_the_turns_are_counted() -> None:
    summary = summarize(msgspec.structs.replace(STORY, records=()))
    assert summary.turns == 2
    assert summary.tools == {"Bash": 3, "Edit": 1, "Grep": 1, "Read": 1, "Task": 1, "Write": 1}
    assert summary.files == ("src/dates.py", "docs/notes.md")
    assert summary.models == ("claude-opus-5-5",)
    assert (summary.started_at, summary.ended_at) == (TURNS[1].started_at, TURNS[2].ended_at)


def test_an_empty_story_is_its_header() -> None:
    story = Story(session=STORY.session, agent=STORY.agent)
    assert told(story) == f"Session:  {STORY.session}\nAgent:    claude-code 2.1.327\n"
    assert render_markdown(story)
    assert list(render_stat(story, width=80, color=False)) == []


def test_only_one_turn() -> None:
    shown = told(turn=2)
    assert "Turn 2" in shown
    assert "Turn 1" not in shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1200, "1.2k"),
        (45_999, "45k"),
        (1_300_000, "1.3M"),
        (10**10, "10.0G"),
    ],
)
def test_numbers_in_four_characters(number: int, shown: str) -> None:
    assert short(number) == shown


def test_tokens_are_told_by_what_they_were() -> None:
    assert RECORD.tokens is not None
    assert describe_tokens(RECORD.tokens) == "1.5k in, 3.5k out, 45k cached"


# -- hostile content ----------------------------------------------------------------------

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202eevil\x9b31m\r\x00</details><script>@you fixes #1 ```\n```"


def everything(text: str, *, color: bool, width: int = 80) -> str:
    story, entry = spoiled(text), spoiled_entry(text)
    turns: tuple[Turn, ...] = story.turns
    lines = [
        *render_story(story, width=width, color=color, now=NOW, full=True),
        *render_story(story, width=width, color=color, now=NOW),
        *render_log_entry(entry, width=width, color=color, now=NOW),
        render_log_oneline(entry, width=width, color=color, now=NOW),
        *render_turns(turn_rows(turns, {1: [Oid(text)]}, NOW), width=width, color=color),
        *render_stat(story, width=width, color=color),
        render_log_format(entry, "%an %ae %s %b %S %i %p %ad", now=NOW),
    ]
    assert not any("\n" in line for line in lines)
    return "\n".join([*lines, render_markdown(story)])


def assert_harmless(shown: str) -> None:
    for char in shown:
        assert char == "\n" or unicodedata.category(char) not in ("Cc", "Cs"), repr(char)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200f")


def test_hostile_content_is_only_shown() -> None:
    assert_harmless(everything(HOSTILE, color=False))
    assert_harmless(SGR.sub("", everything(HOSTILE, color=True)))


@settings(max_examples=40, deadline=None)
@given(
    st.text() | st.text(alphabet="\x1b[]\x07\x9b\x9d\u202e\r\n\t `#@<日👩\u200d💻a", max_size=30),
    st.integers(1, 200),
)
def test_any_content_is_only_shown(text: str, width: int) -> None:
    assert_harmless(everything(text, color=False, width=width))
    assert_harmless(SGR.sub("", everything(text, color=True, width=width)))


@pytest.mark.parametrize("width", [20, 33, 80, 100_000])
def test_lines_fit_the_width_but_for_code_and_long_words(width: int) -> None:
    plain = told(msgspec.structs.replace(STORY, turns=()), width=width)
    assert all(width_of(line) <= max(width, 58) for line in plain.split("\n"))
    for line in told(width=width).split("\n"):
        if line.lstrip().startswith(("⏺", "Turn", "thinking")):
            assert width_of(line) <= width


def test_colors_are_only_paint() -> None:
    assert SGR.sub("", told(color=True)) == told(color=False)
    assert "\x1b" not in told(color=False)
    assert SGR.sub("", told(color=True, full=True)) == told(full=True)


def test_ascii_stays_ascii() -> None:
    story = msgspec.structs.replace(STORY, turns=STORY.turns[2:])
    assert told(story, unicode=False).isascii()


# -- markdown -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>hi</b> `<b>`", "&lt;b>hi&lt;/b> `<b>`"),
        ("ask @dev about #12 and o/r#3", "ask @<!-- -->dev about #<!-- -->12 and o/r#<!-- -->3"),
        ("me@example.org http://x.org/#1 # title", "me@example.org http://x.org/#1 # title"),
        ("```\n<b> @dev\n```\n@dev", "```\n<b> @dev\n```\n@<!-- -->dev"),
        ("```py\nopen", "```py\nopen\n```"),
        ("````\n```\nstill", "````\n```\nstill\n````"),
        ("GH-12", "GH-<!-- -->12"),
    ],
)  # fmt: skip
def test_pasted_markdown_can_do_nothing(text: str, shown: str) -> None:
    assert defuse(text) == shown


def test_fences_are_longer_than_any_inside() -> None:
    assert fence("a\n````\nb", "diff") == "`````diff\na\n````\nb\n`````"
    assert code("a`b") == "``a`b``"
    assert code("`a`") == "`` `a` ``"
    assert code("\n") == ""


def test_details_are_balanced_whatever_is_inside() -> None:
    shown = render_markdown(spoiled("</details></summary> x"))
    prose = re.sub(r"(?ms)^(```+)\w*\n.*?\n\1$", "", shown)
    tags = re.findall(r"(?m)^</?details>", prose)
    assert tags.count("<details>") == tags.count("</details>") > 0
