"""What the adapter wants stopped for: tensor exceptions, breakpoints by name, data breakpoints.

RUNS IN the training process. Each list comes as a whole; frameworks get it as soon as they are
loaded.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Protocol, Tuple

from zentracer import __version__
from zentracer.control.condition import CHANGES, OF_VALUES, ConditionError, compile_condition
from zentracer.control.hit_condition import HitConditionError, compile_hit_condition
from zentracer.control.pydevd import functions
from zentracer.control.pydevd.conditions import mistake_in
from zentracer.frameworks.base import ArmedData, ArmedFilter, ArmedFunction, Framework
from zentracer.wire.filters import FILTERS
from zentracer.wire.messages import (
    BreakpointStatus,
    BreakpointStatuses,
    DataBreakpoint,
    ExceptionFilter,
    FunctionBreakpoint,
    SetDataBreakpoints,
    SetExceptionFilters,
    SetFunctionBreakpoints,
)

KINDS = ("module", "backward", "op", "step")
"""Kinds of breakpoints by name that frameworks serve."""
_KNOWN: Dict[str, Any] = {known.id: known for known in FILTERS}
_NO_CHANGE = "'changed' is known at data breakpoints only."
_NO_RATIO = "'ratio' is known at the tensor exceptions exploding and stalled only."
_UNKNOWN: Dict[str, Dict[str, str]] = {
    "filter": {"changed": _NO_CHANGE},
    "data": {"ratio": _NO_RATIO},
    **{kind: {"changed": _NO_CHANGE, "ratio": _NO_RATIO} for kind in KINDS},
}
"""Names that a kind of breakpoint can never know, with what is said of each."""
_UNKNOWN["step"].update(
    (name, f"'{name}' is not known at a step: there is no tensor and no module.")
    for name in ("module", *sorted(OF_VALUES - set(CHANGES)))
)
_WAITS = (
    "PyTorch has not been imported in this process yet; the breakpoint becomes active when it is."
)


class Owner(Protocol):
    """The runtime, as far as this file needs it."""

    def frameworks(self) -> List[Framework]:
        """Those that are loaded and have not stepped aside."""
        ...

    def step_aside(self, framework: Framework, error: Exception) -> None:
        """Drop a framework that has failed."""
        ...

    def settled(self, status: BreakpointStatus) -> None:
        """Tell the user what has become of a breakpoint."""
        ...


class Armed:
    """The three lists. The caller holds the runtime's lock."""

    def __init__(self, owner: Owner, *, precise: bool) -> None:
        self._owner = owner
        self.filters: Tuple[ArmedFilter, ...] = ()
        """Tensor exceptions that are armed."""
        self._functions: Tuple[ArmedFunction, ...] = ()
        self._data: Tuple[ArmedData, ...] = ()
        self._precise = precise

    def nothing(self) -> None:
        """Watch for nothing."""
        self.filters, self._functions, self._data = (), (), ()
        functions.statuses([], self._owner.settled)
        for framework in self._owner.frameworks():
            self._arm(framework)
            self._break_at(framework)
            self._break_on(framework)

    def welcome(self, framework: Framework) -> None:
        """Arm a framework that has just been loaded, and say what became of the breakpoints."""
        if self.filters:
            self._arm(framework)
        statuses = self._break_at(framework) if self._functions else []
        statuses += self._break_on(framework) if self._data else []
        for status in statuses:
            self._owner.settled(status)

    def set_filters(self, request: SetExceptionFilters) -> BreakpointStatuses:
        """Watch for exactly these tensor exceptions; framework hooks follow at once."""
        armed: List[ArmedFilter] = []
        refused: Dict[int, str] = {}
        for wanted in request.filters:
            try:
                armed.append(_filter(wanted))
            except _Refused as why:
                refused[wanted.id] = str(why)
        self.filters, self._precise = tuple(armed), request.precise
        for framework in self._owner.frameworks():
            self._arm(framework)
        return _answer((wanted.id for wanted in request.filters), refused, {})

    def set_functions(self, request: SetFunctionBreakpoints) -> BreakpointStatuses:
        """Stop at exactly these modules, operations, steps and Python functions."""
        armed: List[ArmedFunction] = []
        refused: Dict[int, str] = {}
        told: Dict[int, BreakpointStatus] = {}
        python: List[Tuple[int, str]] = []
        for wanted in request.breakpoints:
            try:
                if _is_python(wanted):
                    python.append(_python(wanted))
                else:
                    armed.append(_function(wanted))
            except _Refused as why:
                refused[wanted.id] = str(why)
        told.update(functions.statuses(python, self._owner.settled))
        self._functions = tuple(armed)
        for framework in self._owner.frameworks():
            told.update((status.id, status) for status in self._break_at(framework))
        return _answer((wanted.id for wanted in request.breakpoints), refused, told, _WAITS)

    def set_data(self, request: SetDataBreakpoints) -> BreakpointStatuses:
        """Stop when exactly these tensors change."""
        armed: List[ArmedData] = []
        refused: Dict[int, str] = {}
        told: Dict[int, BreakpointStatus] = {}
        for wanted in request.breakpoints:
            try:
                armed.append(_data(wanted))
            except _Refused as why:
                refused[wanted.id] = str(why)
        self._data = tuple(armed)
        for framework in self._owner.frameworks():
            told.update((status.id, status) for status in self._break_on(framework))
        return _answer((wanted.id for wanted in request.breakpoints), refused, told, _WAITS)

    def _arm(self, framework: Framework) -> None:
        try:
            framework.arm(self.filters, precise=self._precise)
        except Exception as error:
            self._owner.step_aside(framework, error)

    def _break_at(self, framework: Framework) -> List[BreakpointStatus]:
        try:
            return framework.break_at(self._functions)
        except Exception as error:
            self._owner.step_aside(framework, error)
            return []

    def _break_on(self, framework: Framework) -> List[BreakpointStatus]:
        try:
            return framework.break_on(self._data)
        except Exception as error:
            self._owner.step_aside(framework, error)
            return []


