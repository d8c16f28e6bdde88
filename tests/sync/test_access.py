"""Access to the repository is access to its sessions: all of it for members, nothing for others."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitsession.git import refs
from gitsession.store import outbox
from gitsession.sync.exchange import try_push
from gitsession.sync.transport import TransferFailed
from tests.actions.pushes import put_hook
from tests.scratch import Scratch
from tests.sync.clones import Clone, make_origin
from tests.sync.http_server import Backend, serving

MEMBER, PASSWORD = "dev@example.com", "s3cr:t/word"
SECRET = "what only members may read"


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    """The shared repository, with the receive-side check."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "root").mkdir()
    made = make_origin(tmp_path / "root" / "shared.git")
    put_hook(made)
    return made


@pytest.fixture
def backend(origin: Scratch) -> Iterator[Backend]:
    """Its server."""
    with serving(origin.path.parent, MEMBER, PASSWORD) as found:
        yield found


@pytest.fixture
def passwords(tmp_path: Path, backend: Backend) -> Path:
    """The member's passwords, where git's own helper keeps them."""
    path = tmp_path / "passwords"
    path.write_text(backend.store())
    words = ["git", "config", "--global", "credential.helper", f"store --file={path}"]
    subprocess.run(words, check=True)
    return path


def clone(url: str, path: Path) -> Clone:
    """Clone as anybody does."""
    subprocess.run(["git", "clone", "-q", url, str(path)], check=True)
    return Clone(Scratch(path))


def say(backend: Backend, request: bytes) -> bytes:
    """What the server answers, to the last byte."""
    host, _, port = backend.host.partition(":")
    with socket.create_connection((host, int(port))) as line:
        line.sendall(request)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65536), b""))


# -- members ------------------------------------------------------------------------------


def test_a_member_reads_any_session(backend: Backend, passwords: Path, tmp_path: Path) -> None:
    ann = clone(backend.url(), tmp_path / "ann")
    ann.capture("s1", SECRET, commit=ann.scratch.head())
    ann.capture("s2", "another")
    ann.sync()
    bob = clone(backend.url(member=True), tmp_path / "bob")
    passwords.unlink()
    assert bob.fetch() == ()
    assert bob.prompts() == {"s1": [SECRET], "s2": ["another"]}
    backend.given.clear()
    assert bob.fetch("s1") == ()
    assert bob.texts("s1") == [SECRET]
    # Asked for by its name, no other is named.
    assert backend.given
    assert not any(b"refs/sessions/s2" in data for data in backend.given)
    assert "version=2" in backend.requests


def test_large_pushes_and_long_requests_pass(
    backend: Backend, passwords: Path, tmp_path: Path
) -> None:
    ann = clone(backend.url(), tmp_path / "ann")
    ann.git("config", "http.postBuffer", "65536")
    noise = random.Random(3).randbytes(100_000).hex()
    ann.capture("large", noise)
    for number in range(24):
        ann.capture(f"s{number}", f"text {number}")
    ann.sync()
    assert "chunked" in backend.requests
    bob = clone(backend.url(), tmp_path / "bob")
    assert bob.fetch(everything=True) == ()
    assert "gzip" in backend.requests
    assert bob.texts("large") == [noise]
    assert bob.texts("s23") == ["text 23"]


def test_the_server_knows_who_pushes(
    backend: Backend,
    passwords: Path,
    origin: Scratch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    origin.git("config", "session.checkAuthor", "true")
    origin.git("config", "session.pusherVariable", "REMOTE_USER")
    ann = clone(backend.url(), tmp_path / "ann")
    ann.capture("s1", "my own")
    ann.sync()
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "bob@example.com")
    ann.capture("s2", "as if by bob")
    held = ann.push()
    assert len(held) == 2
    assert all("is by bob@example.com, who isn't pushing" in reason for reason in held)
    assert origin.git("for-each-ref", "refs/sessions/s2") == ""


# -- strangers ----------------------------------------------------------------------------


REQUESTS = (
    ("GET", "/shared.git/info/refs?service=git-upload-pack", b""),
    ("GET", "/shared.git/info/refs?service=git-receive-pack", b""),
    ("GET", "/shared.git/info/refs", b""),
    ("GET", "/shared.git/HEAD", b""),
    ("GET", "/shared.git/packed-refs", b""),
    ("GET", "/shared.git/refs/sessions/s1", b""),
    ("GET", "/shared.git/objects/info/packs", b""),
    ("GET", "/shared.git/%2e%2e/shared.git/config", b""),
    ("POST", "/shared.git/git-upload-pack", b"0014command=ls-refs\n0000"),
    ("POST", "/shared.git/git-receive-pack", b"0000"),
)


