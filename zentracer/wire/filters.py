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

EXPLODING = Filter(
    id="zentracer.exploding",
    label="Exploding gradient",
    default=False,
    description=(
        "Stops when the norm of a gradient is over its threshold or jumps against its own "
        "history, or when updates are larger than the weights. Own threshold: norm > 100"
    ),
)
VANISHING = Filter(
    id="zentracer.vanishing",
    label="Vanishing gradient",
    default=False,
    description=(
        "Stops when the gradients of early layers are a tiny share of the last layer's. "
        "Own threshold: norm < 1e-6"
    ),
)
DEAD = Filter(
    id="zentracer.dead",
    label="Dead units",
    default=False,
    description=(
        "Stops when units of an activation give zero for every sample of several steps. "
        "Own threshold: zeros > 0.9 * size"
    ),
)
SATURATED = Filter(
    id="zentracer.saturated",
    label="Saturated activation",
    default=False,
    description=(
        "Stops when the outputs of a sigmoid, tanh or softmax are pinned to their limits. "
        "Own threshold: absmax > 0.999"
    ),
)
STALLED = Filter(
    id="zentracer.stalled",
    label="Parameter not learning",
    default=False,
    description=(
        "Stops when a trainable parameter gets no gradient or updates too small to matter, or "
        "is missing from the optimiser. Own threshold: ratio < 1e-7"
    ),
)
LOSS_SPIKE = Filter(
    id="zentracer.loss_spike",
    label="Loss spike",
    default=False,
    description=(
        "Stops when the loss leaves the range of its own last steps. Own threshold: x > 10"
    ),
)
SHAPE = Filter(
    id="zentracer.shape",
    label="Silent broadcast",
    default=False,
    description=(
        "Stops where two operands broadcast so that a loss or a residual gets more elements "
        "than either has, and where a shape changes between steps."
    ),
)
PRECISION = Filter(
    id="zentracer.precision",
    label="Low-precision overflow",
    default=False,
    description=(
        "Stops when float16 or bfloat16 values reach the limit of their type, or underflow to "
        "zero in bulk. Own threshold: absmax > 30000"
    ),
)

ERROR = Filter(
    id="zentracer.error",
    label="Framework error",
    default=False,
    description="An exception of the framework's own, explained where the debugger stops for it.",
)
"""No tick box of its own: debugpy's uncaught and raised exceptions are where it appears."""

FUNCTION = Filter(
    id="zentracer.function",
    label="Function breakpoint",
    default=False,
    description="A module, an operation or a step, named in the list of breakpoints.",
)
DATA = Filter(
    id="zentracer.data",
    label="Data breakpoint",
    default=False,
    description="A tensor whose values have changed.",
)
"""Function and data breakpoints have no tick box: they are lists of the editor's own."""

FILTERS: tuple[Filter, ...] = (
    NONFINITE, EXPLODING, VANISHING, DEAD, SATURATED, STALLED, LOSS_SPIKE, SHAPE, PRECISION,
)  # fmt: skip
"""Each filter is offered once it works."""

ALL: tuple[Filter, ...] = (
    NONFINITE, EXPLODING, VANISHING, DEAD, SATURATED, STALLED, LOSS_SPIKE, SHAPE, PRECISION,
)  # fmt: skip
"""Those of this version, in the order of the editor's list."""

CONDITION_DESCRIPTION = (
    "Python expression over module, op, phase, step, epoch, rank, x, name, shape, dtype, "
    "device, size, min, max, mean, std, absmax, norm, nan, inf, zeros, ratio and "
    "match('encoder.*'), e.g. match('encoder.*') and step > 10"
)
