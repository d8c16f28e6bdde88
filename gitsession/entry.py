"""The `git-session` executable: picks the command and imports nothing else.

Whatever a command raises ends here; `failure` makes an exit code of it and says
it on stderr.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitsession import __version__, commands
from gitsession.errors import Exit, Usage

if TYPE_CHECKING:
    import click

COMPLETE = "_GIT_SESSION_COMPLETE"
SEE_HELP = "'git session -h' lists the commands"


class Call(NamedTuple):
    """A command line, taken apart as far as it is not the verb's own business."""

    folders: Sequence[str]
    verb: str | None
    args: Sequence[str]
    version: bool = False
    help: bool = False


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and give back its exit code."""
    _make_output_safe()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return code
    except SystemExit:
        raise
    except BaseException as error:
        from gitsession import failure

        return failure.report(error)


def parse(args: Sequence[str]) -> Call:
    """Read the options before the verb, as git reads its own."""
    folders: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word == "-C":
            if not rest:
                raise Usage("no directory given for '-C'", hint="git session -C <path> <command>")
            folders.append(rest.pop(0))
        elif word in ("-h", "--help"):
            return Call(folders, None, (), help=True)
        elif word == "--version":
            return Call(folders, None, (), version=True)
        elif word.startswith("-"):
            raise Usage(f"unknown option '{word}'", hint=SEE_HELP)
        elif word == "help":
            if not rest or rest[0].startswith("-"):
                return Call(folders, None, (), help=True)
            return Call(folders, _known(rest[0]), ("--help",))
        else:
            return Call(folders, _known(word), tuple(rest))
    return Call(folders, None, ())


def render_help() -> str:
    """What `git session -h` says."""
    width = max(map(len, commands.visible()))
    lines = [
        "usage: git session [-C <path>] <command> [<args>]",
        "       git session --version | --help",
        "",
        "Keeps the conversation behind every commit, in git itself.",
    ]
    for group in commands.GROUPS:
        lines += ["", group]
        for name in commands.visible():
            verb = commands.VERBS[name]
            if verb.group == group:
                lines.append(f"   {name:{width}}  {verb.summary}")
    lines += ["", "'git session <command> -h' explains a command, 'git help session' all of them."]
    return "\n".join(lines) + "\n"


# -- running ------------------------------------------------------------------------------


def _run(args: list[str]) -> int:
    if COMPLETE in os.environ:
        from gitsession.commands import completion

        return completion.answer(os.environ[COMPLETE])
    call = parse(args)
    if call.version:
        sys.stdout.write(f"git-session version {__version__}\n")
        return Exit.OK
    if call.verb is None:
        (sys.stdout if call.help else sys.stderr).write(render_help())
        return Exit.OK if call.help else Exit.USAGE
    for folder in call.folders:
        _change_folder(folder)
    if call.verb == "worker":
        from gitsession.commands import worker

        return worker.run(call.args)
    return _run_command(f"git session {call.verb}", commands.load(call.verb), call.args)


def _run_command(title: str, command: click.Command, args: Sequence[str]) -> int:
    import click

    words = ["-h", "--help"]
    try:
        with command.make_context(title, list(args), help_option_names=words) as context:
            command.invoke(context)
    except click.exceptions.Exit as wish:
        return wish.exit_code
    return Exit.OK


def _change_folder(folder: str) -> None:
    if not folder:
        return
    try:
        os.chdir(folder)
    except OSError as error:
        raise Usage(f"cannot change to '{folder}': {error.strerror}") from None


def _known(word: str) -> str:
    if word in commands.VERBS:
        return word
    import difflib

    near = difflib.get_close_matches(word, commands.visible(), cutoff=0.5)
    hint = "did you mean " + " or ".join(f"'{name}'" for name in near) + "?" if near else SEE_HELP
    raise Usage(f"'{word}' is not a git session command", hint=hint)


def _make_output_safe() -> None:
    """A name the locale can't spell is shown escaped; it never ends a command."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
