#!/usr/bin/env bash
# Install the extension's development packages, as its lock file has them: modules.sh VENV
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/steps.sh"

venv=$(cd "${1:?usage: modules.sh VENV}" && pwd)
cd "$here/../vscode-extension"
installed=node_modules/.installed-lock
cmp -s package-lock.json "$installed" && exit
step "the extension's tools" "$here/node.sh" "$venv" npm ci --no-audit --no-fund --loglevel=error
cp package-lock.json "$installed"
