"""Breakpoints by name and on data: what serves them, and what became of each.

RUNS IN the training process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zentracer.frameworks.base import ArmedData, ArmedFunction
from zentracer.frameworks.pytorch.breaks.backward import BackwardBreaks
from zentracer.frameworks.pytorch.breaks.by_name import NameBreaks
from zentracer.frameworks.pytorch.breaks.modules import ModuleBreaks
from zentracer.frameworks.pytorch.breaks.ops import OpBreaks
from zentracer.frameworks.pytorch.breaks.steps import StepBreaks
from zentracer.frameworks.pytorch.data.detector import DataBreaks
from zentracer.frameworks.pytorch.training.detector import Detector
from zentracer.frameworks.pytorch.wanted import Wanted
from zentracer.wire.messages import BreakpointStatus

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

KINDS: dict[str, type[NameBreaks]] = {
    kind.kind: kind for kind in (ModuleBreaks, BackwardBreaks, OpBreaks, StepBreaks)
}
"""Kind of a breakpoint by name -> who serves it."""
_FAILED = "ZenTracer has failed there and no longer looks for it; see the debug console."


class Breaks:
    """The breakpoints by name and on data of one armed state."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self._by_kind: dict[str, NameBreaks] = {}
        self._data: DataBreaks | None = None

    def open(self, wanted: Wanted) -> tuple[Detector, ...]:
        """Serve exactly these; returns who has to be told of what happens."""
        for kind, serves in KINDS.items():
            armed = tuple(one for one in wanted.functions if one.kind == kind)
            known = self._by_kind.get(kind)
            if not armed:
                if known is not None:
                    self._by_kind.pop(kind).close()
            elif known is None:
                self._by_kind[kind] = serves(self._training, armed)
            else:
                known.take(armed)
        self._open_data(wanted.data)
        by_name = tuple(self._by_kind.values())
        return by_name if self._data is None else (*by_name, self._data)

    def _open_data(self, data: tuple[ArmedData, ...]) -> None:
        if not data:
            if self._data is not None:
                self._data.close()
                self._data = None
        elif self._data is None:
            self._data = DataBreaks(self._training, data)
        else:
            self._data.take(data)

    def close(self) -> None:
        """Serve nothing, and leave no trace."""
        for detector in self._by_kind.values():
            detector.close()
        self._by_kind.clear()
        self._open_data(())

    def drop(self, detector: Detector) -> None:
        """Forget a detector that has failed."""
        self._by_kind = {k: known for k, known in self._by_kind.items() if known is not detector}
        if detector is self._data:
            self._data = None

    def statuses(self, functions: tuple[ArmedFunction, ...]) -> list[BreakpointStatus]:
        """Return what became of breakpoints by name."""
        found: dict[int, BreakpointStatus] = {
            one.id: BreakpointStatus(id=one.id, verified=False, message=_FAILED)
            for one in functions
        }
        for kind, serves in self._by_kind.items():
            statuses = serves.statuses_of(one for one in functions if one.kind == kind)
            found.update((status.id, status) for status in statuses)
        return list(found.values())

    def data_statuses(self, data: tuple[ArmedData, ...]) -> list[BreakpointStatus]:
        """Return what became of data breakpoints."""
        if self._data is None:
            return [BreakpointStatus(id=one.id, verified=False, message=_FAILED) for one in data]
        return [self._data.status_of(one) for one in data]
