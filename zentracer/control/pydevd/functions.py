"""Function breakpoints on Python functions, by qualified name.

RUNS IN the training process. Stock debugpy 1.8.22 compares the bare ``co_name``, so that
``Encoder.forward`` never stops although it is answered as verified, and ``forward`` knows only one
breakpoint.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any, Callable, Dict, List

from zentracer.control.pydevd.usercode import is_user_code
from zentracer.wire.messages import BreakpointStatus

Settled = Callable[[BreakpointStatus], None]
_pending: Dict[str, List[Any]] = {}
"""Names that no function has yet: who is told once one is called."""


def status_of(number: int, name: str, settled: Settled) -> BreakpointStatus:
    """Return whether the user's code has a function of this name; tell later if not yet."""
    if _exists(name):
        return BreakpointStatus(id=number, verified=True)
    _pending.setdefault(name, []).append((number, settled))
    message = (
        f"No function '{name}' is loaded yet; the breakpoint becomes active when one is. "
        "Names are qualified as in Encoder.forward or package.module.Encoder.forward."
    )
    return BreakpointStatus(id=number, verified=False, message=message)


def _exists(name: str) -> bool:
    """Tell whether a function of the user's, in a module or a class of one, has this name."""
    return any(_matches(code, name, module) for code, module in _loaded_code())


def _matches(code: CodeType, name: str, module: str) -> bool:
    qualified = getattr(code, "co_qualname", code.co_name)
    plain = qualified.replace(".<locals>", "")
    return name in (code.co_name, qualified, plain, f"{module}.{plain}")


def _loaded_code() -> Any:
    for module_name, module in list(sys.modules.items()):
        for value in list(getattr(module, "__dict__", {}).values()):
            holders = vars(value).values() if isinstance(value, type) else (value,)
            for held in list(holders):
                code = getattr(getattr(held, "__func__", held), "__code__", None)
                if isinstance(code, CodeType) and is_user_code(code, module_name):
                    yield code, module_name