@pytest.mark.parametrize("who", ["", "Basic ", "Basic ZGV2Ondyb25n", "Bearer x"])
def test_a_stranger_gets_a_denial_and_not_one_byte(
    backend: Backend, passwords: Path, tmp_path: Path, who: str
) -> None:
    ann = clone(backend.url(), tmp_path / "ann")
    ann.capture("s1", SECRET)
    ann.sync()
    backend.given.clear()
    for verb, path, body in REQUESTS:
        head = [f"{verb} {path} HTTP/1.1", f"Host: {backend.host}", "Git-Protocol: version=2",
                "Connection: close", f"Content-Length: {len(body)}"]  # fmt: skip
        head += [f"Authorization: {who}"] if who else []
        answer = say(backend, "\r\n".join([*head, "", ""]).encode() + body)
        assert answer == (
            b'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm="git"\r\n'
            b"Content-Length: 0\r\n\r\n"
        ), path
    assert backend.given == []


def test_a_strangers_git_learns_nothing(backend: Backend, tmp_path: Path, origin: Scratch) -> None:
    origin.git("update-ref", "refs/sessions/hidden", "HEAD")
    for words in (["ls-remote"], ["clone", "-q"]):
        for url in (backend.url(), f"http://eve:guess@{backend.host}/shared.git"):
            done = subprocess.run(
                ["git", *words, url], cwd=tmp_path, capture_output=True, text=True, check=False,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert (done.returncode, done.stdout) == (128, "")
            assert "refs/" not in done.stderr
            assert origin.git("rev-parse", "HEAD") not in done.stderr
    assert backend.given == []


def test_expired_credentials_ask_nobody_and_lose_nothing(
    backend: Backend,
    passwords: Path,
    tmp_path: Path,
    origin: Scratch,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ann = clone(backend.url(), tmp_path / "ann")
    asked = tmp_path / "asked"
    asker = ann.scratch.write("../asker", f'#!/bin/sh\necho "$1" >>"{asked}"\necho guess\n')
    asker.chmod(0o755)
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.setenv(name, str(asker))
    ann.git("config", "core.askPass", str(asker))
    backend.password = "changed"
    ann.capture("s1", SECRET)
    with ann.open() as repo:
        exchange = ann.exchange(repo)
        for attempt in (exchange.fetch, lambda: try_push(exchange)):
            with pytest.raises(TransferFailed) as failed:
                attempt()
            assert "Authentication failed" in failed.value.message
            assert PASSWORD not in failed.value.message
        assert {sent.ref for sent in exchange.unpushed()} == {refs.INDEX, "refs/sessions/s1"}
        assert outbox.attempts(repo.common_dir).failures == 1
        assert outbox.is_marked(repo.common_dir)
    assert not asked.exists()
    assert origin.git("for-each-ref", "refs/sessions/") == ""
    passwords.write_text(backend.store())
    ann.sync()
    assert origin.git("for-each-ref", "--format=%(refname)", "refs/sessions/") == "refs/sessions/s1"


# -- by path ------------------------------------------------------------------------------


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that others can look into, unlike the test's own."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    subprocess.run(["chmod", "-R", "u+rwx", str(path)], check=True)
    shutil.rmtree(path)


def as_stranger(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run git as somebody else, who trusts the owner of the repository but is in no group."""
    home = place / "stranger"
    if not home.exists():
        home.mkdir()
        (home / ".gitconfig").write_text(
            "[safe]\n\tdirectory = *\n[user]\n\tname = Eve\n\temail = eve@example.com\n"
        )
        home.chmod(0o777)
    prefix: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root is denied nothing, and there is no setpriv to be somebody else")
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    return subprocess.run(
        [*prefix, "git", *words], cwd=home, env={**os.environ, "HOME": str(home)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_permissions_keep_a_repository_by_path(place: Path) -> None:
    origin = make_origin(place / "shared.git")
    ann = Clone.of(origin, place / "ann")
    ann.capture("s1", SECRET)
    ann.sync()
    ours = f"+{refs.SESSIONS}*:{refs.SESSIONS}*"
    url = f"file://{origin.path}"
    assert as_stranger(place, "clone", "-q", url, "eve").returncode == 0
    eve = place / "stranger" / "eve"
    done = as_stranger(place, "-C", str(eve), "fetch", "-q", "origin", ours)
    assert (done.returncode, done.stderr) == (0, "")
    read_only = ["chmod", "-R", "a-w", str(origin.path)]
    subprocess.run(read_only, check=True)
    before = origin.git("for-each-ref")
    done = as_stranger(place, "-C", str(eve), "push", "-q", "origin", "HEAD:refs/sessions/s2")
    assert done.returncode != 0
    assert origin.git("for-each-ref") == before
    origin.path.chmod(0o700 if os.geteuid() == 0 else 0)
    for words in (["ls-remote", url], ["-C", str(eve), "fetch", "origin", ours]):
        done = as_stranger(place, *words)
        assert (done.returncode, done.stdout) == (128, "")
        assert "refs/" not in done.stderr
