#!/usr/bin/env bash
# Debug a training script that goes NaN, in the terminal and then in the editor: demo.sh VENV
#
# With VS Code's `code` on the PATH the editor is that one, if its user agrees; else an editor of
# its own that a browser shows. Without a terminal nobody could look at one: it is driven to its
# first stop, and leaves a picture.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.." || exit
. "$here/steps.sh"
. "$here/editor-paths.sh"

venv=${1:?usage: demo.sh VENV}
program=examples/nan_contrastive.py
report=build/demo.html
mkdir -p build

in_terminal() {
    printf '\n$ zentracer debug --report %s %s\n' "$report" "$program"
    "$venv/bin/zentracer" debug --report "$report" "$program"
    local code=$?
    if [ "$code" -ne 3 ]; then
        echo "The demo should have found something (exit code 3), but ended with $code." >&2
        return 1
    fi
    printf '\nThe same finding as a page to send to a colleague: %s\n' "$report"
    printf '\nNow in the editor.\n'
}

is_watched() { [ -t 0 ] && [ -t 1 ]; }

# The user's own editor is changed only if the user says so.
in_own_editor() {
    local answer
    printf '\nVS Code is on this machine. Install build/zentracer.vsix into it and open examples/? [y/N] '
    read -r answer
    case $answer in [yY]*) ;; *) return 1 ;; esac
    code --install-extension build/zentracer.vsix && code examples "$program" &&
        printf '\nPress F5 in %s.\n' "$program"
}

headless() {
    local picture=build/demo-editor.png said=build/demo-editor.txt
    ZENTRACER_VENV=$venv ZENTRACER_EDITOR_OUTPUT=build/demo step "F5 in VS Code" \
        "$here/node.sh" "$venv" sh -c \
        "node vscode-extension/test/e2e/demo.ts '$picture' >'$said'" || return
    printf '\n'
    sed 's/^/  /' "$said"
    rm -f "$said"
    printf '\nThere is no terminal to show the editor from; this is what it showed: %s\n' "$picture"
}

in_browser() {
    local state=$PWD/build/demo password address
    step "the extension in an editor of its own" install_extension "$state" || return
    password=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
    set -m # a process group of its own, so that Ctrl-C ends whatever the editor has started
    PASSWORD=$password XDG_RUNTIME_DIR=$state "$editor_node" "$editor_server" --auth password \
        --bind-addr 127.0.0.1:0 --config "$state/config.yaml" \
        --user-data-dir "$state/user" --extensions-dir "$state/extensions" \
        --disable-telemetry --disable-update-check --disable-workspace-trust examples \
        >"$state/server.log" 2>&1 </dev/null &
    step_pid=$! # ended by the trap of steps.sh
    set +m
    address=$(listening "$state/server.log") || return
    cat <<END

  address   $(opening "$address")
  password  $password

Open the address in a browser on this machine and press F5: it shows ${program#examples/}.
Over SSH, forward the port first: ssh -L ${address##*:}:${address#http://} HOST
Ctrl-C here ends the editor.
END
    wait "$step_pid"
    step_pid=
}

# The address that shows the program in the folder of examples.
opening() { # ADDRESS
    "$venv/bin/python" - "$1" "$PWD/$program" <<'END'
import json, os, sys, urllib.parse
address, program = sys.argv[1:]
host = urllib.parse.urlsplit(address).netloc
payload = json.dumps([["openFile", f"vscode-remote://{host}{program}"]], separators=(",", ":"))
query = urllib.parse.urlencode({"folder": os.path.dirname(program), "payload": payload}, safe="/:")
print(f"{address}/?{query}")
END
}

install_extension() { # STATE
    mkdir -p "$1/user/User" "$1/user/Machine"
    local settings
    for settings in "$1/user/User/settings.json" "$1/user/Machine/settings.json"; do
        cat >"$settings" <<END
{
  "zentracer.python": "$PWD/$venv/bin/python",
  "workbench.startupEditor": "none",
  "chat.disableAIFeatures": true,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "telemetry.telemetryLevel": "off",
  "git.openRepositoryInParentFolders": "never",
  "remote.autoForwardPorts": false
}
END
    done
    "$editor_node" "$editor_server" --user-data-dir "$1/user" --extensions-dir "$1/extensions" \
        --force --install-extension build/zentracer.vsix
}

listening() { # LOG: the address, once the editor answers there
    local address
    while kill -0 "$step_pid" 2>/dev/null; do
        address=$(sed -n 's/.*HTTP server listening on \(http:[^ ]*[0-9]\).*/\1/p' "$1")
        [ -z "$address" ] || { echo "$address" && return; }
        sleep 0.2
    done
    echo "The editor ended at once. It said:" >&2
    cat "$1" >&2
    return 1
}

in_terminal || exit
"$here/vsix.sh" "$venv" || exit
if is_watched; then
    ! command -v code >/dev/null || ! in_own_editor || exit 0
    "$here/editor.sh" "$venv" && in_browser
else
    "$here/editor.sh" "$venv" --browser && headless
fi
