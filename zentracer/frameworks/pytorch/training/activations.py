"""What the detectors of activations share: when they look, and at which place.

RUNS IN the training process, in torch calls and module calls of the user.
"""

from __future__ import annotations

import fnmatch
import types
import weakref
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from zentracer.control.source import Place, place_of
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.finite import readable_tensor
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.modules import modules_on_stack
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.training.detector import Detector, Looker
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.frameworks.pytorch.training.module_names import ModuleNames
from zentracer.frameworks.pytorch.training.output_conditions import (
    SEEN_STEPS,
    Conditions,
    required_globs,
)
from zentracer.frameworks.pytorch.values import hit_values

FIRST_STEPS = 10
"""Steps of which every activation is looked at."""
EVERY = 10
"""Later, one step of so many is looked at, as long as nothing is suspicious."""
SAMPLE = 32_768
"""Elements that are looked at of a larger activation, as long as nothing is suspicious there."""
_MAX_PLACES = 50_000

State = TypeVar("State")


@dataclass
class Call:
    """One call of an activation. Lives no longer than the look at it."""

    op: str
    out: Tensor
    """What it returned, detached."""
    node: Any
    """Its autograd node."""
    module: nn.Module | None
    """The innermost module around it."""
    user: types.FrameType

    def place(self) -> Place:
        """Return the user's line."""
        return place_of(self.user.f_code, self.user.f_lasti, self.op)


class ActivationDetector(Detector, Generic[State]):
    """Looks at each activation of the first steps, then at those of a share of the steps."""

    def __init__(self, training: Any, armed: tuple[ArmedFilter, ...]) -> None:
        super().__init__(training, armed)
        self.names = ModuleNames(training.is_used)
        self.step = 0
        """Passes seen so far: steps of the optimiser, without one backward passes."""
        self._is_counted = False
        """Whether the step of an optimiser that begins to count was taken for a pass already."""
        self._suspicious_until = 0
        self._places: dict[Any, tuple[Any, State | None]] = {}
        self._conditions = Conditions(self)
        self._armed_at = 0
        self._narrow = self._names_of_all()

    def rearm(self, armed: tuple[ArmedFilter, ...]) -> None:
        """Take over another list of conditions."""
        super().rearm(armed)
        self._conditions.close()
        self._conditions = Conditions(self)
        self._armed_at = self.step
        self._narrow = self._names_of_all()
        self._places.clear()
        self._choose()

    def close(self) -> None:
        """Forget everything."""
        self._places.clear()
        self.names.forget()
        self._conditions.close()

    # -- events ------------------------------------------------------------------------------------

    def looker(self, module: Any) -> Looker | None:
        """Return who asks the conditions that name ``module``."""
        return self._conditions.looker(module)

    def backward_starts(self, run: Backward) -> None:
        """Take the end of the forward pass for what the last outputs lead to."""
        self._conditions.forward_ended(run.roots)

    def backward_ended(self, run: Backward) -> None:
        """Count a pass if there is no optimiser that counts steps."""
        if self.training.watch.step is None:
            self._is_counted = True
            self._next()

    def update_ended(self, update: Update) -> None:
        """Count a step."""
        if update.is_step and not self._is_counted:
            self._next()
        self._is_counted = False

    def _next(self) -> None:
        self.step += 1
        self._choose()
        if self.step == self._armed_at + SEEN_STEPS:
            self._conditions.say_what_matches_nothing()

    def _choose(self) -> None:
        """Decide whether the step that begins is looked at."""
        looks = self.step < FIRST_STEPS or self.step <= self._suspicious_until
        looks = looks or self.step % EVERY == 0 or self._conditions.ask_activations
        self.rests = not (looks and (self.adaptive or self._conditions.ask_activations))

    def suspect(self) -> None:
        """Look at each of the next steps."""
        self._suspicious_until = self.step + 2

    # -- calls -------------------------------------------------------------------------------------

    def call_of(self, op: str, out: Any, frame: types.FrameType) -> Call | None:
        """Return what there is to look at; None in a recomputation, a transform, a foreign type."""
        if self.training.in_backward and not self._first_with_gradients(frame):
            return None
        if torch._C._functorch.peek_interpreter_stack() is not None:  # type: ignore[attr-defined]
            return None
        plain = readable_tensor(out)
        user = user_frame(frame)
        if plain is not out or user is None:
            return None
        modules = modules_on_stack(frame)
        return Call(op, out.detach(), out.grad_fn, modules[0] if modules else None, user)

    def state_of(self, call: Call, new: type[State]) -> State | None:
        """Return what is known of the place of a call; None where no condition can hold."""
        module = call.module
        is_copy = module is None or getattr(module, "_is_replica", False)
        identity = type(module) if is_copy else id(module)
        shape = tuple(call.out.shape[1:])[-3:] if is_copy else call.out.dim()
        key = (identity, id(call.user.f_code), call.user.f_lasti, call.op, shape)
        known = self._places.get(key)
        if known is not None and (is_copy or known[0]() is module):
            return known[1]
        if len(self._places) >= _MAX_PLACES:
            self._places.clear()
        state = new() if self._may_hold(call) else None
        places = self._places
        gone = None
        if not is_copy and module is not None:
            gone = weakref.ref(module, lambda _: places.pop(key, None))
        # The code is kept, so that its identity is not reused.
        self._places[key] = (gone if gone is not None else call.user.f_code, state)
        return state

    def _names_of_all(self) -> tuple[tuple[str, ...], ...]:
        """Return the patterns of each condition if all of them name modules; else nothing."""
        globs = tuple(required_globs(armed.condition) for armed in self.adaptive)
        return globs if all(globs) else ()

    def _may_hold(self, call: Call) -> bool:
        """Tell whether a condition may admit what is found in the module of a call."""
        if not self._narrow or call.module is None:
            return True
        names = self.names.all_of(call.module, call.user)
        return any(
            all(fnmatch.fnmatchcase(name, glob) for glob in globs)
            for globs in self._narrow
            for name in names
        )

    def ask(self, call: Call) -> None:
        """Ask the conditions that are asked of every activation."""
        self._conditions.ask(call)

    def late_note(self, x: Tensor) -> str | None:
        """Return what to say of a place that is a step late, as for values on an accelerator."""
        if not self.training.watch.defers(x):
            return None
        return "numbers of an accelerator arrive a step late: this is where the program was then."

    def stop_for(self, call: Call, finding: Finding, key: Any) -> None:
        """Stop for a finding that some condition admits, once as long as its cause goes on."""
        watch = self.training.watch
        watch.complete(finding, call.user)

        def value_of(name: str) -> Any:
            return hit_values(finding, frozenset((name,)))[name]

        admitted = [armed for armed in self.adaptive if self.training.holds(armed, value_of)]
        if admitted and self.training.is_fresh(key):
            self.training.stop(admitted, finding, call.user)

    def name_of(self, call: Call) -> str | None:
        """Return the qualified name of the module that a call is in."""
        return self.names.of(call.module, call.user) if call.module is not None else None

    def _first_with_gradients(self, frame: types.FrameType | None) -> bool:
        """Tell whether a recomputation is that of a reentrant checkpoint.

        Its forward pass ran without gradients, so it was not counted.
        """
        for _ in range(60):
            if frame is None:
                return False
            if frame.f_code is _REENTRANT:
                return True
            frame = frame.f_back
        return False


def _reentrant_code() -> Any:
    from torch.utils.checkpoint import CheckpointFunction

    return CheckpointFunction.backward.__code__


_REENTRANT = _reentrant_code()
