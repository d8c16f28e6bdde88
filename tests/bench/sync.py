"""Sharing: what sync, the user's own `git fetch` and `git push`, and a fresh clone cost."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from gitsession import config
from gitsession.actions.install import install
from gitsession.git import notes, refs
from gitsession.git.repository import Draft, Put, Swap
from gitsession.ids import CaptureId, Oid, SessionId
from gitsession.store import records
from gitsession.sync.fold import fold_index
from gitsession.sync.remote import index_refspec, remote_of
from tests.bench import shared
from tests.bench.clock import Contender, Timing, command, compare
from tests.bench.ground import Ground, copy_repository, run
from tests.bench.report import Row, ms
from tests.scratch import Scratch
from tests.sync.clones import Clone

_ORIGIN = remote_of("origin")
_FEW = 100


def measure_sync(ground: Ground) -> Iterator[Row]:
    """One new session to a remote that has very many, against a bare push of one ref."""
    commits = shared.commits_of(ground)
    makers: dict[str, Callable[[Ground, Scratch, int], Clone]] = {
        "a clone with the index alone": shared.clone_with_index,
        "a clone with all of them": shared.clone_with_all,
    }
    for title, make in makers.items():
        remote = shared.make_remote(ground, commits)
        home = make(ground, remote, commits)
        other = shared.clone_with_index(ground, remote, commits)
        found = compare(_syncing(ground, home, other), ground.rounds(5))
        where = f"{title}; the remote has {commits // 2:,} sessions"
        base = found["bare"]
        yield _against(
            f"`git session sync` of one new session, against a bare `git push` of one ref: {where}",
            found["sync"], base, 3,
        )  # fmt: skip
        yield _against(f"the push alone, in process ({title})", found["push"], base)
        yield _against(
            f"`git session sync` when another clone has synced since ({title})",
            found["behind"], base,
        )  # fmt: skip
        yield _against(f"`git session sync` with nothing new ({title})", found["idle"], base)


def _syncing(ground: Ground, home: Clone, other: Clone) -> dict[str, Contender]:
    """A bare push, and ours; each leaves the clone with nothing to be done."""
    capture = shared.capturing(home, shared.Commits(home))
    theirs = shared.capturing(other, shared.Commits(other))
    sync = command(ground.program, "sync", "-q", cwd=home.path)

    def both() -> None:
        theirs()
        run(ground.program, "sync", "-q", cwd=other.path)
        capture()

    def push() -> None:
        if home.push():
            raise SystemExit("error: a session was not pushed")

    return {
        "bare": shared.pushing_one_ref(home),
        "push": Contender(run=push, before=capture),
        "sync": Contender(run=sync, before=capture),
        "behind": Contender(run=sync, before=both),
        "idle": Contender(run=sync),
    }


def measure_fetch(ground: Ground) -> Iterator[Row]:
    """The user's own `git fetch` when nothing is new."""
    commits = shared.commits_of(ground)
    remote = shared.make_remote(ground, commits)
    plain = shared.clone(ground, remote)
    ours = shared.clone_with_index(ground, remote, commits)
    install(ours.path, shared=False, agent="claude-code", push=True)
    if index_refspec(_ORIGIN) not in ours.git("config", "--get-all", "remote.origin.fetch"):
        raise SystemExit("error: init didn't have the index fetched")
    contenders = {
        name: Contender(run=command("git", "fetch", "-q", cwd=home.path))
        for name, home in (("plain", plain), ("ours", ours))
    }
    found = compare(contenders, ground.rounds(30))
    yield _against(
        "plain `git fetch` with nothing new, after `git session init`, against the same without",
        found["ours"], found["plain"], 1.3,
    )  # fmt: skip


def measure_clone(ground: Ground) -> Iterator[Row]:
    """What a teammate waits for who has just cloned."""
    commits = shared.commits_of(ground)
    remote = shared.make_remote(ground, commits)
    fresh = shared.clone(ground, remote)
    indexed = shared.clone_with_index(ground, remote, commits)
    one_ref = ["git", "fetch", "-q", "origin", f"+{refs.INDEX}:refs/x/index"]
    contenders = {
        "clone": Contender(run=lambda: shared.clone(ground, remote)),
        "bare": _in_copies(ground, fresh, *one_ref),
        "fetch": _in_copies(ground, fresh, ground.program, "fetch", "-q"),
        "log": Contender(run=command(ground.program, "log", "-n", "20", cwd=indexed.path)),
    }
    found = compare(contenders, ground.rounds(3))
    yield _against(
        f"first `git session fetch` of an index of {commits:,} commits, against `git clone`",
        found["fetch"], found["clone"],
    )  # fmt: skip
    yield _against("the same against `git fetch` of that one ref", found["fetch"], found["bare"])
    yield _against("`git session log -n 20` after it, against `git clone`",
                   found["log"], found["clone"])  # fmt: skip
    yield from _measure_content(ground, indexed)


