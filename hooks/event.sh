# Sourced by spool.sh: prints an event. A value that has a newline is left out.
put() { case $2 in '' | *"$nl"*) ;; *) printf '%s %s\n' "$1" "$2" ;; esac; }
event() {
    put event "$hook" && put agent "$agent" && put word "$word" && put head "$head"
    put ref "$ref" && put gitdir "$at" && put cwd "$PWD" && put args "$*" && put picked "$picked"
    for name in CLAUDE_CODE_SESSION_ID CLAUDE_CONFIG_DIR CLAUDE_PID HOME GIT_REFLOG_ACTION; do
        eval "put env \"\${$name:+$name=\$$name}\""
    done
    echo && body && printf '\nend\n'
}
