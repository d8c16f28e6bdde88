"""`init` and `deinit`: git's hooks and the agent's settings, put in and taken out again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from gitsession import agents, config
from gitsession.actions import agenthooks, following, githooks, site
from gitsession.actions.originals import Originals, read_file
from gitsession.actions.site import Site, get_config
from gitsession.errors import Unreadable
from gitsession.git import refs
from gitsession.git.run import run
from gitsession.model import Frozen
from gitsession.store import folder, spool
from gitsession.sync.answers import hide_password
from gitsession.sync.remote import find_remote

FORMAT = "1"
INSTALLED = "session.installed"
AUTO_PUSH = "session.autoPush"
AGAIN = "git session init"


class Report(Frozen, frozen=True, kw_only=True):
    """What was done, in short sentences, and what follows from it."""

    done: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Problem(Frozen, frozen=True, kw_only=True):
    """Something that isn't as it should be, and the command that mends it."""

    what: str
    mend: str = ""
    level: Literal["warning", "error"] = "error"


def install(repo_path: Path, *, shared: bool, agent: str, push: bool) -> Report:
    """Keep the sessions of this repository from now on; a second time changes nothing."""
    here = site.find(repo_path)
    entries = agents.get(agent).HOOKS
    settings = _settings(here, agent, shared=shared)
    # The agent's settings are the only part that may be refused, so they are planned first.
    text = _read_text(settings) if settings else ""
    planned = agenthooks.add(text, entries, agent) if settings else ""
    originals = Originals(here.ours)
    done = githooks.install(here, originals, githooks.executable())
    folder.make(folder.spool(here.common))
    notes = []
    if settings is None:
        notes.append("a bare repository has no settings for the agent: run init in a work tree")
    elif planned != text:
        originals.write(settings, os.fsencode(planned))
        done.append(f"told {agents.get(agent).TITLE} of our hooks in {settings}")
    if settings and not shared:
        done += _ignore(here, originals, settings, notes)
    originals.update(agents=tuple(sorted({*originals.state.agents, agent})))
    done += _configure(here, originals, push=push)
    done += following.follow(here, originals)
    return Report(done=tuple(done), notes=(*notes, *_sends(here)))


def deinit(repo_path: Path) -> Report:
    """Give back every file as it was; what has been captured stays."""
    here = site.find(repo_path)
    originals = Originals(here.ours)
    without = dict(_without_us(here, originals))
    done = githooks.remove(here, originals)
    for path, text in without.items():
        done.append(f"took our hooks out of {path}")
        if not originals.give_back(path):
            originals.write(path, os.fsencode(text))
    done += _unignore(here, originals) + _unset(here, originals)
    originals.remove_folders()
    originals.path.unlink(missing_ok=True)
    if here.ours.is_dir() and not any(here.ours.iterdir()):
        here.ours.rmdir()
    waiting = len(spool.read(folder.spool(here.common)))
    shutil.rmtree(folder.home(here.common), ignore_errors=True)
    if not done:
        return Report(notes=("there was nothing to take out",))
    lost = [f"{waiting} events had not been captured and were dropped"] if waiting else []
    return Report(done=tuple(done), notes=(*lost, _what_stays(here)))


def check(repo_path: Path) -> list[Problem]:
    """What keeps an installed repository from being captured."""
    here = site.find(repo_path)
    if get_config(here, INSTALLED, "--local") is None:
        return [Problem(what="git session is not set up in this repository", mend=AGAIN)]
    originals = Originals(here.ours)
    found = [Problem(what=what, mend=AGAIN) for what in githooks.problems(here, originals)]
    for agent in originals.state.agents or tuple(agenthooks.FILES):
        found += _check_settings(here, agent)
    return found


def mend(repo_path: Path) -> list[str]:
    """Put back our hooks where another tool replaced or removed them, if init was ever run."""
    here = site.find(repo_path)
    if get_config(here, INSTALLED, "--local") is None:
        return []
    originals = Originals(here.ours)
    done = githooks.install(here, originals, githooks.find_program(here))
    return done + following.follow(here, originals)


# -- the agent's settings -----------------------------------------------------------------


def _settings(here: Site, agent: str, *, shared: bool) -> Path | None:
    """The file for our entries; the user's own one in the main work tree serves all of them."""
    top = here.top if shared else here.main or here.top
    return top / agenthooks.file_name(agent, shared=shared) if top else None


def _read_text(path: Path) -> str:
    return os.fsdecode(read_file(path) or b"")


def _without_us(here: Site, originals: Originals) -> Iterator[tuple[Path, str]]:
    """Every settings file that our entries may be in, and what it is without them."""
    tops = dict.fromkeys(top for top in (here.main, here.top) if top)
    names = [name for pair in agenthooks.FILES.values() for name in pair]
    known = {Path(os.path.realpath(top / name)): top / name for top in tops for name in names}
    others = {path: path for path in originals.paths() if path.suffix == ".json"}
    for path in {**others, **known}.values():
        text = _read_text(path)
        if agenthooks.MARK in text and (without := agenthooks.take_out(text)) != text:
            yield path, without


