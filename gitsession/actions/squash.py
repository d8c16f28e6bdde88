"""Turns the commits of a branch's turns into one that has the records of all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gitsession import config
from gitsession.actions.work import make_worker
from gitsession.capture import autocommit as turns
from gitsession.capture.ledger import Ledger, Tie
from gitsession.config import Settings
from gitsession.errors import GitFailed, Moved, NotFound, SessionError
from gitsession.git import inspect, refs
from gitsession.git.plumbing import Plumbing, discover
from gitsession.git.repository import Commit
from gitsession.ids import Oid
from gitsession.model import Evidence, Frozen
from gitsession.query.index import find_records
from gitsession.store import folder, sessions, spool, started

_TURN = re.compile(r"Turn \d+: ")
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S.*")


class Squashed(Frozen, frozen=True, kw_only=True):
    """What became of a branch; nothing has a default, so that `--json` says everything."""

    commit: Oid
    branch: str
    base: Oid
    replaced: tuple[Oid, ...]
    """Oldest first."""
    captures: int
    """The captures that the new commit has."""
    published: bool


def squash(
    path: Path, *, onto: str = "", message: str = "", published_too: bool = False
) -> Squashed:
    """Put the commits of this branch, since its start or another one, together."""
    with discover(path) as repo:
        settings = config.load(repo.common_dir)
        if settings.enabled:
            # What is still on its way into the index is to be carried along.
            make_worker(repo.common_dir, final=False, settings=settings).run(wait=True)
        ref, head = _head(repo)
        base = _find_base(repo, ref, head, onto)
        commits = _commits(repo, base, head)
        published = _is_published(repo, base, head)
        if published and not published_too:
            raise SessionError(
                "some of these commits are on a remote already, and others may build on them",
                hint="--yes squashes them all the same; the branch has to be pushed with "
                "--force-with-lease then",
            )
        text = write_message(commits, message)
        new = _write(repo, settings, commits, base, text)
        pairs = [(commit.oid, new) for commit in commits]
        # Before the branch moves: a commit that nothing leads to has records to no one's harm.
        ledger = Ledger(repo, settings)
        ledger.carry(pairs)
        _tie_between(repo, ledger, ref, base, commits, new)
        _tell_worker(repo, pairs)
        _move(repo, ref, new, head.oid, len(commits))
        captures = {r.id for r in find_records(repo, new) if r.commit == new}
        return Squashed(
            commit=new,
            branch=refs.branch_of(ref) or "",
            base=base.oid,
            replaced=tuple(commit.oid for commit in commits),
            captures=len(captures),
            published=published,
        )


# -- pure ---------------------------------------------------------------------------------


def write_message(commits: Sequence[Commit], subject: str = "") -> str:
    """The message of the one commit: every subject, and the trailers, each once."""
    subjects = [commit.subject for commit in commits]
    head = subject.strip() or _TURN.sub("", subjects[0], count=1)
    listed = "\n".join(f"- {words}" for words in subjects)
    trailers = "\n".join(dict.fromkeys(x for c in commits for x in trailers_of(c.message)))
    return "\n\n".join(part for part in (head, listed, trailers) if part) + "\n"


def trailers_of(message: str) -> Iterable[str]:
    """The lines of a message's last paragraph, when all of them are trailers."""
    paragraphs = message.strip().split("\n\n")
    lines = paragraphs[-1].split("\n") if len(paragraphs) > 1 else []
    return lines if all(_TRAILER.fullmatch(line) for line in lines) else ()


# -- what is to be squashed ---------------------------------------------------------------


def _head(repo: Plumbing) -> tuple[str, Commit]:
    """The branch, and the commit it leads to; raises where moving it would break something."""
    busy = turns.in_progress(repo.git_dir)
    if busy:
        raise SessionError(f"{busy} is in progress here", hint="finish it first")
    ref = repo.git("symbolic-ref", "-q", "HEAD", ok=(0, 1)).decode().strip()
    if refs.branch_of(ref) is None:
        raise SessionError("HEAD is on no branch", hint="`git switch` to the branch to squash")
    if repo.resolve(ref) is None:
        raise NotFound("commit", "HEAD", hint="there is no commit here yet")
    return ref, repo.get_commit(ref)


