"""Which texts are secrets: the built-in rules, the user's own, and the exceptions.

All of them become one RE2 alternation, so that the number of rules does not
decide how long a transcript takes. Compiling needs google-re2; it is imported
here and nowhere else, and without it nothing can be redacted, so nothing is
stored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from gitsession.capture.builtin import ANCHORS, PATTERNS, Test
from gitsession.errors import SessionError, Usage

if TYPE_CHECKING:
    from types import ModuleType

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_FORM = "a rule is 'name regex', an exception 'allow regex', a comment begins with #"
_STRANGERS = (b"q7Zt-Xw2Lk9_Vb4RmN8c", b"postgres-91-horse", b"0f3b61d29c84e75a")
"""Secrets nobody can mean: an exception that holds for two of them holds for everything."""

_STEPS = 4
_REPETITION = re.compile(r"\{(\d+),?\d*\}")
_LAST_REPETITION = re.compile(r"\{\d\d+(?:,\d*)?\}(?=(?:=\{0,2\})?(?:\||\)*$))")
_GROUP = re.compile(r"(?<!\\)\((?!\?)")
_MEMORY = 64 << 20
"""What RE2 may use for its automata before it starts anew; with less it falls back to slow ways."""


class RedactionFailed(SessionError):
    """Redaction can't run, so nothing may be stored."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of secret."""

    name: str
    pattern: str
    """RE2; its first group, where it has one, is the secret."""
    test: Test = "none"
    anchor: str = ""
    """What is looked for instead of the pattern, which is then tried around it."""
    custom: bool = False
    """The user's own: it holds as it is, but never for what keeps a transcript together."""


class RuleSet(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that hold, the first match winning, and the exceptions from them."""

    rules: tuple[Rule, ...]
    allow: tuple[str, ...] = ()


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """A rule set as RE2 takes it."""

    finder: Any
    """One alternation of everything, to find where something may be."""
    place: int
    """The finder's group that takes part when it is an assignment."""
    sorter: Any
    """The same with a group around each rule but that for assignments, to tell which it was."""
    rules: dict[int, tuple[Rule, int]]
    """By the number of the sorter's group: the rule, and the groups inside its pattern."""
    assigned: Rule
    allow: Any | None
    """One alternation of the exceptions."""


BUILTIN: tuple[Rule, ...] = tuple(
    Rule(name=name, pattern=pattern, test=test, anchor=ANCHORS.get(name, ""))
    for name, test, pattern in PATTERNS
)


def parse_rules(text: str, *, origin: str) -> RuleSet:
    """Read the rules and exceptions of a repository's file (without the built-in rules)."""
    rules: list[Rule] = []
    allow: list[str] = []
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        where = f"{origin}:{number}"
        name, _, pattern = line.partition(" ")
        if name == "allow":
            allow.append(_exception(pattern.strip(), where))
        else:
            rules.append(_rule(name, pattern.strip(), where))
    return RuleSet(rules=tuple(rules), allow=tuple(allow))


def ruleset_from(
    settings_values: Sequence[str], allow: Sequence[str], file_text: str | None,
    *, origin: str = ".gitsession-redact",
) -> RuleSet:  # fmt: skip
    """Put together the user's rules, the repository's and the built-in ones."""
    own: list[Rule] = []
    for value in settings_values:
        name, _, pattern = value.strip().partition(" ")
        own.append(_rule(name, pattern.strip(), "session.redactRule"))
    exceptions = [_exception(value, "session.redactAllow") for value in allow]
    file = parse_rules(file_text or "", origin=origin)
    return RuleSet(
        rules=(*own, *file.rules, *BUILTIN),
        allow=(*exceptions, *file.allow),
    )


def compile_rules(ruleset: RuleSet) -> Compiled:
    """Make two automata of a rule set: a fast one that finds, and one that tells what it was."""
    rules: dict[int, tuple[Rule, int]] = {}
    find: list[str] = []
    sort: list[str] = []
    assigned = [rule for rule in ruleset.rules if rule.test == "assigned"]
    group = 1
    for rule in ruleset.rules:
        if rule.test == "assigned":
            continue
        # ^ and $ mean lines, since where a chunk begins is chance
        loose = f"(?m:{rule.pattern})" if rule.custom else _loosen(rule.anchor or rule.pattern)
        inner = _compile(loose).groups if rule.custom else 0
        rules[group] = (rule, inner)
        group += 1 + inner
        find.append(f"(?:{loose})")
        sort.append(f"({loose})")
    place = 1 + sum(inner for _, inner in rules.values())
    find += [f"({_loosen(rule.pattern)})" for rule in assigned]
    return Compiled(
        finder=_compile("|".join(find)),
        place=place,
        sorter=_compile("|".join(sort)),
        rules=rules,
        assigned=assigned[0] if assigned else Rule(name="assigned-secret", pattern=""),
        allow=_compile("|".join(f"(?m:{a})" for a in ruleset.allow)) if ruleset.allow else None,
    )


def _loosen(pattern: str) -> str:
    """Shorten the long repetitions of our own patterns, and drop their groups.

    A repetition costs RE2 a state for each of its steps, and one at the end
    would run to the end of a picture in base64. What a loose pattern finds too
    much is sorted out by the exact one, at the few places there are.
    """
    short = _LAST_REPETITION.sub(f"{{{_STEPS}}}", pattern)
    short = _REPETITION.sub(lambda m: m[0] if int(m[1]) <= _STEPS else f"{{{_STEPS},}}", short)
    return _GROUP.sub("(?:", short)


def _rule(name: str, pattern: str, where: str) -> Rule:
    if not _NAME.fullmatch(name):
        raise Usage(
            f"{where}: '{name}' can't name a rule",
            hint=f"use small letters, digits and hyphens; {_FORM}",
        )
    _check(pattern, where)
    return Rule(name=name, pattern=pattern, custom=True)


def _exception(pattern: str, where: str) -> str:
    compiled = _check(pattern, where)
    if sum(compiled.search(text) is not None for text in _STRANGERS) > 1:
        raise Usage(
            f"{where}: '{pattern}' would allow every secret",
            hint="name what may stay more exactly",
        )
    return pattern


def _check(pattern: str, where: str) -> Any:
    if not pattern:
        raise Usage(f"{where}: the regular expression is missing", hint=_FORM)
    try:
        compiled = _compile(pattern)
    except RedactionFailed as failed:
        if failed.__cause__ is None or isinstance(failed.__cause__, ImportError):
            raise
        raise Usage(
            f"{where}: not a regular expression: {failed.__cause__}",
            hint="RE2's syntax holds: no look-around, no back-references",
        ) from None
    if compiled.groupindex:
        raise Usage(f"{where}: groups can't have names here", hint="write (…) for (?P<name>…)")
    if compiled.search(b"") is not None:
        raise Usage(f"{where}: '{pattern}' matches nothing at all, so everywhere", hint=_FORM)
    return compiled


def _compile(pattern: str) -> Any:
    re2 = _import()
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern.encode("utf-8", "surrogateescape"), options)
    except re2.error as problem:
        words = problem.args[0] if problem.args else "no reason given"
        if isinstance(words, bytes):
            words = words.decode("utf-8", "replace")
        raise RedactionFailed(
            "redaction can't run: its rules don't compile",
            hint="check session.redactRule and .gitsession-redact with `git session redact`",
        ) from ValueError(words)


def _import() -> ModuleType:
    try:
        import re2
    except ImportError as problem:
        raise RedactionFailed(
            "redaction can't run: google-re2 is not installed; nothing was stored",
            hint="install it with `pip install google-re2`",
        ) from problem
    return re2  # type: ignore[no-any-return]
