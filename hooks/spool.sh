# Sourced by tell.sh in a subshell: writes the event if it may, and succeeds when the worker has to know.
ours=$common/gitsession seen='' old='' moment='' ask=${GIT_CONFIG_PARAMETERS-}${GIT_CONFIG_COUNT-}${GIT_CONFIG_GLOBAL-}
[ "$word" != tool-used ] || { read -r seen <"$ours/head/${at##*/}" && [ "$seen" = "$head" ] && exit 1; }
# Asking git for session.enabled costs as much as all the rest: only when a configuration is newer.
for file in "$common/config" "$at/config.worktree" "$HOME/.gitconfig" /etc/gitconfig \
    "${XDG_CONFIG_HOME:-$HOME/.config}/git/config"; do
    [ ! -e "$file" ] || [ "$ours/enabled" -nt "$file" ] || old=yes
done
[ -z "$ask$old" ] || [ "$(git config --type=bool session.enabled)" != false ] || exit 1
[ -d "$ours/spool" ] && [ -d "$ours/head" ] || mkdir -p "$ours/spool" "$ours/head" || exit 1
[ -z "$old" ] || [ -n "$ask" ] || { keep=$(git config --type=bool session.snapshot); echo "$keep" >|"$ours/enabled"; }
. "$common/gitsession-hooks/event.sh" && . "$common/gitsession-hooks/moment.sh"
for n in 1 2 3; do
    name=$hook.$head.$$.$n.event && await "$name"
    event "$@" >"$ours/spool/$name" && break
done || exit 1
[ "$hook" = agent ] || exit 0
echo "$head" >|"$ours/head/${at##*/}"
[ "$word" != prompt ] || [ -n "$moment" ]
