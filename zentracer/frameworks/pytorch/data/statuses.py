"""What becomes of data breakpoints: whether one works, until when, and what it keeps.

RUNS IN the training process.
"""

from __future__ import annotations

from zentracer.frameworks.base import ArmedData
from zentracer.frameworks.pytorch.data import registry
from zentracer.frameworks.pytorch.data.target import Target
from zentracer.wire.messages import BreakpointStatus

_UNKNOWN = (
    "This data breakpoint belongs to another process or to an earlier run; set it again while the "
    "program stands still."
)
_GONE = "{} is gone{}: nothing can write into it any more."


def of(armed: ArmedData) -> BreakpointStatus:
    """Return what becomes of a breakpoint that is set."""
    target = registry.find(armed.data_id)
    if target is None:
        return BreakpointStatus(id=armed.id, verified=False, message=_UNKNOWN)
    if target.source.is_gone:
        return ended(armed, target, None)
    return BreakpointStatus(id=armed.id, verified=True)


def ended(armed: ArmedData, target: Target, step: int | None) -> BreakpointStatus:
    """Return what becomes of a breakpoint whose target was freed, at which step."""
    when = f" (freed at step {step})" if step is not None else ""
    message = _GONE.format(target.label, when)
    return BreakpointStatus(id=armed.id, verified=False, message=message)


def kept(known: ArmedData | None, new: ArmedData) -> ArmedData:
    """Return ``known`` with its hit count if it asks for the same as ``new``."""
    if known is None or known.data_id != new.data_id:
        return new
    same = getattr(known.condition, "text", None) == getattr(new.condition, "text", None)
    return known if same and known.hits.text == new.hits.text else new
