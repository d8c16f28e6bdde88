"""Values that only their name gives away: `password=…`, `"token": "…"`, `API_KEY: …`.

A name says where to look, not what is there: most of what follows `password`
or `token` in a conversation about code is code. So the value is read with
regard to the quotes around it, however many layers of JSON they are in, and
judged: placeholders, references, types, words, paths and hashes stay.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import NamedTuple

_LONGEST = 8192
_LONGEST_BARE = 2048
_JUDGED = 512
_OPENING = re.compile(rb"[bfruBFRU@$]{0,2}(\\*)([\"'`])")
_IN_QUOTES = re.compile(rb"(\\*)([\"'`])|(\\+)[nr]|\n")
_BARE = re.compile(
    rb"(?:[^\s\"'`\\,;&<>|\x00-\x20\x7f]"
    rb"|[,&](?![A-Za-z_][\w .-]{0,30}[=:]|[\s\"'`\\]|\Z)"
    rb"|\\+u(?:003[dD]|002[bB]|(?!00[0-7])[0-9a-fA-F]{4})"
    rb"|(?:\\\\)+(?=[^\\nrtbfu\"'`\s])|\\+/)*+"
)
_BEYOND = re.compile(rb"\s*[,:}\]][\s,:{}\[\]0-9.eE+\-truefalsn]*")
"""What stands between two strings of JSON: then the quote before it was no opening one."""

_BEFORE = re.compile(rb"(?:\\+[nrtbf]|\\+u[0-9a-f]{4})?([A-Za-z0-9_$.-]*)\Z")
_HARMLESS = re.compile(
    rb"(?i)(?:next|page|continuation|cancel|cancell?ation|sync|start|stop|end|eos|bos|pad|sep|mask"
    rb"|unk|cls|special|syntax|unexpected|parse|lexer?|prev|current|first|last|design|public)[_-]?\Z"
)


class Place(NamedTuple):
    """Where a value is assigned, and what the text before it says."""

    kind: str
    """`password`, `secret`, or `token` where values that are no secrets are common."""
    shell: bool
    """Assigned as an environment variable is: what follows is the value itself, not code."""
    spaced: bool
    """With space around the sign, or after a colon."""


class Value(NamedTuple):
    """A value as it stands in the text."""

    start: int
    end: int
    quoted: bool


def find_secret(data: bytes, start: int, end: int) -> tuple[int, int] | None:
    """The secret that is assigned at a match, if the value is one."""
    place = _understand(data, start, end)
    if place is None:
        return None
    value = _read(data, start, end)
    if value is None:
        return None
    text = data[value.start : min(value.end, value.start + _JUDGED)]
    if not _is_secret(text, place, quoted=value.quoted):
        return None
    return value.start, value.end


def _understand(data: bytes, start: int, end: int) -> Place | None:
    text = data[start:end]
    before = _BEFORE.search(data, max(0, start - 40), start)
    prefix = before[1] if before else b""
    word = re.match(rb"[A-Za-z_-]*", text)
    key = word[0] if word else b""
    low = key.lower()
    if _HARMLESS.search(prefix) and low.startswith(b"token"):
        return None
    sign = text.rstrip(b" \t")
    if low in (b"pass", b"pwd"):
        # what a test prints, and the end of words such as "bypass"
        inside_word = prefix[-1:].isalpha() and not key[:1].isupper()
        if inside_word or (low == b"pass" and sign.endswith(b":") and b'"' not in sign):
            return None
    kind = "password" if low.startswith((b"pass", b"pwd", b"identified")) else "secret"
    return Place(
        kind="token" if low.startswith((b"token", b"cred", b"auth")) else kind,
        shell=text.startswith(b"--")
        or (sign == text and sign.endswith(b"=") and key == key.upper()),
        spaced=sign != text,
    )


# -- reading ------------------------------------------------------------------------------


def _read(data: bytes, start: int, end: int) -> Value | None:
    head = data[start:end]
    inside = re.search(rb"\\*[\"'`]\Z", head)
    opening = _OPENING.match(data, start + inside.start() if inside else end)
    if opening:
        return _read_quoted(data, opening.end(), len(opening[1]), opening[2])
    literal_key = re.search(rb"[\"'`]\]?\s*:", head)
    if literal_key:
        return None
    limit = min(len(data), end + _LONGEST_BARE)
    bare = _BARE.match(data, end, limit)
    stop = bare.end() if bare else end
    if stop == limit < len(data):
        return None
    text = data[end:stop].rstrip(b")]}.,:;")
    return Value(end, end + len(text), False)


def _read_quoted(data: bytes, start: int, depth: int, quote: bytes) -> Value | None:
    """Read up to the quote that closes: one with as many backslashes, or fewer."""
    limit = min(len(data), start + _LONGEST)
    end = limit
    for mark in _IN_QUOTES.finditer(data, start, limit):
        if mark[2] is None:
            inner = mark[3] is not None and len(mark[3]) > depth and quote == b'"'
            if inner:
                continue
            end = mark.start()
            break
        run = len(mark[1])
        if mark[2] == quote and not _is_escaped(run, depth, quote):
            end = mark.end() - 1 - depth if (run - depth) % (depth + 1) == 0 else mark.start()
            break
        if mark[2] == b'"' and run % 2 == 0:
            end = mark.start()
            break
    else:
        if limit < len(data):
            return None
    text = data[start:end]
    if depth % 2 == 0 and _BEYOND.fullmatch(text):
        return None
    return Value(start, end, True)


def _is_escaped(run: int, depth: int, quote: bytes) -> bool:
    """Tell whether a quote with so many backslashes belongs to the value.

    Within k layers of JSON a quote has 2^k - 1 backslashes (`depth`), and each
    backslash before it in the value itself is 2^k of them.
    """
    if quote != b'"':
        return run > depth
    own, rest = divmod(run - depth, depth + 1)
    return run > depth and rest == 0 and own % 2 == 1


# -- judging ------------------------------------------------------------------------------

_WORD = (
    rb"(?:change|your|example|placeholder|dummy|redacted|removed|hidden|masked|insert|replace|todo"
)
_FILLER = re.compile(
    rb"(?i)(?:^|[^a-z])" + _WORD + rb"|fixme|fake|sample|xxx)|\*\*\*|\.\.\.|\xe2\x80\xa6"
    rb"|xxxx|changeme|^test(?:ing)?[-_ ]|^my[-_ ](?:secret|token|pass|key|api)|^not[-_ ]|[-_ ]here$"
)
_TEMPLATE = re.compile(
    rb"\$\{|\$\(|\{\{|\}\}|<%|#\{|%\{|%\(|^%[sdvq]$|\\\(|^\$[A-Za-z_]\w*-?$|^\$env:"
    rb"|\[\^|\(\?[:!=<P]|\]\+|\\[wWdDsSb][+*\\]|^&[#a-z]"
)
_WRAPPED = re.compile(rb"^(?:<.*>?|\[.*\]|\{.*\}|%\w+%|__\w+__|@\w+@|&\w+|\(.*\))$")
_REFERENCE = re.compile(
    rb"^(?:[A-Za-z][\w+.-]*://|arn:|data:|sha(?:1|256|384|512)[-:]"
    rb"|ssh-[a-z0-9]+ |\$argon2|\$2[aby]\$)"
)
_CODE = re.compile(
    rb"^[!*&(]*(?:[A-Za-z_$][\w$]*(?:\.|::|->|\?\.))*[A-Za-z_$][\w$]*!?(?:[(\[{]|\?\.)"
    rb"|[A-Za-z_]\w*\.[A-Za-z_]\w*\(|=>|->|::|\|\||&&|^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+$|^[(\[{!]|\)\.|\(\)|==|\\"
)
_NUMBER = re.compile(
    rb"v?[0-9]+(?:\.[0-9]+)+|[-+]?0x[0-9a-fA-F_]+|[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?"
)
_JOINED = re.compile(rb"\s*[+,);.]\s*[A-Za-z_(]")
"""Code after a string that ended: `"password=" + value`."""
_ESCAPED = re.compile(rb"\\+u[0-9a-fA-F]{4}")
_PATH = re.compile(rb"^(?:~|\.{1,2})?/[\w@.\-]*[a-z]{3}|^[A-Za-z]:[\\/]")
_UUID = re.compile(rb"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PART = re.compile(rb"[\s_\-./:,]+")
_PLAIN = re.compile(rb"(?:[A-Za-z]+[0-9]{0,4}|[0-9]{1,2}|v[0-9]+|[^\x00-\x7f]+)?")
_HUMP = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NAMES = re.compile(rb"(?i)pass|pwd|secret|token|key|cred|auth|login|user|value|field|text|string")


def entropy(text: bytes) -> float:
    """Bits for each byte, by how often each occurs."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values()) if text else 0.0


