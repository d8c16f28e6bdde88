"""What git can tell of a commit beyond its object: its diff, how it came about, its work tree."""

from __future__ import annotations

from collections.abc import Sequence

from gitsession.errors import GitFailed
from gitsession.git.parse import parse_patch, parse_touched
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Changed, Commit, FileChange, Listed, Move
from gitsession.ids import Oid
from gitsession.model import Frozen

_MAX_PATHS = 500
_CREATES = ("commit", "cherry-pick", "revert", "merge", "am", "pull")


class Tip(Frozen, frozen=True, kw_only=True):
    """What a ref leads to: a commit, and its tree."""

    commit: Oid
    tree: Oid


class Touched(Frozen, frozen=True, kw_only=True):
    """What became of a file between two commits."""

    became: str
    """Its mode and object afterwards."""
    lines: int
    """How many lines differ; one where git counts none."""


def touched(repo: Plumbing, old: Oid, new: Oid) -> dict[str, Touched]:
    """The files that differ between two commits."""
    out = repo.git("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff",
                   "--no-textconv", "--ignore-submodules=none", old, new, "--")  # fmt: skip
    return {
        path: Touched(became=became, lines=max(1, lines))
        for path, (became, lines) in parse_touched(out).items()
    }


def line_counts(repo: Plumbing, old: Oid, new: Oid) -> dict[str, tuple[int, int]]:
    """How many lines each file gains and loses from one tree to another; binary files none."""
    options = ["-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
               "--ignore-submodules=all"]  # fmt: skip
    entries = repo.git("diff-tree", *options, old, new, "--").split(b"\0")[:-1]
    found = {}
    for entry in entries:
        added, removed, path = entry.split(b"\t", 2)
        counts = [int(word) if word.isdigit() else 0 for word in (added, removed)]
        found[path.decode("utf-8", "surrogateescape")] = (counts[0], counts[1])
    return found


def merge_base(repo: Plumbing, one: Oid, other: Oid) -> Oid | None:
    """Where two histories parted; None when they have nothing in common."""
    out = repo.git("merge-base", one, other, ok=(0, 1))
    return Oid(out.decode().split()[0]) if out.strip() else None


def changes(
    repo: Plumbing, old: Oid | None, new: Oid, paths: Sequence[str] = ()
) -> list[FileChange]:
    """The lines that lead from one commit (or from nothing) to another, in some files."""
    options = ["-r", "-p", "-U0", "--no-prefix", "--no-color", "--no-ext-diff", "--no-textconv",
               "--no-renames", "--no-commit-id", "--ignore-submodules=all"]  # fmt: skip
    ends = [old, new] if old else ["--root", new]
    limit = [f":(top,literal){path}" for path in paths] if len(paths) <= _MAX_PATHS else []
    return parse_patch(repo.git("diff-tree", *options, *ends, "--", *limit))


