"""`git session completion`: what a shell needs to complete our command lines.

The scripts are ours, since click's know nothing of `git session` (only of
`git-session`) and its bash needs 4.4, which macOS hasn't; the answers are click's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem, get_completion_class

from gitsession import commands

VARIABLE = "_GIT_SESSION_COMPLETE"

BASH = r"""# Add to ~/.bashrc:  eval "$(git-session completion bash)"
__git_session_ask() {
    local IFS=' '
    env COMP_WORDS="git-session $*" COMP_CWORD=$# _GIT_SESSION_COMPLETE=bash_complete \
        git-session 2>/dev/null
}
__git_session_reply() {
    local line IFS=$'\n'
    COMPREPLY=()
    while read -r line; do
        case "$line" in
        plain,*) COMPREPLY+=("${line#plain,}$1") ;;
        file,*) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$cur")) ;;
        dir,*) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$cur")) ;;
        esac
    done
}
# git's own completion calls this one, and wants the space after a word from us
_git_session() {
    local first="${__git_cmd_idx:-1}"
    __git_session_reply ' ' < <(__git_session_ask "${words[@]:first+1:cword-first}")
}
_git_session_alone() {
    local cur="${COMP_WORDS[COMP_CWORD]}" word line=() last=-1
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if ((last >= 0)) && [[ $word == = || ${line[last]} == --*= ]]; then
            line[last]+="$word"
        else
            line[++last]="$word"
        fi
    done
    [[ $cur == = ]] && cur=
    __git_session_reply '' < <(__git_session_ask "${line[@]}")
}
complete -F _git_session_alone git-session
"""

ZSH = r"""#compdef git-session
# Add to ~/.zshrc, after compinit:  eval "$(git-session completion zsh)"
_git-session() {
    local -a answer plain described
    local type value help
    answer=("${(@f)$(env COMP_WORDS="git-session ${(j: :)words[2,-1]}" COMP_CWORD=$((CURRENT-1)) \
        _GIT_SESSION_COMPLETE=zsh_complete git-session 2>/dev/null)}")
    for type value help in "${answer[@]}"; do
        case $type in
        plain) if [[ $help == _ ]]; then plain+=("$value"); else described+=("$value:$help"); fi ;;
        file) _files ;;
        dir) _files -/ ;;
        esac
    done
    (( $#described )) && _describe -V 'git session' described
    (( $#plain )) && compadd -V values -a plain
}
() {
    local -a known
    zstyle -g known ':completion:*:*:git:*' user-commands
    (( ${known[(I)session:*]} )) || zstyle ':completion:*:*:git:*' user-commands \
        "${known[@]}" 'session:keep the conversation behind every commit'
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _git-session "$@"
else
    compdef _git-session git-session
fi
"""

FISH = r"""# Add to ~/.config/fish/config.fish:  git-session completion fish | source
function __git_session_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l first 1
    string match -q -r '(^|/)git$' -- $words[1]
    and set first (contains -i -- session $words)
    set -e words[1..$first]
    env COMP_WORDS="git-session $words $current" COMP_CWORD="$current" \
        _GIT_SESSION_COMPLETE=fish_complete git-session 2>/dev/null | while read -l line
        set -l answer (string split -m 1 , -- $line)
        switch $answer[1]
            case plain
                echo $answer[2]
            case dir
                __fish_complete_directories $current
            case file
                __fish_complete_path $current
        end
    end
end
complete -c git-session -f -a '(__git_session_complete)'
complete -c git -f -n '__fish_git_using_command session' -a '(__git_session_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@click.command()
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def command(shell: str) -> None:
    """Print the completion script of a shell, for `git session` and `git-session` alike.

    \b
    In ~/.bashrc:                eval "$(git-session completion bash)"
    In ~/.zshrc after compinit:  eval "$(git-session completion zsh)"
    In fish's config.fish:       git-session completion fish | source
    """
    click.echo(SCRIPTS[shell], nl=False)


class Verbs(click.Group):
    """The table of verbs as click's completion sees it; a verb is imported when it is typed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names that are offered."""
        return commands.visible()

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a verb."""
        return commands.load(name) if name in commands.VERBS else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The verbs from the table alone, and the options before them."""
        verbs = [
            CompletionItem(name, help=commands.VERBS[name].summary)
            for name in commands.visible()
            if name.startswith(incomplete)
        ]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)


def everything() -> click.Group:
    """The whole command line as one click command."""
    folder = click.Option(["-C"], type=click.Path(file_okay=False), help="run as if started there")
    version = click.Option(["--version"], is_flag=True, help="print the version")
    return Verbs("git-session", params=[folder, version])


def answer(instruction: str) -> int:
    """Answer a shell that asks for completions; the words are in its variables."""
    shell, _, asked = instruction.partition("_")
    found = get_completion_class(shell)
    if found is None or asked != "complete" or "COMP_WORDS" not in os.environ:
        return 1
    options: dict[str, Sequence[str]] = {"help_option_names": ["-h", "--help"]}
    click.echo(found(everything(), options, "git-session", VARIABLE).complete())
    return 0