def is_placeholder(value: bytes) -> bool:
    """Tell whether a value only stands for a secret."""
    return (
        len(set(value)) <= 2
        or _FILLER.search(value) is not None
        or _TEMPLATE.search(value) is not None
        or _WRAPPED.match(value) is not None
    )


def is_random(value: bytes) -> bool:
    """Tell whether a value looks like chance and not like words."""
    if len(value) < 8 or is_placeholder(value):
        return False
    if _is_words(value):
        return _is_jumble(value)
    return entropy(value) >= (2.5 if len(value) < 20 else 2.8)


def is_password(value: bytes, user: bytes = b"") -> bool:
    """Tell whether what stands where a password must stand is one."""
    if len(value) < 4 or value == user or is_placeholder(value) or _CODE.search(value):
        return False
    if value.isdigit() or (len(set(value)) < 4 and len(value) < 12):
        return False
    return not (_is_words(value) and _NAMES.search(value))


def _is_secret(value: bytes, place: Place, *, quoted: bool) -> bool:
    plain = _ESCAPED.sub(b"\xc3\xa9", value.strip())
    if len(plain) < 6 or is_placeholder(plain) or _REFERENCE.match(plain) or _PATH.match(plain):
        return False
    if b" " in plain and re.search(rb"[A-Za-z]{2}", plain):
        return False
    if place.kind == "token" and (len(plain) < 8 or _UUID.fullmatch(plain)):
        return False
    if not quoted and not place.shell and not _is_bare_secret(plain, place):
        return False
    if (_NUMBER.fullmatch(plain) and not plain.isdigit()) or _JOINED.match(plain):
        return False
    if plain.isdigit():
        return place.kind == "password" and (quoted or place.shell) and len(set(plain)) > 3
    if _is_words(plain):
        return _is_phrase(plain, place, quoted=quoted)
    least = 2.5 if place.kind == "token" else 1.9
    return entropy(plain) >= least