def patch(repo: Plumbing, old: Oid, new: Oid) -> str:
    """What leads from one tree to another, as `git diff` has it, its statistics first."""
    options = ["-r", "-p", "--stat", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"]
    return repo.git("diff-tree", *options, old, new, "--").decode("utf-8", "replace")


def moves(repo: Plumbing, limit: int = 100) -> list[Move]:
    """HEAD's latest moves, newest first; none where no reflog is kept."""
    try:
        out = repo.git(
            "log",
            "--walk-reflogs",
            f"-{limit}",
            "--no-show-signature",
            "--format=%H%x00%gs",
            "HEAD",
        )
    except GitFailed:
        return []
    lines = out.decode("utf-8", "replace").splitlines()
    parts = (line.partition("\0") for line in lines)
    return [Move(new=Oid(oid), action=words) for oid, _, words in parts]


def verb(action: str) -> str:
    """The first word of a reflog's message: `commit`, `rebase`, `merge` …"""
    return action.replace(":", " ").split(" ", 1)[0]


def creates(action: str) -> bool:
    """Whether a move made a commit of its own (a rebase makes others' anew)."""
    return not action or (verb(action) in _CREATES and "Fast-forward" not in action)


def is_amend(action: str) -> bool:
    """Whether a commit took the place of another."""
    return action.startswith("commit (amend)")


def made_by(known: Sequence[Move], commit: Oid) -> tuple[str | None, Oid | None]:
    """The move that made a commit, in git's words, and what HEAD was before it.

    HEAD may have come back to a commit since it was made. No words at all when
    the commit came here otherwise; empty ones when no reflog tells of it.
    """
    action: str | None = ""
    for at, move in enumerate(known):
        if move.new == commit:
            if creates(move.action):
                return move.action, known[at + 1].new if at + 1 < len(known) else None
            action = None
    return action, None


def commit_before(repo: Plumbing, at: str) -> Oid | None:
    """The newest commit below HEAD that was there at a moment; None when none was."""
    if not at:
        return None
    try:
        out = repo.git("rev-list", "--max-count=1", f"--before={at}", "HEAD", "--")
    except GitFailed:
        return None
    return Oid(out.decode().strip()) if out.strip() else None


def changes_nothing(repo: Plumbing, commit: Commit) -> bool:
    """Whether a commit holds just what its only parent holds."""
    if len(commit.parents) != 1:
        return False
    return repo.get_commit(commit.parents[0]).tree == commit.tree


def between(repo: Plumbing, old: Oid, new: Oid) -> list[Move]:
    """The commits that lead from one to another, newest first, where no reflog tells of them."""
    try:
        repo.git("merge-base", "--is-ancestor", old, new)
        out = repo.git("rev-list", "--first-parent", "--max-count=100", new, f"^{old}")
    except GitFailed:
        return []
    return [Move(new=Oid(line), action="") for line in out.decode().split()]


def listing(repo: Plumbing, tree: Oid, *, sizes: bool = False) -> list[Listed]:
    """Every file of a tree; with their sizes, which fetches what is missing in a partial clone."""
    out = repo.git("ls-tree", "-r", "-z", "--full-tree", *(["-l"] if sizes else []), tree)
    found = []
    for entry in out.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        head, _, path = entry.partition("\t")
        mode, _, oid, *size = head.split()
        count = int(size[0]) if size and size[0].isdigit() else None
        found.append(Listed(mode=mode, oid=Oid(oid), path=path, size=count))
    return found


def changed_files(repo: Plumbing, old: Oid | None, new: Oid) -> list[Changed]:
    """The files that differ between two trees (or commits); all of one against none."""
    if old is None:
        return [Changed(path=x.path, mode=x.mode, old=None, new=x.oid) for x in listing(repo, new)]
    options = ["-r", "-z", "--raw", "--no-renames", "--no-commit-id", "--no-abbrev"]
    words = repo.git("diff-tree", *options, old, new).decode("utf-8", "surrogateescape")
    parts = iter(words.split("\0")[:-1])
    return [_changed(head, path) for head, path in zip(parts, parts, strict=True)]


def _changed(head: str, path: str) -> Changed:
    _, mode, old, new, _ = head.lstrip(":").split()
    return Changed(path=path, mode=mode, old=_oid_or_none(old), new=_oid_or_none(new))


def _oid_or_none(text: str) -> Oid | None:
    return Oid(text) if text.strip("0") else None


def is_ancestor(repo: Plumbing, old: Oid, new: Oid) -> bool:
    """Whether one commit is another one, or comes before it."""
    if old == new:
        return True
    base = repo.git("merge-base", old, new, ok=(0, 1)).decode().split()
    return old in base


def is_commit(repo: Plumbing, oid: Oid) -> bool:
    """Whether an object is a commit itself, and not a tag of one."""
    return repo.resolve(f"{oid}^{{commit}}") == oid


def tips(repo: Plumbing, prefix: str) -> dict[str, Tip]:
    """The refs under a prefix that lead to commits, with their trees: one process for all."""
    out = repo.git("for-each-ref", "--format=%(objectname) %(tree) %(refname)", prefix)
    lines = (line.split(" ", 2) for line in out.decode("utf-8", "replace").splitlines())
    return {name: Tip(commit=Oid(oid), tree=Oid(tree)) for oid, tree, name in lines if tree}