class _Refused(Exception):
    """A breakpoint that cannot be armed; the text is a sentence for the user."""


def _filter(wanted: ExceptionFilter) -> ArmedFilter:
    if wanted.filter not in _KNOWN:
        raise _Refused(f"This runtime ({__version__}) does not offer {wanted.filter}.")
    condition = _condition(wanted.condition, "filter")
    return ArmedFilter(id=wanted.id, filter=wanted.filter, condition=condition)


def _is_python(wanted: FunctionBreakpoint) -> bool:
    return wanted.kind == "python"


def _python(wanted: FunctionBreakpoint) -> Tuple[int, str]:
    mistake = mistake_in(wanted.condition, wanted.hit_condition)
    if mistake is not None:
        raise _Refused(mistake)
    return wanted.id, wanted.name


def _function(wanted: FunctionBreakpoint) -> ArmedFunction:
    if wanted.kind not in KINDS:
        raise _Refused(f"This runtime ({__version__}) has no breakpoints on '{wanted.kind}'.")
    name = wanted.name.strip()
    if wanted.kind == "step":
        if name and not name.isdigit():
            raise _Refused(f"'{name}' is no step: write step, or step:N with a number.")
    elif not name:
        raise _Refused(f"Nothing follows '{wanted.kind}:'; name what to stop at, or write a *.")
    condition = _condition(wanted.condition, wanted.kind)
    return ArmedFunction(wanted.id, wanted.kind, name, condition, _hits(wanted.hit_condition))


def _data(wanted: DataBreakpoint) -> ArmedData:
    condition = _condition(wanted.condition, "data")
    return ArmedData(wanted.id, wanted.data_id, condition, _hits(wanted.hit_condition))


def _condition(text: Optional[str], kind: str) -> Any:
    if not text or not text.strip():
        return None
    try:
        condition = compile_condition(text)
    except ConditionError as error:
        raise _Refused(str(error)) from None
    for name, why in _UNKNOWN[kind].items():
        if name in condition.names:
            raise _Refused(why)
    return condition


def _hits(text: Optional[str]) -> Any:
    try:
        return compile_hit_condition(text)
    except HitConditionError as error:
        raise _Refused(str(error)) from None


def _answer(
    ids: Iterable[int],
    refused: Dict[int, str],
    told: Dict[int, BreakpointStatus],
    why_untold: Optional[str] = None,
) -> BreakpointStatuses:
    """Return the statuses in request order; what nobody spoke of is verified, or waits."""
    statuses = []
    for number in ids:
        message = refused.get(number)
        if message is None and number in told:
            statuses.append(told[number])
            continue
        waits = message is None and why_untold is not None
        message = message or why_untold
        statuses.append(
            BreakpointStatus(id=number, verified=message is None, message=message, pending=waits)
        )
    return BreakpointStatuses(breakpoints=tuple(statuses))
