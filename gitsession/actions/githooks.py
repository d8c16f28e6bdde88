"""Git's own hooks: where they go, how those of others go on working, and their removal.

docs/adr/0002-where-hooks-go.md has the reasons. In short: in the repository's own
folder we take the place of a hook and run it afterwards; from any other folder
(a tracked one, husky's, a global one) core.hooksPath is led to a folder of ours,
whose hooks go on to the ones that would have run.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitsession.actions import hookfile
from gitsession.actions.hookfile import BEFORE, LEGACY
from gitsession.actions.originals import Originals, read_file
from gitsession.actions.site import Site, ask, get_config
from gitsession.git.run import run

HOOKS = ("post-commit", "post-merge", "post-rewrite", "pre-push")
PARTS = ("spool.sh", "event.sh", "moment.sh", "wait.sh", "agent")
KEY = "core.hooksPath"

_TELL = "tell.sh"
_STARTING = (_TELL, "send.sh")
"""The parts that start our program."""
_FORWARDED = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
    "prepare-commit-msg", "commit-msg", "pre-rebase", "post-checkout", "pre-auto-gc",
    "sendemail-validate",
)  # fmt: skip
"""Hooks that may appear in the folder later; forwarding them costs or changes nothing."""
_IF_THERE = (
    "pre-receive", "update", "proc-receive", "post-receive", "post-update", "push-to-checkout",
    "reference-transaction", "post-index-change", "fsmonitor-watchman", "p4-changelist",
    "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit",
)  # fmt: skip
"""Hooks that run often, or whose mere presence changes what git does."""
_ALL = (*HOOKS, *_FORWARDED, *_IF_THERE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folder where our hooks belong."""

    folder: Path
    previous: str | None = None
    """Where git looked before, when it has to be led to `folder`."""
    owner: str | None = None
    """The repository's own core.hooksPath, for `deinit`."""


def find_place(site: Site, originals: Originals) -> Place:
    """Decide where the hooks go, now that git looks where it looks."""
    looked = Path(ask(site.where, "rev-parse", "--path-format=absolute", "--git-path", "hooks"))
    if _same(looked, site.ours):
        owner = originals.state.hooks_path
        previous = owner or _inherited(site) or str(site.common / "hooks")
        return Place(folder=site.ours, previous=str(Path(previous).expanduser()), owner=owner)
    if _same(looked.resolve().parent, site.common):
        return Place(folder=looked)
    owner = get_config(site, KEY, "--local")
    previous = get_config(site, KEY, "--type=path") or str(site.common / "hooks")
    return Place(folder=site.ours, previous=previous, owner=owner)


def install(site: Site, originals: Originals, program: str | None) -> list[str]:
    """Put our hooks in their place; a second time changes nothing."""
    place = find_place(site, originals)
    done = _write_parts(site, program)
    if place.previous is None:
        originals.make(place.folder)
        return done + [said for name in HOOKS for said in hookfile.take_place(place.folder / name)]
    for path in (site.ours / name for name in _ALL):
        # A tool that asks git where hooks go has written to our folder.
        if os.path.lexists(path) and not hookfile.is_ours(path):
            done += hookfile.keep(path)
    fresh = [n for n, data in _forwarders(site, place) if hookfile.write(site.ours / n, data)]
    if fresh:
        done.append(f"wrote {len(fresh)} hooks that go on to those in {place.previous}")
    if not _leads_to_us(site):
        originals.update(hooks_path=place.owner)
        with originals.editing(site.config):
            run(["config", "--local", KEY, str(site.ours)], cwd=site.where)
        done.append(f"led {KEY} to {site.ours}, since {place.previous} is not ours to write to")
    return done


def remove(site: Site, originals: Originals) -> list[str]:
    """Take our hooks out of every place they can be in, and put back the ones before."""
    done = []
    if _leads_to_us(site, "--local"):
        owner = originals.state.hooks_path
        change = ["--unset", KEY] if owner is None else [KEY, owner]
        with originals.editing(site.config):
            run(["config", "--local", *change], cwd=site.where)
        done.append(f"led {KEY} back to {owner}" if owner else f"unset {KEY}")
    for folder in dict.fromkeys((site.common / "hooks", find_place(site, originals).folder)):
        if folder != site.ours:
            done += [f"took out {n}" for n in HOOKS if hookfile.leave_place(folder / n)]
    for path in (site.ours / name for name in (*_ALL, *PARTS, *_STARTING)):
        if path.name not in _ALL or hookfile.is_ours(path):
            path.unlink(missing_ok=True)
    others = sorted(path.name for path in site.ours.glob(f"*{BEFORE}*"))
    return done + [f"left {name}, another tool's, in {site.ours}" for name in others]


def problems(site: Site, originals: Originals) -> Iterator[str]:
    """What keeps our hooks from running as they should."""
    program = find_program(site)
    for name, data in _parts(program):
        if not hookfile.is_written(site.ours / name, data):
            yield f"{site.ours / name} is missing or not of this version"
    place = find_place(site, originals)
    if place.previous is not None and not _leads_to_us(site):
        yield f"{KEY} leads to {place.previous}, past our hooks"
        return
    expected = {n: hookfile.shipped(n) for n in HOOKS}
    for name, data in (dict(_forwarders(site, place)) if place.previous else expected).items():
        path = place.folder / name
        if hookfile.is_written(path, data):
            continue
        if place.previous is None and hookfile.is_written(hookfile.beside(path, LEGACY), data):
            continue
        if not path.exists():
            yield f"the hook {name} is missing in {place.folder}"
        elif not hookfile.is_ours(path):
            yield f"the hook {name} was replaced by another tool"
        elif not os.access(path, os.X_OK):
            yield f"the hook {name} is not executable"
        else:
            yield f"the hook {name} is not of this version"


def find_program(site: Site) -> str | None:
    """The `git-session` that the hooks start, or shall start."""
    return hookfile.find_program(read_file(site.ours / _TELL)) or executable()


def executable() -> str | None:
    """The `git-session` that a shell would start here, as an absolute path."""
    beside = Path(sys.executable).parent / "git-session"
    found = shutil.which("git-session") or (str(beside) if os.access(beside, os.X_OK) else None)
    return str(Path(found).absolute()) if found else None


def _parts(program: str | None) -> Iterator[tuple[str, bytes]]:
    for name in _STARTING:
        yield name, hookfile.starting(name, program)
    for name in PARTS:
        yield name, hookfile.shipped(name)


def _write_parts(site: Site, program: str | None) -> list[str]:
    """Write what the hooks have in common, and the agent's shim."""
    site.ours.mkdir(exist_ok=True)
    fresh = [n for n, data in _parts(program) if hookfile.write(site.ours / n, data)]
    return [f"wrote {', '.join(fresh)} to {site.ours}"] if fresh else []


def _forwarders(site: Site, place: Place) -> Iterator[tuple[str, bytes]]:
    """The hooks of a folder that core.hooksPath leads to."""
    previous = place.previous or ""
    for name in _ALL:
        kept = os.path.lexists(site.ours / (name + BEFORE))
        if kept or name not in _IF_THERE or (site.where / previous / name).exists():
            onward = None if kept else previous
            yield name, hookfile.forwarder(name, onward, plain=name not in HOOKS)


def _leads_to_us(site: Site, *flags: str) -> bool:
    found = get_config(site, KEY, "--type=path", *flags)
    return found is not None and _same(Path(found), site.ours)


def _inherited(site: Site) -> str | None:
    """What core.hooksPath would be without the repository's own."""
    return get_config(site, KEY, "--global") or get_config(site, KEY, "--system")


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
