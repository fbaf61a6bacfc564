"""What a program may tell ZenTracer about itself; nothing of it is needed.

RUNS IN the training process, called by the user. Without a debugger these calls do nothing, but for
``patch``, which then changes the program all the same; none of them ever raises.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Mapping, Optional, TypeVar, Union

_Value = TypeVar("_Value")
_Target = TypeVar("_Target")


def step(n: Optional[int] = None) -> None:
    """Say that a training step is complete.

    From the first call on, steps are counted here and no longer by the steps of optimisers: for
    loops that take several, or none.

    Args:
        n: the step's number; without it, one more than the last.
    """
    _tell(lambda runtime: runtime.marked_step(None if n is None else int(n)))


def log(name: Union[str, Mapping[str, Any]], value: _Value = None) -> _Value:  # type: ignore[assignment]
    """Say a value that the program computes, such as ``log("val_loss", loss)``.

    ``loss`` is then the loss of this step, whatever ``backward`` is called on. Values whose name
    begins with ``val`` or ``eval`` show whether the model overfits.

    Args:
        name: what it is, or a mapping of names to values.
        value: a number, or a tensor of one element; on an accelerator it is read without waiting.

    Returns:
        ``value``, so that a line can be wrapped.
    """
    values = dict(name) if isinstance(name, Mapping) else {name: value}
    for key, item in values.items():
        _tell(lambda runtime, key=key, item=item: runtime.logged(str(key), item))
    return value


def patch(
    target: _Target,
    op: str = "set",
    value: Any = None,
    *,
    slice: Any = None,
    label: Optional[str] = None,
) -> _Target:
    """Change the running program, so that it can be undone in the debugger.

    The change is listed with all others; ``ZENTRACER=off`` in the environment leaves the program
    as it is. What cannot be done is said, and nothing is changed.

    Args:
        target: a tensor or a module; or a string, an expression of the calling function, such as
            ``"model.fc.weight"`` or ``"optimizer.param_groups[0]['lr']"``.
        op: set, scale, add, fill, zero, noise, clamp, copy; reinit, load, freeze, unfreeze; output.
        value: a number, a tensor; a scheme for ``reinit``, a file for ``load``; for ``output``
            ``"identity"``, ``"zero"`` or a number.
        slice: part of a tensor, as between brackets: ``(0, 3)``, or ``"0, 3:5"``.
        label: what the change is called.

    Returns:
        ``target``.
    """
    if os.environ.get("ZENTRACER", "").lower() != "off":
        try:
            from zentracer.patches import in_code

            in_code.patch(target, op, value, slice, label, sys._getframe(1))
        except Exception as error:  # ours: never the training's end
            print(f"ZenTracer: zentracer.patch failed: {error!r}", file=sys.stderr)
    return target


def _tell(action: Callable[[Any], None]) -> None:
    bootstrap = sys.modules.get("zentracer.bootstrap")
    runtime = getattr(bootstrap, "_runtime", None)
    if runtime is None:
        return
    try:
        action(runtime)
    except Exception as error:  # ours, or a value that is no number: never the training's end
        runtime.notice(f"zentracer.step or zentracer.log failed: {type(error).__name__}: {error}")
