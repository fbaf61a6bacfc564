#!/usr/bin/env bash
# Make the development environment: setup.sh FOLDER
#
# Python 3.11, the packages of pyproject.toml, and the PyTorch the tests are written for.
set -euo pipefail
. "$(dirname "$0")/steps.sh"

venv=${1:?usage: setup.sh FOLDER}
torch=torch==2.13.0

find_python() {
    local candidate
    for candidate in python3.11 "$HOME"/.pyenv/versions/3.11.*/bin/python python3 python; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

if ! python=$(find_python); then
    echo "Python 3.11 is needed and was not found on PATH or in ~/.pyenv." >&2
    echo "Install it (for example: pyenv install 3.11) and run the command again." >&2
    exit 1
fi

pip=("$venv/bin/python" -m pip install -qq --disable-pip-version-check)
echo "Setting up $venv with $("$python" --version); the first time takes a few minutes."
if ! "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
    step "virtual environment" "$python" -m venv --clear "$venv"
fi
step "PyTorch ($torch)" "${pip[@]}" "$torch" "numpy>=1.26"
step "ZenTracer and its tools" "${pip[@]}" -e '.[dev]'
