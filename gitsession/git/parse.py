"""Git's own formats to values: commits, trees, patches. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitsession.errors import Unreadable
from gitsession.git.repository import Commit, Entry, FileChange, Signature
from gitsession.ids import Oid

_SIGNATURE = re.compile(
    r"(?P<name>.*?) ?<(?P<email>[^>]*)> (?P<at>-?\d+)(?: (?P<offset>[+-]\d{4}))?"
)
_ESCAPE = re.compile(rb'\\([abfnrtv"\\]|[0-7]{3})')
_ESCAPED = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


def parse_signature(text: str) -> Signature:
    """An author or committer line."""
    found = _SIGNATURE.fullmatch(text)
    if found is None:
        return Signature(name=text, email="", at=0)
    return Signature(
        name=found["name"],
        email=found["email"],
        at=int(found["at"]),
        offset=found["offset"] or "+0000",
    )


def clean_ident(text: str) -> str:
    """A name or an address as a commit can hold it."""
    return text.translate({ord(c): None for c in "<>\n\0"}).strip() or "unknown"


def parse_commit(oid: Oid, data: bytes) -> Commit:
    """A commit object."""
    head, _, body = data.partition(b"\n\n")
    fields: dict[str, str] = {}
    parents = []
    for line in head.decode("utf-8", "replace").split("\n"):
        key, _, value = line.partition(" ")
        if key == "parent":
            parents.append(Oid(value))
        elif key and key not in fields:
            fields[key] = value
    if "tree" not in fields:
        raise Unreadable(f"{oid} is not a commit")
    nobody = "unknown <> 0 +0000"
    return Commit(
        oid=oid,
        tree=Oid(fields["tree"]),
        parents=tuple(parents),
        author=parse_signature(fields.get("author", nobody)),
        committer=parse_signature(fields.get("committer", nobody)),
        message=body.decode("utf-8", "replace"),
    )


def parse_tree(data: bytes, oid_size: int) -> Iterator[Entry]:
    """The entries of a tree object."""
    at = 0
    while at < len(data):
        space = data.find(b" ", at)
        end = data.find(b"\0", space)
        after = end + 1 + oid_size
        if space < 0 or end < 0 or after > len(data):
            raise Unreadable("a tree is damaged")
        yield Entry(
            mode=data[at:space].decode("ascii", "replace"),
            path=data[space + 1 : end].decode("utf-8", "surrogateescape"),
            oid=Oid(data[end + 1 : after].hex()),
        )
        at = after


def parse_path(quoted: bytes) -> str:
    """A path as a patch has it: plain, or in quotes with escapes."""
    if len(quoted) > 1 and quoted.startswith(b'"') and quoted.endswith(b'"'):
        quoted = _ESCAPE.sub(
            lambda m: _ESCAPED.get(m[1], m[1]) if len(m[1]) == 1 else bytes([int(m[1], 8) & 255]),
            quoted[1:-1],
        )
    return quoted.decode("utf-8", "surrogateescape")


def parse_touched(out: bytes) -> dict[str, tuple[str, int]]:
    """Each file of a `diff-tree -z --raw --numstat`: its new mode and object, and its lines."""
    became: dict[str, str] = {}
    lines: dict[str, int] = {}
    fields = iter(out.split(b"\0"))
    for field in fields:
        if field.startswith(b":"):
            _, mode, _, oid, _ = field.decode("ascii", "replace").split(" ", 4)
            became[next(fields).decode("utf-8", "surrogateescape")] = f"{mode} {oid}"
        elif field:
            added, removed, path = field.split(b"\t", 2)
            # Git counts no lines of a binary file, and says `-`.
            count = sum(int(number) for number in (added, removed) if number.isdigit())
            lines[path.decode("utf-8", "surrogateescape")] = count
    return {path: (words, lines.get(path, 0)) for path, words in became.items()}


def parse_patch(patch: bytes) -> list[FileChange]:
    """The lines that a patch (`-U0 --no-prefix`) adds and removes, for each file."""
    changes: list[FileChange] = []
    path, added, removed = "", list[str](), list[str]()
    in_hunk = False

    def flush() -> None:
        if path and (added or removed):
            changes.append(FileChange(path=path, added=tuple(added), removed=tuple(removed)))

    for line in patch.split(b"\n"):
        if line.startswith(b"diff --git "):
            flush()
            path, added, removed, in_hunk = "", [], [], False
        elif line.startswith(b"@@ "):
            in_hunk = True
        elif in_hunk and line.startswith(b"+"):
            added.append(line[1:].decode("utf-8", "replace"))
        elif in_hunk and line.startswith(b"-"):
            removed.append(line[1:].decode("utf-8", "replace"))
        elif not in_hunk and line.startswith((b"--- ", b"+++ ")):
            name = line[4:].rstrip(b"\t")
            if name != b"/dev/null":
                path = parse_path(name)
    flush()
    return changes
