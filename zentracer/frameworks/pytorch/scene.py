"""What the rules of :mod:`suggest` look at: one finding's operation, operands and source.

RUNS IN the training process, when a finding is reported.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from zentracer.control import edits
from zentracer.control.source import Place, operands
from zentracer.observe.moments import Moments
from zentracer.observe.stats import HIT_LIMIT, look
from zentracer.wire.messages import TextEdit


@dataclass(frozen=True)
class Scene:
    """All that the rules may look at."""

    op: str
    phase: str
    place: Place
    inputs: tuple[Tensor, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Tensor | None
    module_name: str | None = None
    optimizer: Any = None
    inner: str | None = None
    """The inner operation of a composite function that made the first bad value."""


def nth_operand(scene: Scene, index: int) -> ast.expr | None:
    """Return an operand of the operation in the source, if there are so many."""
    found = operands(scene.place.node)
    return found[index] if index < len(found) else None


def is_receiver(node: ast.AST | None, operand: ast.expr) -> bool:
    """Tell whether ``operand`` is the ``x`` of ``x.sqrt()``."""
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.value is operand


def wrap(scene: Scene, operand: ast.expr | None, call: str) -> TextEdit | None:
    """Return the edit that calls a method on an operand."""
    if operand is None or scene.place.module is None:
        return None
    return edits.replace(scene.place, operand, edits.call_method(scene.place.module, operand, call))


def replace_text(scene: Scene, operand: ast.expr | None, new: str) -> TextEdit | None:
    """Return the edit that writes ``new`` for an operand."""
    return edits.replace(scene.place, operand, new) if operand is not None else None


def log_softmax(scene: Scene, operand: ast.expr) -> TextEdit | None:
    """Return the edit from ``log(softmax(x))`` to ``log_softmax(x)``."""
    module = scene.place.module
    if module is None or scene.place.node is None:
        return None
    text = module.text(operand)
    return edits.replace(scene.place, scene.place.node, text.replace("softmax(", "log_softmax(", 1))


def hint_logits(operand: ast.expr | None) -> str:
    """Return a further sentence if the operand is a probability made by a sigmoid."""
    if operand is not None and "sigmoid" in ast.dump(operand):
        return " For probabilities from a sigmoid, torch.nn.functional.logsigmoid is exact."
    return ""


def is_backward(scene: Scene, *names: str) -> bool:
    """Tell whether the operation is the backward of one of ``names``."""
    return scene.phase == "backward" and any(
        scene.op.startswith((f"{name}Backward", f"Safe{name}")) or scene.op.startswith(name)
        for name in names
    )


def is_fractional(node: ast.expr) -> bool:
    """Tell whether an exponent is below one, so that the derivative at 0 is infinite."""
    if isinstance(node, ast.UnaryOp):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value < 1


def is_half(out: Tensor | None, inputs: tuple[Tensor, ...]) -> bool:
    """Tell whether float16 takes part."""
    return any(x is not None and x.dtype is torch.float16 for x in (out, *inputs[:2]))


def epsilon(scene: Scene) -> str:
    """Return a small constant that the dtype can represent."""
    return "1e-4" if is_half(scene.out, scene.inputs) else "1e-12" if scene.op == "sqrt" else "1e-8"


def smallest(scene: Scene) -> float | None:
    """Return the smallest finite element of the first input."""
    values = [seen.min for seen in map(_moments, scene.inputs[:1]) if seen and seen.count]
    return min(values) if values else None


def largest(scene: Scene) -> float | None:
    """Return the largest finite magnitude among the inputs."""
    values = [seen.absmax for seen in map(_moments, scene.inputs) if seen and seen.count]
    return max(values) if values else None


def _moments(x: Tensor) -> Moments | None:
    """Look at ``x`` piece by piece: a forked worker must not wake PyTorch's thread pool."""
    return look(x, limit=HIT_LIMIT, sync=True).moments


def fully_masked_rows(scene: Scene) -> str:
    """Return the first few leading indices whose last axis is -inf everywhere."""
    if not scene.inputs or scene.inputs[0].dim() < 2:
        return ""
    masked = (scene.inputs[0].detach() == -torch.inf).all(-1)
    rows = sorted({int(index[0]) for index in masked.nonzero()[:4096]})
    return ", ".join(map(str, rows[:8])) + (" …" if len(rows) > 8 else "")


def too_short_for_ctc(args: tuple[Any, ...]) -> str:
    """Return a sentence on the first sample whose input is too short for its target."""
    if len(args) < 4 or not all(isinstance(x, (Tensor, tuple, list)) for x in args[1:4]):
        return ""
    targets, given, wanted = (torch.as_tensor(x) for x in args[1:4])
    if targets.dim() != 2:
        return ""
    for sample, (steps, length) in enumerate(zip(given.tolist(), wanted.tolist())):
        labels = targets[sample, :length].tolist()
        needed = length + sum(a == b for a, b in zip(labels, labels[1:]))
        if steps < needed:
            return f"sample {sample} has input length {steps} but its target needs {needed}."
    return ""
