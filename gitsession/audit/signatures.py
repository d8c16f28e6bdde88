"""Whether the signatures of session commits hold: git says so, with the keys known here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gitsession.audit.finding import Finding, Level, error, warning
from gitsession.audit.session import Chain
from gitsession.errors import GitFailed
from gitsession.git.plumbing import Plumbing
from gitsession.ids import Oid
from gitsession.model import Frozen

_KNOW = "git verifies it when it knows the key: gpg.ssh.allowedSignersFile, or gpg's key ring"


class Signed(Frozen, frozen=True, kw_only=True):
    """A session's ref and its commits."""

    ref: str
    chain: Chain


def check_signatures(
    repo: Plumbing, every: Sequence[Signed], unsigned: Level | None
) -> Iterator[Finding]:
    """Signatures that don't hold; and what has none, where that is a finding."""
    signed = [step.commit.oid for one in every for step in one.chain.steps if step.signed]
    said = _ask(repo, signed)
    for one in every:
        for step in one.chain.steps:
            if step.signed:
                where = f"{one.ref} commit {step.commit.oid[:12]}"
                yield from _judge(where, said.get(step.commit.oid, ""))
        if unsigned is not None:
            yield from _check_unsigned(one, unsigned)


def _check_unsigned(one: Signed, level: Level) -> Iterator[Finding]:
    bare = [step.commit.oid for step in one.chain.steps if not step.signed]
    if bare:
        what = (
            f"{len(bare)} of {len(one.chain.steps)} commits aren't signed, such as {bare[0][:12]}"
        )
        yield (error if level == "error" else warning)(one.ref, what)


def _judge(where: str, word: str) -> Iterator[Finding]:
    """What git's letter for a signature means."""
    if word == "B":
        yield error(where, "its signature is bad: it was changed, or never signed so")
    elif word == "R":
        yield error(where, "its signature was made with a key that has been revoked")
    elif word == "X":
        yield warning(where, "its signature has expired")
    elif word == "Y":
        yield warning(where, "its signature was made with a key that has expired")
    elif word == "U":
        yield warning(where, "its signature is by a key that isn't trusted here", _KNOW)
    elif word != "G":
        yield warning(where, "its signature can't be checked here", _KNOW)


def _ask(repo: Plumbing, commits: Iterable[Oid]) -> dict[str, str]:
    """Git's letter for the signature of each commit."""
    asked = "".join(f"{oid}\n" for oid in commits).encode()
    if not asked:
        return {}
    # `rev-list` would do, but it doesn't read the user's settings of keys.
    options = ["--no-walk=unsorted", "--no-patch", "--no-show-signature", "--stdin"]
    try:
        out = repo.git("log", *options, "--format=%H %G?", stdin=asked).decode("ascii", "replace")
    except GitFailed:
        return {}
    pairs = (line.partition(" ") for line in out.splitlines())
    return {oid: word.strip() for oid, _, word in pairs}
