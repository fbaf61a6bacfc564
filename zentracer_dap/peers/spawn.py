"""Starts the debugpy adapter process. Imports little: it runs before anything else is loaded.

debugpy's adapter needs longer to load than everything of ours, so the two load side by side.
"""

from __future__ import annotations

import os
import subprocess
import sys

from zentracer_dap import bundle


def spawn_debugpy(arguments: list[str]) -> subprocess.Popen[bytes] | None:
    """Start ``debugpy.adapter`` on pipes; None if debugpy is not installed.

    Args:
        arguments: options of the adapter, such as ``--log-dir``.
    """
    directory = bundle.debugpy_folder()
    if directory is None:
        return None
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    main = os.path.join(ours, "debugpy_main.py")
    return subprocess.Popen(
        [sys.executable, main, directory, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
