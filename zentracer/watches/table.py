"""All that the user watches in this process.

RUNS IN the user's training process: ``seen`` on a stopped thread, ``at_step`` on the thread that
trains, which pays nothing while nothing is watched.
"""

from __future__ import annotations

import os
from types import FrameType
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from zentracer.watches.clock import Moment, clock
from zentracer.watches.history import History
from zentracer.watches.paths import Path, parse
from zentracer.watches.seen import Seen, change_text, is_watchable, look, point_of

MOST = 64
"""Expressions whose history is kept; the one that was not looked at for longest goes."""

PER_STEP = 5
"""Expressions read at one training step, each in up to 40 microseconds; more take turns."""


class Key(NamedTuple):
    """What one history belongs to: an expression in a function, on a thread."""

    expression: str
    file: str
    function: str
    line: int
    """Where the function begins."""
    depth: int
    """Outer calls of the same function that are not over."""
    thread: int


class Watched:
    """One expression."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.path: Optional[Path] = parse(key.expression)
        self.history = History()
        self.before: Optional[Seen] = None
        """At the latest stop before the present one at which it was looked at."""
        self.now: Optional[Seen] = None

    def see(self, value: Any, when: Moment, *, waits: bool) -> str:
        """Take note of the value at a stop; returns what changed since the one before."""
        seen = look(value, when, waits=waits)
        if self.now is not None and self.now.when.stop != when.stop:
            self.before = self.now
        self.now = seen
        if seen.point is not None:
            self.history.at_stop(seen.point)
        return change_text(self.before, seen) if self.before is not None else ""


Read = Callable[[Watched], Any]
"""Gives the present value of what is watched, if it can be had without the user's code."""


class Watches:
    """By key, the one that was looked at last at the end."""

    def __init__(self) -> None:
        self._known: Dict[Key, Watched] = {}
        self._turn = 0

    def forget(self) -> None:
        """Begin anew: this is a forked child, with stops and threads of its own."""
        self._known = {}

    def see(
        self, expression: str, frame: FrameType, thread: int, value: Any, *, waits: bool = False
    ) -> str:
        """Take note of a value that is shown at a stop; ``waits`` for accelerators too.

        Returns:
            What to add to its line: how it differs from the stop before; empty the first time.
        """
        if not is_watchable(value):
            return ""
        watched = self._get(key_of(expression, frame, thread))
        return watched.see(value, clock.at_stop(frame), waits=waits)

    def find(self, expression: str, frame: FrameType, thread: int) -> Optional[Watched]:
        """Return what is known of an expression."""
        return self._known.get(key_of(expression, frame, thread))

    def live(self) -> List[Watched]:
        """Those that were looked at at the latest stop."""
        if not self._known:
            return []
        stop = clock.stops
        known = list(self._known.values())
        return [one for one in known if one.now is not None and one.now.when.stop == stop]

    def at_step(self, step: int, live: List[Watched], read: Read, now: float) -> None:
        """Note the values at a step that is complete.

        Args:
            step: Training steps completed.
            live: Those to look at.
            read: Gives their present values.
            now: Seconds since 1970.
        """
        for watched in self._in_turn(live):
            if not watched.history.is_step_due():
                continue
            point = point_of(read(watched), Moment(None, step, None, now))
            if point is not None:
                watched.history.at_step(point)

    def _in_turn(self, live: List[Watched]) -> List[Watched]:
        if len(live) <= PER_STEP:
            return live
        first = self._turn % len(live)
        self._turn = first + PER_STEP
        return (live + live)[first : first + PER_STEP]

    def _get(self, key: Key) -> Watched:
        watched = self._known.pop(key, None) or Watched(key)
        if len(self._known) >= MOST:
            self._known.pop(next(iter(self._known)), None)
        self._known[key] = watched
        return watched


def key_of(expression: str, frame: FrameType, thread: int) -> Key:
    """Return the key of an expression in a frame of a stopped thread."""
    code = frame.f_code
    depth = len(frames_of(code.co_filename, code.co_name, code.co_firstlineno, frame)) - 1
    text = expression.strip()
    return Key(text, code.co_filename, code.co_name, code.co_firstlineno, depth, thread)


def frames_of(file: str, function: str, line: int, frame: Optional[FrameType]) -> List[FrameType]:
    """Return the frames of one function, from ``frame`` outwards."""
    found = []
    while frame is not None:
        code = frame.f_code
        if code.co_firstlineno == line and code.co_name == function and code.co_filename == file:
            found.append(frame)
        frame = frame.f_back
    return found


watches = Watches()
"""Of this process."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=watches.forget)
