"""What an interpreter is and which packages it finds, asked without importing any of them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass

FRAMEWORKS = ("torch", "tensorflow", "jax", "numpy")

_PROBE = """\
import json, platform, sys
from importlib import metadata
versions = {}
for name in sys.argv[1:]:
    try:
        versions[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps([platform.python_version(), platform.platform(), versions]))
"""


@dataclass(frozen=True)
class Environment:
    """One interpreter."""

    python: str
    """Version, such as ``3.11.7``."""
    platform: str
    versions: dict[str, str]
    """Package -> version, for those that are installed."""


def probe(interpreter: str, packages: tuple[str, ...]) -> Environment | None:
    """Ask ``interpreter``; None when it does not run."""
    command = [interpreter, "-c", _PROBE, *packages]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return Environment(*json.loads(result.stdout.splitlines()[-1]))
    except (OSError, IndexError, ValueError):
        return None
