"""What the user watches, read again at each step that is complete.

RUNS IN the training process, in the hooks of an armed watch. Nothing of the user's is called, and
no device is waited for.
"""

from __future__ import annotations

import sys
import threading
import time
import types
import weakref
from typing import TYPE_CHECKING, Any, Mapping

from zentracer.control.stop import is_debugger_busy
from zentracer.frameworks.pytorch.frames import variables
from zentracer.observe.quiet import quiet
from zentracer.watches.clock import clock
from zentracer.watches.paths import MISSING, read
from zentracer.watches.table import Watched, frames_of, watches

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch


def count_steps_of(watch: Watch) -> None:
    """Let stops be told by the steps that ``watch`` has seen."""
    reference = weakref.ref(watch)

    def step() -> int | None:
        armed = reference()
        return (armed.step or 0) if armed is not None and armed.is_armed else None

    clock.step = step


def step_completed(step: int, report: Any) -> None:
    """Note the values of what was watched at the latest stop; a failure goes to ``report``."""
    live = watches.live()
    if not live or is_debugger_busy():
        return
    try:
        with quiet():  # what is nested in it costs next to nothing
            watches.at_step(step, live, _Reader(sys._getframe(1)).value_of, time.time())
    except Exception as error:  # ours to report, never the training's to die from
        report("read a watch at the end of a step", error)


class _Reader:
    """Reads paths in the frames of the calling thread."""

    def __init__(self, frame: types.FrameType) -> None:
        self._frame = frame
        self._thread = threading.get_ident()
        self._names: dict[types.FrameType, Mapping[str, Any]] = {}
        self._frames: dict[tuple[str, str, int], list[types.FrameType]] = {}

    def value_of(self, watched: Watched) -> Any:
        """Return what the expression stands for now, else the array that it stood for."""
        value = self._read(watched)
        if value is MISSING and watched.now is not None:
            return watched.now.alive()
        return value

    def _read(self, watched: Watched) -> Any:
        key = watched.key
        if watched.path is None or key.thread != self._thread:
            return MISSING
        function = (key.file, key.function, key.line)
        frames = self._frames.get(function)
        if frames is None:
            frames = self._frames[function] = frames_of(*function, self._frame)
        if len(frames) <= key.depth:
            return MISSING
        frame = frames[-1 - key.depth]
        names = self._names.get(frame)
        if names is None:
            names = self._names[frame] = variables(frame)
        return read(watched.path, names, frame.f_globals)
