"""Shows what redaction would find in files: before the first capture, or after new rules."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from gitsession import config
from gitsession.capture.redact import Hit, Redactor
from gitsession.capture.rules import ruleset_from
from gitsession.errors import SessionError
from gitsession.git.run import run
from gitsession.model import Frozen

_BLOCK = 8 << 20
_CONTEXT = 24
_SHOWN = 4
_UNPRINTABLE = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
)


class Finding(Frozen, frozen=True, kw_only=True):
    """A secret in a file, told without telling it."""

    path: str
    line: int
    rule: str
    excerpt: str


def redactor_for(cwd: Path) -> Redactor:
    """The redactor that captures in a folder would use; outside a repository, the user's own."""
    settings = config.load(cwd)
    name = settings.redact_file
    return Redactor(
        ruleset_from(
            settings.redact_rules, settings.redact_allow, _read_rules(cwd, name), origin=name
        )
    )


def check(
    paths: Sequence[str], redactor: Redactor, *, stdin: BinaryIO | None = None
) -> list[Finding]:
    """Find the secrets in files; `-` is standard input."""
    findings: list[Finding] = []
    for path in paths:
        if path == "-":
            findings += _check_stream("-", stdin or sys.stdin.buffer, redactor)
            continue
        try:
            with Path(path).open("rb") as file:
                findings += _check_stream(path, file, redactor)
        except OSError as problem:
            raise SessionError(
                f"can't read '{_printable(path)}': {problem.strerror or 'no reason given'}",
                hint="name files that exist, or - for standard input",
            ) from problem
    return findings


def _read_rules(cwd: Path, name: str) -> str | None:
    """The text of the repository's own file of rules, if there is one."""
    top = run(["rev-parse", "--show-toplevel"], cwd=cwd, check=False).decode(
        errors="surrogateescape"
    )
    path = Path(top.removesuffix("\n") or cwd, name)
    try:
        return path.read_text("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as problem:
        # rules that can't be read must not pass for no rules
        raise SessionError(
            f"can't read the redaction rules in '{_printable(str(path))}': {problem.strerror}",
            hint="mend the file, or set session.redactFile",
        ) from problem


def _check_stream(path: str, file: BinaryIO, redactor: Redactor) -> Iterator[Finding]:
    number = 1
    for block in _read_blocks(file):
        at = 0
        previous: Hit | None = None
        for hit in redactor.locate(block):
            if previous is None or hit.number != previous.number or hit.rule != previous.rule:
                number += block.count(b"\n", at, hit.start)
                at = hit.start
                begin = previous.end if previous else 0
                excerpt = _excerpt(block, begin, hit)
                yield Finding(
                    path=_printable(path), line=number, rule=hit.rule.name, excerpt=excerpt
                )
            previous = hit
        number += block.count(b"\n", at)


def _read_blocks(file: BinaryIO) -> Iterable[bytes]:
    """Blocks of whole lines, so that a file of any size costs the same memory."""
    while block := file.read(_BLOCK):
        if not block.endswith(b"\n"):
            block += file.readline()
        yield block


def _excerpt(block: bytes, begin: int, hit: Hit) -> str:
    """The secret's first letters, and what stands before it on its line."""
    start = max(block.rfind(b"\n", 0, hit.start) + 1, begin, hit.start - _CONTEXT)
    shown = min(_SHOWN, (hit.end - hit.start) // 4)
    text = block[start : hit.start + shown].decode("utf-8", "replace")
    return _printable(text) + "…"


def _printable(text: str) -> str:
    """A text that does nothing to a terminal."""
    plain = _UNPRINTABLE.sub("", text)
    return plain.encode("utf-8", "replace").decode("utf-8")
