"""The tensor exceptions (exception breakpoint filters) that ZenTracer offers."""

from __future__ import annotations

from zentracer.wire._body import body

PREFIX = "zentracer."


@body
class Filter:
    """One tick box in the editor's Breakpoints view."""

    id: str
    """Stable identifier, ``zentracer.<name>``."""
    label: str
    """Title of the tick box and of the exception widget."""
    default: bool
    """Whether it is on in a session whose user never chose."""
    description: str
    """Tooltip: what makes the program stop."""


NONFINITE = Filter(
    id="zentracer.nonfinite",
    label="NaN or Inf",
    default=True,
    description=(
        "Stops on the operation that makes the first NaN or Inf from finite inputs: "
        "forward, loss, backward or parameter update."
    ),
)

FILTERS: tuple[Filter, ...] = (NONFINITE,)
"""Each filter is offered once it works."""

CONDITION_DESCRIPTION = (
    "Python expression over module, op, phase, step, rank, x, name, shape, dtype, device, size, "
    "min, max, mean, std, absmax, norm, nan, inf, zeros and match('encoder.*'), "
    "e.g. match('encoder.*') and step > 10"
)
