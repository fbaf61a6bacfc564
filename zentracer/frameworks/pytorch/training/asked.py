"""Who is told of which torch function.

RUNS IN the training process, in the path of each torch call: one look-up for a function that was
met before.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Callable, Dict, Tuple

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.detector import Detector, Handler

Handlers = Tuple[Tuple["Detector", "Handler"], ...]
_MAX_FUNCTIONS = 4096
"""Functions that are remembered; a program may make callables as it runs."""


class Asked(Dict[Any, Handlers]):
    """Handlers by torch function; one that is met for the first time is asked about.

    Args:
        known: for the functions that detectors name beforehand.
        handlers_for: asks about any other function; None if nobody wants to be asked.
    """

    def __init__(
        self, known: Dict[Any, Handlers], handlers_for: Callable[[Any], Handlers] | None
    ) -> None:
        super().__init__(known)
        self._handlers_for = handlers_for
        self.of_out: Handlers = ()
        """Who is told of calls that write into ``out=``, whatever their function."""
        self.wants_calls = bool(known) or handlers_for is not None
        """Whether anybody has to see torch calls."""

    def __missing__(self, function: Any) -> Handlers:
        found = self._handlers_for(function) if self._handlers_for is not None else ()
        if len(self) < _MAX_FUNCTIONS and is_lasting(function):
            self[function] = found
        return found


def is_lasting(function: Any) -> bool:
    """Tell whether a function is torch's: one of the user's may hold tensors in its closure."""
    if not isinstance(function, types.FunctionType):
        return True
    return function.__module__.partition(".")[0] == "torch"
