"""Decides whether a non-finite value is a finding, and of which kind.

RUNS IN the training process, only after the cheap check of an operation's result failed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.finite import counts, readable_tensor, scalars_in, tensors_in
from zentracer.frameworks.pytorch.plans import Plan

# log of a 0/1 mask makes {0, -inf}: the usual way to write an additive attention mask.
_LOGS = frozenset({"log", "log2", "log10"})
_SUMS = frozenset({"add", "sub", "baddbmm", "masked_fill"})


@dataclass
class Verdict:
    """A non-finite value worth telling about."""

    tensor: Tensor
    """The first bad result, readable (unwrapped)."""
    nan: int
    inf: int
    inputs: list[Tensor]
    came_in: Tensor | None = None
    """The input that was non-finite before; None when this operation made the value."""
    bad_inputs: list[Tensor] = field(default_factory=list)
    inherited: bool = False
    """An infinity that was there before; a finding only if its maker went unseen."""


def judge(
    plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, was_bad: bool,
    polluted: bool,
) -> Verdict | None:  # fmt: skip
    """Return what to report about the result ``out`` of a torch call, or None.

    Args:
        plan: The function's plan.
        args: Its positional arguments, after the call.
        kwargs: Its keyword arguments.
        out: Its result.
        was_bad: For an in-place function, whether its target looked non-finite before.
        polluted: Whether a finding was reported already and its values are still about.
    """
    bad = _first_bad(out)
    if bad is None:
        return None
    tensor, nan, inf = bad
    if any(value - value != 0 for value in scalars_in([args, kwargs])):
        return None  # somebody wrote the infinity down
    inputs = _inputs(plan, args, kwargs)
    found = [(x, *counts(readable)) for x, readable in inputs]
    bad_inputs = [x for x, nans, infs in found if nans or infs]
    nan_came_in = any(nans for _, nans, _ in found)
    verdict = Verdict(tensor, nan, inf, [x for x, _ in inputs], bad_inputs=bad_inputs)
    if was_bad:
        if polluted or not nan:
            return None
        verdict.came_in = args[0]
        return verdict if _meets_learning([*verdict.inputs, args[0]]) else None
    if not bad_inputs:
        return None if _is_mask(plan, tensor, nan, inputs) else verdict
    if polluted:
        return None  # the aftermath of a reported finding
    verdict.inherited = not nan and not _is_infinite_loss(plan, tensor, inputs)
    if not nan_came_in:
        return verdict  # inf - inf, 0 * inf, softmax over a row of -inf
    verdict.came_in = next(x for x, nans, _ in found if nans)
    return verdict if _meets_learning(verdict.inputs) else None


def _first_bad(out: Any) -> tuple[Tensor, int, int] | None:
    for item in tensors_in(out):
        plain = readable_tensor(item)
        if plain is not None:
            nan, inf = counts(plain)
            if nan or inf:
                return plain.detach(), nan, inf
    return None


def _inputs(
    plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[Tensor, Tensor]]:
    """Return the floating inputs as (as given, readable), without what the call overwrote."""
    given = args[1:] if plan.in_place else args
    named = {key: value for key, value in kwargs.items() if key != "out"}
    pairs = ((x, readable_tensor(x)) for x in tensors_in([given, named]))
    return [(x, plain) for x, plain in pairs if plain is not None]


def _is_mask(plan: Plan, out: Tensor, nan: int, inputs: list[tuple[Tensor, Tensor]]) -> bool:
    """Tell whether an infinite result is the -inf of an attention mask."""
    if nan or bool((out == torch.inf).any()):
        return False
    if plan.name in _LOGS and not any(x.requires_grad for x, _ in inputs):
        zeros = out == 0
        return bool(zeros.any()) and bool((zeros | (out == -torch.inf)).all())
    if plan.name in _SUMS:  # two masks of finfo.min added up
        return any(
            bool((x == torch.finfo(x.dtype).min).any()) for _, x in inputs if not x.is_complex()
        )
    return False


def _is_infinite_loss(plan: Plan, out: Tensor, inputs: list[tuple[Tensor, Tensor]]) -> bool:
    """Tell whether a loss is infinite although its inputs hold at most the -inf of a mask."""
    if not plan.is_loss or not bool((out == torch.inf).any()):
        return False
    return not any(bool((x == torch.inf).any()) for _, x in inputs if not x.is_complex())


def _meets_learning(inputs: list[Any]) -> bool:
    """Tell whether data met something that learns; NaN among plain data may be a coded gap."""
    return any(isinstance(x, Tensor) and x.requires_grad for x in inputs)
