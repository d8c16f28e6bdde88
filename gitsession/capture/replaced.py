"""Which commits a new one takes the place of where git tells nobody: squash merges and resets.

What an amend or a rebase rewrote is told by post-rewrite. The commit after a
`merge --squash` or a `reset --soft` is one of its own to git; that it holds
what others held is seen from its content, and never taken for granted: either
may have been given up before something else was committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitsession.capture import match
from gitsession.git import inspect
from gitsession.git.inspect import Touched
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Commit, FileChange, Move
from gitsession.ids import Oid, is_oid
from gitsession.store import squashes
from gitsession.store.spool import Spooled
from gitsession.store.squashes import Squash

Files = Mapping[str, Touched]

# -- deciding: pure -------------------------------------------------------------------------


def parse_squashed(body: bytes) -> tuple[Oid, ...]:
    """The commits that the event of a squash merge lists, newest first."""
    words = (line.split() for line in body.decode("ascii", "replace").splitlines())
    return tuple(Oid(w[1]) for w in words if len(w) == 2 and w[0] == "commit" and is_oid(w[1]))


def before_resets(moves: Sequence[Move], commit: Oid) -> list[Oid]:
    """Where HEAD was before it was reset to where a commit was then made, latest first."""
    made = (i for i, m in enumerate(moves) if m.new == commit and inspect.creates(m.action))
    at = next(made, len(moves)) + 1
    found: dict[Oid, None] = {}
    for move, older in zip(moves[at:], moves[at + 1 :], strict=False):
        if inspect.verb(move.action) == "reset":
            found[older.new] = None
        elif move.new != older.new:
            break
    return [oid for oid in found if oid != moves[at].new]


def unlike(theirs: Files, ours: Files) -> list[str]:
    """The files that both changed, and not to the same: there lines have to be compared."""
    return sorted(p for p, t in theirs.items() if p in ours and ours[p].became != t.became)


def holds(
    theirs: Files, ours: Files, their_lines: Sequence[FileChange], our_lines: Sequence[FileChange]
) -> bool:
    """Whether a commit (ours) did at least half of what others (theirs) did, counted in lines."""
    wrote, have = _marks(their_lines), _marks(our_lines)
    held = 0.0
    for path, touched in theirs.items():
        if path in ours and ours[path].became == touched.became:
            held += touched.lines
        elif path in ours:
            said = wrote.get(path, frozenset())
            share = match.weight(line for _, line in said & have.get(path, frozenset()))
            held += touched.lines * share / max(1, match.weight(line for _, line in said))
    return held * 2 >= sum(touched.lines for touched in theirs.values()) > 0


def _marks(changes: Sequence[FileChange]) -> dict[str, frozenset[tuple[str, int]]]:
    return {
        change.path: frozenset(("+", line) for line in match.marks(change.added))
        | frozenset(("-", line) for line in match.marks(change.removed))
        for change in changes
    }


# -- looking --------------------------------------------------------------------------------


def find_replaced(
    repo: Plumbing, commit: Commit, base: Oid | None, moves: Sequence[Move], at: float
) -> list[Oid]:
    """The commits that one made at a moment, on a base, takes the place of, oldest first."""
    found = _reset_away(repo, commit, moves)
    for squash in squashes.find(repo.common_dir, repo.git_dir):
        if squash.at <= at and squash.head == base and _is_held(repo, commit, squash):
            found += reversed(squash.commits)
    return list(dict.fromkeys(found))


def _reset_away(repo: Plumbing, commit: Commit, moves: Sequence[Move]) -> list[Oid]:
    """The commits that a reset took off the branch, when the commit holds just what they held."""
    for old in before_resets(moves, commit.oid):
        if _tree(repo, old) == commit.tree:
            # A merge that was undone and made again brings the other branch's own commits.
            out = repo.git("rev-list", "--reverse", old, f"^{commit.oid}", "--")
            return [Oid(line) for line in out.decode().split()]
    return []


def _tree(repo: Plumbing, commit: Oid) -> Oid | None:
    return repo.resolve(f"{commit}^{{tree}}")


def _is_held(repo: Plumbing, commit: Commit, squash: Squash) -> bool:
    tips = _tips(repo, squash.commits)
    if not tips:
        return False
    if len(tips) == 1 and _tree(repo, tips[0]) == commit.tree:
        return True
    ours = inspect.touched(repo, squash.head, commit.oid)
    theirs: dict[str, Touched] = {}
    their_lines: list[FileChange] = []
    for tip in tips:
        base = inspect.merge_base(repo, squash.head, tip)
        if base is None:
            return False
        # What the branch squashed into had got by itself, the squash couldn't change.
        news = inspect.touched(repo, squash.head, tip)
        found = {p: t for p, t in inspect.touched(repo, base, tip).items() if p in news}
        theirs |= found
        paths = unlike(found, ours)
        their_lines += inspect.changes(repo, base, tip, paths) if paths else []
    paths = unlike(theirs, ours)
    our_lines = inspect.changes(repo, squash.head, commit.oid, paths) if paths else []
    return holds(theirs, ours, their_lines, our_lines)


def _tips(repo: Plumbing, commits: Sequence[Oid]) -> list[Oid]:
    """Those that no other of them has as a parent; none when one is gone."""
    if any(repo.resolve(oid) is None for oid in commits):
        return []
    parents = {parent for oid in commits for parent in repo.get_commit(oid).parents}
    return [oid for oid in commits if oid not in parents]


# -- remembering ----------------------------------------------------------------------------


def on_squash(repo: Plumbing, event: Spooled) -> None:
    """A squash merge was made: what it put together is known now, and not at its commit."""
    commits = parse_squashed(event.body)
    if not commits or not is_oid(event.head):
        return
    squash = Squash(head=Oid(event.head), commits=commits, at=event.at)
    there = squashes.find(repo.common_dir, repo.git_dir)
    if squash not in there:
        # Squashes onto one commit may go into one commit together.
        same = [other for other in there if other.head == squash.head]
        squashes.save(repo.common_dir, repo.git_dir, [*same, squash])


def forget(repo: Plumbing, event: Spooled) -> None:
    """The next commit was made: it has got what it gets, or the squash was given up."""
    there = squashes.find(repo.common_dir, repo.git_dir)
    if there:
        later = [squash for squash in there if squash.at > event.at]
        squashes.save(repo.common_dir, repo.git_dir, later)
