"""The git executable as a repository: one `cat-file --batch`, one `fast-import` a write.

Git itself knows every object format, ref storage, partial clone and setting of
the user, and starting it costs less than importing a library that doesn't.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from gitsession.errors import GitFailed, Moved, NotFound, SessionError
from gitsession.git import signing
from gitsession.git.parse import parse_commit, parse_tree
from gitsession.git.repository import Commit, Draft, Entry, Swap, Update
from gitsession.git.run import clean_environment, failure, run
from gitsession.git.stream import commit_stream, draft_of, draft_stream
from gitsession.ids import Oid
from gitsession.model import Author

_AT_ONCE = 64
_MAX_NAME = 500

_MOVED = re.compile(
    rb"not updating|cannot lock ref .*(?:but expected|already exists|file exists)", re.IGNORECASE
)
"""What git says when somebody moved a ref, or is just moving it."""
_LOCKED = "cannot lock ref"


def discover(path: Path, *, git_dir: Path | None = None) -> Plumbing:
    """The repository that a folder belongs to; raises when it belongs to none."""
    where = [] if git_dir is None else [f"--git-dir={git_dir}"]
    ask = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir",
           "--is-inside-work-tree"]  # fmt: skip
    # Outside a work tree git answers all but the last question, and fails.
    out = run([*where, *ask, "--show-toplevel"], cwd=path, check=False)
    lines = out.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n", 3)
    if len(lines) < 3:
        raise _say_why(path, [*where, *ask])
    top = Path(lines[3]) if git_dir is None and lines[2] == "true" and len(lines) == 4 else None
    return Plumbing(Path(lines[0]), Path(lines[1]), top)


def _say_why(path: Path, ask: Sequence[str]) -> SessionError:
    """Why a folder's repository can't be asked."""
    try:
        run(ask, cwd=path)
    except GitFailed as error:
        if "not a git repository" not in error.message:
            return error
    return SessionError(
        f"not a git repository: {path}", hint="go to a repository, or make one with `git init`"
    )


class Plumbing:
    """A repository through the git executable."""

    def __init__(self, git_dir: Path, common_dir: Path, work_tree: Path | None = None) -> None:
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.work_tree = work_tree
        self.sign = False
        """Whether the user signs commits, so that ours are to be signed as well."""
        self.more: dict[str, str] = {}
        """What git's environment has besides: in a server's hook, where the pushed objects wait."""
        self._reader: subprocess.Popen[bytes] | None = None
        self._zero: Oid | None = None

    def __enter__(self) -> Plumbing:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    def git(self, *args: str, stdin: bytes | None = None, ok: Sequence[int] = (0,)) -> bytes:
        """Run a git command on this repository."""
        where = [*self._where(), *args]
        return run(where, stdin=stdin, ok=ok, cwd=self.work_tree, more=self.more)

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """Start a git command whose output is read as it comes."""
        return subprocess.Popen(
            ["git", *self._where(), *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**clean_environment(), **self.more}, cwd=self.work_tree,
        )  # fmt: skip

    def close(self) -> None:
        """End the reader."""
        if self._reader is not None:
            with suppress(BrokenPipeError):
                cast(IO[bytes], self._reader.stdin).close()
            cast(IO[bytes], self._reader.stdout).close()
            self._reader.wait()
            self._reader = None

    def _where(self) -> list[str]:
        where = [f"--git-dir={self.git_dir}"]
        return where if self.work_tree is None else [*where, f"--work-tree={self.work_tree}"]

    # -- reading -------------------------------------------------------------------

    def _ask(self, name: str) -> tuple[Oid, str, bytes] | None:
        if "\n" in name or not name:
            return None
        self._send([name])
        return self._receive(name)

    def _send(self, names: Sequence[str]) -> None:
        """Ask for objects; few enough that the questions fit into a pipe nobody reads yet."""
        if self._reader is None:
            self._reader = subprocess.Popen(
                ["git", *self._where(), "cat-file", "--batch"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**clean_environment(), **self.more},
            )  # fmt: skip
        stdin = cast(IO[bytes], self._reader.stdin)
        # One that has died says so when its answer is read.
        with suppress(BrokenPipeError):
            stdin.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
            stdin.flush()

    def _receive(self, name: str) -> tuple[Oid, str, bytes] | None:
        """The next answer."""
        assert self._reader is not None
        stdout = cast(IO[bytes], self._reader.stdout)
        head = stdout.readline()
        if not head:
            return self._ask_again(name)
        words = head.rsplit(b" ", 2)
        if len(words) != 3 or not words[2].strip().isdigit() or b" " in words[0]:
            return None
        data = stdout.read(int(words[2]))
        stdout.read(1)
        return Oid(words[0].decode()), words[1].decode(), data

    def _ask_again(self, name: str) -> tuple[Oid, str, bytes] | None:
        """Tell a name that git gives up on (`@{9}` of a short reflog) from a reader that died."""
        self.close()
        verify = ["rev-parse", "--quiet", "--verify", "--end-of-options", name]
        if self.git(*verify, ok=(0, 1, 128)).strip():
            raise GitFailed("git cat-file ended unexpectedly")
        return None

    def resolve(self, name: str) -> Oid | None:
        """The object that a name stands for, or None."""
        found = self._ask(name)
        return found[0] if found else None

    def read(self, name: str) -> bytes | None:
        """The content of an object; None when it isn't there."""
        found = self._ask(name)
        return found[2] if found else None

    def read_many(self, names: Iterable[str]) -> Iterator[bytes | None]:
        """The contents of many objects, in order: asked for, and held, some at a time."""
        rest = iter(names)
        while asked := list(islice(rest, _AT_ONCE)):
            plain = [n for n in asked if n and "\n" not in n and len(n) < _MAX_NAME]
            self._send(plain)
            found = {}
            for name in plain:
                # After an answer that ended the reader the others are asked for one by one.
                ask = self._ask if self._reader is None else self._receive
                found[name] = ask(name)
            for name in asked:
                answer = found[name] if name in found else self._ask(name)
                yield answer[2] if answer else None

    def get_commit(self, name: str) -> Commit:
        """A commit; raises NotFound."""
        found = self._ask(name + "^{commit}")
        if found is None:
            raise NotFound("commit", name)
        return parse_commit(found[0], found[2])

    def tree(self, name: str) -> list[Entry]:
        """The entries of one tree; empty when it isn't there."""
        found = self._ask(name if ":" in name else name + "^{tree}")
        if found is None or found[1] != "tree":
            return []
        return list(parse_tree(found[2], len(found[0]) // 2))

    def sizes(self, names: Sequence[str]) -> dict[str, int]:
        """The sizes of those objects that are here: known without reading them."""
        if not names:
            return {}
        asked = "".join(f"{name}\n" for name in names).encode()
        out = self.git("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=asked)
        found = (line.split(" ") for line in out.decode().splitlines())
        return {oid: int(size) for oid, size in found if size.isdigit()}

    def refs(self, prefix: str) -> dict[str, Oid]:
        """All refs under a prefix."""
        out = self.git("for-each-ref", "--format=%(objectname) %(refname)", prefix)
        pairs = (line.split(" ", 1) for line in out.decode("utf-8", "replace").splitlines())
        return {name: Oid(oid) for oid, name in pairs}

    # -- writing -------------------------------------------------------------------

    def apply(self, updates: Sequence[Update], author: Author) -> list[Oid]:
        """Write the new commits with one `fast-import`, which moves a ref only forward.

        A ref that somebody else moved is not a fast-forward from what we saw, so
        git refuses it under its own lock: that is the compare-and-swap. What isn't
        told so (a ref that is gone, or was set back) is looked at just before.
        """
        if any(self.resolve(update.ref) != update.old for update in updates):
            raise Moved("a session ref was moved by somebody else meanwhile")
        if self.sign:
            made = self.write([draft_of(update) for update in updates], author)
            pairs = zip(updates, made, strict=True)
            self.swap([Swap(ref=u.ref, old=u.old, new=new) for u, new in pairs])
            return made
        pieces = (
            piece
            for mark, update in enumerate(updates, 1)
            for piece in commit_stream(update.ref, draft_of(update), author, mark)
        )
        return self.fast_import(pieces, len(updates))

    def write(self, drafts: Sequence[Draft], author: Author) -> list[Oid]:
        """Write commits that no ref leads to, signed where the user signs."""
        made = self.fast_import(draft_stream(drafts, author, self.zero()), len(drafts))
        if not self.sign:
            return made
        pairs = zip(drafts, made, strict=True)
        return [signing.sign(self, draft, oid, author) or oid for draft, oid in pairs]

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Move refs in one transaction; raises Moved."""
        zero = self.zero()
        lines = "".join(f"update {s.ref} {s.new or zero} {s.old or zero}\n" for s in swaps)
        if not lines:
            return
        try:
            self.git(
                "update-ref", "--no-deref", "--stdin", stdin=f"start\n{lines}commit\n".encode()
            )
        except GitFailed as error:
            if _LOCKED in error.message:
                raise Moved("a session ref was moved by somebody else meanwhile") from None
            raise

    def zero(self) -> Oid:
        """The name of no object: as many zeros as this repository's names have digits."""
        if self._zero is None:
            form = self.git("rev-parse", "--show-object-format").strip()
            self._zero = Oid("0" * (64 if form == b"sha256" else 40))
        return self._zero

    def fast_import(self, pieces: Iterable[bytes], count: int) -> list[Oid]:
        """Feed one `fast-import` the commits of marks 1 to `count`; gives back their names."""
        # Past the threshold git passes a blob on piece by piece, and holds none of it.
        args = ["-c", "pack.compression=1", "-c", "core.bigFileThreshold=16m", "fast-import",
                "--quiet", "--done", "--date-format=raw"]  # fmt: skip
        process = subprocess.Popen(
            ["git", *self._where(), *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**clean_environment(), **self.more},
        )  # fmt: skip
        stream = cast(IO[bytes], process.stdin)
        with suppress(BrokenPipeError):
            for piece in pieces:
                stream.write(piece)
            for mark in range(1, count + 1):
                stream.write(b"get-mark :%d\n" % mark)
            stream.write(b"done\n")
        out, err = process.communicate()
        if _MOVED.search(err):
            raise Moved("a session ref was moved by somebody else meanwhile")
        if process.returncode:
            raise failure(["fast-import"], err)
        return [Oid(line) for line in out.decode().split()]
