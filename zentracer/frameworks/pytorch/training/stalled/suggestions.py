"""What to try where a parameter does not learn.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

import ast
import gc
import types
from typing import Any, Optional

import torch
from torch.optim.lr_scheduler import LRScheduler

from zentracer.control import edits
from zentracer.control.flow import Cut
from zentracer.control.source import Place, binding_line, function_node, parsed
from zentracer.frameworks.pytorch.frames import user_frames
from zentracer.frameworks.pytorch.training.advice.places import line_of
from zentracer.frameworks.pytorch.training.builder import rate_of
from zentracer.frameworks.pytorch.training.events import Update
from zentracer.frameworks.pytorch.training.stalled.records import Records
from zentracer.frameworks.pytorch.training.stalled.telling import made_at
from zentracer.wire.messages import Suggestion

_SOFT = {
    "argmax": "softmax(x, dim) @ torch.arange(n) is its expected value, and has a gradient; "
    "gumbel_softmax(…, hard=True) keeps it discrete.",
    "argmin": "softmax(-x, dim) @ torch.arange(n) is its expected value, and has a gradient.",
    "round": "x + (x.round() - x).detach() rounds, and passes the gradient on (straight-through).",
    "floor": "x + (x.floor() - x).detach() passes the gradient on (straight-through).",
    "sign": "tanh(k * x) approaches it, and has a gradient.",
    "multinomial": "gumbel_softmax, or the log-probability of what was drawn, has a gradient.",
    "bernoulli": "a relaxed Bernoulli, or the log-probability of what was drawn, has a gradient.",
}
_COMPARISON = "sigmoid(k * (a - b)) is a comparison that has a gradient."
_NUMBERS = "Keep the tensor: add term, not term.item(); read the number only to show it."
_ANEW = "torch.stack(list_of_tensors) or torch.cat keep the graph; new tensors hold values only."
_NUMPY = "Use torch's own functions there; numpy and math know no gradients."


def for_cut(cut: Cut, place: Place) -> tuple[Suggestion, ...]:
    """Suggest what lets a gradient through instead of ``cut``."""
    op = cut.op
    last = cut.last or "the value"
    if op in {"no_grad", "inference_mode", "set_grad_enabled"}:
        why = "What is computed there leads no gradient back. If it is to stay fixed, keep its "
        why += "parameters out of the optimizer."
        return (Suggestion(title=f"Run it outside {op}", why=why),)
    if op in {"detach", "detach_", "data"}:
        why = f"No gradient passes {op}. If it is meant, keep the parameters out of the optimizer."
        return (Suggestion(title=f"Use {last} without {op}", why=why, edit=_without(cut, place)),)
    if op in {">", "<", ">=", "<=", "==", "!="}:
        why = _COMPARISON
    elif op in {"item", "float", "int", "tolist", "bool"}:
        why = _NUMBERS
    elif op in {"tensor", "Tensor", "FloatTensor", "asarray", "array"}:
        why = _ANEW
    elif op == "numpy" or "." in op or op == "from_numpy":
        why = _NUMPY
    else:
        why = _SOFT.get(op.strip("_"), f"The result of {op} leads no gradient back to {last}.")
    return (Suggestion(title=f"Replace {op} by something with a gradient", why=why),)


def for_rate(
    records: Records, update: Update, frame: types.FrameType, dtype: Optional[torch.dtype]
) -> tuple[Optional[Place], tuple[Suggestion, ...]]:
    """Return who sets the learning rate, and what to try; ``dtype`` None where the rate is 0."""
    optimizer = update.optimizer
    rate = rate_of(optimizer)
    first = next((g["initial_lr"] for g in optimizer.param_groups if "initial_lr" in g), None)
    if first is not None and rate is not None and float(first) > 100 * rate:
        schedule = _schedule_of(optimizer)
        kind = type(schedule).__name__ if schedule is not None else "a scheduler"
        place = _bound_to(schedule, frame) if schedule is not None else None
        why = (
            f"{kind} holds the rate at {rate:.3g}; the optimizer was built with {float(first):g}. "
        )
        why += "It may have come to its end, or step() of it may never be called."
        return place or made_at(records, optimizer, frame), (
            Suggestion(title=f"Check {kind}: its length, and when it steps", why=why),
        )
    built = made_at(records, optimizer, frame)
    if dtype in {torch.float16, torch.bfloat16}:
        name = str(dtype).replace("torch.", "")
        why = (
            f"{name} keeps {'8' if dtype is torch.bfloat16 else '11'} binary digits: what is less "
        )
        why += "than about half a unit of the last one is lost, at every step. Keep the weights in "
        why += "float32 and compute under torch.autocast, or round stochastically."
        return built, (Suggestion(title="Keep float32 weights", why=why),)
    return built, (
        Suggestion(
            title="Raise the learning rate",
            why="Updates this small are lost in rounding, however many steps are taken.",
        ),
    )


def _without(cut: Cut, place: Place) -> Any:
    """Return the edit that takes ``.detach()`` or ``.data`` away."""
    node = cut.node
    if place.module is None:
        return None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return edits.replace(place, node, place.module.text(node.func.value))
    if isinstance(node, ast.Attribute):
        return edits.replace(place, node, place.module.text(node.value))
    return None


def _schedule_of(optimizer: Any) -> Any:
    for thing in gc.get_objects():
        if issubclass(type(thing), LRScheduler) and getattr(thing, "optimizer", None) is optimizer:
            return thing
    return None


def _bound_to(thing: Any, frame: types.FrameType) -> Optional[Place]:
    """Return the line that binds the variable which holds ``thing``."""
    for user in user_frames(frame):
        module = parsed(user.f_code.co_filename)
        for space in (user.f_locals, user.f_globals):
            for name, value in list(space.items()):
                if value is not thing or module is None:
                    continue
                scope = _scope(module, user, is_local=space is user.f_locals)
                line = binding_line(module, scope, name, user.f_lineno)
                if line is not None:
                    return line_of(user.f_code.co_filename, line, user.f_code.co_name)
    return None


def _scope(module: Any, frame: types.FrameType, *, is_local: bool) -> ast.AST:
    return function_node(module, frame.f_code) if is_local else module.tree
