"""Who is told of which torch function.

RUNS IN the training process, in the path of each torch call: one look-up for a function that was
met before.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Callable, Dict, Tuple

from zentracer.frameworks.pytorch.training.detector import Detector

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.detector import Handler

Handlers = Tuple[Tuple[Detector, "Handler"], ...]
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


def asked_by(
    detectors: tuple[Detector, ...], report_failure: Callable[[str, Exception], None]
) -> Asked:
    """Return who of ``detectors`` is told of which torch function."""
    asking = tuple(d for d in detectors if type(d).handler_for is not Detector.handler_for)
    known: Dict[Any, Handlers] = {}
    for detector in detectors:
        for function, handler in detector.ops().items():
            known[function] = (*known.get(function, ()), (detector, handler))
    if not asking:
        return Asked(known, None)

    def handlers_for(function: Any) -> Handlers:
        found: list[tuple[Detector, Handler]] = []
        for detector in asking:
            try:
                handler = detector.handler_for(function)
            except Exception as error:  # ours to report, never the training's to die from
                report_failure("look up what stops at a torch call", error)
                continue
            if handler is not None:
                found.append((detector, handler))
        return tuple(found)

    for function, handlers in known.items():
        known[function] = handlers + handlers_for(function)
    asked = Asked(known, handlers_for)
    of_out = ((d, d.out_handler()) for d in asking)
    asked.of_out = tuple((d, handler) for d, handler in of_out if handler is not None)
    return asked
