"""Keep tensors short inside the reprs of other objects, without touching ``Tensor.__repr__``.

RUNS IN the user's training process. ``Tensor.__repr__`` offers itself to the function modes of
the calling thread; ours answers it with a brief line while a debugger asks for a repr.
"""

from __future__ import annotations

import contextlib
from typing import Any, ContextManager, Dict, Tuple

from zentracer.observe.quiet import torch_if_loaded
from zentracer.present.arrays import brief

_mode_type: Any = None


def short_tensor_reprs() -> ContextManager[Any]:
    """Context in which, on this thread, a tensor's repr is a brief line such as ``float32[3]``."""
    torch = torch_if_loaded()
    if torch is None:
        return contextlib.nullcontext()
    global _mode_type
    if _mode_type is None:
        _mode_type = _make_mode_type(torch)
    return _mode_type()


def _make_mode_type(torch: Any) -> Any:
    tensor_repr = torch.Tensor.__repr__

    class ShortTensorReprs(torch.overrides.TorchFunctionMode):
        """Answers ``Tensor.__repr__`` and passes everything else on."""

        def __torch_function__(
            self, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None
        ) -> Any:
            if func is tensor_repr and args:
                return brief(args[0])
            keywords: Dict[str, Any] = kwargs or {}
            return func(*args, **keywords)

    return ShortTensorReprs
