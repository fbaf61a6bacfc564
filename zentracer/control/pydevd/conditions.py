"""Conditions of line breakpoints, as the protocol says and without harm to the program.

RUNS IN the training process, inside of pydevd's trace callback. Stock debugpy 1.8.22 lets a
tensor-valued condition raise into the user's program (on 3.11 tracing then ends for the thread),
swallows mistakes, compiles the condition on every hit and stops when the condition *or* the hit
count holds. Here a tensor holds with any true element, a mistake is said once, and hits count
only when the condition holds.
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Callable, Dict, Optional

from zentracer.control.pydevd import guard
from zentracer.control.truth import holds

_HIT = "__zentracer_hit__"


def install(pydevd: Any, notify: Callable[..., None]) -> None:
    """Replace ``PyDB.handle_breakpoint_condition``, which every backend calls by name."""
    if not callable(pydevd.PyDB.handle_breakpoint_condition):
        raise TypeError("PyDB.handle_breakpoint_condition is not a method")

    def handle_breakpoint_condition(
        _self: Any, _info: Any, pybreakpoint: Any, new_frame: Any
    ) -> bool:
        compiled = getattr(pybreakpoint, "_zentracer", None)
        if compiled is None:
            compiled = pybreakpoint._zentracer = _Compiled(pybreakpoint, notify)
        with guard.evaluating():
            return compiled.should_stop(new_frame)

    pydevd.PyDB.handle_breakpoint_condition = handle_breakpoint_condition


class _Compiled:
    """One breakpoint's condition and hit condition, compiled once."""

    def __init__(self, pybreakpoint: Any, notify: Callable[..., None]) -> None:
        self._notify = notify
        self._breakpoint = pybreakpoint
        self._told = False
        self._condition = self._compile(pybreakpoint.condition)
        hit_condition = getattr(pybreakpoint, "hit_condition", None)
        self._hits = 0
        self._hit_condition = self._compile(hit_condition and hit_condition.replace("@HIT@", _HIT))

    def should_stop(self, frame: Any) -> bool:
        """Return whether both conditions hold; whatever goes wrong is no stop."""
        try:
            if self._condition is _BROKEN or self._hit_condition is _BROKEN:
                return False
            if self._condition and not holds(
                eval(self._condition, frame.f_globals, frame.f_locals)
            ):
                return False
            return self._hit_condition is None or self._count(frame)
        except Exception as error:
            self._tell(error)
            return False

    def _count(self, frame: Any) -> bool:
        with self._breakpoint._hit_condition_lock:
            self._hits += 1
            hits = self._hits
        code = self._hit_condition
        assert code is not None
        names: Dict[str, Any] = {_HIT: hits}
        if code.co_names != (_HIT,):
            names.update(frame.f_locals)
        return bool(eval(code, frame.f_globals, names))

    def _compile(self, source: Optional[str]) -> Optional[CodeType]:
        if not source or not source.strip():
            return None
        try:
            return compile(source.strip(), "<condition>", "eval", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            self._tell(error)
            return _BROKEN

    def _tell(self, error: Exception) -> None:
        if self._told:
            return
        self._told = True
        breakpoint_ = self._breakpoint
        text = breakpoint_.condition or getattr(breakpoint_, "hit_condition", "")
        message = (
            f"The condition '{text}' could not be evaluated and did not stop: "
            f"{type(error).__name__}: {error}"
        )
        self._notify(message, getattr(breakpoint_, "breakpoint_id", None))


_BROKEN = compile("None", "<condition>", "eval")
"""Stands for a condition that does not compile."""
