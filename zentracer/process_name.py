"""How the user would call this process.

RUNS IN the training process, before the program's first line when it was launched. What the
debugger has put before the program's own command line does not count.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import List, Optional

_FRAMES = 16
"""How far above a fork multiprocessing's own frame may be."""
_SWITCHES = frozenset(
    """
    --wait-for-client --log-to-stderr --disable-sys-remote-exec --linux-attach-prefer-lldb
    """.split()
)
"""What debugpy takes without a value."""


def process_name() -> str:
    """Return ``train.py``, ``-m package.train``, or what multiprocessing calls it; else nothing."""
    argv = getattr(sys, "argv", None) or [""]  # an embedding program may not have set it
    if "--multiprocessing-fork" in argv:
        return ""  # spawned: its name comes later, through a pipe
    return _target_of_debugpy(argv) or _target_of_pydevd(argv) or _main_module(argv)


def forked_name() -> str:
    """Return the name that multiprocessing gives to the child that is just being forked."""
    frame: Optional[FrameType] = sys._getframe(1)
    for _ in range(_FRAMES):
        if frame is None:
            break
        if frame.f_globals.get("__name__") == "multiprocessing.popen_fork":
            name = getattr(frame.f_locals.get("process_obj"), "_name", None)
            if isinstance(name, str):
                return name
        frame = frame.f_back
    return ""


def _target_of_debugpy(argv: List[str]) -> str:
    """Return what ``python -m debugpy`` is asked to run, as long as the command line is its own."""
    parts = os.path.normpath(argv[0]).split(os.sep)
    if parts[-1] != "debugpy" and parts[-2:] != ["debugpy", "__main__.py"]:
        return ""  # maybe a program in a folder of that name
    rest = iter(argv[1:])
    for part in rest:
        if part in ("-m", "--module"):
            return f"-m {next(rest, '')}"
        if part in ("-c", "--code"):
            return "-c"
        if not part.startswith("-"):
            return os.path.basename(part)
        if part not in _SWITCHES:
            next(rest, None)  # its value
    return ""


def _target_of_pydevd(argv: List[str]) -> str:
    """Return what the command line of a child says that pydevd has rewritten."""
    if "--file" not in argv[:-1]:
        return ""
    at = argv.index("--file")
    target = argv[at + 1]
    if not any(os.path.basename(part) == "pydevd.py" for part in argv[:at]):
        return ""  # an option of the program's own
    return f"-m {target}" if "--module" in argv[:at] else os.path.basename(target)


def _main_module(argv: List[str]) -> str:
    """Return the name of a program that runs already."""
    main = getattr(sys.modules.get("__main__"), "__dict__", {})
    name = getattr(main.get("__spec__"), "name", "")
    if name:
        return f"-m {name[: -len('.__main__')] if name.endswith('.__main__') else name}"
    paths = (main.get("__file__"), argv[0])
    return next((os.path.basename(p) for p in paths if isinstance(p, str) and p), "")
