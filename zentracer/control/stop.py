"""Stops the program on the line that made a value, value in hand.

RUNS IN the training process, on the thread that computes.
"""

from __future__ import annotations

from types import FrameType
from typing import Optional

from zentracer.control.pydevd import channel, guard, suspend
from zentracer.wire.messages import BreakpointHit

is_debugger_busy = guard.is_busy
"""Whether the calling thread works for the debugger: hooks should then let everything pass."""
stops_so_far = suspend.stops_so_far
"""How often the program has been stopped, for whatever reason; time between is not all its own."""
own_work = guard.own_work
trace_switch = guard.trace_switch
"""Context of a hook's own analysis, so that no step wanders into the library code it calls."""


def stop(hit: BreakpointHit, frame: FrameType, lasti: Optional[int] = None) -> bool:
    """Report ``hit`` and hold the calling thread on the current line of ``frame``.

    Returns when the user resumes. Stepping, evaluating and the stack are those of any stop. With
    no editor attached, and for what the debug console or a condition computes, nothing happens.

    Args:
        hit: what was found.
        frame: the user's frame, one of the calling thread's.
        lasti: the instruction to mark, where it is not the frame's current one.

    Returns:
        Whether the program was stopped.
    """

    def announce() -> None:
        channel.send_event("breakpoint_hit", hit)

    return suspend.hold(frame, lasti, hit.label, hit.text, announce)
