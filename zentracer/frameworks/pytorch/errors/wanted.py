"""The size that a module of PyTorch's fixes for its input.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from torch import nn


class Wanted(NamedTuple):
    """One dimension of an input and what it must be."""

    title: str
    """The module's own argument: ``in_features``."""
    size: int
    axis: int
    """Counted from the end."""

    @property
    def word(self) -> str:
        """Which dimension, for a sentence."""
        return "last" if self.axis == -1 else "channel"


_LAST = ("in_features", "input_size", "embed_dim")
_CHANNELS = ("in_channels", "num_features", "num_channels")


def wanted(module: nn.Module, dimensions: int) -> Optional[Wanted]:
    """Return what ``module`` fixes of an input with so many dimensions; None if it takes no such.

    The input of a convolution may lack the batch, that of a batch norm may not.
    """
    held = vars(module)
    for title in _LAST:
        size = held.get(title)
        if type(size) is int:
            return Wanted(title, size, -1) if dimensions else None
    shape = held.get("normalized_shape")
    if type(shape) is tuple and shape and type(shape[-1]) is int:
        return Wanted("normalized_shape", shape[-1], -1) if dimensions else None
    for title in _CHANNELS:
        size = held.get(title)
        if type(size) is int:
            axis = _channel_axis(module, title, dimensions)
            return Wanted(title, size, axis) if axis is not None else None
    return None


def _channel_axis(module: nn.Module, title: str, dimensions: int) -> Optional[int]:
    digit = type(module).__name__[-2:-1]
    if not digit.isdigit():  # GroupNorm
        return 1 - dimensions if dimensions > 1 else None
    spatial = int(digit)
    allowed = {spatial + 2}
    if title == "in_channels":
        allowed.add(spatial + 1)
    elif spatial == 1:
        return 1 - dimensions if dimensions in (2, 3) else None
    return -(spatial + 1) if dimensions in allowed else None
