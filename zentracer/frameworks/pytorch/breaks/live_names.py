"""Whether a glob names a module of a live model, on any thread and while the program runs.

RUNS IN the training process, when breakpoints are set.
"""

from __future__ import annotations

import difflib
import fnmatch

from zentracer.frameworks.pytorch.live import Pace, live_roots
from zentracer.frameworks.pytorch.modules import named_modules, stripped

_NO_MODEL = "No model is alive yet; the breakpoint becomes active when a module '{}' is called."


def why_none(glob: str) -> str | None:
    """Return why a glob matches no module yet; None if it matches one."""
    names = []
    for root in live_roots(Pace()):
        for path, _ in named_modules(root):
            name = stripped(path) or type(root).__name__
            if fnmatch.fnmatchcase(name, glob):
                return None
            names.append(name)
    if not names:
        return _NO_MODEL.format(glob)
    near = difflib.get_close_matches(glob, names, n=3, cutoff=0.4)
    hint = f" Similar names: {', '.join(near)}." if near else ""
    return f"No module matches '{glob}' yet; the breakpoint becomes active when one does.{hint}"
