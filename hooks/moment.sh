# Sourced by spool.sh: which moment of a turn is it, so that the work tree is to be kept? The file says so until it is.
case $word in prompt) moment=start ;; turn-ended | session-end) moment=end ;; esac
if [ -n "$moment" ]; then
    keep=${GIT_SESSION_SNAPSHOT-}
    [ -n "$keep" ] || [ -z "$ask" ] || keep=$(git config --type=bool session.snapshot)
    [ -n "$keep$ask" ] || read -r keep <"$ours/enabled"
    case $keep in false | no | off | 0) moment='' ;; esac
    [ -z "$moment" ] || [ -d "$ours/snapping" ] || mkdir -p "$ours/snapping" || moment=''
fi
await() { [ -z "$moment" ] || : >|"$ours/snapping/$moment.$1"; }
