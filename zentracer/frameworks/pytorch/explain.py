"""Which inner operation of a composite function made the value.

RUNS IN the training process, when a finding is reported. The function runs once more on copies
of its arguments, with the random state put back afterwards, and every inner operation is checked.
"""

from __future__ import annotations

import types
from typing import Any, Callable

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from zentracer.frameworks.pytorch.finite import counts, is_bad, readable_tensor, tensors_in
from zentracer.frameworks.pytorch.plans import Plan

_MAX_ELEMENTS = 50_000_000
_COPYING = frozenset({"empty", "empty_like", "masked_fill", "where", "full", "scalar_tensor"})


def inner_operation(
    func: Callable[..., Any] | None, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str | None:
    """Return the name of the inner operation that made the first bad value, if there is one.

    Only for functions of torch written in Python: the others are one operation already, and what
    the user wrote must not run twice. None when the function cannot be run again (it wrote into
    its argument, is very large, or fails).
    """
    if plan.in_place or not isinstance(func, types.FunctionType) or not _is_torch(func):
        return None
    tensors = list(tensors_in([args, kwargs]))
    if sum(x.numel() for x in tensors) > _MAX_ELEMENTS or any(not x.is_cpu for x in tensors):
        return None
    recorder = _Recorder()
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            copied_args, copied_kwargs = pytree.tree_map_only(
                torch.Tensor, lambda x: x.detach().clone(), (args, kwargs)
            )
            with recorder:
                func(*copied_args, **copied_kwargs)
    except Exception:  # whatever the function raises on a copy; then the outer name has to do
        return None
    return recorder.first


def _is_torch(func: types.FunctionType) -> bool:
    return func.__module__.split(".")[0] == torch.__name__


class _Recorder(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.first: str | None = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        """Run ``func`` and note the first that turns finite inputs into something else."""
        name = func.overloadpacket.__name__
        bad_before = self.first is not None or any(map(is_bad, tensors_in([args, kwargs])))
        out = func(*args, **(kwargs or {}))
        if self.first is not None or name in _COPYING or not any(map(is_bad, tensors_in(out))):
            return out
        if not bad_before or any(map(_has_nan, tensors_in(out))):
            self.first = name.strip("_")
        return out


def _has_nan(x: torch.Tensor) -> bool:
    plain = readable_tensor(x)
    return plain is not None and counts(plain)[0] > 0
