"""Which commits have sessions: reads only as many commits as are asked for."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from gitsession.errors import NotFound
from gitsession.git import refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.run import failure
from gitsession.ids import CaptureId, Oid
from gitsession.model import Author, Frozen, Kind, Record, Status
from gitsession.query.index import find_foreign, find_records
from gitsession.render.log import LogEntry
from gitsession.sync.lately import take_in

_FORMAT = "%H%x00%h%x00%an%x00%ae%x00%aI%x00%D%x00%s"
_OURS = ("refs/sessions/*", "refs/notes/*", "refs/snapshots/*", "refs/session-remotes/*")


class Wanted(Frozen, frozen=True, kw_only=True):
    """Which commits, and which of their captures."""

    revisions: tuple[str, ...] = ()
    everything: bool = False
    """Commits that any branch or tag reaches, and captures that no commit has."""
    count: int | None = None
    session: str = ""
    branch: str = ""
    task: str = ""
    author: str = ""
    since: str = ""
    until: str = ""
    agent: str = ""
    status: Status | None = None
    kind: Kind | None = None

    def takes(self, record: Record) -> bool:
        """Whether a capture is one of those asked for."""
        return (
            record.session.startswith(self.session)
            and self.branch in ("", record.branch)
            and self.task in ("", record.task)
            and self.agent in ("", record.agent.name)
            and self.status in (None, record.status)
            and self.kind in (None, record.kind)
        )

    @property
    def anything(self) -> bool:
        """Whether nothing is asked of the captures, so that one which can't be read is shown."""
        asked = (self.session, self.branch, self.task, self.agent, self.status, self.kind)
        return not any(asked)

    @property
    def loose(self) -> bool:
        """Whether captures without a commit are asked for as well."""
        return (
            self.everything or bool(self.session or self.task) or self.kind not in (None, "commit")
        )


def log(path: Path, wanted: Wanted) -> Iterator[LogEntry]:
    """The entries, newest first."""
    with discover(path) as repo:
        take_in(repo)
        yield from _limited(_entries(repo, wanted), wanted.count)


def _limited(entries: Iterator[LogEntry], count: int | None) -> Iterator[LogEntry]:
    if count is not None and count <= 0:
        return
    for number, entry in enumerate(entries, 1):
        yield entry
        if number == count:
            return


def _entries(repo: Plumbing, wanted: Wanted) -> Iterator[LogEntry]:
    index = repo.resolve(refs.INDEX)
    if index is None:
        return
    shown: set[CaptureId] = set()
    for fields in _commits(repo, wanted):
        oid = Oid(fields[0])
        found = [r for r in find_records(repo, oid, ref=index) if wanted.takes(r)]
        if wanted.loose:
            # A checkpoint that a later commit turned out to hold stands there already.
            loose = [r for r in found if r.commit is None and r.id not in shown]
            yield from (_loose(record) for record in sorted(loose, key=_moment, reverse=True))
        shown.update(record.id for record in found)
        tied = tuple(record for record in found if record.commit == oid)
        foreign = tuple(find_foreign(repo, oid, ref=index)) if wanted.anything else ()
        if tied or foreign:
            yield LogEntry(
                records=tied,
                foreign=foreign,
                commit=oid,
                short=fields[1],
                author=Author(name=fields[2], email=fields[3]),
                date=fields[4],
                names=tuple(name for name in fields[5].split(", ") if name),
                subject=fields[6],
            )


def _loose(record: Record) -> LogEntry:
    """A capture that no commit has, dated by its conversation."""
    return LogEntry(records=(record,), date=_moment(record))


def _moment(record: Record) -> str:
    return record.ended_at or record.captured_at


def _commits(repo: Plumbing, wanted: Wanted) -> Iterator[list[str]]:
    """The commits as git lists them, one at a time, so that it can be stopped."""
    command = ["log", f"--format={_FORMAT}", "--decorate=short", "--no-show-signature"]
    command += [f"--decorate-refs-exclude={pattern}" for pattern in _OURS]
    for name, value in (
        ("author", wanted.author), ("since", wanted.since), ("until", wanted.until),
    ):  # fmt: skip
        command += [f"--{name}={value}"] if value else []
    if wanted.everything:
        command += [*(f"--exclude={pattern}" for pattern in _OURS), "--all"]
    command += ["--end-of-options", *_revisions(repo, wanted.revisions), "--"]
    process = repo.start(*command)
    stream = cast(IO[bytes], process.stdout)
    try:
        for line in stream:
            fields = line.decode("utf-8", "replace").rstrip("\n").split("\0")
            if len(fields) == 7:
                yield fields
        if process.wait():
            raise failure(command, cast(IO[bytes], process.stderr).read())
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _revisions(repo: Plumbing, words: Sequence[str]) -> list[str]:
    for word in words:
        if ".." not in word and not word.startswith("^") and repo.resolve(word) is None:
            raise NotFound("revision", word, hint="say a commit, a branch or a range such as a..b")
    if not words and repo.resolve("HEAD") is None:
        raise NotFound("commit", "HEAD", hint="there is no commit here yet")
    return list(words)
