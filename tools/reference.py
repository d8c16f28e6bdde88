"""The command line as data: what the click commands say of themselves, for the documents."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass

import click

from gitsession import commands


@dataclass(frozen=True)
class Text:
    """A paragraph, or lines to be left as they are."""

    words: str
    verbatim: bool = False


@dataclass(frozen=True)
class Option:
    """An option as it is written, and what it does."""

    spelling: str
    help: str


@dataclass(frozen=True)
class Page:
    """One verb."""

    name: str
    summary: str
    group: str
    usage: str
    texts: Sequence[Text]
    options: Sequence[Option]


SETTINGS = {
    "session.enabled": "false: nothing is captured and nothing is written. Default: true.",
    "session.autoPush": "false: sessions stay in this repository. Default: true.",
    "session.remote": "The remote, path or URL that sessions go to. Default: `origin`, or the only "
    "remote.",
    "session.pushSnapshots": "true: snapshots of the work tree are pushed as well. Default: false.",
    "session.snapshot": "false: the work tree isn't kept at each turn. Default: true.",
    "session.snapshotKeep": "How many days a session's snapshots stay after its last one. Default: "
    "30.",
    "session.snapshotMaxFile": "An untracked file above this size is left out of snapshots. "
    "Default: 100m.",
    "session.autoCommit": "true: `git session start` commits each turn. Default: false.",
    "session.worktrees": "The folder for the work trees of forks. Default: beside the repository.",
    "session.warnSize": "A capture above this size is kept, and warned about. Default: 10m.",
    "session.redactRule": "A further kind of secret, as `name regex` (RE2; the first group, if "
    "there is one, is the secret); may be given many times.",
    "session.redactAllow": "A pattern of what is no secret; may be given many times.",
    "session.redactFile": "The file of the repository that holds shared rules: lines `name regex`, "
    "`allow regex`, and comments after `#`. Default: `.gitsession-redact`.",
    "session.pendingDays": "How many days the work of an ended session can still tie it to a "
    "commit made by hand. Default: 30.",
    "session.archiveDays": "How many days after its last capture `git session gc` folds a session "
    "into an archive. Default: 90.",
    "session.installed": "What `git session init` installed here; not for editing.",
}
ENVIRONMENT = {
    "GIT_SESSION_DISABLE": "1: as if `session.enabled` were false.",
    "GIT_SESSION_TRACE": "1: an error also prints where it came from.",
    "GIT_SESSION_*": "Overrides the setting of that name: GIT_SESSION_WARN_SIZE stands for "
    "`session.warnSize`.",
    "NO_COLOR": "Set: no colours.",
}
EXIT_CODES = {
    0: "It worked.",
    1: "It did not: nothing by that name, a commit without a session, git refused …",
    2: "The call itself is wrong.",
    3: "Stored or given data can't be understood.",
    4: "An audit found something.",
    70: "A mistake of ours; the details are in the log.",
    130: "Interrupted.",
    141: "The reader of the output went away.",
}
PLACES = {
    "refs/sessions/<session>": "One session: a chain of commits, one for each capture.",
    "refs/notes/sessions": "The index: which commits have which sessions.",
    ".git/gitsession/": "Spool, locks and log; can be deleted without losing a capture.",
}


def pages() -> list[Page]:
    """Every visible verb, in the order of the help."""
    return [describe(name, commands.load(name)) for name in commands.visible()]


def describe(name: str, command: click.Command) -> Page:
    """What a command says of itself."""
    verb = commands.VERBS[name]
    options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    words = ["git session", name]
    words += ["[<options>]"] if options else []
    words += [_argument(argument) for argument in arguments]
    return Page(
        name=name,
        summary=verb.summary,
        group=verb.group,
        usage=" ".join(words),
        texts=_texts(command.help or ""),
        options=[Option(_spelling(option), _sentence(option)) for option in options],
    )


def _texts(help_text: str) -> list[Text]:
    texts = []
    for block in inspect.cleandoc(help_text.split("\f", 1)[0]).split("\n\n"):
        if block.startswith("\b\n"):
            texts.append(Text(block.removeprefix("\b\n"), verbatim=True))
        elif block.strip():
            texts.append(Text(" ".join(block.split())))
    return texts


def _argument(argument: click.Argument) -> str:
    word = argument.metavar or _value(argument)
    if argument.nargs != 1 and not word.rstrip("]").endswith("..."):
        word += "..."
    return word if argument.required or word.startswith("[") else f"[{word}]"


def _spelling(option: click.Option) -> str:
    names = ", ".join(sorted(option.opts, key=len))
    if option.secondary_opts:
        names += " / " + ", ".join(option.secondary_opts)
    return names if option.is_flag or option.count else f"{names} {_value(option)}"


def _value(parameter: click.Parameter) -> str:
    if parameter.metavar:
        return parameter.metavar
    if isinstance(parameter.type, click.Choice):
        return "(" + "|".join(str(choice) for choice in parameter.type.choices) + ")"
    if isinstance(parameter, click.Argument):
        return f"<{(parameter.name or '').replace('_', '-')}>"
    return "<n>" if isinstance(parameter.type, click.types.IntParamType) else "<value>"


def _sentence(option: click.Option) -> str:
    words = " ".join((option.help or "").split())
    if words and not words.endswith((".", "…")):
        words += "."
    if option.show_default and isinstance(option.default, str | int):
        words += f" Default: {option.default}."
    return words[:1].upper() + words[1:]
