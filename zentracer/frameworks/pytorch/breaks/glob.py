"""Globs that are compiled once: ``fnmatch`` keeps only the last few hundred.

RUNS IN the training process.
"""

from __future__ import annotations

import fnmatch
import re
from typing import Callable


def is_glob(pattern: str) -> bool:
    """Tell whether a pattern stands for several names."""
    return any(sign in pattern for sign in "*?[")


def matcher(pattern: str) -> Callable[[str], object]:
    """Return what tells whether a name fits a pattern."""
    if not is_glob(pattern):
        return pattern.__eq__
    return re.compile(fnmatch.translate(pattern)).match
