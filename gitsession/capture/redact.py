"""Takes secrets out of a conversation before any of it is stored.

What is pushed is public for ever, so this runs before the first object is
written, on raw bytes, broken lines included, and stores nothing when it can't
run. One RE2 automaton passes over the text; everything else is done only where
it found something: the exact rule, the judgement of the value, and, on lines of
JSON, the check that only the inside of strings changes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from gitsession.capture import assigned, keyblock, literals
from gitsession.capture.rules import RedactionFailed, Rule, RuleSet, compile_rules

__all__ = ["Hit", "Redacted", "RedactionFailed", "Redactor"]

_MARKER = re.compile(rb"\[REDACTED:[a-z0-9-]{1,40}\]")
_LONGEST_MARKER = 64
_AROUND = 128
_GLUE = re.compile(
    rb"(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\[[0-9;]*m)\Z"
)
"""An escape that ends in a letter: what follows it begins a word all the same."""
_BLOB = re.compile(rb"[A-Za-z0-9+/]{40}")


class Redacted(msgspec.Struct, frozen=True, kw_only=True):
    """Text without its secrets."""

    data: bytes
    found: dict[str, int]
    """How many secrets, by rule."""
    changed: tuple[int, ...]
    """The indexes of the lines that changed."""


class Hit(NamedTuple):
    """A secret, or a part of one: a secret of several lines is several hits."""

    start: int
    end: int
    rule: Rule
    number: int
    """The same for all parts of one secret."""


class Redactor:
    """Applies a rule set; raises RedactionFailed when it can't be applied."""

    def __init__(self, ruleset: RuleSet) -> None:
        self._rules = compile_rules(ruleset)

    def redact_lines(self, chunk: bytes) -> Redacted:
        """Redact whole lines of a transcript; a chunk without secrets is given back itself."""
        return self._redact(chunk, self._find(chunk))

    def redact_text(self, data: bytes) -> Redacted:
        """Redact a text that may also be one JSON value over many lines."""
        hits = self._find(data)
        if not hits or b"\n" not in data.strip() or not literals.is_json(data):
            return self._redact(data, hits)
        found: dict[str, int] = {}
        text = self._rewrite(data, hits, found, set())
        pairs = zip(data.split(b"\n"), text.split(b"\n"), strict=True)
        changed = tuple(i for i, (before, after) in enumerate(pairs) if before != after)
        return Redacted(data=text if changed else data, found=found, changed=changed)

    def locate(self, chunk: bytes) -> list[Hit]:
        """Say where the secrets of a chunk of lines are, in order."""
        hits: list[Hit] = []
        for begin, _, line, own in _by_line(chunk, self._find(chunk)):
            hits += [h._replace(start=h.start + begin, end=h.end + begin) for h in _keep(line, own)]
        return hits

    def _redact(self, data: bytes, hits: list[Hit]) -> Redacted:
        found: dict[str, int] = {}
        seen: set[int] = set()
        pieces: list[bytes] = []
        changed: list[int] = []
        at = counted = number = 0
        for begin, end, line, own in _by_line(data, hits):
            after = self._rewrite(line, own, found, seen)
            if after == line:
                continue
            number += data.count(b"\n", counted, begin)
            counted = begin
            changed.append(number)
            pieces += (data[at:begin], after)
            at = end
        if not changed:
            return Redacted(data=data, found={}, changed=())
        pieces.append(data[at:])
        return Redacted(data=b"".join(pieces), found=found, changed=tuple(changed))

    def _rewrite(
        self, text: bytes, hits: Sequence[Hit], found: dict[str, int], seen: set[int]
    ) -> bytes:
        """Replace the secrets of a line until none is left: a second run changes nothing."""
        while hits := _keep(text, hits):
            pieces: list[bytes] = []
            at = 0
            for hit in hits:
                pieces += (text[at : hit.start], b"[REDACTED:%s]" % hit.rule.name.encode())
                at = hit.end
                if hit.number not in seen:
                    seen.add(hit.number)
                    found[hit.rule.name] = found.get(hit.rule.name, 0) + 1
            text = b"".join((*pieces, text[at:]))
            hits = self._find(text)
            seen = set()
        return text

    # -- finding ------------------------------------------------------------------------

    def _find(self, data: bytes) -> list[Hit]:
        """All secrets in order, never across a line break."""
        hits: list[Hit] = []
        at = number = 0
        while match := self._rules.finder.search(data, at):
            rule, spans, at = self._read(data, match)
            for start, end in spans:
                hits += [Hit(*part, rule, number) for part in _parts(data, start, end)]
            number += 1
        return hits

    def _read(self, data: bytes, match: re.Match[bytes]) -> tuple[Rule, list[keyblock.Span], int]:
        """What a match is, its secrets, and where to go on."""
        start, end = match.span()
        if match.start(self._rules.place) >= 0:
            return self._read_assigned(data, start, end)
        rule, spans = self._sort(data, start, end)
        if not spans:
            return rule, [], start + 1
        stop = spans[-1][1]
        return rule, [] if self._is_allowed(data, start, stop) else spans, max(stop, start + 1)

    def _read_assigned(
        self, data: bytes, start: int, end: int
    ) -> tuple[Rule, list[keyblock.Span], int]:
        rule = self._rules.assigned
        secret = assigned.find_secret(data, start, end)
        if secret is None or _MARKER.search(data, *secret):
            return rule, [], end
        if self._is_allowed(data, start, secret[1]):
            return rule, [], secret[1]
        inner = self._rules.finder.search(data, *secret)
        if inner and inner.start(self._rules.place) < 0:
            # a rule that knows the secret's own form names it better
            exact, spans = self._sort(data, *inner.span())
            if spans:
                stop = spans[-1][1]
                return exact, [] if self._is_allowed(data, start, stop) else spans, stop
        return rule, [secret], secret[1]

    def _sort(self, data: bytes, start: int, end: int) -> tuple[Rule, list[keyblock.Span]]:
        """Which rule matched, and the secrets that pass its test."""
        match = self._rules.sorter.match(data, start)
        group = match.lastindex
        rule, inner = self._rules.rules[group]
        if rule.custom:
            own = next(
                (g for g in range(group + 1, group + 1 + inner) if match.start(g) >= 0), group
            )
            return rule, [match.span(own)] if match.end(own) > match.start(own) else []
        if rule.test == "key-block":
            return rule, keyblock.read_block(data, start, end)
        exact = _match_exactly(rule, data, start, end)
        if exact is None:
            return rule, []
        own = exact.lastindex or 0
        span = exact.span(own)
        secret = exact[own]
        if rule.test == "random" and not assigned.is_random(secret):
            return rule, []
        if rule.test == "password" and not assigned.is_password(secret, _user(data, span[0])):
            return rule, []
        return rule, [span] if own or _stands_alone(data, *span) else []

    def _is_allowed(self, data: bytes, start: int, end: int) -> bool:
        allow = self._rules.allow
        return allow is not None and allow.search(data[start:end]) is not None


