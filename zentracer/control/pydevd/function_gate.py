"""Function breakpoints by qualified name.

RUNS IN the training process, inside of pydevd's trace callback. Stock debugpy 1.8.22 looks up the
bare ``co_name`` of a function that is called, and knows one breakpoint by that name. Here the bare
name leads to one breakpoint that stands for all that end with it; its condition finds those that
name the function, as ``Encoder.forward`` or ``package.module.Encoder.forward``.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any, Callable, Dict, Iterable, List, Sequence, Tuple

from zentracer.control import function_names as names
from zentracer.control.pydevd.conditions import gate_of
from zentracer.control.pydevd.usercode import is_user_code
from zentracer.observe.stats import error_text

_MAX_KNOWN = 10_000
_FAILED = (
    "ZenTracer could not tell which breakpoints name the function '{name}', and did not stop in "
    "it: {why}. A breakpoint on its first line stops there."
)
_library: Dict[int, CodeType] = {}
"""Code of libraries that breakpoints name: it counts as the user's."""
_paths: Dict[str, List[CodeType]] = {}
"""What names lead to that are written as a program would after an import."""


def _nobody(_number: int) -> None:
    return None


_reached: Callable[[int], None] = _nobody
_notify: Callable[..., None] = print


def install(pydevd: Any, notify: Callable[..., None]) -> None:
    """Replace ``PyDevdAPI.set_function_breakpoints``, which each change of the list goes through.

    And ``PyDB.apply_files_filter``, so that a function of a library can be named although
    ``justMyCode`` leaves libraries out, and what says which breakpoints a stop is for.
    """
    global _notify
    _notify = notify
    api = sys.modules["_pydevd_bundle.pydevd_api"].PyDevdAPI
    factory = sys.modules["_pydevd_bundle.pydevd_net_command_factory_json"].NetCommandFactoryJson
    set_all = api.set_function_breakpoints
    excludes = pydevd.PyDB.apply_files_filter
    hit_ids = factory._get_hit_breakpoint_ids

    def set_function_breakpoints(self: Any, py_db: Any, breakpoints: Sequence[Any]) -> None:
        set_all(self, py_db, combined(breakpoints))

    def apply_files_filter(self: Any, frame: FrameType, *args: Any) -> bool:
        if _library and id(frame.f_code) in _library:
            return False
        return bool(excludes(self, frame, *args))

    def _get_hit_breakpoint_ids(self: Any, py_db: Any, info: Any, reason: str) -> Any:
        found = hit_ids(self, py_db, info, reason)
        if found and type(found[0]) is tuple:
            return list(found[0])
        return found

    api.set_function_breakpoints = set_function_breakpoints
    pydevd.PyDB.apply_files_filter = apply_files_filter
    factory._get_hit_breakpoint_ids = _get_hit_breakpoint_ids


def when_reached(told: Callable[[int], None]) -> None:
    """Call ``told`` with the number of a breakpoint whose function is called."""
    global _reached
    _reached = told


def lead_to(paths: Dict[str, List[CodeType]], library: Iterable[CodeType]) -> None:
    """Say what full names lead to, and which functions of libraries count as the user's code."""
    wanted = {id(code): code for code in library}
    if wanted.keys() == _library.keys() and paths == _paths:
        return
    _library.clear()
    _library.update(wanted)
    _paths.clear()
    _paths.update(paths)
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd.get_global_debugger() if pydevd is not None else None
    if debugger is None:
        return
    for one in dict(debugger.function_breakpoint_name_to_breakpoint).values():
        if isinstance(one, Combined):
            one.forget()
    debugger.on_breakpoints_changed()  # it has decided on some functions already


def combined(breakpoints: Sequence[Any]) -> List[Combined]:
    """Return one breakpoint for each bare name."""
    by_name: Dict[str, List[Any]] = {}
    for one in breakpoints:
        by_name.setdefault(one.func_name.rpartition(".")[2], []).append(one)
    return [Combined(name, found) for name, found in by_name.items()]


class Combined:
    """What pydevd takes for the only breakpoint on functions of one bare name."""

    expression = None
    is_logpoint = False
    has_condition = True
    hit_condition = None
    condition = "the name"

    def __init__(self, name: str, breakpoints: Sequence[Any]) -> None:
        self.func_name = name
        self.suspend_policy = breakpoints[0].suspend_policy
        self._breakpoints = tuple(breakpoints)
        self._known: Dict[int, Tuple[CodeType, List[Any], List[Any]]] = {}
        self._hit = threading.local()
        self._zentracer = self._gate
        """What ``conditions`` calls."""

    @property
    def breakpoint_id(self) -> Any:
        """The numbers of those that the calling thread has stopped for."""
        return self._hit.numbers

    def forget(self) -> None:
        """Decide anew which functions are named."""
        self._known.clear()

    def _gate(self, frame: FrameType) -> bool:
        """Return whether to stop in a function that has been called. Never raises."""
        try:
            numbers = self._stopping(frame)
        except Exception as error:  # what a name is read from may be the user's and raise
            _notify(_FAILED.format(name=frame.f_code.co_name, why=error_text(error)))
            return False
        self._hit.numbers = numbers
        return bool(numbers)

    def _stopping(self, frame: FrameType) -> Tuple[int, ...]:
        """Return the numbers of the breakpoints that name the function and want to stop in it."""
        code = frame.f_code
        known = self._known.get(id(code))
        if known is None:
            known = self._meet(frame)
        asked = known[1]
        if known[2]:
            asked = asked + [one for one in known[2] if _inherits(frame, one.func_name)]
        numbers: List[int] = []
        for one in asked:
            _reached(one.breakpoint_id)
            if gate_of(one)(frame):
                numbers.append(one.breakpoint_id)
        return tuple(numbers)

    def _meet(self, frame: FrameType) -> Tuple[CodeType, List[Any], List[Any]]:
        """Decide which breakpoints name a function, and which may through the class of ``self``."""
        code, variables = frame.f_code, frame.f_globals
        own = names.qualified_name(code, variables)
        modules = names.module_names(variables)
        is_users = is_user_code(code, modules[0] if modules else None)
        full = [f"{module}.{own}" for module in modules]
        named: List[Any] = []
        maybe: List[Any] = []
        for one in self._breakpoints:
            if _names(one.func_name, code, full, is_users=is_users):
                named.append(one)
            elif "." in one.func_name and code.co_argcount:
                maybe.append(one)
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        entry = self._known[id(code)] = (code, named, maybe)
        return entry


def _names(wanted: str, code: CodeType, full: List[str], *, is_users: bool) -> bool:
    """Tell whether a breakpoint's name is that of a function.

    Args:
        wanted: the breakpoint's.
        code: the function's.
        full: the function's full names.
        is_users: whether it is the user's; of a library, a name has to be full. But where
            libraries are debugged, too, a bare name is any function's.
    """
    if any(code is known for known in _paths.get(wanted, ())) or wanted in full:
        return True
    if is_users:
        return any(names.fits(wanted, name) for name in full)
    return "." not in wanted and id(code) not in _library


def _inherits(frame: FrameType, wanted: str) -> bool:
    """Tell whether ``frame`` runs a method that the named class has from another one."""
    code = frame.f_code
    first = frame.f_locals.get(code.co_varnames[0])
    cls: Any = first if issubclass(type(first), type) else type(first)
    owner, _, last = wanted.rpartition(".")
    try:
        return any(
            names.fits(owner, names.class_name(base)) and code in names.method_of(base, last)
            for base in names.of_class(cls, "__mro__")
            if base is not object
        )
    except Exception:  # a metaclass of the user's may raise for a name
        return False
