# To be sourced: steps of an installation, quiet while they work; on a failure, what they said.

step_pid=
trap 'step_stop; exit 130' INT TERM

# Run a command with its output held back, and a dot every second: step TITLE COMMAND...
step() {
    local title=$1 log
    shift
    log=$(mktemp)
    printf '  %s ' "$title"
    # A process group of its own, so that Ctrl-C ends whatever the command has started.
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    step_pid=$!
    set +m
    while kill -0 "$step_pid" 2>/dev/null; do
        sleep 1
        printf '.'
    done
    if ! wait "$step_pid"; then
        step_pid=
        printf ' failed\n\n' && cat "$log" && rm -f "$log"
        return 1
    fi
    step_pid=
    printf ' done\n'
    rm -f "$log"
}

step_stop() {
    [ -n "$step_pid" ] || return 0
    kill -- "-$step_pid" 2>/dev/null || true
    wait "$step_pid" || true
    step_pid=
}
