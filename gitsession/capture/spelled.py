"""A text that leaked, as a rule of redaction that finds it however it is written in a transcript.

A transcript is JSON, and there is JSON within JSON: the same words stand there
with escapes, once or several times over, and broken into lines elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gitsession.capture.rules import Rule, RuleSet
from gitsession.errors import NotFound, Usage

NAME = "forgotten-text"
LEAST = 4
"""Characters: a shorter text is everywhere."""
MOST = 64 << 10
_SPACE = r"(?:[ \t\r\n]|\\{1,8}(?:[nrt]|u00(?:0[9aAdD]|20)))+"
_NEVER = Rule(name="assigned-secret", pattern=r"[^\x00-\xff]", test="assigned")
"""A rule set has to have one for assignments."""


def rules_for(text: str) -> RuleSet:
    """The rules that find a text; raises Usage when it is too short or too long for that."""
    words = text.strip()
    if len(words) < LEAST or len(words) > MOST:
        raise Usage(f"a text to forget has {LEAST} to {MOST} characters, this one {len(words)}")
    pattern = "".join(_spell(words))
    return RuleSet(rules=(Rule(name=NAME, pattern=f"({pattern})"), _NEVER))


def rules_named(name: str, ruleset: RuleSet) -> RuleSet:
    """Of the rules that hold today those of one name; raises NotFound."""
    chosen = tuple(rule for rule in ruleset.rules if rule.name == name)
    if not chosen:
        raise NotFound("rule", name, candidates=_near(name, ruleset.rules))
    never = () if any(rule.test == "assigned" for rule in chosen) else (_NEVER,)
    return RuleSet(rules=(*chosen, *never), allow=ruleset.allow)


def _near(name: str, rules: Iterable[Rule]) -> list[str]:
    names = list(dict.fromkeys(rule.name for rule in rules))
    begin = name.partition("-")[0]
    return [x for x in names if begin and begin in x][:5] or names[:5]


def _spell(words: str) -> Iterator[str]:
    """The pattern of each character, and one for each run of white space."""
    for part in re.split(r"(\s+)", words):
        if part.isspace():
            yield _SPACE
        else:
            yield from map(_character, part)


def _character(char: str) -> str:
    plain = "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    if char == "\\":
        return r"(?:\\{1,16}|\\{1,8}u005[cC])"
    units = char.encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    escaped = "".join(rf"\\{{1,8}}u{_hex(pair)}" for pair in pairs)
    if char.isalnum() and char.isascii():
        return f"(?:{char}|{escaped})"
    return rf"(?:\\{{0,8}}{plain}|{escaped})" if char.isascii() else f"(?:{plain}|{escaped})"


def _hex(digits: str) -> str:
    """Hexadecimal digits, large or small."""
    return "".join(x if x.isdigit() else f"[{x}{x.upper()}]" for x in digits)
