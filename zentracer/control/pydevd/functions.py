"""Which function breakpoints of Python's have a function, and when the others get one.

RUNS IN the training process. Most functions of a script are not there yet when breakpoints are
set. What waits is looked for again now and then, in the modules of the user's, on a thread of
ours; and a call finds it at once.
"""

from __future__ import annotations

import inspect
import sys
import threading
from types import CodeType, ModuleType
from typing import Callable, Dict, Iterable, List, Optional, Tuple

from zentracer.control import function_names as names
from zentracer.control.pydevd import function_gate, guard
from zentracer.control.pydevd.usercode import is_user_code, is_user_file
from zentracer.control.pydevd.watchdog import Watchdog
from zentracer.fork_locks import renewed
from zentracer.wire.messages import BreakpointStatus

Settled = Callable[[BreakpointStatus], None]
_FIRST_SECONDS, _LAST_SECONDS = 0.1, 5.0


class _Named:
    """The breakpoints that are set, and which of them wait."""

    def __init__(self) -> None:
        self._lock = renewed(self, "_lock", threading.RLock)
        self._waiting: Dict[int, str] = {}
        self._library: List[CodeType] = []
        self._paths: Dict[str, List[CodeType]] = {}
        self._judged: Dict[str, Tuple[Optional[str], bool]] = {}
        """File of each module, and whether it is the user's."""
        self._settled: Optional[Settled] = None
        self._turn = 0
        self._watchdog = Watchdog()

    def set(
        self, wanted: Iterable[Tuple[int, str]], settled: Settled
    ) -> Dict[int, BreakpointStatus]:
        """Take over the whole list; returns what became of each."""
        with self._lock:
            self._turn += 1
            self._settled = settled
            self._waiting.clear()
            self._library.clear()
            self._paths.clear()
            self._judged.clear()
            statuses = {number: self._status(number, name) for number, name in wanted}
            function_gate.when_reached(self.reached)
            self._let_libraries_in()
            if self._waiting:
                self._look_again(self._turn, _FIRST_SECONDS)
            return statuses

    def reached(self, number: int) -> None:
        """The function of a breakpoint has been called."""
        if number in self._waiting:
            self._found(BreakpointStatus(id=number, verified=True))

    def _status(self, number: int, name: str) -> BreakpointStatus:
        status = self._known(number, name)
        if status is not None:
            return status
        self._waiting[number] = name
        message = (
            f"No function '{name}' is loaded yet; the breakpoint becomes active when one is. "
            "Names are qualified as in Encoder.forward or package.module.Encoder.forward."
        )
        return BreakpointStatus(id=number, verified=False, message=message, pending=True)

    def _known(self, number: int, name: str) -> Optional[BreakpointStatus]:
        """Return the status of a breakpoint if there is a function of its name."""
        codes = self._codes(name)
        if not codes:
            return None
        if all(map(_is_unseen, codes)):
            message = (
                f"'{name}' is a generator or coroutine, whose start debugpy does not see before "
                "Python 3.12: set a breakpoint on its first line instead."
            )
            return BreakpointStatus(id=number, verified=False, message=message)
        return BreakpointStatus(id=number, verified=True)

    def _codes(self, name: str) -> List[CodeType]:
        modules = self._users_modules()
        try:
            path = names.at_path(name, sys.modules)
            codes = path or names.resolved(name, modules)
        except Exception:  # a class of the user's may raise for its name; then a call finds it
            return []
        if path:
            self._paths[name] = path
        self._library += [code for code in codes if not is_user_code(code)]
        return codes

    def _let_libraries_in(self) -> None:
        function_gate.lead_to(self._paths, self._library)

    def _users_modules(self) -> Dict[str, ModuleType]:
        found: Dict[str, ModuleType] = {}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__dict__", {}).get("__file__")
            known = self._judged.get(name)
            if known is None or known[0] != file:
                is_users = isinstance(file, str) and is_user_file(file, name)
                known = self._judged[name] = (file, is_users)
            if known[1]:
                found[name] = module
        return found

    def _found(self, status: BreakpointStatus) -> None:
        if self._waiting.pop(status.id, None) is not None and self._settled is not None:
            self._settled(status)

    def _look_again(self, turn: int, seconds: float) -> None:
        def look() -> None:
            with self._lock:
                if turn != self._turn or not self._waiting:
                    return
                self._look_again(turn, min(2 * seconds, _LAST_SECONDS))  # also if this one fails
                for number, name in list(self._waiting.items()):
                    status = self._known(number, name)
                    if status is not None:
                        self._found(status)
                self._let_libraries_in()

        self._watchdog.call(seconds, look)


def _is_unseen(code: CodeType) -> bool:
    """Tell whether pydevd does not see that a function begins."""
    flags = inspect.CO_GENERATOR | inspect.CO_COROUTINE
    return bool(code.co_flags & flags) and not (guard.is_there() and guard.uses_monitoring())


_named = _Named()


def statuses(wanted: Iterable[Tuple[int, str]], settled: Settled) -> Dict[int, BreakpointStatus]:
    """Return whether there are functions of these names; tells later of those that wait.

    Args:
        wanted: number and name of each breakpoint; the whole list.
        settled: is told when one that waits becomes verified.
    """
    return _named.set(wanted, settled)
