#!/usr/bin/env bash
# Debug a training script that goes NaN: demo.sh VENV
set -uo pipefail

zentracer=${1:?usage: demo.sh VENV}/bin/zentracer
program=examples/nan_contrastive.py
report=build/demo.html

mkdir -p build
echo
echo "\$ zentracer debug --report $report $program"
"$zentracer" debug --report "$report" "$program"
code=$?
if [ "$code" -ne 3 ]; then
    echo "The demo should have found something (exit code 3), but ended with $code." >&2
    exit 1
fi
cat <<END

What next
  open $report         the same finding, as a page to send to a colleague
  zentracer debug train.py     your own program (. ${1}/bin/activate first)
  docs/editors.md              VS Code, Neovim and other editors
END
