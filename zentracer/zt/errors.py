"""What ``zt`` says when it cannot answer.

RUNS IN the user's training process.
"""

from __future__ import annotations


class ZtError(Exception):
    """A question that has no answer; the text is a sentence for the user."""


ZtError.__module__ = "zt"  # it reads as zt.ZtError in a traceback
