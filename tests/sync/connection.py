"""The server's end of a connection that may be cut; git runs this in place of its own service.

`DROP=receive-pack:in:1234` cuts pushes after so many bytes to the server, `out` from
it. The server is another machine: it isn't killed with the client, and goes on
with what had arrived. Standard library alone, for it is started often.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading


def main() -> None:
    """Serve one connection."""
    service, *rest = sys.argv[1:]
    if os.getpid() != os.getpgrp():
        os.setsid()
    wanted, _, limit = os.environ.get("DROP", "").partition(":")
    if wanted != service:
        os.execvp("git", ["git", service, *rest])
    way, _, count = limit.partition(":")
    _relay(["git", service, *rest], way, int(count))


def _relay(command: list[str], way: str, limit: int) -> None:
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    most = 1 << 40
    up = (0, server.stdin.fileno(), limit if way == "in" else most)
    threading.Thread(target=_copy, args=up, daemon=True).start()
    _copy(server.stdout.fileno(), 1, limit if way == "out" else most)
    os._exit(server.wait())


def _copy(source: int, sink: int, limit: int) -> None:
    """Pass bytes on; the whole connection is gone when the limit is reached."""
    while data := os.read(source, min(limit, 1 << 16)):
        limit -= len(data)
        while data:
            data = data[os.write(sink, data) :]
        if not limit:
            os._exit(1)
    os.close(sink)


if __name__ == "__main__":
    main()
