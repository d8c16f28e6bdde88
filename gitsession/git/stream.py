"""New commits in the language of `git fast-import`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from gitsession.git.parse import clean_ident
from gitsession.git.repository import Draft, Put, Update
from gitsession.ids import Oid
from gitsession.model import Author


def draft_of(update: Update) -> Draft:
    """The commit of an update, by itself."""
    return Draft(
        message=update.message,
        parents=(update.old,) if update.old else (),
        puts=update.puts,
        removes=update.removes,
    )


def draft_stream(drafts: Sequence[Draft], author: Author, zero: Oid) -> Iterator[bytes]:
    """Commits on refs that are taken away again before fast-import ends."""
    for mark, draft in enumerate(drafts, 1):
        ref = f"refs/gitsession/draft-{os.getpid()}-{mark}"
        yield from commit_stream(ref, draft, author, mark)
        yield b"reset %s\nfrom %s\n\n" % (ref.encode(), zero.encode())


def commit_stream(ref: str, draft: Draft, author: Author, mark: int) -> Iterator[bytes]:
    """One commit in fast-import's language; a file is read from disk piece by piece."""
    who = b"%s <%s> %d +0000" % (_ident(author.name), _ident(author.email), int(time.time()))
    message = draft.message.encode("utf-8", "replace")
    yield b"commit %s\nmark :%d\n" % (ref.encode(), mark)
    yield b"author %s\ncommitter %s\ndata %d\n%s\n" % (who, who, len(message), message)
    for word, parent in zip(chain((b"from",), repeat(b"merge")), draft.parents, strict=False):
        yield b"%s %s\n" % (word, parent.encode())
    if draft.anew:
        yield b"deleteall\n"
    for path in draft.removes:
        yield b"D %s\n" % _quote(path)
    for link in draft.links:
        yield b"M %s %s %s\n" % (link.mode.encode(), link.oid.encode(), _quote(link.path))
    for put in draft.puts:
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
