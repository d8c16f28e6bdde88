# Sourced by git session's hooks: is there work (for a session known, or told of in the spool)? Then leave word.
common=${0%/*/*} ref='' head='' picked='' nl='
'
bin=git-session
case ${GIT_SESSION_DISABLE:-0} in 0) ;; *) return 0 ;; esac
wanted "$common"/gitsession/spool/*.event || wanted "$common"/gitsession/sessions/* || wanted '' || return 0
case ${at:=$common} in /* | ?:*) ;; *) at=$PWD/$at ;; esac
{ read -r ref <"$at/HEAD"; read -r picked <"$at/CHERRY_PICK_HEAD"; } 2>/dev/null
case $ref in
'ref: '*) ref=${ref#ref: } && { read -r head <"$common/$ref"; } 2>/dev/null ;;
*) head=$ref ref=HEAD ;;
esac
case $head in '' | *[!0-9a-f]*) # packed, in a reftable, a ref to a ref, or no commit yet
    head=$(git rev-parse -q --verify HEAD 2>/dev/null)
    ref=$(git symbolic-ref -q HEAD 2>/dev/null) || ref=HEAD ;;
esac
(umask 077 && set -C && . "$common/gitsession-hooks/spool.sh") 2>/dev/null || return 0
[ -x "$bin" ] || bin=$(command -v git-session) || return 0
set_sid=setsid && command -v setsid >/dev/null || set_sid=
$set_sid "$bin" worker --git-dir "$common" </dev/null >/dev/null 2>&1 &
