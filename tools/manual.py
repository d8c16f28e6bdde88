"""The manual page, so that `git help session` finds one: plain man macros, written by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gitsession import __version__, commands
from tools import reference
from tools.reference import Page

_SPECIAL = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
_SPECIAL |= {"…": "..."}


def render(pages: Iterable[Page]) -> str:
    """The whole page as roff."""
    lines = [
        '.\\" Made by tools/generate_docs.py from the commands themselves; change those.',
        f'.TH "GIT\\-SESSION" "1" "" "git\\-session {__version__}" "Git Manual"',
        ".SH NAME",
        r"git\-session \- keep the conversation behind every commit, in git itself",
        ".SH SYNOPSIS",
        ".nf",
        r"\fBgit session\fP [\-C <path>] <command> [<args>]",
        r"\fBgit session\fP \-\-version | \-\-help",
        ".fi",
        ".SH DESCRIPTION",
        inline(
            "After `git session init`, each commit made with an AI coding agent carries the "
            "conversation that led to it: prompts, answers, tool calls. Everything is kept in git "
            "objects and refs of the repository; `git session show` tells the story of a commit, "
            "and `git session log` lists which commits have one."
        ),
        ".PP",
        inline(
            "Secrets are redacted before anything is written, and a hook never makes a commit fail."
        ),
        ".SH OPTIONS",
        *_items({"-C <path>": "Run as if started in that folder.", "--version": "The version."}),
        *_items({"-h, --help": "Help; after a command, the help of that command."}),
    ]
    pages = list(pages)
    for group in commands.GROUPS:
        lines.append(f'.SH "COMMANDS: {group.upper()}"')
        for page in pages:
            if page.group == group:
                lines += _command(page)
    lines += [".SH CONFIGURATION", *_items(reference.SETTINGS)]
    lines += [".SH ENVIRONMENT", *_items(reference.ENVIRONMENT)]
    lines += [".SH FILES AND REFS", *_items(reference.PLACES)]
    lines += [".SH EXIT STATUS", *_items({str(k): v for k, v in reference.EXIT_CODES.items()})]
    lines += [".SH SEE ALSO", r"\fBgit\fP(1), \fBgit\-notes\fP(1), \fBgithooks\fP(5)"]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Text in which roff finds nothing to obey."""
    escaped = "".join(_SPECIAL.get(char, char) for char in text)
    return rf"\&{escaped}" if escaped.startswith(".") else escaped


def inline(text: str) -> str:
    """The same, with `code` in bold."""
    parts = re.split(r"`([^`\n]+)`", text)
    marked = [rf"\fB{plain(part)}\fP" if i % 2 else plain(part) for i, part in enumerate(parts)]
    return "".join(marked)


def _command(page: Page) -> list[str]:
    lines = [f".SS {plain(page.usage)}"]
    for index, text in enumerate(page.texts):
        if text.verbatim:
            lines += [".PP", ".nf", *(plain(line) for line in text.words.splitlines()), ".fi"]
        else:
            lines += [".PP"] * (index > 0) + [inline(text.words)]
    return lines + _items({option.spelling: option.help for option in page.options})


def _items(items: Mapping[str, str]) -> list[str]:
    lines = []
    for term, text in items.items():
        lines += [".TP", rf"\fB{plain(term)}\fP", inline(text)]
    return lines
