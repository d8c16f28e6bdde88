"""New commits in the language of `git fast-import`."""

from __future__ import annotations

import time
from collections.abc import Iterator

from gitsession.git.parse import clean_ident
from gitsession.git.repository import Put, Update
from gitsession.model import Author


def commit_stream(
    update: Update, author: Author, mark: int, *, ref: str | None = None
) -> Iterator[bytes]:
    """One commit in fast-import's language; a file is read from disk piece by piece."""
    who = b"%s <%s> %d +0000" % (_ident(author.name), _ident(author.email), int(time.time()))
    message = update.message.encode("utf-8", "replace")
    yield b"commit %s\nmark :%d\n" % ((ref or update.ref).encode(), mark)
    yield b"author %s\ncommitter %s\ndata %d\n%s\n" % (who, who, len(message), message)
    if update.old is not None:
        yield b"from %s\n" % update.old.encode()
    for path in update.removes:
        yield b"D %s\n" % _quote(path)
    for put in update.puts:
        yield from _put_stream(put)
    yield b"\n"


def _put_stream(put: Put) -> Iterator[bytes]:
    yield b"M 100644 inline %s\n" % _quote(put.path)
    if isinstance(put.data, bytes):
        yield b"data %d\n%s\n" % (len(put.data), put.data)
        return
    with put.data.open("rb") as file:
        yield b"data %d\n" % put.data.stat().st_size
        while piece := file.read(1 << 20):
            yield piece
    yield b"\n"


def _ident(text: str) -> bytes:
    return clean_ident(text).encode("utf-8", "replace")


def _quote(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    raw = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + raw + b'"'
