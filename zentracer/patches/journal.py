"""What was changed in this process, and undo in any order in which that means something.

RUNS IN the user's training process.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
import time
from typing import Callable, Dict, Optional, Tuple

from zentracer.fork_locks import renewed
from zentracer.patches.change import Change, Refused
from zentracer.wire.patches import PatchState

APPLIED, UNDONE, OUT_OF_SYNC, GONE = "applied", "undone", "out_of_sync", "gone"
MOST = 10_000
"""Changes that can be undone; the oldest are forgotten."""

_MOVED_ON = (
    "{} has changed since by something else{}, so this is not undone: the newer value stays."
)
_GONE = "{} has been freed; there is nothing left to undo."
_UNKNOWN = "There is no change number {}{}."
_IS_UNDONE = "Change {} is undone already."
_IS_DONE = "Change {} is in force already."


class Entry:
    """One change in the journal."""

    def __init__(self, number: int, change: Change, state: PatchState) -> None:
        self.number = number
        self.change = change
        self.state = state
        self.is_done = True
        self.message: Optional[str] = None
        self.failed: Optional[str] = None
        """``out_of_sync`` or ``gone``, if the last undo or redo could not be made."""


class Journal:
    """All changes, in the order in which they were made."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._entries: Dict[int, Entry] = {}
        self._last = 0
        self._lock = renewed(self, "_lock", threading.RLock)

    def apply(
        self, change: Change, *, where: str, step: Optional[int], label: Optional[str]
    ) -> PatchState:
        """Make a change and keep it.

        Args:
            change: what to do.
            where: where the program stands.
            step: the training step, where known.
            label: how the user calls it.

        Raises:
            Refused: nothing was changed; the text says why.
        """
        with self._lock:
            change.do()
            self._last += 1
            state = PatchState(
                patch_id=self._last,
                target=change.target,
                text=change.text,
                status=APPLIED,
                before=change.before,
                after=change.after,
                old=change.old,
                new=change.new,
                notes=tuple(change.notes),
                label=label,
                code=change.code,
                step=step,
                time=time.time(),
                where=where,
            )
            self._entries[self._last] = Entry(self._last, change, state)
            if len(self._entries) > MOST:
                del self._entries[next(iter(self._entries))]
        self._changed()
        return state

    def undo(self, number: int) -> PatchState:
        """Put back what was there before a change, if the target is still as it has left it.

        Raises:
            Refused: there is no such change, or it is undone already.
        """
        return self._swap(number, undo=True)

    def redo(self, number: int) -> PatchState:
        """Make a change again that was undone, if the target is still as that has left it.

        Raises:
            Refused: there is no such change, or it is in force already.
        """
        return self._swap(number, undo=False)

    def states(self, newest: int = MOST) -> Tuple[PatchState, ...]:
        """Return the newest changes, oldest first."""
        with self._lock:
            entries = list(itertools.islice(reversed(self._entries.values()), newest))
            return tuple(self._state(entry) for entry in reversed(entries))

    def _swap(self, number: int, *, undo: bool) -> PatchState:
        with self._lock:
            entry = self._entries.get(number)
            if entry is None:
                raise Refused(_UNKNOWN.format(number, self._known()))
            if entry.is_done is not undo:
                raise Refused((_IS_UNDONE if undo else _IS_DONE).format(number))
            entry.failed = entry.message = None
            if entry.change.is_gone:
                entry.failed, entry.message = GONE, _GONE.format(entry.state.target)
            elif not entry.change.is_current():
                entry.failed = OUT_OF_SYNC
                entry.message = _MOVED_ON.format(entry.state.target, self._by_whom(entry))
            else:
                entry.change.swap()
                entry.is_done = not undo
            state = self._state(entry)
        self._changed()
        return state

    def _by_whom(self, entry: Entry) -> str:
        """Name later changes of ours to the same target, which can be undone first."""
        later = [
            other.number
            for other in self._entries.values()
            if other.number > entry.number and other.is_done and other.change.overlaps(entry.change)
        ]
        return f" (undo change {', '.join(map(str, later[::-1]))} first)" if later else ""

    def _known(self) -> str:
        return f"; there are {len(self._entries)}" if self._entries else ", nothing was changed"

    def _state(self, entry: Entry) -> PatchState:
        status = entry.failed or (APPLIED if entry.is_done else UNDONE)
        if status == entry.state.status and entry.message == entry.state.message:
            return entry.state
        entry.state = dataclasses.replace(entry.state, status=status, message=entry.message)
        return entry.state
