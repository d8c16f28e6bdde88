"""How a failure looks on a terminal.

Messages quote file names, refs and other tools' words, so they are not trusted:
nothing in them may move the cursor, change colours or pass for a line of ours.
"""

from __future__ import annotations

_KEPT = "\t"
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def render_failure(message: str, hint: str | None = None) -> str:
    """The lines `error: …` and `hint: …`, each line of the text with its own label."""
    said = _label("error", message)
    return said + _label("hint", hint) if hint else said


def escape_controls(text: str) -> str:
    """Spell out the characters that a terminal would obey instead of show."""
    return "".join(_escaped(char) if _obeyed(char) else char for char in text)


def _label(word: str, text: str) -> str:
    lines = text.strip("\n").split("\n")
    return "".join(f"{word}: {escape_controls(line)}\n" for line in lines)


def _obeyed(char: str) -> bool:
    code = ord(char)
    return (code < 0x20 and char not in _KEPT) or 0x7F <= code < 0xA0 or char in _BIDI


def _escaped(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"