def _measure_content(ground: Ground, home: Clone) -> Iterator[Row]:
    """A session that comes when somebody opens it."""
    # A session is of two commits.
    commits = shared.Commits(home, every=2)

    def shown(name: Callable[[Oid], Oid | SessionId]) -> Contender:
        asked: list[str] = []
        return Contender(
            run=lambda: command(ground.program, "show", asked[-1], cwd=home.path)(),
            before=lambda: asked.append(name(commits.take())),
        )

    def session(commit: Oid) -> SessionId:
        return shared.session_of(home, commit)

    wanted: list[str] = []
    bare = Contender(
        run=lambda: command("git", "fetch", "-q", "origin", wanted[-1], cwd=home.path)(),
        before=lambda: wanted.append(
            f"+{refs.session(session(commits.take()))}:refs/x/{len(wanted)}"
        ),
    )
    contenders = {"bare": bare, "commit": shown(lambda commit: commit), "session": shown(session)}
    found = compare(contenders, ground.rounds(7))
    for name, title in (("commit", "a commit"), ("session", "a session by its id")):
        yield _against(
            f"`git session show` of {title} whose session isn't here, against `git fetch` of a ref",
            found[name], found["bare"],
        )  # fmt: skip


def _in_copies(ground: Ground, source: Clone, *words: str | Path) -> Contender:
    """A command that is run in a new copy of a clone each time."""
    made: list[Scratch] = []
    return Contender(
        run=lambda: command(*words, cwd=made[-1].path)(),
        before=lambda: made.append(copy_repository(source.path, ground.place("copy"))),
    )


def measure_push(ground: Ground) -> Iterator[Row]:
    """The user's own `git push` with something of ours to send, against the same without us."""
    for commits, title in ((_FEW, "a small remote"), (shared.commits_of(ground), "the large one")):
        remote = shared.make_remote(ground, commits)
        plain = shared.clone(ground, remote)
        ours = shared.clone_with_index(ground, remote, commits)
        install(ours.path, shared=False, agent="claude-code", push=True)
        contenders = {"plain": _pushing(plain), "ours": _pushing(ours)}
        found = compare(contenders, ground.rounds(25 if commits == _FEW else 7))
        yield _against(
            f"`git push` with our hooks and a session to send, against plain ({title})",
            found["ours"], found["plain"], 1.2,
        )  # fmt: skip


def _pushing(home: Clone) -> Contender:
    """One commit more on a branch of this clone's own; with our hooks a session of it as well."""
    branch = str(uuid.uuid4())
    installed = bool(home.git("config", "--default", "", "session.installed"))

    def make() -> None:
        home.git("commit", "-q", "--allow-empty", "--no-verify", "-m", "more")
        if installed:
            home.capture(str(uuid.uuid4()), "Say why", commit=home.scratch.head())

    def done() -> None:
        if installed:
            shared.wait_until_sent(home.path / ".git")

    push = command("git", "push", "-q", "origin", f"HEAD:refs/heads/{branch}", cwd=home.path)
    return Contender(run=push, before=make, after=done)


def measure_fold(ground: Ground) -> Iterator[Row]:
    """One new note of somebody else's into an index that has one of ours."""
    counts = {"few": _FEW, "many": shared.commits_of(ground)}
    homes = {
        name: shared.clone_with_index(ground, shared.make_remote(ground, count), count)
        for name, count in counts.items()
    }
    contenders = {name: _folding(home) for name, home in homes.items()}
    contenders["git fetch"] = Contender(run=command("git", "fetch", "-q", cwd=homes["many"].path))
    found = compare(contenders, ground.rounds(25))
    yield _against(
        f"an index with one new note merged into ours of {counts['many']:,}, against ours of "
        f"{_FEW}, in process",
        found["many"], found["few"], 1.2,
    )  # fmt: skip
    yield _against("the same against `git fetch` with nothing new",
                   found["many"], found["git fetch"])  # fmt: skip


def _folding(home: Clone) -> Contender:
    commits = shared.Commits(home)
    seen = refs.seen(_ORIGIN.slug, refs.INDEX)
    settings = config.load(home.path)

    def part() -> None:
        """Give both sides what the other has not."""
        with home.open() as repo:
            tip, commit = repo.resolve(refs.INDEX), commits.take()
            note = notes.read(repo, commit)
            (record,) = records.readable(records.decode_note(note))[:1]
            name = str(uuid.uuid4())
            new = msgspec.structs.replace(record, session=SessionId(name), id=CaptureId(name))
            put = Put(path=notes.path_of(commit), data=records.merge_note(note, [new]))
            draft = Draft(message="sessions\n", parents=(tip,) if tip else (), puts=(put,))
            (theirs,) = repo.write([draft], settings.author)
            repo.swap([Swap(ref=seen, old=repo.resolve(seen), new=theirs)])
        home.capture(str(uuid.uuid4()), "Say why", commit=commits.take())

    def fold() -> None:
        with home.open() as repo:
            if len(fold_index(repo, _ORIGIN, settings).new) != 1:
                raise SystemExit("error: not one record came")

    return Contender(run=fold, before=part)


def _against(what: str, measured: Timing, base: Timing, budget: float | None = None) -> Row:
    """A ratio of two medians."""
    return Row(
        what=what, measured=measured.median / base.median, budget=budget,
        note=f"{ms(measured.median)} against {ms(base.median)}; processor time "
        f"{ms(measured.cpu)} against {ms(base.cpu)}; best {measured.best / base.best:.2f}x",
    )  # fmt: skip
