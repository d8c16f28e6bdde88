"""Session commits are signed where the user signs commits, and never at the price of a capture."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitsession.errors import Moved
from gitsession.git.plumbing import Plumbing
from gitsession.git.repository import Put, Update
from gitsession.ids import Oid
from gitsession.model import Author
from tests.scratch import Scratch

DEV = Author(name="Dev", email="dev@example.com")
REF = "refs/sessions/s"

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="signs with an ssh key")


@pytest.fixture(params=["sha1", "sha256"])
def repo(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Plumbing]:
    """A repository whose user signs with an ssh key."""
    scratch = Scratch.create(tmp_path / "repo", object_format=request.param)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    allowed = tmp_path / "allowed"
    allowed.write_text(f"dev@example.com {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "gpg.ssh.allowedSignersFile": str(allowed),
    }.items():
        scratch.git("config", name, value)
    with Plumbing(scratch.path / ".git", scratch.path / ".git", scratch.path) as made:
        made.sign = True
        yield made


def update(old: Oid | None, text: bytes) -> Update:
    return Update(ref=REF, old=old, message="why\n", puts=(Put(path="a/b", data=text),))


def test_commits_are_signed_and_hold_what_they_should(repo: Plumbing) -> None:
    [first] = repo.apply([update(None, b"one")], DEV)
    [second] = repo.apply([update(first, b"two")], DEV)

    assert repo.resolve(REF) == second
    assert repo.read(f"{REF}:a/b") == b"two"
    assert repo.get_commit(REF).parents == (first,)
    assert repo.get_commit(REF).author.email == "dev@example.com"
    repo.git("verify-commit", first, second)
    assert repo.git("for-each-ref", "refs/gitsession").strip() == b""
    repo.git("fsck", "--strict")


def test_a_ref_that_moved_is_told(repo: Plumbing) -> None:
    [first] = repo.apply([update(None, b"one")], DEV)
    repo.apply([update(first, b"two")], DEV)
    with pytest.raises(Moved):
        repo.apply([update(first, b"three")], DEV)
    assert repo.read(f"{REF}:a/b") == b"two"


def test_a_key_that_is_gone_costs_the_signature_and_not_the_capture(repo: Plumbing) -> None:
    repo.git("config", "user.signingKey", "/nowhere/key")
    [first] = repo.apply([update(None, b"one")], DEV)
    assert repo.resolve(REF) == first
    assert repo.read(f"{REF}:a/b") == b"one"
