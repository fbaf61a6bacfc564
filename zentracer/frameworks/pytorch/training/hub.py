"""The detectors of one armed state, and what each is told.

RUNS IN the training process. Whatever goes wrong in a detector becomes one notice, and the
detector steps aside; the program goes on.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import TYPE_CHECKING, Any, Callable, Iterable

import torch
from torch import Tensor, nn

from zentracer.control.condition import Condition, ConditionFailed
from zentracer.control.hit_condition import HitCondition
from zentracer.control.stop import is_debugger_busy
from zentracer.fork_locks import renewed
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.breaks import Breaks
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.meter import clock
from zentracer.frameworks.pytorch.report import Finding, advice_of, brief
from zentracer.frameworks.pytorch.training.asked import Asked, asked_by
from zentracer.frameworks.pytorch.training.detector import Detector, Handler, Looker
from zentracer.frameworks.pytorch.training.epochs import Epochs
from zentracer.frameworks.pytorch.training.events import Update, parameters_of
from zentracer.frameworks.pytorch.training.module_lookers import ModuleLookers
from zentracer.frameworks.pytorch.training.module_tap import ModuleTap
from zentracer.frameworks.pytorch.training.names import ParameterNames
from zentracer.frameworks.pytorch.training.norms import GradientNorms
from zentracer.frameworks.pytorch.training.passes import Passes
from zentracer.frameworks.pytorch.training.ratios import Ratios
from zentracer.frameworks.pytorch.training.readout import Readout
from zentracer.frameworks.pytorch.training.registry import DETECTORS, advisers
from zentracer.frameworks.pytorch.unseen import is_capturing, is_tracing, unseen
from zentracer.frameworks.pytorch.wanted import Wanted

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.watch import Watch

_EVENTS = ("backward_starts", "backward_ended", "update_starts", "update_ended", "step_marked")
_QUIET_STEPS = 50
"""A finding is told again only after its cause was gone for so many steps."""
_MAX_UNDER_WAY = 16
"""Optimisers whose step has begun; one that raises never ends it."""


class Training:
    """What is armed besides ``zentracer.nonfinite``."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.detectors: tuple[Detector, ...] = ()
        self._of_filters: tuple[Detector, ...] = ()
        self.breaks = Breaks(self)
        """Breakpoints by name, and on data."""
        self.ops = Asked({}, None)
        """Who is told of which torch function."""
        self.names = ParameterNames(self.is_used)
        self.readout = Readout(watch)
        self.gradient_norms = GradientNorms(self)
        self.ratios = Ratios(self.readout)
        self.modules: ModuleTap | None = None
        self._lookers = ModuleLookers(self._drop)
        self._epochs = Epochs(watch.report_failure)
        self._turns = renewed(self, "_turns", threading.Lock)
        self._told: dict[Any, int] = {}
        self._depth = 0
        self._passes = Passes(watch)
        self._updates: dict[int, Update] = {}
        self._compiled_is_said = False

    # -- armed and not -----------------------------------------------------------------------------

    def open(self, wanted: Wanted) -> None:
        """Watch for exactly these; what was learnt of the run so far stays."""
        self._compiled_is_said = False
        known = {detector.filter.id: detector for detector in self._of_filters}
        detectors: list[Detector] = []
        for name, armed in _by_filter(wanted.filters).items():
            kind = DETECTORS.get(name)
            if kind is None:
                continue
            detector = known.pop(name, None)
            if detector is None:
                detector = kind(self, armed)
            else:
                detector.rearm(armed)
            detectors.append(detector)
        if wanted.filters and self.watch.host.options.get("advice", True):
            detectors += [known.pop(kind.filter.id, None) or kind(self, ()) for kind in advisers()]
        for detector in known.values():
            self._close(detector)
        self._of_filters = tuple(detectors)
        self._take((*detectors, *self.breaks.open(wanted)))

    def close(self) -> None:
        """Watch for nothing, and leave no trace."""
        for detector in self._of_filters:
            self._close(detector)
        self._of_filters = ()
        self.breaks.close()
        self._take(())
        self.names.forget()
        self.readout.forget()
        self.gradient_norms.forget()
        self.ratios.forget()
        self._told.clear()
        self._passes.forget()
        self._updates.clear()

    def _take(self, detectors: tuple[Detector, ...]) -> None:
        self.detectors = detectors
        self.ops = asked_by(detectors, self.watch.report_failure)
        self._listeners = {event: _overriding(event, detectors) for event in _EVENTS}
        self._lookers.ask(detectors)
        if detectors and self.modules is None:
            self.modules = ModuleTap(self._lookers.after, self._look)
            self.modules.add()
            self._epochs.add()
        elif not detectors and self.modules is not None:
            self.modules.remove()
            self.modules = None
            self._epochs.remove()
        elif self.modules is not None:
            self.modules.ask_again()
        if self.modules is not None:
            self.modules.before = self._look_before if self._lookers.wants_before else None

    def ask_again(self) -> None:
        """Ask anew who is told of torch calls and modules: a detector wants to be told of more."""
        self._take(self.detectors)

    def _drop(self, detector: Detector, doing: str, error: Exception) -> None:
        """Let a detector step aside that has failed."""
        self.watch.host.notice(
            f"ZenTracer failed {doing} for '{detector.filter.label}' and no longer looks for it; "
            f"the program goes on. Please report: {brief(error)}"
        )
        self._of_filters = tuple(d for d in self._of_filters if d is not detector)
        self.breaks.drop(detector)
        self._take(tuple(d for d in self.detectors if d is not detector))
        self._close(detector)
        if not self.watch.sees_calls:
            self.watch.let_go(self.watch.on_idle)

    def _close(self, detector: Detector) -> None:
        try:
            detector.close()
        except Exception as error:  # ours to report, never the training's to die from
            self.watch.report_failure(f"end looking for '{detector.filter.label}'", error)

    # -- events ------------------------------------------------------------------------------------

    def called(
        self, handlers: tuple[tuple[Detector, Handler], ...], func: Any, args: tuple[Any, ...],
        kwargs: dict[str, Any], out: Any, frame: types.FrameType,
    ) -> None:  # fmt: skip
        """Tell who asked for it of a torch call."""
        for detector, handler in handlers:
            if detector.rests:
                continue
            glance = detector.glance
            try:
                if glance is not None and not glance(func, args, kwargs, out):
                    continue
            except Exception as error:  # ours to report, never the training's to die from
                self._drop(detector, "at a torch call", error)
                continue
            self._guarded(detector, "at a torch call", handler, func, args, kwargs, out, frame)

    def backward(
        self, run: Callable[..., Any], engine: Any, roots: tuple[Any, ...], args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:  # fmt: skip
        """Run the engine, and tell the detectors before and after."""
        if self._depth or is_debugger_busy() or is_tracing():
            return run(self.watch, engine, roots, args, kwargs)
        start = clock()
        try:
            wants_leaves = any(detector.wants_leaves for detector in self.detectors)
            frame = user_frame(sys._getframe(1))
            event = self._passes.event(roots, args, kwargs, frame, wants_leaves=wants_leaves)
        except Exception as error:  # a graph that is read in no known way: it runs unwatched
            self.watch.report_failure("look at this backward pass", error)
            return run(self.watch, engine, roots, args, kwargs)
        self._tell("backward_starts", event)
        self._took(start)
        self._depth += 1
        try:
            result = run(self.watch, engine, roots, args, kwargs)
        finally:
            self._depth -= 1
        start = clock()
        event.result = result
        self._poll()
        self._tell("backward_ended", event)
        self._took(start)
        return result

    def update_starts(self, optimizer: Any, frame: types.FrameType) -> None:
        """An optimiser is about to change parameters; ``frame`` is any of those that called it."""
        if not self.detectors or is_debugger_busy():
            return
        update = self._update(optimizer, user_frame(frame))
        if update is None:
            return
        if len(self._updates) >= _MAX_UNDER_WAY:  # each has failed, or this would be nested so deep
            self._updates.clear()
        self._updates[id(optimizer)] = update
        self._poll()
        self._tell("update_starts", update)

    def update_ended(self, optimizer: Any, frame: types.FrameType | None, *, is_step: bool) -> None:
        """An optimiser has changed parameters."""
        if not self.detectors or is_debugger_busy():
            return
        update = self._updates.pop(id(optimizer), None) or self._update(optimizer, frame)
        if update is None:
            return
        update.is_step = is_step
        if is_step:
            self._epochs.stepped()
        self._tell("update_ended", update)

    def step_marked(self, frame: types.FrameType | None) -> None:
        """The program has said that a step is complete."""
        self._tell("step_marked", frame)

    def log(self, name: str, value: Any) -> None:
        """The program says a value: a number, or a tensor of one element."""
        if isinstance(value, Tensor):
            with unseen():
                plain = value.detach().float().reshape(-1)[:1]
                self.readout.read(plain, lambda numbers: self._logged(name, numbers[0]))
        else:
            self._logged(name, float(value))

    def _logged(self, name: str, value: float) -> None:
        if name == "loss":
            self.watch.steps.logged(value)
        for detector in self.detectors:
            self._guarded(detector, "at a logged value", detector.logged, name, value)

    def is_used(self, model: nn.Module) -> bool:
        """Tell whether a model, or a part of it, was called since something is armed."""
        called = self.modules.was_called if self.modules is not None else None
        return called is None or any(called(module) for module in model.modules())

    def epoch(self, frame: types.FrameType | None) -> int | None:
        """Return the passes over the training data that have begun, from 0; None if unknown."""
        return self._epochs.number(frame)

    # -- what detectors do -------------------------------------------------------------------------

    def is_fresh(self, key: Any) -> bool:
        """Tell whether a cause is new: not seen within the last 50 steps. Asking counts as seen."""
        step = self.watch.step or 0
        last = self._told.get(key)
        self._told[key] = step
        return last is None or step - last > _QUIET_STEPS

    def stop(self, armed: Iterable[ArmedFilter], finding: Finding, frame: types.FrameType) -> None:
        """Stop ``frame`` for ``finding`` if one of the conditions holds.

        It happens once the detector has returned: until then the debugger looks away.
        """
        self._stops().append((tuple(armed), finding, frame))

    def advise(self, rule: str, label: str, severity: str, finding: Finding) -> None:
        """List ``finding`` without stopping; once for each rule, line and module."""
        frame = finding.frame
        key = (rule, finding.origin.location.path, finding.origin.location.line, finding.module)
        if key in self._told:
            return
        self._told[key] = self.watch.step or 0
        if frame is not None:
            self.watch.complete(finding, frame)
        self.watch.host.advise(advice_of(finding, rule, label, severity))

    def holds(self, armed: ArmedFilter, value_of: Callable[[str], Any]) -> bool:
        """Tell whether a condition holds; ``value_of`` is asked only for names that it reaches."""
        condition = armed.condition
        if not isinstance(condition, Condition):
            return True
        try:
            return condition.evaluate(value_of)
        except Exception as error:  # whatever a user's condition may raise
            said = isinstance(error, ConditionFailed)
            message = str(error) if said else f"The condition could not be evaluated: {error}"
            self.watch.host.notice(message, armed.id)
            return False

    def is_turn(self, number: int, hits: HitCondition) -> bool:
        """Count a hit of a breakpoint; tell whether its hit condition lets it stop."""
        with self._turns:
            allowed = hits.hit(self.watch.step)
            said = hits.without_steps()
        if said is not None:
            counted = "Steps are counted at optimizer.step() and zentracer.step()."
            self.watch.host.notice(f"{said} {counted}", number)
        return allowed

    @property
    def with_gradients(self) -> bool:
        """Whether the module call that is looked at runs with gradients enabled."""
        return bool(getattr(self.watch.local, "with_gradients", True))

    def enters_compiled(self) -> None:
        """Say, once on each breakpoint that needs to see torch calls, that none is seen there."""
        if self._compiled_is_said:
            return
        self._compiled_is_said = True
        for detector in self.detectors:
            if detector.armed and detector.sees_calls and not detector.copes_with_compiled():
                for armed in detector.armed:
                    self.watch.host.notice(
                        f"'{detector.filter.label}' sees no operation inside compiled code "
                        "(torch.compile, TorchScript), only those around it.",
                        armed.id,
                    )

    @property
    def in_backward(self) -> bool:
        """Whether gradients are being computed: modules called now are those of a checkpoint."""
        return self._depth > 0

    def guarded(
        self, detector: Detector, doing: str, method: Callable[..., None], *args: Any
    ) -> None:
        """Call a method of ``detector`` from a function of torch's that it has replaced."""
        if detector in self.detectors:
            self._guarded(detector, doing, method, *args)

    # -- inside ------------------------------------------------------------------------------------

    def _update(self, optimizer: Any, frame: types.FrameType | None) -> Update | None:
        try:
            return Update(optimizer, frame, parameters=parameters_of(optimizer))
        except Exception as error:  # an optimiser that is like no other: it runs unwatched
            self.watch.report_failure("look at this update", error)
            return None

    def _poll(self) -> None:
        """Hand over what has arrived from devices."""
        if not self.readout.is_waiting or is_capturing():
            return
        try:
            with unseen():
                self.readout.poll()
        except Exception as error:  # ours to report, never the training's to die from
            self.watch.report_failure("use what a device has computed", error)

    def _took(self, start: float) -> None:
        """Count the time since ``start`` as ours, if this step is timed."""
        meter = self.watch.meter
        if meter is not None:
            meter.add(clock() - start)

    def _look(self, lookers: tuple[tuple[Detector, Looker], ...], *call: Any) -> None:
        start = clock()
        self.watch.local.with_gradients = torch.is_grad_enabled()
        for detector, looker in lookers:
            self._guarded(detector, "at a module", looker, *call)
        self._took(start)

    def _look_before(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any],
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        for detector, looker in self._lookers.before(module, frame):
            self._guarded(detector, "before a module", looker, module, args, kwargs, frame)

    def _tell(self, event: str, body: Any) -> None:
        listeners = self._listeners.get(event, ())
        local = self.watch.local
        if not listeners or getattr(local, "busy", False) or is_tracing() or is_debugger_busy():
            return
        if is_capturing():
            return
        failed: list[tuple[Detector, Exception]] = []
        local.busy = True
        try:
            with unseen():  # once for all: entering it costs more than most of them do
                for detector in listeners:
                    try:
                        getattr(detector, event)(body)
                    except Exception as error:  # ours to report, never the training's to die from
                        failed.append((detector, error))
        except Exception as error:
            failed.append((listeners[0], error))
        finally:
            local.busy = False
        for detector, error in failed:
            self._drop(detector, "in a step", error)
        self._stop_now()

    def _guarded(
        self, detector: Detector, doing: str, method: Callable[..., None], *args: Any
    ) -> None:
        local = self.watch.local
        if getattr(local, "busy", False) or is_tracing() or is_debugger_busy() or is_capturing():
            return
        local.busy = True
        try:
            with unseen():
                method(*args)
        except Exception as error:  # ours to report, never the training's to die from
            self._drop(detector, doing, error)
        finally:
            local.busy = False
        self._stop_now()

    def _stop_now(self) -> None:
        """Stop for what detectors have found."""
        stops = self._stops()
        while stops:
            self.watch.stop_for(*stops.pop(0))

    def _stops(self) -> list[tuple[tuple[ArmedFilter, ...], Finding, types.FrameType]]:
        """Return what the calling thread is about to stop for."""
        return self.watch.local.__dict__.setdefault("stops", [])


def _by_filter(filters: tuple[ArmedFilter, ...]) -> dict[str, tuple[ArmedFilter, ...]]:
    found: dict[str, tuple[ArmedFilter, ...]] = {}
    for armed in filters:
        found[armed.filter] = (*found.get(armed.filter, ()), armed)
    return found


def _overriding(event: str, detectors: tuple[Detector, ...]) -> tuple[Detector, ...]:
    """Return the detectors that want to be told of an event."""
    base = getattr(Detector, event)
    return tuple(d for d in detectors if getattr(type(d), event) is not base)
