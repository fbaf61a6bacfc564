"""``batch_axis_as_time``: a recurrent layer whose result is used as if it had batches first.

RUNS IN the training process. Each ``nn.RNN``, ``nn.LSTM`` and ``nn.GRU`` without ``batch_first`` is
looked at once for each line that calls it; the rest is in the source.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from torch import Tensor, nn

from zentracer.control import edits
from zentracer.control.source import (
    Module,
    Place,
    call_name,
    function_node,
    place_of,
)
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.modules import modules_on_stack, qualified_name
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.axes import axis_of, constant, reads_after
from zentracer.frameworks.pytorch.training.advice.places import assignment_of
from zentracer.frameworks.pytorch.training.advice.running import site
from zentracer.frameworks.pytorch.training.detector import Looker
from zentracer.wire.messages import Suggestion

RULE = Rule("batch_axis_as_time", "Batch axis taken for time")
_ENOUGH = 3
"""Calls of one layer that are looked at."""
_OVER_TIME = frozenset(["mean", "max", "amax"])


class TimeAxis(Adviser):
    """Looks at recurrent layers that take time first."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._seen: dict[tuple[int, int], int] = {}

    def looker(self, module: Any) -> Looker | None:
        """Look at recurrent layers only."""
        return self._look if isinstance(module, nn.RNNBase) and not module.batch_first else None

    def _look(
        self, layer: nn.RNNBase, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        user = user_frame(frame)
        result = out[0] if isinstance(out, tuple) else out
        if user is None or not isinstance(result, Tensor) or result.dim() != 3:
            return
        self._seen[site(user)] = count = self._seen.get(site(user), 0) + 1
        if count >= _ENOUGH and self.training.modules is not None:
            self.training.modules.look_no_more(layer, self)
        time, batch = result.shape[:2]
        if batch == 1:
            return  # out[:, -1] is then the one sample that there is
        place = place_of(user.f_code, user.f_lasti, type(layer).__name__)
        use = _use_as_time(place, user)
        if use is None or place.module is None:
            return
        modules = modules_on_stack(frame)
        made = _constructor(layer, modules)
        kind = type(layer).__name__
        self.tell(
            RULE,
            user,
            f"{kind} without batch_first takes axis 0 ({time} entries) for time and axis 1 "
            f"({batch}) for the batch, but line {use.lineno} reads `{place.module.text(use)}` as "
            "if axis 1 were time: samples are mixed",
            op=kind,
            module=qualified_name(layer, modules[-1]) if modules else None,
            origin=made,
            suggestions=(
                Suggestion(
                    title="pass batch_first=True",
                    why="with (batch, time, feature) as input, batch_first=True makes axis 1 the "
                    "time; or transpose the input and the output.",
                    edit=_edit(made),
                ),
            ),
        )


def _use_as_time(place: Place, frame: types.FrameType) -> ast.expr | None:
    """Return the expression that takes the last entry, or a mean, along axis 1 of the result."""
    module, node = place.module, place.node
    if module is None or node is None:
        return None
    statement = module.parents.get(node)
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return None
    target = statement.targets[0]
    if isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    if not isinstance(target, ast.Name):
        return None
    scope = function_node(module, frame.f_code)
    for read in reads_after(module, scope, statement, target.id):
        found = _along_axis_one(module, read)
        if found is not None:
            return found
    return None


def _along_axis_one(module: Module, read: ast.AST) -> ast.expr | None:
    parent = module.parents.get(read)
    if isinstance(parent, ast.Subscript) and parent.value is read:
        index = parent.slice
        index = getattr(index, "value", index) if type(index).__name__ == "Index" else index
        parts = index.elts if isinstance(index, ast.Tuple) else []
        if len(parts) < 2 or not isinstance(parts[0], ast.Slice):
            return None
        whole = not (parts[0].lower or parts[0].upper or parts[0].step)
        return parent if whole and constant(parts[1]) == -1 else None
    call = module.parents.get(parent) if isinstance(parent, ast.Attribute) else None
    if isinstance(call, ast.Call) and call.func is parent and call_name(call) in _OVER_TIME:
        return call if axis_of(call, 3) == 1 else None
    return None


def _constructor(layer: nn.Module, modules: list[nn.Module]) -> Place | None:
    """Return the line of the class that makes the layer."""
    for owner in modules[:2]:
        for attribute, candidate in owner._modules.items():
            if candidate is layer:
                return assignment_of(owner, attribute)
    return None


def _edit(made: Place | None) -> Any:
    module = made.module if made is not None else None
    if made is None or module is None:
        return None
    calls = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and node.lineno == made.location.line
        and call_name(node) in {"LSTM", "GRU", "RNN"}
    ]
    if len(calls) != 1:
        return None
    new = edits.with_keyword(module, calls[0], "batch_first", "True")
    return edits.replace(made, calls[0], new) if new else None
