"""Several changes that are made, undone and done again as one: all of them or none.

RUNS IN the user's training process.
"""

from __future__ import annotations

import textwrap
from typing import Callable, Sequence

from zentracer.patches.change import Change

_MAX_NOTES = 6


class Several(Change):
    """One change of several parts.

    Args:
        target: what is changed, as the user calls it.
        text: what is done to it.
        parts: what that consists of; no two of them change the same.
        notes: what is to be said besides the notes of the parts.
        code: statements that do the same; by default those of the parts.
    """

    def __init__(
        self,
        target: str,
        text: str,
        parts: Sequence[Change],
        *,
        notes: Sequence[str] = (),
        code: str = "",
    ) -> None:
        self.target, self.text = target, text
        self.notes = tuple(notes)
        self.code = code
        self._parts = tuple(parts)

    @property
    def is_gone(self) -> bool:
        """Whether a part can be undone no more, and so the whole."""
        return any(part.is_gone for part in self._parts)

    def do(self) -> None:
        """Make all parts; if one cannot be made, those before it are taken back."""
        self._each(lambda part: part.do())
        told = self._told()
        self.notes = (*self.notes, *told[:_MAX_NOTES])
        if len(told) > _MAX_NOTES:
            self.notes += (f"and {len(told) - _MAX_NOTES} more notes",)
        self.code = self.code or _joined([part.code for part in self._parts])

    def is_current(self) -> bool:
        """Ask all parts."""
        return all(part.is_current() for part in self._parts)

    def overlaps(self, other: Change) -> bool:
        """Ask all parts."""
        return any(part.overlaps(other) for part in self._parts)

    def swap(self) -> None:
        """Swap all parts; if one cannot be swapped, those before it are swapped back."""
        self._each(lambda part: part.swap())

    def _told(self) -> list[str]:
        """Return the notes of the parts, each once."""
        by_note: dict[str, list[str]] = {}
        for part in self._parts:
            for note in part.notes:
                by_note.setdefault(note, []).append(part.target)
        return [
            f"{targets[0]}: {note}" if len(targets) == 1 else f"{len(targets)} of them: {note}"
            for note, targets in by_note.items()
        ]

    def _each(self, action: Callable[[Change], None]) -> None:
        done: list[Change] = []
        try:
            for part in self._parts:
                action(part)
                done.append(part)
        except BaseException:
            for part in reversed(done):
                part.swap()
            raise


_NO_GRAD = "with torch.no_grad():\n"


def _joined(codes: Sequence[str]) -> str:
    """Return all statements, under one ``with`` where each has the same of its own."""
    codes = [code for code in codes if code]
    if not codes or not all(code.startswith(_NO_GRAD) for code in codes):
        return "\n".join(codes)
    bodies = [textwrap.dedent(code[len(_NO_GRAD) :]) for code in codes]
    return _NO_GRAD + textwrap.indent("\n".join(bodies), "    ")
