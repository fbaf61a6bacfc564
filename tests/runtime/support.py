"""Debugging with our runtime, with or without a link, through stock debugpy's adapter.

These tests are about the training process alone; the adapter's own are in tests/adapter.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
INJECT = ROOT / "zentracer" / "inject"


def environment(link: Any = None, **changes: str) -> dict[str, str]:
    """The environment that the adapter gives to a process it launches."""
    spec = importlib.util.find_spec("msgpack")
    assert spec is not None and spec.origin is not None
    values = {
        "PYTHONPATH": str(INJECT),
        "ZENTRACER_HOME": str(ROOT),
        "ZENTRACER_MSGPACK": str(Path(spec.origin).parents[1]),
        "PYDEVD_UNBLOCK_THREADS_ON_VARIABLES_TIMEOUT": "-1",
    }
    if link is not None:
        values["ZENTRACER_LINK"] = f"127.0.0.1:{link.port}"
        values["ZENTRACER_TOKEN"] = link.token
    values.update(changes)
    return values


def python_path() -> str:
    """What is on the path of this process already, for programs that need it."""
    return os.environ.get("PYTHONPATH", "")