def _check_settings(here: Site, agent: str) -> list[Problem]:
    """Whether one of the agent's files tells it of all our hooks."""
    adapter = agents.get(agent)
    lacking: list[list[str]] = []
    for shared in (False, True):
        path = _settings(here, agent, shared=shared)
        if path is None:
            return []
        try:
            text = _read_text(path) or "{}"
            lacking.append(agenthooks.missing(text, adapter.HOOKS, agent))
        except Unreadable as error:
            return [Problem(what=f"{path}: {error.message}", mend=error.hint or "")]
    least = min(lacking, key=len)
    if not least:
        return []
    return [
        Problem(what=f"{adapter.TITLE} is not told of our hook for {', '.join(least)}", mend=AGAIN)
    ]


def _ignore(here: Site, originals: Originals, settings: Path, notes: list[str]) -> list[str]:
    """Keep the user's own settings out of git, as the agent itself does where it makes them."""
    top = here.main or here.top or here.where
    name = settings.relative_to(top).as_posix()
    if settings.parent.is_symlink() or run(["check-ignore", "--", name], cwd=top, check=False):
        return []
    if run(["ls-files", "--", name], cwd=top):
        notes.append(
            f"{name} is tracked by git: our hooks in it are yours alone, don't commit them"
        )
        return []
    line, old = "/" + name, read_file(here.exclude) or b""
    gap = b"\n" if old and not old.endswith(b"\n") else b""
    originals.write(here.exclude, old + gap + os.fsencode(line) + b"\n")
    originals.update(excluded=(*originals.state.excluded, line))
    return [f"added {name} to {here.exclude}"]


def _unignore(here: Site, originals: Originals) -> list[str]:
    lines = {os.fsencode(line) + b"\n" for line in originals.state.excluded}
    old = read_file(here.exclude)
    if not lines or old is None:
        return []
    if not originals.give_back(here.exclude):
        kept = [line for line in old.splitlines(keepends=True) if line not in lines]
        originals.write(here.exclude, b"".join(kept))
    return [f"took our line out of {here.exclude}"]


# -- git's configuration ------------------------------------------------------------------


def _configure(here: Site, originals: Originals, *, push: bool) -> list[str]:
    """Note that init was run, and the user's choice about pushing."""
    done = []
    if get_config(here, INSTALLED, "--local") != FORMAT:
        _set(here, originals, INSTALLED, FORMAT)
    if not push and get_config(here, AUTO_PUSH, "--local", "--type=bool") != "false":
        _set(here, originals, AUTO_PUSH, "false")
        originals.update(kept_local=True)
        done.append(f"set {AUTO_PUSH} to false")
    elif push and originals.state.kept_local:
        _set(here, originals, AUTO_PUSH, None)
        originals.update(kept_local=False)
        done.append(f"unset {AUTO_PUSH}")
    return done


def _unset(here: Site, originals: Originals) -> list[str]:
    """Give back the configuration, or take out what is ours in it."""
    if get_config(here, INSTALLED, "--local") is None:
        return []
    if not originals.give_back(here.config):
        _set(here, originals, INSTALLED, None)
        following.leave(here, originals)
        if originals.state.kept_local and get_config(here, AUTO_PUSH, "--local") == "false":
            _set(here, originals, AUTO_PUSH, None)
    return [f"took our settings out of {here.config}"]


def _set(here: Site, originals: Originals, name: str, value: str | None) -> None:
    change = ["--unset", name] if value is None else [name, value]
    with originals.editing(here.config):
        run(["config", "--local", *change], cwd=here.where)


# -- what follows -------------------------------------------------------------------------


def _sends(here: Site) -> Iterator[str]:
    """Say what will be sent where, before anything is."""
    settings = config.load(here.where)
    if not settings.enabled:
        yield "session.enabled is false (or GIT_SESSION_DISABLE is set): nothing is captured"
    yield from following.warnings(settings)
    if not settings.auto_push:
        yield f"nothing is sent anywhere: {AUTO_PUSH} is false"
        return
    remote = find_remote(settings)
    if remote is None and settings.remotes:
        yield (
            "nothing is sent: `git config session.remote NAME` says which remote gets the sessions"
        )
        return
    if remote is None:
        yield "there is no remote: captures stay in this repository until there is one"
        return
    url = run(["remote", "get-url", "--", remote.name], cwd=here.where, check=False)
    place = hide_password(site.text(url) or remote.name)
    yield (
        f"`git push` will send the captures, redacted, and their index to {remote.name} ({place}): "
        f"whoever can read it can read them; 'git config {AUTO_PUSH} false' keeps them here"
    )


def _what_stays(here: Site) -> str:
    kept = run(["for-each-ref", "--count=1", refs.SESSIONS, refs.INDEX], cwd=here.where)
    if not kept:
        return "there were no captures"
    return (
        f"the captures stay, in {refs.SESSIONS}* and {refs.INDEX}: delete those refs to drop them"
    )
