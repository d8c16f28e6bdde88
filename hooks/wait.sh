# Sourced by agent before a tool that changes files: waits, 2 s at most, until the start of the turn is kept.
n=0
while set -- "${0%/*/*}"/gitsession/snapping/start.* && [ -e "$1" ]; do
    n=$((n + 1))
    if [ "$n" -gt 40 ]; then
        # It is late now: the tool may change files before, and no other call shall wait for it.
        for file; do mv -f "$file" "${file%/*}/barrier.${file##*/start.}"; done
        break
    fi
    sleep 0.05 || { sleep 1 && n=$((n + 20)); }
done