def _find_base(repo: Plumbing, ref: str, head: Commit, onto: str) -> Commit:
    """What the new commit is made on."""
    if onto:
        base = repo.get_commit(onto)
        if not inspect.is_ancestor(repo, base.oid, head.oid):
            raise SessionError(f"'{onto}' isn't in the history of this branch")
        return base
    branch = refs.branch_of(ref) or ""
    known = started.of_branch(repo.common_dir, branch)
    found = []
    if known is not None and known.base is not None and repo.resolve(known.base) is not None:
        found.append(known.base)
    tip = repo.resolve(f"refs/heads/{known.origin}") if known is not None and known.origin else None
    if tip is not None:
        # The branch may have been rebased since: what came with that isn't its own.
        met = inspect.merge_base(repo, tip, head.oid)
        found += [met] if met is not None else []
    bases = [oid for oid in found if inspect.is_ancestor(repo, oid, head.oid)]
    if not bases:
        raise SessionError(
            f"nobody knows where branch '{branch}' began", hint="say it with --onto REV"
        )
    last = bases[-1] if inspect.is_ancestor(repo, bases[0], bases[-1]) else bases[0]
    return repo.get_commit(last)


def _commits(repo: Plumbing, base: Commit, head: Commit) -> list[Commit]:
    """The commits to put together, oldest first."""
    span = f"{base.oid}..{head.oid}"
    merges = repo.git("rev-list", "--min-parents=2", "--max-count=1", span, "--").decode().strip()
    if merges:
        raise SessionError(
            f"{merges[:12]} is a merge: what it brought here would become this branch's own",
            hint="--onto REV squashes what came after it, or rebase first",
        )
    found = repo.git("rev-list", "--reverse", span, "--").decode().split()
    if len(found) < 2:
        said = "one commit is" if found else "no commit is"
        raise SessionError(f"there is nothing to squash: {said} on '{base.oid[:12]}'")
    return [repo.get_commit(oid) for oid in found]


def _is_published(repo: Plumbing, base: Commit, head: Commit) -> bool:
    """Whether a remote is known to have one of the commits: then the oldest of them."""
    span = ["rev-list", "--count", f"{base.oid}..{head.oid}"]
    return repo.git(*span) != repo.git(*span, "--not", "--remotes")


# -- doing it -----------------------------------------------------------------------------


def _write(
    repo: Plumbing, settings: Settings, commits: Sequence[Commit], base: Commit, text: str
) -> Oid:
    """The new commit: the first one's author, and a date that makes it the same if done again."""
    first, last = commits[0].author, commits[-1].committer
    dates = {
        "GIT_AUTHOR_NAME": first.name,
        "GIT_AUTHOR_EMAIL": first.email,
        "GIT_AUTHOR_DATE": f"@{first.at} {first.offset}",
        "GIT_COMMITTER_DATE": f"@{last.at} {last.offset}",
    }
    words = ["commit-tree", *(["-S"] if settings.sign else []), "-p", base.oid, commits[-1].tree]
    with Plumbing(repo.git_dir, repo.common_dir, repo.work_tree) as dated:
        dated.more = dates
        return Oid(dated.git(*words, stdin=text.encode("utf-8", "replace")).decode().strip())


def _tie_between(
    repo: Plumbing, ledger: Ledger, ref: str, base: Commit, commits: Sequence[Commit], new: Oid
) -> None:
    """Tie to the new commit what was captured between the old ones: the talk that led to them."""
    branch = refs.branch_of(ref)
    told = {c.oid: find_records(repo, c.oid) for c in (base, *commits)}
    own = {r.session for c in commits for r in told[c.oid] if r.commit == c.oid}
    tie = Tie(commit=new, base=base.oid, branch=branch, evidence=Evidence(by="manual"))
    for oid, found in told.items():
        for record in found:
            here = record.branch == branch or (record.branch is None and oid != base.oid)
            if record.commit is not None or record.session not in own or not here:
                continue
            stored = sessions.open_session(repo, record.session)
            seq = sessions.find_seq(repo, stored, record) if stored.tip else None
            if seq is not None:
                ledger.tie(record.session, seq, tie)


def _tell_worker(repo: Plumbing, pairs: Sequence[tuple[Oid, Oid]]) -> None:
    """Leave word of the rewrite, as git's hook would: what is captured later is carried, too."""
    waiting = folder.spool(repo.common_dir)
    if spool.is_empty(waiting):
        return
    body = "".join(f"{old} {new}\n" for old, new in pairs).encode()
    spool.write(waiting, "post-rewrite", args="squash", git_dir=str(repo.git_dir), body=body)


def _move(repo: Plumbing, ref: str, new: Oid, old: Oid, count: int) -> None:
    """Move the branch, if it is where it was; the index and the work tree are right as they are."""
    try:
        repo.git("update-ref", "-m", f"session squash: {count} commits", ref, new, old)
    except GitFailed as error:
        if "cannot lock ref" in error.message:
            raise Moved(f"'{ref}' was moved meanwhile", hint="try again") from None
        raise
