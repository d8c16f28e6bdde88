"""A small repository with one session, and the means to damage what it holds, with git alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gitsession.actions.verify import verify
from gitsession.audit.finding import Finding
from tests.scratch import Scratch
from tests.sync.clones import Clone

REF = "refs/sessions/s1"
INDEX = "refs/notes/sessions"


class Ground:
    """A repository whose session `s1` has three captures, the first and the last of commits."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch
        self.git = scratch.git
        self.clone = Clone(scratch)
        self.first = scratch.head()
        self.clone.capture("s1", '{"said":"one"}', commit=self.first)
        self.clone.capture("s1", '{"said":"two"}')
        self.second = scratch.commit("second", {"a": "b"})
        self.clone.capture("s1", '{"said":"three"}', commit=self.second)
        assert self.findings() == []

    def blob(self, data: bytes) -> str:
        """Store some bytes."""
        path = self.scratch.path.parent / "blob"
        path.write_bytes(data)
        return self.git("hash-object", "-w", "--no-filters", str(path))

    def files(self, ref: str = REF) -> dict[str, tuple[str, str]]:
        """The mode and the object of each file."""
        found = {}
        for line in self.git("ls-tree", "-r", "--full-tree", ref).splitlines():
            head, _, path = line.partition("\t")
            mode, _, oid = head.split()
            found[path] = (mode, oid)
        return found

    def write(
        self, files: Mapping[str, tuple[str, str]], *, ref: str = REF, parent: str = ""
    ) -> None:
        """Lead a ref to a commit that holds these files and nothing else."""
        who = "Dev <dev@example.com> 1 +0000"
        lines = [f"commit {ref}", f"author {who}", f"committer {who}", "data 1", "x"]
        lines += [f"from {parent}"] if parent else []
        lines += ["deleteall", *(f"M {mode} {oid} {path}" for path, (mode, oid) in files.items())]
        self.git("fast-import", "--quiet", "--force", stdin="\n".join([*lines, "", ""]))

    def put(
        self, path: str, data: bytes | None, *, mode: str = "100644", ref: str = REF, on: str = ""
    ) -> None:
        """Put a file into a tree, or take one out; in the tip's place, or on top of a commit."""
        files = self.files(ref)
        if data is None:
            del files[path]
        else:
            files[path] = (mode, self.blob(data))
        parent = on or self.git("rev-parse", "--verify", "-q", f"{ref}^", check=False)
        self.write(files, ref=ref, parent=parent)

    def read(self, path: str, ref: str = REF) -> str:
        """The text of a file."""
        return self.git("cat-file", "blob", f"{ref}:{path}")

    def edit(self, path: str, change: Callable[[dict[str, Any]], Any], *, ref: str = REF) -> None:
        """Change the only record in a file."""
        fields = json.loads(self.read(path, ref))
        change(fields)
        said = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        self.put(path, said.encode() + b"\n", ref=ref)

    def note(self, commit: str) -> str:
        """Where the note of a commit is."""
        return f"{commit[:2]}/{commit[2:]}"

    def findings(self, *names: str, signed: bool = False) -> list[Finding]:
        """What an audit finds: of all, or of what is named."""
        return [*verify(self.scratch.path, names, everything=not names, signed=signed).findings]

    def said(self, *names: str) -> list[str]:
        """The same in one line each."""
        return [f"{x.level}: {x.where}: {x.what}" for x in self.findings(*names)]
