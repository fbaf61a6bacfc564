#!/usr/bin/env bash
# Builds build/zentracer.vsix from a clean clone: package.sh PYTHON NODE_BIN_DIR
# What was installed or downloaded before is taken again.
set -euo pipefail

usage="usage: package.sh PYTHON NODE_BIN_DIR"
python=$(command -v "${1:?$usage}")
node_bin=$(cd "${2:?$usage}" && pwd)
case $python in /*) ;; *) python=$PWD/$python ;; esac
cd "$(dirname "$0")/.."
export PATH="$node_bin:$PATH"
out=../build

# The wheel's npm was a link once; its program stands in the library.
npm=$node_bin/../lib/node_modules/npm/bin/npm-cli.js
if ! cmp -s package-lock.json node_modules/.installed-lock; then
    node "$npm" ci --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/.installed-lock
fi

"$python" tools/bundle.py bundled "$out/wheels"
node esbuild.mjs --production
mkdir -p "$out"
# The same sources give the same archive, whenever and wherever it is made.
SOURCE_DATE_EPOCH=1767225600 TZ=UTC \
    node node_modules/@vscode/vsce/vsce package --no-dependencies --skip-license \
    --allow-missing-repository --out "$out/zentracer.vsix"
