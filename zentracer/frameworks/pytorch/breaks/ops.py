"""``op:GLOB``: stops after an operation has run, at the user's line that called it.

RUNS IN the training process. A breakpoint meets each torch function once; of the calls of those
that it names, most end at a glance.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from torch import Tensor, nn

from zentracer.control.condition import ConditionFailed
from zentracer.control.source import Place, place_of
from zentracer.frameworks.base import ArmedFunction
from zentracer.frameworks.pytorch import report
from zentracer.frameworks.pytorch.breaks.by_name import Asking, NameBreaks
from zentracer.frameworks.pytorch.breaks.glob import is_glob, matcher
from zentracer.frameworks.pytorch.breaks.moment import Inputs, Moment, metadata
from zentracer.frameworks.pytorch.breaks.op_names import inside, label_of, names_of, normalised
from zentracer.frameworks.pytorch.breaks.op_status import what_becomes_of
from zentracer.frameworks.pytorch.breaks.recomputed import is_recomputed
from zentracer.frameworks.pytorch.finite import PLAIN, outputs_of, tensors_in
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.modules import is_library, modules_on_stack, qualified_name
from zentracer.frameworks.pytorch.phase import phase_of
from zentracer.frameworks.pytorch.plans import IGNORE, Plan, plan_for, readable
from zentracer.frameworks.pytorch.training.asked import is_lasting
from zentracer.frameworks.pytorch.training.detector import Handler
from zentracer.wire.messages import BreakpointStatus

_AT_A_GLANCE = frozenset(("step", "rank", "op", "shape", "dtype", "device", "size"))


class OpBreaks(NameBreaks):
    """All breakpoints on operations."""

    kind = "op"

    def take(self, functions: tuple[ArmedFunction, ...]) -> None:
        """Serve exactly these."""
        self._asking: dict[Any, tuple[Asking, ...]] = {}
        super().take(functions)
        self._patterns = [(armed, _Pattern(armed.name)) for armed in self.functions]

    def status_of(self, armed: ArmedFunction) -> BreakpointStatus:
        """Return whether there is such an operation that can be seen."""
        verified, message = what_becomes_of(normalised(armed.name), armed.name)
        if verified:
            self._settled.add(armed.id)
        else:
            self._settled.discard(armed.id)
        return BreakpointStatus(
            id=armed.id, verified=verified, message=message, pending=not verified
        )

    def handler_for(self, function: Any) -> Handler | None:
        """Return who is told of a function, if a breakpoint names it."""
        names = names_of(function)
        found = tuple(
            Asking(armed, note)
            for armed, pattern in self._patterns
            for note in pattern.notes(names, function)
        )
        if not found:
            return None
        for asking in found:
            self.verified(asking.armed)
        if is_lasting(function):
            self._asking[function] = found
        return functools.partial(self._called, found, label_of(function))

    def glance(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, func: Any, _args: tuple[Any, ...], _kwargs: dict[str, Any], out: Any
    ) -> bool:
        """Tell whether a condition may hold, by what is known without computing."""
        found = self._asking.get(func)
        if found is None:
            return True
        for armed, _ in found:
            condition = armed.condition
            names = getattr(condition, "names", None)
            if condition is None or names is None or not names <= _AT_A_GLANCE:
                return True
            if type(out) not in PLAIN or self._may_hold(condition, func, out):
                return True
        return False

    def _may_hold(self, condition: Any, func: Any, out: Tensor) -> bool:
        try:
            return condition.evaluate(self._known(func, out))
        except ConditionFailed:  # the mistake is said where breakpoints are asked
            return True

    def _known(self, func: Any, out: Tensor) -> Any:
        watch = self.training.watch

        def value_of(name: str) -> Any:
            if name == "step":
                return watch.step or 0
            if name == "rank":
                return watch.host.rank or 0
            return readable(label_of(func)) if name == "op" else metadata(out, name)

        return value_of

    def _called(
        self, found: tuple[Asking, ...], label: str, func: Any, args: tuple[Any, ...],
        kwargs: dict[str, Any], out: Any, frame: types.FrameType,
    ) -> None:  # fmt: skip
        user = user_frame(frame)
        if user is None or (self.training.in_backward and is_recomputed(frame)):
            return
        plan = plan_for(func)
        values = [args[0]] if plan.writes and args else outputs_of(out)
        x = next((value for value in values if isinstance(value, Tensor)), None)
        call = _Call(self.training, plan, args, kwargs, frame, user)
        moment = Moment(
            self.training, user,
            headline=f"{label} has run",
            subject=f"output of {label}",
            op=readable(label),
            phase=call.phase,
            x=x,
            module=call.module,
            inputs=call.inputs,
            shown=call.shown,
        )  # fmt: skip
        self.ask([one for one in found if x is not None or not is_glob(one.armed.name)], moment)


class _Call:
    """What is looked up of a call when it is asked for."""

    def __init__(
        self, training: Any, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any],
        frame: types.FrameType, user: types.FrameType,
    ) -> None:  # fmt: skip
        self._training, self._plan = training, plan
        self._args, self._kwargs = args, kwargs
        self._frame, self._user = frame, user

    @functools.cached_property
    def _modules(self) -> list[nn.Module]:
        return modules_on_stack(self._frame)

    def module(self) -> str | None:
        modules = self._modules
        return qualified_name(modules[0], modules[-1]) if modules else None

    def phase(self) -> str:
        if self._training.in_backward:
            return "backward"
        return phase_of(self._training.watch, self._plan, self._modules)

    def inputs(self) -> Inputs:
        place = place_of(self._user.f_code, self._user.f_lasti, self._plan.name)
        if self._is_nested():  # the line names what the outer module was given
            place = Place(place.location, None, None)
        known = {}
        for inner in self._modules[:1]:
            for name, parameter in inner.named_parameters(recurse=False):
                known[id(parameter)] = f"{self.module()}.{name}" if is_library(inner) else name
        tensors = list(tensors_in([self._args, self._kwargs]))
        return report.named_inputs(place, self._args, tensors, known)

    def _is_nested(self) -> bool:
        """Tell whether a module of torch's calls another one below the user's line."""
        outer = modules_on_stack(self._user)
        return len(self._modules) - len(outer) > 1

    def shown(self) -> dict[str, Any]:
        return {"module": self._modules[0]} if self._modules else {}


class _Pattern:
    """What a breakpoint names."""

    def __init__(self, said: str) -> None:
        pattern = normalised(said)
        self._said, self._is_glob = said, is_glob(pattern)
        self._fits = matcher(pattern)
        self._around = () if self._is_glob else inside(pattern)

    def notes(self, names: frozenset[str], function: Any) -> list[str | None]:
        """Return the note of a match, which may be None; empty if there is no match."""
        if any(self._fits(name) for name in names):
            return [] if self._is_glob and plan_for(function).kind == IGNORE else [None]
        around = next((outer for outer in self._around if outer in names), None)
        if around is None:
            return []
        return [f"{self._said} runs inside {full_name(around, names)}."]


def full_name(plain: str, names: frozenset[str]) -> str:
    """Return a function's name as it is imported, e.g. ``torch.nn.functional.linear``."""
    full = [name for name in names if name.startswith("torch.") and name.endswith(f".{plain}")]
    return max(full, key=len, default=plain)
