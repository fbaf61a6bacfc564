"""The peers of "NaN or Inf": what people use today to find out where a NaN comes from."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class CheckingMode(TorchDispatchMode):
    """Checks the result of every operation and calls ``found`` with the first bad one's name."""

    def __init__(
        self,
        is_bad: Callable[[Tensor], Tensor],
        found: Callable[[str], None] = lambda operation: None,
    ) -> None:
        super().__init__()
        self._is_bad = is_bad
        self._found = found
        self._done = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for x in tree_leaves(out):
            if isinstance(x, Tensor) and x.is_floating_point() and not x.is_meta:
                bad = bool(self._is_bad(x).any())
                if bad and not self._done:
                    self._done = True
                    self._found(func.__name__)
        return out


class IsNanMode(CheckingMode):
    """``isnan`` of every result."""

    def __init__(self, found: Callable[[str], None] = lambda operation: None) -> None:
        super().__init__(torch.isnan, found)


class NotFiniteMode(CheckingMode):
    """The same with ``isfinite``: it sees infinities too, also those that are meant."""

    def __init__(self, found: Callable[[str], None] = lambda operation: None) -> None:
        super().__init__(lambda x: ~torch.isfinite(x), found)
