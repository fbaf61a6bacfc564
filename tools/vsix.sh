#!/usr/bin/env bash
# Build the extension, build/zentracer.vsix: vsix.sh VENV
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/steps.sh"

venv=$(cd "${1:?usage: vsix.sh VENV}" && pwd)
node=$("$here/node.sh" "$venv" sh -c 'command -v node')
step "build/zentracer.vsix" "$here/../vscode-extension/tools/package.sh" \
    "$venv/bin/python" "$(dirname "$node")"
