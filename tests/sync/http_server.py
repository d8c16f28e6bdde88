"""Git over HTTP on loopback: `git http-backend` behind a password, with every byte it gave kept."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote


class Backend(ThreadingHTTPServer):
    """The server; members are those who know the password."""

    daemon_threads = True

    def __init__(self, root: Path, user: str, password: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.user = user
        self.password = password
        self.given: list[bytes] = []
        """The bodies of the answers, as members got them."""
        self.requests: set[str] = set()
        """How the requests came: `chunked`, `gzip`, `version=2`, `denied`."""

    @property
    def host(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.server_address[1]}"

    def url(self, *, member: bool = False) -> str:
        """The address of the shared repository, with the password in it or without."""
        who = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}@" if member else ""
        return f"http://{who}{self.host}/shared.git"

    def store(self) -> str:
        """A line for git's own store of passwords."""
        return self.url(member=True).removesuffix("/shared.git") + "\n"


class _Handler(BaseHTTPRequestHandler):
    server: Backend
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self) -> None:
        body = self._body()
        if not self._is_member():
            self.server.requests.add("denied")
            self.send_response_only(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        head, _, data = self._run(body).partition(b"\r\n\r\n")
        fields = [line.partition(": ") for line in head.decode("latin-1").split("\r\n")]
        named = {name.lower(): value for name, _, value in fields}
        self.server.given.append(data)
        self.send_response_only(int(named.pop("status", "200").split()[0]))
        for name, value in named.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _is_member(self) -> bool:
        known = f"{self.server.user}:{self.server.password}".encode()
        return self.headers.get("Authorization") == "Basic " + base64.b64encode(known).decode()

    def _body(self) -> bytes:
        self.server.requests |= {
            self.headers.get(name, "").lower()
            for name in ("Transfer-Encoding", "Content-Encoding", "Git-Protocol")
        }
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _run(self, body: bytes) -> bytes:
        path, _, query = self.path.partition("?")
        env = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": unquote(path),
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": self.server.user,
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=env, capture_output=True, check=False
        )
        return done.stdout


@contextmanager
def serving(root: Path, user: str, password: str) -> Iterator[Backend]:
    """A server for as long as it is needed."""
    backend = Backend(root, user, password)
    thread = threading.Thread(target=backend.serve_forever, daemon=True)
    thread.start()
    try:
        yield backend
    finally:
        backend.shutdown()
        backend.server_close()
        thread.join()