def _is_bare_secret(value: bytes, place: Place) -> bool:
    """Judge a value without quotes, which in most places is code."""
    if _CODE.search(value) or not re.search(rb"[0-9!@#$%^&*?~+]", value):
        return False
    if not re.fullmatch(rb"[A-Za-z_]\w*", value):
        return not re.fullmatch(rb"[0-9.,:%+-]+[a-z]{0,2}", value)
    if place.kind != "token" and (place.spaced or _is_words(value)):
        return not _NAMES.search(value)
    return place.kind != "token" or (len(value) >= 16 and entropy(value) >= 3)


def _is_words(value: bytes) -> bool:
    """Tell whether a value consists of words, or of a name made of words."""
    if not re.search(rb"[0-9]", value):
        value = value.rstrip(b"?!:*")
    return all(_PLAIN.fullmatch(part) for part in _PART.split(value))


def _is_jumble(value: bytes) -> bool:
    """Tell whether letters without digits are no words: too long, or with too many humps."""
    longest = max(_PART.split(value), key=len)
    if len(longest) < 16:
        return False
    humps = _HUMP.findall(longest)
    if len(humps) == 1:
        return longest.islower() and len(longest) >= 20
    return not humps or len(longest) / len(humps) < 3


def _is_phrase(value: bytes, place: Place, *, quoted: bool) -> bool:
    """Tell whether words are a pass phrase rather than a label, a name or a sentence."""
    if _is_jumble(value):
        return not _NAMES.search(value)
    if place.kind == "password" and re.fullmatch(rb"[A-Za-z]+[0-9]{2,4}", value):
        return True
    if place.kind == "token" or _NAMES.search(value):
        return False
    parts = _PART.split(value)
    if len(parts) > 1:
        return quoted and len(parts) >= 4 and re.fullmatch(rb"[a-z-]+|[a-z.]+", value) is not None
    if not value.isalpha():
        return re.fullmatch(rb"[A-Za-z]+[0-9]{1,4}", value) is not None
    return value.islower() and (len(value) >= 12 or (place.shell and len(value) >= 8))
