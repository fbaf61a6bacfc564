"""``zentracer doctor``: check the installation and print the command that mends each fault."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from dataclasses import dataclass

from zentracer_dap.environment import FRAMEWORKS, Environment, probe

OLDEST_RUNTIME = (3, 9)
OLDEST_ADAPTER = (3, 10)
REQUIRED = {"debugpy": "1.8.22", "msgpack": "1.0"}
"""Package -> oldest version that has what we lean on."""


@dataclass(frozen=True)
class Check:
    """One line of the doctor's output."""

    name: str
    found: str
    fault: str = ""
    mend: str = ""
    """Command that mends the fault."""


def main(argv: list[str]) -> int:
    """Check, print, and return 1 if anything is at fault."""
    parser = argparse.ArgumentParser(
        prog="zentracer doctor",
        description="Check the installation and print the command that mends each fault.",
        epilog="exit code: 0 = all well, 1 = something is at fault",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--python",
        metavar="PATH",
        help="also check the interpreter that your programs run with, if it is another",
    )
    given = parser.parse_args(argv)
    checks = check_installation(sys.executable)
    if given.python:
        checks += check_program_interpreter(given.python)
    for check in checks:
        print(line(check))
    faults = [check for check in checks if check.fault]
    print("\nAll well." if not faults else f"\n{len(faults)} to mend.")
    return 1 if faults else 0


def line(check: Check) -> str:
    """One check as text; the command stands alone on a line so that it can be copied."""
    sign = "!!" if check.fault else "ok"
    text = f"{sign}  {check.name:<11} {check.found}"
    if check.fault:
        text += f"\n    {check.fault}"
    if check.mend:
        text += f"\n      {check.mend}"
    return text


def check_installation(interpreter: str) -> list[Check]:
    """Check the interpreter that runs the adapter, its packages, and the frameworks it finds."""
    names = ("zentracer", *REQUIRED, *FRAMEWORKS)
    environment = probe(interpreter, names)
    if environment is None:
        return [Check("python", interpreter, "It does not run.")]
    return [
        check_python("python", environment, interpreter, OLDEST_ADAPTER),
        check_package(environment, interpreter, "zentracer", "0"),
        *(check_package(environment, interpreter, *item) for item in REQUIRED.items()),
        check_frameworks(environment, "frameworks"),
    ]


def check_program_interpreter(interpreter: str) -> list[Check]:
    """Check an interpreter that only runs the user's programs; it needs nothing of ours."""
    environment = probe(interpreter, FRAMEWORKS)
    if environment is None:
        return [Check("program", interpreter, "It does not run Python code.")]
    return [
        check_python("program", environment, interpreter, OLDEST_RUNTIME),
        check_frameworks(environment, "program has"),
    ]


def check_python(
    name: str, environment: Environment, interpreter: str, oldest: tuple[int, int]
) -> Check:
    """The interpreter is recent enough."""
    found = f"{environment.python} at {interpreter}"
    if version_tuple(environment.python) >= oldest:
        return Check(name, found)
    wanted = ".".join(map(str, oldest))
    return Check(
        name, found, f"Python {wanted} or newer is needed.", f"python{wanted} -m venv .venv"
    )


def check_package(environment: Environment, interpreter: str, name: str, oldest: str) -> Check:
    """The package is installed and recent enough."""
    install = f"{shlex.quote(interpreter)} -m pip install --upgrade "
    found = environment.versions.get(name)
    if found is None:
        return Check(name, "not installed", f"{name} is needed.", install + requirement(name))
    if version_tuple(found) < version_tuple(oldest):
        fault = f"{name} {oldest} or newer is needed."
        return Check(name, found, fault, install + requirement(name))
    return Check(name, found)


def check_frameworks(environment: Environment, name: str) -> Check:
    """Say which frameworks there are; having none is no fault of the installation."""
    found = [f"{n} {environment.versions[n]}" for n in FRAMEWORKS if n in environment.versions]
    return Check(name, ", ".join(found) or "none found by this interpreter")


def requirement(name: str) -> str:
    """What to ask pip for."""
    return f"'{name}>={REQUIRED[name]}'" if name in REQUIRED else name


def version_tuple(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: ``1.8.22rc1`` is ``(1, 8, 22)``."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, match.group().split("."))) if match else ()
