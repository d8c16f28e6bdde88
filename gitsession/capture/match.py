"""Whether a commit holds what a session wrote: by content, line by line. Pure.

Names of files alone are no evidence. A line counts by its letters and digits,
so that a lone bracket ties nothing; an edit and a commit belong together when
what they share is most of either, or is too much to be a coincidence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from gitsession.git.repository import FileChange
from gitsession.model import Frozen
from gitsession.store.registry import Trace

_WEIGHT_BITS = 7
_MAX_WEIGHT = (1 << _WEIGHT_BITS) - 1
_NO_COINCIDENCE = 20
"""Letters and digits in shared lines that two people hardly write by chance."""
_TRIFLES = frozenset(
    """
    begin break catch continue default do done else end endif esac except fi finally
    loop None null pass return static then true false try
    """.split()  # noqa: SIM905
)
"""Words that say nothing, even where a commit holds little else."""
_WORD = re.compile(r"\w+")
_MAX_LINES = 50_000


class Match(Frozen, frozen=True, kw_only=True):
    """One trace that a commit holds, and what is left of it."""

    index: int
    lines: int
    rest: Trace


def mark(line: str) -> int:
    """A line as a number: its hash, without white space, and its weight below."""
    words = "".join(line.split())
    digest = hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=7).digest()
    says = not _TRIFLES.issuperset(_WORD.findall(line))
    weight = min(sum(map(str.isalnum, words)), _MAX_WEIGHT) if says else 0
    return int.from_bytes(digest[:6], "big") << _WEIGHT_BITS | weight


def marks(lines: Iterable[str]) -> tuple[int, ...]:
    """The marks of lines that say something, each once."""
    found: dict[int, None] = {}
    for line in lines:
        if not line.isspace() and line:
            found[mark(line)] = None
            if len(found) >= _MAX_LINES:
                break
    return tuple(found)


def weight(lines: Iterable[int]) -> int:
    """How much lines say."""
    return sum(line & _MAX_WEIGHT for line in lines)


def match(traces: Sequence[Trace], changes: Iterable[FileChange]) -> list[Match]:
    """The traces that a commit's changes hold, each with what is left of it."""
    by_path = {
        change.path: (frozenset(marks(change.added)), frozenset(marks(change.removed)))
        for change in changes
    }
    shares = _shares(traces, by_path)
    found = []
    for index, trace in enumerate(traces):
        if trace.path not in by_path:
            continue
        added, removed = by_path[trace.path]
        if _belongs(trace, added, removed, shares[trace.path]):
            found.append(_match(index, trace, added, removed))
    return found


def _shares(
    traces: Sequence[Trace], by_path: Mapping[str, tuple[frozenset[int], frozenset[int]]]
) -> dict[str, float]:
    """How much of what a commit added to each file the traces, taken together, wrote."""
    written: dict[str, set[int]] = {}
    for trace in traces:
        written.setdefault(trace.path, set()).update(trace.added)
    return {
        path: weight(added & written.get(path, set())) / max(1, weight(added))
        for path, (added, _) in by_path.items()
    }


def _belongs(
    trace: Trace, added: frozenset[int], removed: frozenset[int], commit_share: float
) -> bool:
    if not trace.added:
        # Nothing written: the commit takes away all that the edit took away.
        return bool(trace.removed) and removed.issuperset(trace.removed)
    shared = added.intersection(trace.added)
    if not shared:
        return False
    said = weight(shared)
    if not said:
        return len(shared) == len(trace.added) == len(added)
    return said >= _NO_COINCIDENCE or commit_share >= 0.5 or said * 2 >= weight(trace.added)


def _match(index: int, trace: Trace, added: frozenset[int], removed: frozenset[int]) -> Match:
    left = tuple(line for line in trace.added if line not in added)
    # An edit whose every new line is committed is done, whatever it took away.
    rest_removed = tuple(x for x in trace.removed if x not in removed) if left else ()
    return Match(
        index=index,
        lines=len(trace.added) - len(left) or len(trace.removed),
        rest=msgspec.structs.replace(trace, added=left, removed=rest_removed),
    )


def is_spent(trace: Trace) -> bool:
    """Whether commits hold all of an edit."""
    return not trace.added and not trace.removed
