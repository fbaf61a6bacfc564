"""What every detector has in common.

RUNS IN the training process.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Mapping

from zentracer.control.condition import STATISTICS
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.wire.filters import Filter

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

Looker = Callable[[Any, "tuple[Any, ...]", "dict[str, Any]", Any, types.FrameType], None]
"""Looks at a call of a module: module, args, kwargs, what it returned, the calling frame."""
BeforeLooker = Callable[[Any, "tuple[Any, ...]", "dict[str, Any]", types.FrameType], None]
"""Looks at a module that is about to be called: module, args, kwargs, the calling frame."""
Handler = Callable[[Any, "tuple[Any, ...]", "dict[str, Any]", Any, types.FrameType], None]
"""Looks at a torch call: function, args, kwargs, what it returned, the calling frame."""

VALUES = frozenset((*STATISTICS, "x", "ratio"))
"""A condition that names one of these is a threshold of the user's own."""


class Detector:
    """One armed filter. Overrides what it wants to be told; everything else costs nothing.

    Every method may raise: the hub turns that into one notice. None may change anything of the
    program's, nor keep its tensors alive.
    """

    filter: ClassVar[Filter]
    wants_leaves: ClassVar[bool] = False
    """Whether ``Backward.leaves`` is needed."""
    rests: bool = False
    """Whether torch calls may pass untold for now."""
    glance: Callable[..., bool] | None = None
    """Asked of ``(func, args, kwargs, out)`` before a handler of ``ops`` is: may read metadata of
    plain tensors, computes nothing. Most calls end here, so it has to be quick."""

    def __init__(self, training: Training, armed: tuple[ArmedFilter, ...]) -> None:
        self.training = training
        self.armed = armed

    def rearm(self, armed: tuple[ArmedFilter, ...]) -> None:
        """Take over another list of conditions; what was learnt of the run stays."""
        self.armed = armed

    @property
    def adaptive(self) -> tuple[ArmedFilter, ...]:
        """Those that stop at what this detector finds, if their condition holds there."""
        return tuple(armed for armed in self.armed if not has_threshold(armed))

    @property
    def custom(self) -> tuple[ArmedFilter, ...]:
        """Those whose condition is the threshold: it is asked of each value."""
        return tuple(armed for armed in self.armed if has_threshold(armed))

    def close(self) -> None:
        """Forget everything; nothing of it is armed any more."""

    # -- events ----------------------------------------------------------------------------------

    def ops(self) -> Mapping[Any, Handler]:
        """Return which torch functions to be told of, and by whom. Needs a mode: not free."""
        return {}

    def handler_for(self, function: Any) -> Handler | None:
        """Return who is told of a torch function that no ``ops`` names; asked at its first call."""
        return None

    def out_handler(self) -> Handler | None:
        """Return who is told of calls that write into ``out=``, besides ``handler_for``."""
        return None

    @property
    def sees_calls(self) -> bool:
        """Whether it has to be told of torch calls."""
        return bool(self.ops()) or type(self).handler_for is not Detector.handler_for

    def copes_with_compiled(self) -> bool:
        """Code is entered in which no call is seen; return whether that takes nothing away."""
        return False

    def looker(self, module: Any) -> Looker | None:
        """Return who looks at the calls of ``module``; asked once for each module."""
        return None

    def before_looker(self, module: Any, frame: types.FrameType) -> BeforeLooker | None:
        """Return who looks before ``module`` is called; asked once for each module, at a call."""
        return None

    def step_marked(self, frame: types.FrameType | None) -> None:
        """The program has said that a step is complete."""

    def backward_starts(self, run: Backward) -> None:
        """Gradients are about to be computed."""

    def backward_ended(self, run: Backward) -> None:
        """Gradients have been computed."""

    def update_starts(self, update: Update) -> None:
        """An optimiser is about to change parameters."""

    def update_ended(self, update: Update) -> None:
        """An optimiser has changed parameters."""

    def logged(self, name: str, value: float) -> None:
        """The program has logged a value with ``zentracer.log``."""


def has_threshold(armed: ArmedFilter) -> bool:
    """Tell whether a condition sets a threshold of its own."""
    return armed.condition is not None and bool(armed.condition.names & VALUES)
