"""Look at torch tensors without being seen, and without changing the run.

RUNS IN the user's training process. PyTorch is only used if the user has imported it.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any, Optional, Type

_torch: Any = None
_thread = threading.local()

_BYPASSED = (
    "ADInplaceOrView",
    "AutogradFunctionality",
    "AutogradNestedTensor",
    "AutogradOther",
    "FuncTorchBatched",
    "FuncTorchBatchedDecomposition",
    "FuncTorchDynamicLayerBackMode",
    "FuncTorchDynamicLayerFrontMode",
    "FuncTorchGradWrapper",
    "FuncTorchVmapMode",
    "Functionalize",
    "PreDispatch",
    "Python",
    "PythonDispatcher",
    "PythonTLSSnapshot",
)
"""Dispatch keys whose kernels run user code, record a graph or rewrite the operation."""


class quiet:
    """Context in which torch operations go straight to their kernels.

    No ``__torch_function__`` and no ``__torch_dispatch__`` (subclasses and modes), no autograd
    graph, no autocast, no functorch transform, no recording by ``torch.jit.trace``. Does nothing
    when torch is not loaded. May be nested, which costs next to nothing.
    """

    __slots__ = ("_functions", "_keys", "_tracing")

    _key_set: Any = None

    def __enter__(self) -> None:
        self._functions: Any = None
        self._keys: Any = None
        torch = torch_if_loaded()
        if torch is None or getattr(_thread, "quiet", False):
            return
        core = torch._C
        if quiet._key_set is None:
            quiet._key_set = _bypassed_keys(core)
        self._tracing = core._get_tracing_state()
        if self._tracing is not None:
            core._set_tracing_state(None)
        self._functions = core.DisableTorchFunction()
        self._keys = core._ExcludeDispatchKeyGuard(quiet._key_set)
        self._functions.__enter__()
        self._keys.__enter__()
        _thread.quiet = True

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._keys is not None:
            _thread.quiet = False
            self._keys.__exit__(kind, error, trace)
            self._functions.__exit__(kind, error, trace)
            if self._tracing is not None:
                torch_if_loaded()._C._set_tracing_state(self._tracing)


def torch_if_loaded() -> Any:
    """Return the ``torch`` module once its import has finished, else None."""
    global _torch
    if _torch is None:
        torch = sys.modules.get("torch")
        if hasattr(torch, "overrides") and hasattr(torch, "Tensor"):
            _torch = torch
    return _torch


def _bypassed_keys(core: Any) -> Any:
    keys = None
    for name in dir(core.DispatchKey):
        if name in _BYPASSED or name.startswith("Autocast"):
            key = core.DispatchKeySet(getattr(core.DispatchKey, name))
            keys = key if keys is None else keys | key
    return keys