@functools.cache
def _exact(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode())


def _match_exactly(rule: Rule, data: bytes, start: int, end: int) -> re.Match[bytes] | None:
    """Apply a rule's own pattern where its loose form, or its anchor, was found."""
    pattern = _exact(rule.pattern)
    if rule.test != "around":
        return pattern.match(data, start)
    for match in pattern.finditer(data, max(0, start - _AROUND), end + _AROUND):
        if match.start() <= start < match.end():
            return match
    return None


def _stands_alone(data: bytes, start: int, end: int) -> bool:
    """Tell whether a text is a word of its own, and no part of a longer one or of base64."""
    if data[end : end + 1].isalnum():
        return False
    before = data[max(0, start - 1) : start]
    if before.isalnum():
        return _GLUE.search(data, max(0, start - 12), start) is not None
    if before and before in b"+/":
        return not _BLOB.fullmatch(data, max(0, start - 40), start)
    return True


def _user(data: bytes, start: int) -> bytes:
    """The user's name in front of a password, as in `name:password`."""
    name = re.search(rb"([^\s:/\"'\\]*):\Z", data[max(0, start - 64) : start])
    return name[1] if name else b""


def _parts(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a span where lines end and where markers stand already."""
    low = max(0, start - _LONGEST_MARKER)
    at = start
    for marker in _MARKER.finditer(data, low, end + _LONGEST_MARKER):
        if marker.end() > start and marker.start() < end:
            yield from _within_lines(data, at, marker.start())
            at = marker.end()
    yield from _within_lines(data, at, end)


def _within_lines(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        stop = data.find(b"\n", start, end)
        stop = end if stop < 0 else stop
        if stop > start:
            yield start, stop
        start = stop + 1


def _by_line(data: bytes, hits: Sequence[Hit]) -> Iterator[tuple[int, int, bytes, list[Hit]]]:
    """Group hits by their lines: where the line begins and ends, the line, its own hits."""
    index = 0
    while index < len(hits):
        begin = data.rfind(b"\n", 0, hits[index].start) + 1
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        own: list[Hit] = []
        while index < len(hits) and hits[index].start < end:
            hit = hits[index]
            own.append(hit._replace(start=hit.start - begin, end=hit.end - begin))
            index += 1
        yield begin, end, data[begin:end], own


def _keep(text: bytes, hits: Sequence[Hit]) -> list[Hit]:
    """Of hits in a text that is JSON, what lies within strings that may change."""
    if not hits or not literals.is_json(text):
        return list(hits)
    kept: list[Hit] = []
    strings = literals.read_literals(text, upto=max(hit.end for hit in hits))
    string = next(strings, None)
    for hit in hits:
        while string and string.end <= hit.start:
            string = next(strings, None)
        while string and string.start < hit.end:
            if not (hit.rule.custom and string.kept) and string.end > string.start:
                start, end = literals.widen(text, string, hit.start, hit.end)
                start = max(start, kept[-1].end) if kept else start
                if end > start and not _MARKER.fullmatch(text, start, end):
                    kept.append(hit._replace(start=start, end=end))
            if string.end > hit.end:
                break
            string = next(strings, None)
    return kept
