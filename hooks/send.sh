# Sourced by pre-push: is there something of ours to push? Then a process does it after git, whose user never waits.
common=${0%/*/*}
bin=git-session
case ${GIT_SESSION_DISABLE:-0} in 0) ;; *) return 0 ;; esac
if [ -s "$common/gitsession/notice" ]; then
    cat "$common/gitsession/notice" >&2 && rm -f "$common/gitsession/notice"
fi
[ -e "$common/gitsession/unpushed" ] || return 0
[ -x "$bin" ] || bin=$(command -v git-session) || return 0
set_sid=setsid && command -v setsid >/dev/null || set_sid=
$set_sid "$bin" worker --git-dir "$common" --pushed "${1-}" --after "$PPID" </dev/null >/dev/null 2>&1 &
