"""A remote that many have shared their sessions on for long, and clones of it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from gitsession.git import refs
from gitsession.ids import Oid, SessionId
from gitsession.query.index import find_records
from gitsession.store import folder, outbox
from gitsession.store.lock import held
from tests.bench import repository
from tests.bench.captures import COMMITS
from tests.bench.clock import Contender, command
from tests.bench.ground import Ground, copy_repository, run
from tests.scratch import Scratch
from tests.sync.clones import Clone


def commits_of(ground: Ground) -> int:
    """How many annotated commits the large remote has; of sessions it has half as many."""
    return 400 if ground.quick else COMMITS


def make_remote(ground: Ground, commits: int) -> Scratch:
    """A bare repository with so many annotated commits, its refs packed."""
    built = repository.get(ground.cache, ground.corpus, commits)
    remote = copy_repository(built / ".git", ground.place("remote.git"))
    remote.git("config", "core.bare", "true")
    return remote


def url(remote: Scratch) -> str:
    """How it is reached: through git's own protocol, and no shortcut over the disk."""
    return f"file://{remote.path}"


def clone(ground: Ground, remote: Scratch) -> Clone:
    """A clone as git makes it."""
    path = ground.place("clone")
    run("git", "clone", "-q", url(remote), path, cwd=ground.scratch)
    return Clone(Scratch(path))


def clone_with_index(ground: Ground, remote: Scratch, commits: int) -> Clone:
    """A clone that has the index, and no session."""
    kept = ground.scratch / f"indexed-{commits}"
    if not kept.exists():
        run("git", "clone", "-q", url(remote), kept, cwd=ground.scratch)
        run(ground.program, "fetch", "-q", cwd=kept)
    made = copy_repository(kept, ground.place("clone"))
    made.git("remote", "set-url", "origin", url(remote))
    return Clone(made)


def clone_with_all(ground: Ground, remote: Scratch, commits: int) -> Clone:
    """A clone that has every session of the remote, and knows that the remote has them."""
    built = repository.get(ground.cache, ground.corpus, commits)
    made = copy_repository(built, ground.place("clone"))
    made.git("remote", "add", "origin", url(remote))
    made.git("fetch", "-q", "origin")
    made.git("pack-refs", "--all")
    packed = made.path / ".git" / "packed-refs"
    head, *lines = packed.read_text().splitlines()
    ours = [line.split(" ") for line in lines if refs.SESSIONS in line or refs.INDEX in line]
    lines += [f"{oid} {refs.seen('origin', ref)}" for oid, ref in ours]
    lines.sort(key=lambda line: line.partition(" ")[2])
    packed.write_text("\n".join([head, *lines]) + "\n")
    return Clone(made)


class Commits:
    """The commits of a clone, each handed out once."""

    def __init__(self, home: Clone, *, every: int = 1) -> None:
        listed = home.git("rev-list", "--max-count=400", "HEAD").split()
        self._rest: Iterator[str] = iter(listed[::every])

    def take(self) -> Oid:
        """The next one."""
        return Oid(next(self._rest))


def capturing(home: Clone, commits: Commits) -> Callable[[], object]:
    """What captures a new session."""
    return lambda: home.capture(str(uuid.uuid4()), "Say why", commit=commits.take())


def pushing_one_ref(home: Clone) -> Contender:
    """A bare `git push` of one new ref, which leads to one new commit."""
    made: list[str] = []

    def make() -> None:
        blob = home.scratch.git("hash-object", "-w", "--stdin", stdin=str(uuid.uuid4()))
        tree = home.scratch.git("mktree", stdin=f"100644 blob {blob}\tfile\n")
        made.append(home.git("commit-tree", "-m", "one", tree))

    def push() -> None:
        spec = f"{made[-1]}:refs/x/{len(made)}-{made[-1][:8]}"
        command("git", "push", "-q", "origin", spec, cwd=home.path)()

    return Contender(run=push, before=make)


def session_of(home: Clone, commit: Oid) -> SessionId:
    """The session that a commit has, as the index says."""
    with home.open() as repo:
        return find_records(repo, commit)[0].session


def wait_until_sent(common_dir: Path) -> None:
    """Wait until what a push has started in the background is done."""
    end = time.monotonic() + 120
    while outbox.is_marked(common_dir):
        if time.monotonic() > end:
            raise SystemExit(f"error: nothing was pushed: {outbox.attempts(common_dir).reason}")
        time.sleep(0.005)
    with held(folder.home(common_dir) / "push.lock", wait=True):
        return
