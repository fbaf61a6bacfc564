"""The ``zentracer`` command.

RUNS IN a process of its own. Each sub-command is a module with ``main(argv) -> exit code``.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from importlib import metadata

from zentracer_dap.headless.problem import UsageProblem

COMMANDS = {
    "debug": ("zentracer_dap.headless.command", "run a program and say where its numbers go wrong"),
    "doctor": ("zentracer_dap.doctor", "check the installation and say how to mend it"),
}
"""Name -> module and summary; modules are imported when their command is used."""


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has gone, as in "| head"
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + 13
    sys.exit(code)


def run(argv: list[str]) -> int:
    """Carry out one command line; returns the exit code."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_help())
        return 0 if argv else 2
    if argv[0] in ("-V", "--version"):
        print(f"zentracer {metadata.version('zentracer')}")
        return 0
    if argv[0] not in COMMANDS:
        return _complain(_unknown(argv[0]))
    try:
        return importlib.import_module(COMMANDS[argv[0]][0]).main(argv[1:])
    except UsageProblem as problem:
        return _complain(f"zentracer {argv[0]}: {problem}")


def _complain(text: str) -> int:
    print(text, file=sys.stderr)
    return 2


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, COMMANDS, n=1)
    if near:
        return f"zentracer: there is no command {name!r}. Did you mean {near[0]!r}?"
    if name.endswith(".py"):
        return f"zentracer: to debug a program: zentracer debug {name}"
    return f"zentracer: there is no command {name!r}\n\n{_help()}"


def _help() -> str:
    lines = [f"  zentracer {name:<8} {summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(
        [
            "A debugger for deep learning: stop on the line that makes the first NaN.",
            "",
            *lines,
            "",
            "zentracer COMMAND --help says more. Editors talk to python -m zentracer_dap.",
        ]
    )
