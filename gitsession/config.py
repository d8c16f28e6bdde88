"""The user's settings: git config `session.*`, overridden by `GIT_SESSION_*`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from gitsession.errors import Usage
from gitsession.git.run import run
from gitsession.model import Author, Frozen

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Settings(Frozen, frozen=True, kw_only=True):
    """What the user has decided."""

    enabled: bool = True
    auto_push: bool = True
    remote: str = ""
    warn_size: int = 10 << 20
    redact_rules: tuple[str, ...] = ()
    redact_allow: tuple[str, ...] = ()
    redact_file: str = ".gitsession-redact"
    pending_days: int = 30
    """How long what an ended session wrote can still tie it to a commit."""
    archive_days: int = 90
    """How old a session's last capture is when `gc` folds it into an archive."""
    author: Author = Author()
    sign: bool = False
    """The user signs commits (`commit.gpgSign`): ours are signed as well."""
    installed: str = ""
    snapshot: bool = True
    """The work tree is kept at the start and the end of each turn."""
    snapshot_keep: int = 30
    """How many days the snapshots of a session stay after its last one."""
    snapshot_max_file: int = 100 << 20
    """Bytes up to which an untracked file is in a snapshot."""
    push_snapshots: bool = False
    auto_commit: bool = False
    """`start` makes sessions whose turns are committed."""
    worktrees: str = ""
    """The folder for the work trees of forks; beside the repository's own if empty."""
    remotes: tuple[str, ...] = ()
    """The names of the repository's remotes, in the order of its configuration."""
    mirrors: tuple[str, ...] = ()
    """Those whose fetch overwrites every ref here."""
    partial: bool = False
    """Objects may be missing here until git fetches them, which a library can't."""


def load(where: Path, env: Mapping[str, str] | None = None) -> Settings:
    """The settings that hold in a folder."""
    env = os.environ if env is None else env
    out = run(["config", "-z", "--list", "--includes"], cwd=where)
    return parse(out, env)


def parse(listing: bytes, env: Mapping[str, str]) -> Settings:
    """Settings from `git config -z --list` and the environment."""
    values: dict[str, list[str]] = {}
    for entry in listing.decode("utf-8", "surrogateescape").split("\0"):
        key, newline, value = entry.partition("\n")
        values.setdefault(key, []).append(value if newline else "true")

    def last(name: str, default: str) -> str:
        word = "GIT_SESSION_" + "".join("_" + c if c.isupper() else c for c in name).upper()
        return env.get(word) or values.get(f"session.{name.lower()}", [default])[-1]

    def every(name: str) -> tuple[str, ...]:
        return tuple(values.get(f"session.{name.lower()}", ()))

    disabled = env.get("GIT_SESSION_DISABLE", "") not in ("", "0")
    return Settings(
        enabled=not disabled and _flag("session.enabled", last("enabled", "true")),
        auto_push=_flag("session.autoPush", last("autoPush", "true")),
        remote=last("remote", ""),
        warn_size=_size("warnSize", last("warnSize", "10m")),
        redact_rules=every("redactRule"),
        redact_allow=every("redactAllow"),
        redact_file=last("redactFile", ".gitsession-redact"),
        pending_days=_size("pendingDays", last("pendingDays", "30")),
        archive_days=_size("archiveDays", last("archiveDays", "90")),
        author=_author(values, env),
        sign=_flag("commit.gpgSign", values.get("commit.gpgsign", ["false"])[-1]),
        installed=last("installed", ""),
        snapshot=_flag("session.snapshot", last("snapshot", "true")),
        snapshot_keep=_size("snapshotKeep", last("snapshotKeep", "30")),
        snapshot_max_file=_size("snapshotMaxFile", last("snapshotMaxFile", "100m")),
        push_snapshots=_flag("session.pushSnapshots", last("pushSnapshots", "false")),
        auto_commit=_flag("session.autoCommit", last("autoCommit", "false")),
        worktrees=last("worktrees", ""),
        remotes=tuple(dict.fromkeys(_remotes(values))),
        mirrors=tuple(name for name in _remotes(values) if _is_mirror(values, name)),
        partial=any(key.startswith("remote.") and key.endswith(".promisor") for key in values),
    )


def _remotes(values: Mapping[str, list[str]]) -> Iterator[str]:
    for key in values:
        if key.startswith("remote.") and key.endswith((".url", ".pushurl")):
            yield key.removeprefix("remote.").rpartition(".")[0]


def _is_mirror(values: Mapping[str, list[str]], name: str) -> bool:
    return any(
        spec.lstrip("+").startswith("refs/*:") for spec in values.get(f"remote.{name}.fetch", ())
    )


def _author(values: Mapping[str, list[str]], env: Mapping[str, str]) -> Author:
    """The user as git would name them; a machine without an identity gets ours."""

    def pick(field: str, fallback: str) -> str:
        named = env.get(f"GIT_AUTHOR_{field.upper()}") or env.get(f"GIT_COMMITTER_{field.upper()}")
        for key in (f"author.{field}", f"user.{field}", f"committer.{field}"):
            named = named or (values.get(key) or [""])[-1]
        return named or fallback

    return Author(
        name=pick("name", "git session"), email=pick("email", env.get("EMAIL") or "unknown")
    )


def _flag(name: str, text: str) -> bool:
    word = text.strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0", ""):
        return False
    raise Usage(f"{name} is neither true nor false: '{text}'", hint="say true or false")


def _size(name: str, text: str) -> int:
    word = text.strip().lower()
    digits, unit = (word[:-1], word[-1:]) if word[-1:] in _UNITS else (word, "")
    if not digits.isdigit():
        raise Usage(f"session.{name} is not a number: '{text}'", hint="say 500k, 10m or 1g")
    return int(digits) * _UNITS.get(unit, 1)
