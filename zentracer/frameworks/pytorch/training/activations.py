"""What the detectors of activations share: when they look, and at which place.

RUNS IN the training process, in torch calls and module calls of the user.
"""

from __future__ import annotations

import ast
import difflib
import fnmatch
import sys
import types
import weakref
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from zentracer.control.condition import Condition
from zentracer.control.source import Place, place_of
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.finite import PLAIN, readable_tensor
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.modules import modules_on_stack
from zentracer.frameworks.pytorch.report import Finding
from zentracer.frameworks.pytorch.training.detector import Detector, Looker
from zentracer.frameworks.pytorch.training.events import Backward, Update
from zentracer.frameworks.pytorch.training.module_names import ModuleNames
from zentracer.frameworks.pytorch.training.neighbours import Neighbours
from zentracer.frameworks.pytorch.training.output import Output
from zentracer.frameworks.pytorch.values import hit_values

FIRST_STEPS = 10
"""Steps of which every activation is looked at."""
EVERY = 10
"""Later, one step of so many is looked at, as long as nothing is suspicious."""
SAMPLE = 32_768
"""Elements that are looked at of a larger activation, as long as nothing is suspicious there."""
_MAX_PLACES = 50_000
_SEEN_STEPS = 3
"""Steps after which a glob that has matched nothing is said to."""

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
        if self.step == self._armed_at + _SEEN_STEPS:
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


class Conditions:
    """Those whose condition is the threshold, and the modules that they are asked of."""

    def __init__(self, detector: ActivationDetector[Any]) -> None:
        self._detector = detector
        self._training = detector.training
        custom = detector.custom
        self._globs = {armed.id: required_globs(armed.condition) for armed in custom}
        self._of_modules = tuple(armed for armed in custom if self._globs[armed.id])
        self._of_activations = tuple(armed for armed in custom if not self._globs[armed.id])
        self._matched: set[int] = set()
        self.ask_activations = bool(self._of_activations)
        self._neighbours = Neighbours(detector.training, detector.names) if custom else None

    def close(self) -> None:
        """Forget everything."""
        if self._neighbours is not None:
            self._neighbours.forget()

    def looker(self, module: nn.Module) -> Looker | None:
        """Return who asks the conditions that name ``module``, else who notes its call."""
        if self._neighbours is None:
            return None
        asked = self._asked(module)
        self._matched.update(armed.id for armed, _ in asked)
        note = self._neighbours.looker(module)
        if not asked:
            return note

        def look(
            module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
            frame: types.FrameType,
        ) -> None:  # fmt: skip
            note(module, args, kwargs, out, frame)
            if self._training.in_backward:
                return  # recomputed: it was asked before
            x = first_tensor(out)
            user = user_frame(frame)
            if x is not None and user is not None:
                for armed, name in asked:
                    self._ask(armed, Output(self._training, module, name, x, user))

        return look

    def _asked(self, module: nn.Module) -> list[tuple[ArmedFilter, str]]:
        """Return the conditions that name ``module``, each with the name it has there."""
        if not self._of_modules:
            return []
        names = self._detector.names.all_of(module, user_frame(sys._getframe(1)))
        found = []
        for armed in self._of_modules:
            globs = self._globs[armed.id]
            matching = [n for n in names if all(fnmatch.fnmatchcase(n, g) for g in globs)]
            found += [(armed, name) for name in matching[-1:]]
        return found

    def ask(self, call: Call) -> None:
        """Ask those that name no module of an activation."""
        if not self._of_activations or self._training.in_backward:
            return
        name = self._detector.name_of(call) or ""
        x = call.out
        for armed in self._of_activations:
            output = Output(
                self._training, call.module, name, x, call.user, op=call.op, node=call.node
            )
            self._ask(armed, output)

    def forward_ended(self, roots: tuple[Any, ...]) -> None:
        """Note what the last outputs lead to."""
        if self._neighbours is not None:
            self._neighbours.forward_ended(roots)

    def say_what_matches_nothing(self) -> None:
        """Tell, on the breakpoint, of globs that no module called so far matches."""
        for armed in self._of_modules:
            if armed.id in self._matched:
                continue
            globs = self._globs[armed.id]
            self._detector.names.refresh()
            names = self._detector.names.known()
            if any(all(fnmatch.fnmatchcase(n, g) for g in globs) for n in names):
                text = (
                    f"No module that matches {' and '.join(map(repr, globs))} was called in "
                    f"{_SEEN_STEPS} steps."
                )
            else:
                near = difflib.get_close_matches(globs[0], names, n=3, cutoff=0.4)
                hint = f" Similar names: {', '.join(near)}." if near else ""
                text = f"No module matches {' and '.join(map(repr, globs))}.{hint}"
            self._training.watch.host.notice(text, armed.id)

    def _ask(self, armed: ArmedFilter, output: Output) -> None:
        if not self._training.holds(armed, output.value_of):
            return
        finding = output.finding(self._detector.filter, armed)
        if self._neighbours is not None:
            finding.upstream = self._neighbours.upstream(output.node, output.frame)
            finding.downstream = self._neighbours.downstream(output.node, output.module)
            if not finding.downstream:
                finding.note = finding.note or self._neighbours.why_no_downstream
        self._training.stop((armed,), finding, output.frame)


def required_globs(condition: Any) -> tuple[str, ...]:
    """Return the patterns of ``match("…")`` that a condition cannot hold without."""
    if not isinstance(condition, Condition):
        return ()
    found: list[str] = []

    def visit(node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for value in node.values:
                visit(value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            first = node.args[0] if len(node.args) == 1 else None
            if node.func.id == "match" and isinstance(first, ast.Constant):
                found.append(str(first.value))
        elif (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Name)
            and node.left.id == "module"
            and len(node.ops) == 1
            and isinstance(node.ops[0], ast.Eq)
            and isinstance(node.comparators[0], ast.Constant)
        ):
            found.append(_escaped(str(node.comparators[0].value)))

    visit(ast.parse(condition.text, mode="eval").body)
    return tuple(found)


def first_tensor(out: Any) -> Tensor | None:
    """Return the first tensor among what a module returned."""
    if type(out) in PLAIN:
        return out
    if isinstance(out, dict):
        out = tuple(out.values())
    if isinstance(out, (tuple, list)):
        return next((x for x in out[:8] if type(x) in PLAIN), None)
    return None


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _reentrant_code() -> Any:
    from torch.utils.checkpoint import CheckpointFunction

    return CheckpointFunction.backward.__code__


_REENTRANT = _reentrant_code()
