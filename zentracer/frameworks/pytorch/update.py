"""Watches parameter updates: the optimiser's step as a whole.

RUNS IN the training process, in torch's own hooks around ``Optimizer.step``.
"""

from __future__ import annotations

import inspect
import sys
import types
import weakref
from typing import TYPE_CHECKING, Any

from torch import Tensor

from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import place_of
from zentracer.frameworks.pytorch.finite import counts, looks_finite, readable_tensor
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.meter import clock
from zentracer.frameworks.pytorch.modules import owner_of, root_modules
from zentracer.frameworks.pytorch.report import Finding, brief
from zentracer.frameworks.pytorch.scene import Scene
from zentracer.frameworks.pytorch.suggest import suggestions_for
from zentracer.frameworks.pytorch.trail import Site
from zentracer.frameworks.pytorch.unseen import unseen

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch


class Updates:
    """The hooks of one armed state."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._steps: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def before(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Read the deferred checks; let a library optimiser work unwatched."""
        watch = self._watch
        if not watch.sees_calls:
            watch.remove_retired()
        if not watch.is_armed:
            return
        start, meter = clock(), watch.meter
        frame = sys._getframe(1)
        watch.steps.update_starts(frame)
        if meter is not None and watch.deferred.has_checks:
            meter.usable = False
        try:
            watch.deferred.flush(user_frame(frame))
        except Exception as error:  # ours to report, never the training's to die from
            watch.host.notice(f"ZenTracer could not read its checks: {brief(error)}")
        watch.training.update_starts(optimizer, frame)
        watcher = getattr(watch.local, "watcher", None)
        closure = any(map(callable, (*args[1:], *kwargs.values())))
        if watcher is not None and not closure:
            watch.rest(watcher, not _is_users(optimizer))
        if meter is not None:
            meter.add(clock() - start)

    def after(self, optimizer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Check the parameters; stop if the step made one of them non-finite."""
        watch, start = self._watch, clock()
        watch.wake()
        if not watch.is_armed:
            return
        watch.skipped = 0
        frame = user_frame(sys._getframe(1))
        try:
            with unseen():
                finding = (
                    self._look(optimizer, frame) if frame is not None and watch.filters else None
                )
        except Exception as error:  # ours to report, never the training's to die from
            watch.host.notice(f"ZenTracer could not examine an update: {brief(error)}")
            finding = None
        if finding is not None and frame is not None:
            watch.stop(finding, frame)
        self._steps[optimizer] = self._steps.get(optimizer, 0) + 1
        is_step = watch.counted_step(max(self._steps.values()))
        watch.training.update_ended(optimizer, frame, is_step=is_step)
        meter = watch.meter
        if meter is not None:
            meter.add(clock() - start)
        if is_step and watch.marked_number is None:
            watch.steps.overhead.boundary()

    def _look(self, optimizer: Any, frame: types.FrameType) -> Finding | None:
        watch = self._watch
        parameters = [
            p for group in optimizer.param_groups for p in group["params"] if p.grad is not None
        ]  # the others it leaves alone
        self._defer(optimizer, parameters, frame)
        bad = _first_bad([p for p in parameters if not watch.defers(p)])
        if bad is None:
            watch.polluted = False
            return None
        if watch.polluted:
            return None
        parameter, nan, inf = bad
        owner = owner_of(parameter, root_modules())
        index = next(i for i, p in enumerate(parameters) if p is parameter)
        name = owner.name if owner is not None else f"number {index}"
        gradient = readable_tensor(parameter.grad) if parameter.grad is not None else None
        gradient_bad = gradient is not None and any(counts(gradient))
        place = place_of(frame.f_code, frame.f_lasti, "step")
        op = f"{type(optimizer).__name__}.step"
        inputs = [(f"{name}.grad", gradient)] if gradient is not None else []
        state = optimizer.state.get(parameter, {})
        inputs += [
            (str(k), v) for k, v in state.items() if readable_tensor(v) is not None and v.dim()
        ]
        value = readable_tensor(parameter)
        scene = Scene(
            op, "update", place, tuple(x for _, x in inputs[:1]), (), {}, value, name, optimizer
        )
        return Finding(
            op=op,
            phase="update",
            tensor=value.detach() if value is not None else None,
            nan=nan,
            inf=inf,
            source=place,
            origin=place,
            subject=f"parameter {name}",
            module=(owner.module_name or type(owner.module).__name__) if owner else None,
            inputs=tuple((label, x.detach()) for label, x in inputs),
            suggestions=suggestions_for(scene),
            finite_before=None if gradient_bad else "The gradients were finite before the step.",
            note="the gradient was non-finite before the step." if gradient_bad else None,
        )

    def _defer(self, optimizer: Any, parameters: list[Tensor], frame: types.FrameType) -> None:
        """Queue the check of parameters on an accelerator; it is read before the next step."""
        site = Site(frame.f_code, frame.f_lasti, f"{type(optimizer).__name__}.step")
        for parameter in parameters:
            if self._watch.defers(parameter):
                inputs = [parameter.grad] if parameter.grad is not None else []
                self._watch.deferred.add(parameter, inputs, site, "update")


def _first_bad(parameters: list[Tensor]) -> tuple[Tensor, int, int] | None:
    """Return (parameter, NaN count, Inf count) of the first one that is not finite."""
    readable = [(p, readable_tensor(p)) for p in parameters]
    plain = [(p, r.detach()) for p, r in readable if r is not None]
    for parameter, values in plain:
        if not looks_finite(values):
            nan, inf = counts(values)
            if nan or inf:
                return parameter, nan, inf
    return None


def _is_users(optimizer: Any) -> bool:
    """Tell whether the optimiser's step is the user's own code, to be watched line by line."""
    code = getattr(inspect.unwrap(type(optimizer).step), "__code__", None)
    return code is not None and is_user_code(code)
