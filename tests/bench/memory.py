"""The memory that the worker needs for a transcript of a gigabyte."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from gitsession.git import refs
from gitsession.ids import SessionId
from tests.bench.corpus import closing
from tests.bench.ground import Ground, tell_of_commit, transcript
from tests.bench.report import Row

_SIZE = 1_000_000_000
_BLOCK = 10_000_000
_STARTER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, used.ru_utime + used.ru_stime)
"""


def measure(ground: Ground) -> Iterator[Row]:
    """The most that the worker, or a git that it ran, held at once."""
    if ground.quick:
        return
    repo = ground.repository("memory")
    session = str(uuid.uuid4())
    source = transcript(session)
    source.symlink_to(_huge(ground))
    commit = repo.commit("more", {"a": "a\n"})
    with source.open("ab") as file:
        whole = file.tell()
        file.write(closing(ground.corpus.lines(_BLOCK), session, commit))
    tell_of_commit(repo, session, commit)
    try:
        peak, spent = _peak([str(ground.program), "worker", "--git-dir", f"{repo.path}/.git"])
    finally:
        os.truncate(source, whole)
    repo.git("rev-parse", refs.session(SessionId(session)))
    yield Row(
        what="memory for a transcript of 1 GB, the most at once", measured=peak / 1e6, unit="MB",
        budget=200, note=f"{spent:.0f} s of processor time, {_SIZE / spent / 1e6:.0f} MB/s",
    )  # fmt: skip


def _huge(ground: Ground) -> Path:
    """A file of a gigabyte: the corpus again and again, its lines under new names."""
    path = ground.cache / f"gigabyte-{ground.corpus.origin.split()[0]}.jsonl"
    if not path.exists():
        fresh = path.with_suffix(".new")
        block = b"".join(ground.corpus.lines(_BLOCK))
        with fresh.open("wb") as file:
            number = 0
            while file.tell() < _SIZE:
                file.write(block.replace(b'"uuid":"', b'"uuid":"%04d-' % number))
                number += 1
        fresh.replace(path)
    return path


def _peak(words: list[str]) -> tuple[int, float]:
    """The peak of a program's memory in bytes, and its seconds of work.

    A small process starts it: until a program is loaded, its memory counts as
    its parent's, and ours has grown by then.
    """
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _STARTER, *words], stdout=subprocess.PIPE, check=True
    )
    peak, spent = done.stdout.split()[-2:]
    return int(peak) * (1 if sys.platform == "darwin" else 1024), float(spent)
