"""Conditions that are asked of the outputs of modules and activations.

RUNS IN the training process, in torch calls and module calls of the user.
"""

from __future__ import annotations

import ast
import difflib
import fnmatch
import sys
import types
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from zentracer.control.condition import Condition
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.finite import PLAIN
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.training.detector import Looker
from zentracer.frameworks.pytorch.training.neighbours import Neighbours
from zentracer.frameworks.pytorch.training.output import Output

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.activations import ActivationDetector, Call

SEEN_STEPS = 3
"""Steps after which a glob that has matched nothing is said to."""


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
                    f"{SEEN_STEPS} steps."
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
