"""Signatures that hold, that don't, and that nobody here can judge."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gitsession.audit.finding import Finding
from tests.audit.ground import REF, Ground

pytestmark = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="signs with an ssh key")


def make_key(folder: Path, name: str) -> Path:
    """A key to sign with."""
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    return key


@pytest.fixture
def signed(ground: Ground, tmp_path: Path) -> Ground:
    """The same, with a fourth capture that is signed."""
    key = make_key(tmp_path, "key")
    allowed = tmp_path / "allowed"
    allowed.write_text(f"dev@example.com {key.with_suffix('.pub').read_text()}")
    for name, value in {
        "gpg.format": "ssh",
        "user.signingKey": str(key),
        "gpg.ssh.allowedSignersFile": str(allowed),
    }.items():
        ground.git("config", name, value)
    tree = ground.git("rev-parse", f"{REF}^{{tree}}")
    made = ground.git("commit-tree", "-S", "-m", "signed", "-p", REF, tree)
    ground.git("update-ref", REF, made)
    return ground


def about(findings: list[Finding]) -> list[tuple[str, str]]:
    """The level of each, and what it says."""
    return [(x.level, x.what) for x in findings]


def test_a_good_one(signed: Ground) -> None:
    assert signed.findings() == []


def test_a_bad_one(signed: Ground) -> None:
    text = signed.git("cat-file", "commit", REF).replace("\n\nsigned", "\n\nSIGNED")
    made = signed.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{text}\n")
    signed.git("update-ref", REF, made)
    (found,) = signed.findings("s1")
    assert (found.level, found.where) == ("error", f"{REF} commit {made[:12]}")
    assert found.what.startswith("its signature is bad")


def test_one_by_a_key_that_is_not_known(signed: Ground, tmp_path: Path) -> None:
    other = make_key(tmp_path, "other").with_suffix(".pub").read_text()
    (tmp_path / "allowed").write_text(f"dev@example.com {other}")
    assert about(signed.findings()) == [
        ("warning", "its signature is by a key that isn't trusted here")
    ]


def test_one_that_cannot_be_checked(signed: Ground) -> None:
    signed.git("config", "--unset", "gpg.ssh.allowedSignersFile")
    (found,) = signed.findings()
    assert (found.level, found.what) == ("warning", "its signature can't be checked here")
    assert "allowedSignersFile" in found.hint


def test_none_at_all(signed: Ground) -> None:
    first = signed.git("rev-parse", f"{REF}^")[:12]
    what = f"3 of 4 commits aren't signed, such as {first}"
    assert about(signed.findings(signed=True)) == [("error", what)]
    signed.git("config", "commit.gpgSign", "true")
    assert about(signed.findings()) == [("warning", what)]
