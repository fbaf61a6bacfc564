"""The history of the expression that a panel shows, which the panel thereby watches.

RUNS IN the user's training process, on the stopped thread.
"""

from __future__ import annotations

import math
from typing import Any, Dict, Optional

from zentracer.control.pydevd import watching
from zentracer.tensor_view.parts import Shown
from zentracer.watches.clock import clock
from zentracer.watches.history import Point
from zentracer.watches.table import Watched, watches
from zentracer.wire.editor import History, HistoryPoint, TensorQuery

_NO_STEPS = (
    "Steps are seen while a tensor exception such as “NaN or Inf” is switched on; now there are "
    "stops only."
)
_NOT_READ = (
    "Between stops it is not read: only variables, attributes, constant indices and tensors that "
    "live on are."
)


def of_watch(array: Any, shown: Shown, query: TensorQuery) -> Dict[str, Any]:
    """Note the value at this stop, and return the history so far."""
    asked = watching.asked()
    if asked is None:
        shown.remarks.append("There is no frame to which a history could belong.")
        return {}
    expression = query.expression or ""
    watches.see(expression, asked.frame, asked.thread, array, waits=True)
    watched = watches.find(expression, asked.frame, asked.thread)
    return {"history": _body(watched)} if watched is not None else {}


def _body(watched: Watched) -> History:
    points = watched.history.points
    is_scalar = watched.now is not None and watched.now.text is not None
    return History(
        kind="scalar" if is_scalar else "tensor",
        path=watched.key.file,
        points=tuple(map(_point, points)),
        sampled=bool(points) and points[-1].sampled,
        note=_note(watched),
    )


def _note(watched: Watched) -> Optional[str]:
    """Why there are stops only, if there could be more."""
    if clock.step() is None:
        return _NO_STEPS
    steps = {point.when.step for point in watched.history.points if point.when.stop is not None}
    has_passed_steps = len(steps) > 1
    is_read = any(point.when.stop is None for point in watched.history.points)
    return _NOT_READ if has_passed_steps and not is_read else None


def _point(point: Point) -> HistoryPoint:
    when = point.when
    return HistoryPoint(
        time=when.time,
        value=_finite(point.value),
        stop=when.stop,
        step=when.step,
        line=when.line,
        low=_finite(point.low),
        high=_finite(point.high),
        std=_finite(point.std),
        norm=_finite(point.norm),
        bad=point.bad,
    )


def _finite(number: Optional[float]) -> Optional[float]:
    return number if number is not None and math.isfinite(number) else None
