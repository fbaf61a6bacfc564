"""Computing without being seen: by autograd, by modes, by tracers, by the debugger.

RUNS IN the training process. Torch operations of ours must not show up in the user's counters,
captured graphs or subclasses.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import torch

from zentracer.control.stop import own_work, trace_switch

_dispatch_modes = torch._C._len_torch_dispatch_stack
_is_included = torch._C._dispatch_tls_is_dispatch_key_included
_PRE_DISPATCH = torch._C.DispatchKey.PreDispatch

is_tracing = torch._C._is_tracing
"""Whether ``torch.jit.trace`` records on this thread; it cannot be kept from recording us."""


def is_capturing() -> bool:
    """Tell whether this thread records a CUDA graph: ours would be in it, and reading breaks it."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


retrace = trace_switch()
"""Give the calling thread the trace function back that ``untrace`` returned."""


def untrace() -> Any:
    """Take the trace function off the calling thread, and return it.

    Up to Python 3.11 the debugger is called at each call of a function; for our own small ones that
    would be most of their cost.
    """
    trace = sys.gettrace()
    if trace is not None:
        retrace(None)
    return trace


def is_intercepted() -> bool:
    """Tell whether a dispatch mode of this thread sees every operation."""
    return bool(_dispatch_modes()) or _is_included(_PRE_DISPATCH)


class unseen:
    """Context of our own look at values. The user's code must not run in it.

    Not a generator: entering one runs library code before the debugger is told to look away.
    """

    __slots__ = ("_others", "_trace", "_work")

    def __enter__(self) -> None:
        self._trace = untrace()
        self._work = own_work()
        self._work.__enter__()
        self._others = contextlib.ExitStack()
        try:
            self._others.enter_context(torch._C.DisableTorchFunction())
            self._others.enter_context(_no_dispatch_modes())
            self._others.enter_context(torch.no_grad())
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(self, *failure: Any) -> None:
        try:
            self._others.__exit__(*failure)
        finally:
            self._work.__exit__()
            if self._trace is not None:
                retrace(self._trace)


def _no_dispatch_modes() -> contextlib.AbstractContextManager[object]:
    if not is_intercepted():
        return contextlib.nullcontext()
    from torch.utils._python_dispatch import _disable_current_modes

    return _disable_current_modes()
