"""Attributes of torch's that are ours for a while.

RUNS IN the training process. ``remove`` leaves no trace, except where somebody else has replaced
an attribute since: theirs stays.
"""

from __future__ import annotations

from typing import Any, Callable


class Replacements:
    """Replaced attributes, and how each is put back."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace ``owner.name`` by what ``make`` makes of it."""
        own = owner.__dict__.get(name, _INHERITED)
        ours = make(getattr(owner, name))
        setattr(owner, name, ours)
        self._replaced.append((owner, name, own, ours))

    def remove(self) -> None:
        """Put everything back."""
        for owner, name, original, ours in reversed(self._replaced):
            if owner.__dict__.get(name) is ours:
                if original is _INHERITED:
                    delattr(owner, name)
                else:
                    setattr(owner, name, original)
        self._replaced.clear()


class _Inherited:
    """Marks an attribute that its class did not define itself."""


_INHERITED = _Inherited()
