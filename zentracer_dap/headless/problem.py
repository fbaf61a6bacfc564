"""What the user can mend before anything has started."""

from __future__ import annotations


class UsageProblem(Exception):
    """The command cannot be carried out as given; the message says what to change. Exit code 2."""
