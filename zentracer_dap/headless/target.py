"""The program to run and the interpreter to run it with, checked before anything starts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zentracer_dap.headless.problem import UsageProblem

OLDEST = (3, 9)
"""The oldest Python that the runtime supports."""

_PROBE = """\
import importlib.util, json, os, sys
sys.path.insert(0, os.getcwd())
name = sys.argv[1]
found = not name or importlib.util.find_spec(name) is not None
print(json.dumps([list(sys.version_info[:2]), found]))
"""


@dataclass(frozen=True)
class Target:
    """A program as the launch request names it."""

    kind: str
    """``program`` or ``module``"""
    name: str
    arguments: list[str]
    python: str

    def launch(self) -> dict[str, Any]:
        """The attributes of a launch configuration."""
        return {
            self.kind: self.name,
            "args": self.arguments,
            "python": [self.python],
            "cwd": os.getcwd(),
        }

    def shown(self) -> list[str]:
        """The command as a person would type it."""
        program = ["-m", self.name] if self.kind == "module" else [os.path.relpath(self.name)]
        return ["python", *program, *self.arguments]


def find_target(
    script: str | None, module: str | None, arguments: list[str], python: str | None
) -> Target:
    """Check that the program and its interpreter exist.

    Raises:
        UsageProblem: one of them does not, or the interpreter is too old.
    """
    interpreter = sys.executable if python is None else _interpreter(python)
    if python is not None or module is not None:
        _probe(interpreter, module or "")
    if module is not None:
        return Target("module", module, arguments, interpreter)
    return Target("program", _script(script or ""), arguments, interpreter)


def _script(script: str) -> str:
    path = Path(script)
    if not path.exists():
        hint = ""
        if script.endswith(".py") is False and Path(script + ".py").is_file():
            hint = f" Did you mean {script}.py?"
        elif path.suffix == "" and "/" not in script:
            hint = f" To run a module: zentracer debug -m {script}"
        raise UsageProblem(f"there is no file {script!r} in {os.getcwd()}.{hint}")
    if path.is_dir() and not (path / "__main__.py").is_file():
        raise UsageProblem(f"{script!r} is a folder without a __main__.py")
    if not os.access(path, os.R_OK):
        raise UsageProblem(f"no permission to read {script!r}")
    return str(path.absolute())


def _interpreter(python: str) -> str:
    found = shutil.which(python)
    if found is None:
        raise UsageProblem(f"--python {python}: there is no such program, or it is not executable")
    return str(Path(found).absolute())


def _probe(interpreter: str, module: str) -> None:
    """Ask the interpreter for its version and whether it finds the module's top package."""
    top = module.partition(".")[0]
    command = [interpreter, "-c", _PROBE, top]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        version, found = json.loads(result.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise UsageProblem(f"{interpreter} does not run Python code{_last_line(result)}") from None
    if tuple(version) < OLDEST:
        raise UsageProblem(
            f"{interpreter} is Python {'.'.join(map(str, version))}; ZenTracer needs "
            f"{'.'.join(map(str, OLDEST))} or newer. Choose another with --python."
        )
    if not found:
        raise UsageProblem(f"{interpreter} finds no module named {top!r}")


def _last_line(result: subprocess.CompletedProcess[str]) -> str:
    lines = result.stderr.strip().splitlines()
    return f": {lines[-1]}" if lines else ""
