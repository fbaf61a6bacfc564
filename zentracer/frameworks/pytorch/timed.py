"""The watcher and the hooks of backward, with a clock around everything of ours.

RUNS IN the training process, for one step in a while (overhead.py). They do what the plain ones
do, with the same results.
"""

from __future__ import annotations

import sys
import types
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from zentracer.frameworks.pytorch.backward import Run, run_backward
from zentracer.frameworks.pytorch.meter import Meter, clock
from zentracer.frameworks.pytorch.mode import (
    BothWatcher,
    OpsWatcher,
    Watcher,
    is_bad_tensor,
)
from zentracer.frameworks.pytorch.plans import CHECK, IGNORE, known_plans, plan_for
from zentracer.frameworks.pytorch.trail import sequence_number
from zentracer.frameworks.pytorch.unseen import retrace, untrace

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch

_get_frame = sys._getframe
_push = torch._C._push_on_torch_function_stack
_pop = torch._C._pop_torch_function_stack


class _Probe(TorchFunctionMode):
    """Calls the function and times it: the rest of the call is what a mode costs."""

    seconds = 0.0

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        start = clock()
        out = func(*args, **(kwargs or {}))
        self.seconds = clock() - start
        return out


class TimedWatcher(Watcher):
    """A watcher during a step that is timed."""

    meter: Meter
    probe: _Probe

    # Architecture invariant: this is ``Watcher.__torch_function__`` with a clock. It repeats that
    # text, because a call or a question more would cost every torch call of every step.
    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        """Run ``func`` and look at what it made."""
        start = clock()
        if kwargs is None:
            kwargs = {}
        if self.asleep:
            if self.retired:
                self.watch.remove_retired_soon()
            return func(*args, **kwargs)
        try:
            plan = known_plans[func]
        except (KeyError, TypeError):  # not seen before, or without a hash
            plan = plan_for(func)
        kind = plan.kind
        if kind == IGNORE:
            return _call(self, func, args, kwargs, start)
        before = sequence_number()
        mine = get_ident() == self.ident  # not on the threads of the autograd engine
        if mine and before != self.seen and self.watch.main is self:
            self._note_unseen(before, plan, _get_frame(1))
        was_bad = False
        if kind == CHECK and plan.in_place and args and not self._passes_over(plan, args[0]):
            was_bad = self.suspicious(args[0]) and is_bad_tensor(args[0])
            before = sequence_number()
        out = _call(self, func, args, kwargs, start)
        start = clock()
        trace = untrace()
        try:
            bad = self._look(plan, args, kwargs, out, before, mine)
        except Exception as error:  # ours to report, never the training's to die from
            bad = False
            self.watch.report_failure(f"look at the result of {plan.name}", error)
        finally:
            if trace is not None:
                retrace(trace)
        if bad:
            self.watch.inspect(self, plan, func, args, kwargs, out, was_bad, _get_frame(1))
        if mine:
            self.seen = sequence_number()
        self.meter.looks += 1
        self.meter.ours += clock() - start
        return out


def _call(
    watcher: TimedWatcher | TimedOps,
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    start: float,
) -> Any:
    """Call ``func`` through the probe, as torch has called us.

    Not a method: whoever disarms, on another thread, makes a plain ``Watcher`` of ours meanwhile.
    """
    meter, probe = watcher.meter, watcher.probe
    probe.seconds = -1.0
    _push(probe)
    called = clock()
    try:
        out = func(*args, **kwargs)
    finally:
        returned = clock()
        _pop()
        mode = returned - called - probe.seconds if probe.seconds >= 0 else 0.0
        meter.ours += called - start + mode
        meter.repeated += mode
        meter.calls += 1
    return out


class TimedRun(Run):
    """A call of the engine during a step that is timed."""

    def _after(self, index: int, only: int | None, grad_inputs: Any, grad_outputs: Any) -> None:
        start = clock()
        super()._after(index, only, grad_inputs, grad_outputs)
        meter = self.watch.meter
        if meter is not None:
            meter.add(clock() - start)
            meter.node_hooks += 1


class TimedOps(OpsWatcher):
    """The same for one that only tells of calls."""

    meter: Meter
    probe: _Probe

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        """Run ``func`` and hand it to whoever asked for it."""
        start = clock()
        kwargs = kwargs or {}
        out = _call(self, func, args, kwargs, start)
        start = clock()
        self.tell(func, args, kwargs, out, _get_frame(1))
        self.meter.ours += clock() - start
        return out


class TimedBoth(BothWatcher, TimedWatcher):
    """One that looks at results and tells of calls."""

    def look(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run ``func`` and look at what it made."""
        return TimedWatcher.__torch_function__(self, func, types, args, kwargs)

    def tell(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        """Hand a call to whoever asked for it."""
        start = clock()
        Watcher.tell(self, func, args, kwargs, out, frame)
        self.meter.add(clock() - start)


_TIMED = {Watcher: TimedWatcher, OpsWatcher: TimedOps, BothWatcher: TimedBoth}


def begin(watcher: Watcher, meter: Meter) -> None:
    """Let ``watcher`` time what it does."""
    vars(watcher).update(meter=meter, probe=_Probe())
    watcher.__class__ = _TIMED.get(type(watcher), TimedWatcher)


def end(watcher: Watcher) -> None:
    """Let ``watcher`` be as before."""
    watcher.watch.dress(watcher)


class _TimedEngine:
    """Times the engine itself."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.seconds = 0.0

    def run_backward(self, *args: Any, **kwargs: Any) -> Any:
        start = clock()
        try:
            return self._engine.run_backward(*args, **kwargs)
        finally:
            self.seconds += clock() - start


def timed_backward(
    watch: Watch, engine: Any, roots: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Do what ``run_backward`` does, with a clock around it."""
    timed = _TimedEngine(engine)
    start = clock()
    try:
        return run_backward(watch, timed, roots, args, kwargs, TimedRun)
    finally:
        meter = watch.meter
        if meter is not None:
            meter.add(clock() - start - timed.seconds)
