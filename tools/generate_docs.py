"""Writes what can be known from the code: docs/cli.md, the manual page, the record's schema.

`python -m tools.generate_docs` writes them, `--check` fails when they are stale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from gitsession import commands
from gitsession.store.schema import record_schema
from tools import manual, reference
from tools.reference import Page

ROOT = Path(__file__).resolve().parent.parent


def render_markdown(pages: Iterable[Page]) -> str:
    """docs/cli.md."""
    pages = list(pages)
    lines = [
        "# The command line",
        "",
        "<!-- Made by tools/generate_docs.py from the commands themselves; change those. -->",
        "",
        "`git session [-C <path>] <command> [<args>]`",
        "",
    ]
    for group in commands.GROUPS:
        lines += [f"**{group}**", ""]
        lines += [f"- [`{p.name}`](#{p.name}): {p.summary}" for p in pages if p.group == group]
        lines.append("")
    for page in pages:
        lines += _section(page)
    lines += _table("Settings", "`git config`", reference.SETTINGS)
    lines += _table("Environment", "variable", reference.ENVIRONMENT)
    lines += _table("Exit codes", "code", {str(k): v for k, v in reference.EXIT_CODES.items()})
    return "\n".join(lines).rstrip("\n") + "\n"


def documents() -> dict[Path, str]:
    """Every generated file and what it should hold."""
    pages = reference.pages()
    return {
        ROOT / "docs/cli.md": render_markdown(pages),
        ROOT / "docs/man/git-session.1": manual.render(pages),
        ROOT / "docs/record.schema.json": json.dumps(record_schema(), indent=2) + "\n",
    }


def stale() -> list[Path]:
    """The generated files that are not what they should be."""
    return [
        path
        for path, text in documents().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def _section(page: Page) -> list[str]:
    lines = [f"## {page.name}", "", "```", page.usage, "```", ""]
    for text in page.texts:
        lines += ["```", text.words, "```", ""] if text.verbatim else [text.words, ""]
    if page.options:
        lines += ["| option | |", "|---|---|"]
        lines += [f"| `{_cell(o.spelling)}` | {_cell(o.help)} |" for o in page.options] + [""]
    return lines


def _table(title: str, term: str, rows: dict[str, str]) -> list[str]:
    body = [f"| `{_cell(name)}` | {_cell(text)} |" for name, text in rows.items()]
    return [f"## {title}", "", f"| {term} | |", "|---|---|", *body, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    """Write the documents, or with --check tell which are stale."""
    if "--check" in sys.argv[1:]:
        for path in (old := stale()):
            print(f"error: {path.relative_to(ROOT)} is stale", file=sys.stderr)
        if old:
            print("hint: make docs", file=sys.stderr)
        return 1 if old else 0
    for path, text in documents().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
