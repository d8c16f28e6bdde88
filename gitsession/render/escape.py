"""Content made harmless: whatever a model or a remote wrote, a terminal only shows it.

Removed are terminal escapes, control characters, what reorders text (bidi) and
what hides in it (tag characters and other invisible format characters).
"""

from __future__ import annotations

import re

_STRINGS = r"[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
_SEQUENCE = re.compile(
    rf"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_STRINGS}"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
_NEWLINE = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_HIDDEN = (
    "\x00-\x09\x0b-\x1f\x7f-\x9f"  # controls but the newline; tabs were expanded before
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # bidi, and deprecated formats
    "\u180e\u200b\u2060-\u2065\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"  # invisible
)
_BAD = re.compile(f"[{_HIDDEN}\ud800-\udfff\u2028\u2029]")
_REMOVED = re.compile(f"[{_HIDDEN}]")
_HALVES = re.compile("[\ud800-\udfff]")
TAB = 4


def plain(text: str) -> str:
    """The text without anything but what can be seen, and newlines."""
    if _BAD.search(text) is None:
        return text
    text = _NEWLINE.sub("\n", _SEQUENCE.sub("", text))
    if "\t" in text:
        text = text.expandtabs(TAB)
    return _HALVES.sub("\ufffd", _REMOVED.sub("", text))


def one_line(text: str) -> str:
    """The same on one line, with single spaces."""
    return " ".join(plain(text).split())


def first_line(text: str) -> str:
    """The first line that says anything."""
    return next((one_line(line) for line in plain(text).split("\n") if line.strip()), "")


def in_json(data: bytes) -> str:
    """JSON as it is, with what a terminal would obey or hide written as escapes."""
    return _BAD.sub(_escaped, data.decode("utf-8", "replace"))


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))
