"""Colours, as few as git has, and the marks that go with them."""

from __future__ import annotations

from gitsession.model import Frozen

_CODES = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34",
    "magenta": "35", "cyan": "36", "prompt": "1;36", "heading": "1", "hunk": "36",
}  # fmt: skip


class Marks(Frozen, frozen=True, kw_only=True):
    """The signs that have meanings here."""

    call: str = "⏺"
    done: str = "✓"
    failed: str = "✗"
    prompt: str = "❯"  # noqa: RUF001
    aside: str = "│"
    more: str = "…"
    rule: str = "─"
    dot: str = "·"


ASCII = Marks(call="*", done="ok", failed="x", prompt=">", aside="|", more="...", rule="-", dot="-")


class Style(Frozen, frozen=True, kw_only=True):
    """How a terminal is written to."""

    width: int = 80
    color: bool = False
    marks: Marks = Marks()

    def paint(self, text: str, name: str) -> str:
        """Colour a text that holds no newline."""
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.color and text else text


def style(*, width: int, color: bool, unicode: bool = True) -> Style:
    """The style for a terminal: too narrow ones are taken for wider than they are."""
    return Style(width=max(width, 20), color=color, marks=Marks() if unicode else ASCII)
