"""What torch asks of its own settings, and what a user should know when one is changed.

RUNS IN the training process.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from zentracer.frameworks.pytorch.modules import is_library
from zentracer.frameworks.pytorch.patches.optimizers import Optimizer, is_group
from zentracer.patches.change import Refused

_NOT_NEGATIVE = frozenset({"lr", "weight_decay", "momentum", "eps", "lr_decay", "lambd"})
"""The constructors of torch.optim refuse negative ones."""
_FRACTIONS = frozenset(
    {
        "p", "momentum", "eps", "alpha", "beta", "lambd", "margin", "label_smoothing",
        "negative_slope", "dropout", "threshold", "value", "scale_factor", "max_norm",
        "min_val", "max_val", "lower", "upper", "norm_type", "delta", "blank_weight",
    }
)  # fmt: skip
"""Settings of torch's modules that are fractions, whatever they happen to be now."""
_BUILT_IN = frozenset({"fused", "capturable", "foreach", "differentiable"})
_STATE_OF = {
    ("amsgrad", ""): "max_exp_avg_sq",
    ("centered", ""): "grad_avg",
    ("momentum", "RMSprop"): "momentum_buffer",
}
"""Setting -> what the state has only if it was on when the state was made: step() needs it."""


def fractions(container: Any, key: Any) -> str:
    """Tell whether a whole number there may become a fraction: yes, no, or to be ``said``."""
    if is_group(container):
        return "yes"
    if isinstance(container, nn.Module) and is_library(container):
        return "yes" if key in _FRACTIONS else "no"
    return "said"


def check(root: Any, container: Any, key: Any, new: Any, label: str) -> None:
    """Refuse what torch itself would fail on.

    Args:
        root: the optimiser, where the container is one of its groups.
        container: what has the setting.
        key: the name of the attribute or entry.
        new: what it is to be.
        label: how the user calls it.

    Raises:
        Refused: the text is a sentence.
    """
    if isinstance(container, nn.modules.dropout._DropoutNd) and key == "p":
        if not 0 <= new <= 1:
            raise Refused(f"`{label}` is a probability: {new!r} is not between 0 and 1.")
    elif is_group(container):
        _check_group(root, container, key, new, label)


def notes(container: Any, key: Any) -> tuple[str, ...]:
    """Say what else there is to know."""
    if is_group(container):
        return tuple(_group_notes(container, key))
    if isinstance(container, nn.Module) and key == "training" and container._modules:
        return ("the modules inside keep their own flag; eval() and train() change all",)
    return ()


def _check_group(root: Any, group: Any, key: Any, new: Any, label: str) -> None:
    if key in _NOT_NEGATIVE and new < 0:
        raise Refused(f"`{label}` cannot be negative: {new!r}.")
    if key == "betas" and any(beta < 0 or beta >= 1 for beta in new):
        raise Refused(f"`{label}` must be from 0 up to but not including 1: {new!r}.")
    if key in _BUILT_IN and new:
        raise Refused(
            f"`{label}` decides how the optimiser keeps its state: give it when it is built."
        )
    nesterov = new if key == "nesterov" else group.get("nesterov")
    momentum = new if key == "momentum" else group.get("momentum")
    dampening = new if key == "dampening" else group.get("dampening")
    if nesterov and dampening is not None and (momentum == 0 or dampening != 0):
        raise Refused(f"`{label}`: Nesterov momentum needs a momentum, and no dampening.")
    _check_state(root, group, key, new, label)


def _check_state(root: Any, group: Any, key: Any, new: Any, label: str) -> None:
    if not isinstance(root, Optimizer) or not new:
        return
    name = type(root).__name__
    needed = _STATE_OF.get((key, "")) or _STATE_OF.get((key, name))
    if needed is None or type(root).__module__.partition(".")[0] != torch.__name__:
        return
    states = [root.state[p] for p in group["params"] if p in root.state]
    if any(state and needed not in state for state in states):
        raise Refused(
            f"`{label}` cannot be turned on now: the state that {name} keeps has no {needed}, and "
            "its next step would fail."
        )


def _group_notes(group: Any, key: Any) -> list[str]:
    found: list[str] = []
    by_scheduler = (key == "lr" and "initial_lr" in group) or (
        key in ("momentum", "betas") and "max_momentum" in group
    )
    if by_scheduler:
        found.append(f"a learning-rate scheduler is attached, and writes {key} at its next step")
    if group.get("capturable"):
        found.append("a CUDA graph that is captured keeps the value it was captured with")
    return found
