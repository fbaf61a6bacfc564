"""One change to a running program that can be taken back.

RUNS IN the user's training process.
"""

from __future__ import annotations

import abc
from typing import Optional, Tuple

from zentracer.wire.messages import Stats


class Refused(Exception):
    """A change that was not made; the text is a sentence for the user."""


class Change(abc.ABC):
    """What a journal does, undoes and does again.

    A change keeps what it takes to be undone and nothing else: neither the target alive nor more
    memory than the part that is changed.
    """

    target: str
    """What is changed, as the user calls it."""
    text: str
    """What is done to it: ``set to 0.5``."""
    old: str = ""
    new: str = ""
    before: Optional[Stats] = None
    after: Optional[Stats] = None
    notes: Tuple[str, ...] = ()
    code: str = ""
    """Statements that do the same at start-up."""

    spelled: str = ""
    """How code says the target, where that is no expression."""

    @property
    def in_code(self) -> str:
        """The target as an expression of a program."""
        return self.spelled or self.target

    @abc.abstractmethod
    def do(self) -> None:
        """Make the change; on any failure everything is as it was.

        Raises:
            Refused: it cannot be made.
        """

    @property
    @abc.abstractmethod
    def is_gone(self) -> bool:
        """Whether what was changed exists no more."""

    @abc.abstractmethod
    def is_current(self) -> bool:
        """Tell whether the target still is as this change, done or undone, has left it."""

    def overlaps(self, other: Change) -> bool:
        """Tell whether another change may have changed what this one has."""
        return self.target == other.target

    @abc.abstractmethod
    def swap(self) -> None:
        """Undo it, or do it again after that; on any failure everything is as it was.

        Raises:
            Refused: it cannot be done now.
        """
