"""Findings for tests of stops: a hit as a framework hook would report it."""

from zentracer.control.stop import stop  # loaded by our pydevd plugin, whatever interpreter
from zentracer.wire.messages import BreakpointHit, HitDetails, Location, Stats


def hit(text, breakpoint_id=7):
    place = Location(path=__file__, line=1)
    nothing = Stats(shape=(), dtype="float32", device="cpu", size=1, bytes=4)
    details = HitDetails(
        filter="zentracer.nonfinite",
        module=None,
        op="test",
        phase="forward",
        step=None,
        rank=None,
        source=place,
        origin=place,
        tensor=nothing,
    )
    return BreakpointHit(
        breakpoint_ids=(breakpoint_id,),
        label="NaN or Inf",
        where="test",
        text=text,
        description=text + "\nwhy",
        details=details,
    )


__all__ = ["hit", "stop"]
