"""Run code under the armed watch without a debugger, collecting the hits."""

from __future__ import annotations

import types
from contextlib import contextmanager
from typing import Any, Iterator, Mapping

from zentracer.control.condition import compile_condition
from zentracer.control.pointed import by_expression
from zentracer.frameworks.base import ArmedData, ArmedFilter, ArmedFunction
from zentracer.frameworks.pytorch import PyTorch
from zentracer.frameworks.pytorch.data.info import info
from zentracer.frameworks.pytorch.frames import variables
from zentracer.frameworks.pytorch.training.registry import DETECTORS
from zentracer.wire.messages import Advice, BreakpointHit, BreakpointStatus, Step


class Host:
    """Collects what a debugger would show."""

    rank: int | None = None

    def __init__(self, *, advice: bool = False) -> None:
        self.options: Mapping[str, Any] = {"advice": advice}
        self.hits: list[BreakpointHit] = []
        self.frames: list[tuple[str, int]] = []
        self.shown: list[dict[str, Any]] = []
        """What the scopes showed at each hit."""
        self.statuses: dict[int, BreakpointStatus] = {}
        """What was told of breakpoints after they were set."""
        self.described: dict[int, str] = {}
        """What was said of data breakpoints before they were set."""
        self.notices: list[str] = []
        self.advice: list[Advice] = []
        self.steps: list[Step] = []

    def stop(
        self,
        hit: BreakpointHit,
        frame: types.FrameType,
        lasti: int | None = None,
        tensors: Mapping[str, Any] | None = None,
    ) -> None:
        self.hits.append(hit)
        self.frames.append((frame.f_code.co_filename, frame.f_lineno))
        self.shown.append(dict(tensors or {}))

    def settled(self, status: BreakpointStatus) -> None:
        self.statuses[status.id] = status

    def advise(self, advice: Advice) -> None:
        self.advice.append(advice)

    def notice(self, message: str, breakpoint_id: int | None = None) -> None:
        self.notices.append(message)

    def stepped(self, step: Step) -> None:
        self.steps.append(step)


@contextmanager
def watching(*, precise: bool = False, condition: Any = None) -> Iterator[Host]:
    """Arm ``zentracer.nonfinite`` on this thread."""
    host = Host()
    framework = PyTorch(host)
    framework.arm((ArmedFilter(1, "zentracer.nonfinite", condition),), precise=precise)
    try:
        yield host
    finally:
        framework.disarm()


EVERYTHING = ("nonfinite", *(name[len("zentracer.") :] for name in DETECTORS))
"""All filters of PyTorch."""


@contextmanager
def watching_for(
    *filters: str, advice: bool = False, precise: bool = False, defer: bool = False
) -> Iterator[Host]:
    """Arm filters on this thread, each as ``exploding`` or ``exploding:norm > 100``.

    With ``defer``, CPU tensors are treated as if they were on an accelerator.
    """
    host = Host(advice=advice)
    framework = PyTorch(host)
    armed = []
    for number, text in enumerate(filters, 1):
        name, _, condition = text.partition(":")
        compiled = compile_condition(condition) if condition else None
        armed.append(ArmedFilter(number, f"zentracer.{name}", compiled))
    framework.arm(tuple(armed), precise=precise)
    if defer:
        assert framework._watch is not None
        framework._watch.defer_cpu = True
    try:
        yield host
    finally:
        framework.disarm()


@contextmanager
def breaking(*names: str, precise: bool = False, filters: tuple[str, ...] = ()) -> Iterator[Host]:
    """Arm breakpoints by name on this thread, each as ``module:encoder.* if norm > 3``.

    What became of each is in ``host.statuses``, by its number from 1 on.
    """
    host = Host()
    framework = PyTorch(host)
    if filters:
        armed = tuple(ArmedFilter(-n, f"zentracer.{name}") for n, name in enumerate(filters, 1))
        framework.arm(armed, precise=precise)
    functions = []
    for number, text in enumerate(names, 1):
        name, _, condition = text.partition(" if ")
        kind, _, glob = name.partition(":")
        compiled = compile_condition(condition) if condition else None
        functions.append(ArmedFunction(number, kind, glob, compiled))
    for status in framework.break_at(tuple(functions)):
        host.settled(status)
    try:
        yield host
    finally:
        framework.disarm()


@contextmanager
def data_breaking(
    frame: types.FrameType, *texts: str, precise: bool = False, filters: tuple[str, ...] = ()
) -> Iterator[Host]:
    """Arm data breakpoints on this thread, each as ``model.fc.weight if changed > 0.1``.

    The expressions are those of ``frame``. What was said of each is in ``host.described``, what
    became of it in ``host.statuses``, by its number from 1 on.
    """
    host = Host()
    framework = PyTorch(host)
    armed = tuple(ArmedFilter(-n, f"zentracer.{name}") for n, name in enumerate(filters, 1))
    framework.arm(armed, precise=precise)
    breakpoints = []
    for number, text in enumerate(texts, 1):
        expression, _, condition = text.partition(" if ")
        data_id, host.described[number] = watchable(expression, frame)
        if data_id is not None:
            compiled = compile_condition(condition) if condition else None
            breakpoints.append(ArmedData(number, data_id, compiled))
    for status in framework.break_on(tuple(breakpoints)):
        host.settled(status)
    del frame
    try:
        yield host
    finally:
        framework.disarm()


def watchable(expression: str, frame: types.FrameType) -> tuple[str | None, str]:
    """Return the data id of an expression and what it watches; None, and why there is none."""
    return info(by_expression(expression, variables(frame), frame.f_globals))
