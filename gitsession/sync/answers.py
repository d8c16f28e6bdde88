"""What git prints about a push and a failure, understood. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gitsession.model import Frozen
from gitsession.render.escape import one_line

_STALE = (
    "non-fast-forward", "fetch first", "stale info", "already exists", "needs force",
    "cannot lock ref", "failed to update ref", "incorrect old value provided",
    "failed to lock", "reference already exists", "unable to create",
)  # fmt: skip
_WITH_OTHERS = ("atomic push failed", "atomic push failure", "atomic transaction failed")
_SECRET = re.compile(r"(?<=://)[^/@\s]*@")
_RACES = ("but expected", "reference already exists", "File exists")
_MAX_REASON = 500
_PASSED_OVER = ("hint:", "Everything up-to-date")


class Answer(Frozen, frozen=True, kw_only=True):
    """What became of one ref that was pushed."""

    ref: str
    done: bool
    stale: bool = False
    """Somebody else moved it meanwhile: fetch, merge and try again."""
    held: bool = False
    """Nothing was wrong with it; another ref of the same push was refused."""
    reason: str = ""


def parse_push(output: str) -> list[Answer]:
    """The answers in what `git push --porcelain` prints."""
    return list(_answers(output.splitlines()))


def _answers(lines: Sequence[str]) -> Iterator[Answer]:
    for line in lines:
        parts = line.split("\t")
        if len(parts) != 3 or len(parts[0]) != 1:
            continue
        flag, names, summary = parts
        ref = names.rpartition(":")[2]
        found = re.search(r"\((.*)\)\s*$", summary)
        reason = found[1] if found else summary
        if flag != "!":
            yield Answer(ref=ref, done=True)
            continue
        held = any(word in reason for word in _WITH_OTHERS)
        stale = not held and any(word in reason for word in _STALE)
        yield Answer(ref=ref, done=False, stale=stale, held=held, reason=reason)


def why(errors: str) -> str:
    """The reason in what git and the remote printed, in a line that holds no password."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    said = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    fatal = [
        line.removeprefix("fatal:").removeprefix("error:").strip()
        for line in lines
        if line.startswith(("fatal:", "error:")) and "failed to push some refs" not in line
    ]
    # A server's own words say more than that it said no.
    words = [x for x in said if x.startswith(("error:", "fatal:"))] or fatal or said or lines
    words = [x for x in words if not x.startswith(_PASSED_OVER)] or ["no reason given"]
    said_first = words[0].removeprefix("error:").removeprefix("fatal:")
    return one_line(hide_password(said_first))[:_MAX_REASON]


def hide_password(text: str) -> str:
    """A text whose URLs name no user and no password."""
    return _SECRET.sub("", text)


def is_race(errors: str) -> bool:
    """Whether a fetch failed because another one was writing the same refs."""
    return "cannot lock ref" in errors and any(x in errors for x in _RACES)


def is_missing_ref(errors: str) -> bool:
    """Whether a fetch failed because the remote has no such ref."""
    return "couldn't find remote ref" in errors
