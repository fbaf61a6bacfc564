"""Starts the debugpy adapter process. Imports little: it runs before anything else is loaded.

debugpy's adapter needs longer to load than everything of ours, so the two load side by side.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys


def spawn_debugpy(arguments: list[str]) -> subprocess.Popen[bytes] | None:
    """Start ``debugpy.adapter`` on pipes; None if debugpy is not installed.

    Args:
        arguments: options of the adapter, such as ``--log-dir``.
    """
    spec = importlib.util.find_spec("debugpy")
    if spec is None or spec.origin is None:
        return None
    directory = os.path.dirname(os.path.dirname(spec.origin))
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    main = os.path.join(ours, "debugpy_main.py")
    return subprocess.Popen(
        [sys.executable, main, directory, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
