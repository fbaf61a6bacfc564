"""An exception of PyTorch's, with the frames it went through.

RUNS IN the training process, when an exception has stopped the program.
"""

from __future__ import annotations

import builtins
import dis
import os
import re
import sys
import types
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Iterator, Optional

import torch
from torch import nn

from zentracer.control.pydevd.hidden import own_folders
from zentracer.control.pydevd.usercode import is_user_code
from zentracer.control.source import Place, place_of
from zentracer.frameworks.pytorch.errors.columnless import expression_at
from zentracer.frameworks.pytorch.errors.lookup import is_module
from zentracer.frameworks.pytorch.mode import Watcher, installed
from zentracer.frameworks.pytorch.modules import is_library
from zentracer.frameworks.pytorch.origin import location
from zentracer.frameworks.pytorch.trail import Site
from zentracer.frameworks.pytorch.watch import Watch

_CALL_CODES = frozenset({nn.Module._call_impl.__code__})
_WATCHER_CODE = Watcher.__torch_function__.__code__
_TORCH = os.path.join(os.path.dirname(os.path.abspath(torch.__file__)), "")
_RAISE = dis.opmap["RAISE_VARARGS"]
_GROUP: Any = getattr(builtins, "BaseExceptionGroup", ())
_BUILT_IN = (
    RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, AssertionError,
)  # fmt: skip
_MOST_SPOTS = 500
_MOST_ERRORS = 16
_REMOTE = re.compile(
    r"Caught (?P<kind>\w+) in (?P<where>[^\n.]*)\.\nOriginal |"
    r"-- (?P<process>Process \d+) terminated with the following error"
)
_FILE = re.compile(
    r'^  File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?', re.M
)
_LAST = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception)): (?P<message>.*)\Z", re.M | re.S)


@dataclass(frozen=True)
class Spot:
    """Where one frame stood when the exception went through it."""

    frame: types.FrameType
    lasti: int
    line: int

    @property
    def code(self) -> types.CodeType:
        """The code the frame runs."""
        return self.frame.f_code

    @property
    def is_users(self) -> bool:
        """Whether it is the user's own code."""
        return self.code.co_name != "__torch_function__" and is_user_code(self.code)

    @property
    def is_ours(self) -> bool:
        """Whether it is a frame of the watch."""
        return self.code is _WATCHER_CODE

    @property
    def is_module_call(self) -> bool:
        """Whether it is PyTorch's own frame around the ``forward`` of a module."""
        return self.code in _CALL_CODES

    @property
    def is_torch(self) -> bool:
        """Whether it is code of PyTorch's."""
        return os.path.abspath(self.code.co_filename).startswith(_TORCH)


@dataclass
class Failure:
    """What the rules look at."""

    error: BaseException
    message: str
    spots: tuple[Spot, ...]
    """Innermost first: the traceback, then the callers that still run."""
    user: Spot
    """The nearest spot in the user's code."""
    notes: list[str] = field(default_factory=list)
    remote: Optional[Place] = None
    """The user's line in another process, which this one only knows as text."""

    @cached_property
    def source(self) -> Place:
        """The user's line where the program stands."""
        spot = self.user
        place = place_of(spot.code, spot.lasti, self._written_as)
        if place.module is None or sys.version_info >= (3, 11):
            return place
        node = expression_at(place.module, spot.code, spot.lasti, spot.line)
        return Place(place.location, place.module, node or place.node)

    @property
    def place(self) -> Place:
        """The user's line that raised it, be it in another process."""
        return self.remote or self.source

    @cached_property
    def inner(self) -> tuple[Spot, ...]:
        """The spots from the innermost up to the user's, without that one; none if remote."""
        if self.remote is not None:
            return ()
        return self.spots[: self.spots.index(self.user)]

    @cached_property
    def users(self) -> tuple[Spot, ...]:
        """The user's spots, innermost first."""
        return tuple(spot for spot in self.spots if spot.is_users)

    @cached_property
    def modules(self) -> tuple[nn.Module, ...]:
        """The modules whose call the exception went through, innermost first."""
        return tuple(self._modules(self.spots))

    @cached_property
    def module(self) -> Optional[nn.Module]:
        """The module that the user's line calls, or whose own line it is."""
        called = list(self._modules(self.inner))
        libraries = [module for module in called if is_library(module)]
        return (libraries or called or list(self.modules) or [None])[0]

    @property
    def called(self) -> Optional[nn.Module]:
        """The library's module that failed, None if the line calls a function."""
        module = self.module
        return module if module is not None and self.calls_module and is_library(module) else None

    @property
    def calls_module(self) -> bool:
        """Whether the failing call of the user's line is one of a module."""
        return any(spot.is_module_call for spot in self.inner)

    @cached_property
    def watch(self) -> Optional[Watch]:
        """The armed watch of this thread."""
        watcher = installed()
        return watcher.watch if watcher is not None else None

    @property
    def writes(self) -> list[tuple[int, tuple[int, ...], Site]]:
        """The changes in place that the watch of this thread has seen, oldest first."""
        watcher = installed()
        return list(getattr(watcher, "writes", ()))

    @property
    def _written_as(self) -> str:
        """How the failing call reads, where the bytecode has no columns (before Python 3.11)."""
        for spot in reversed(self.inner):
            if spot.is_ours:
                return str(getattr(spot.frame.f_locals.get("plan"), "name", ""))
            if (
                spot.is_torch
                and not spot.is_module_call
                and spot.code.co_name != "_wrapped_call_impl"
            ):
                return spot.code.co_name.strip("_")
        return ""

    @staticmethod
    def _modules(spots: tuple[Spot, ...]) -> Iterator[nn.Module]:
        for spot in spots:
            if spot.is_module_call:
                module = spot.frame.f_locals.get("self")
                if is_module(module):
                    yield module


def failures(
    error: BaseException, traceback: Optional[types.TracebackType] = None
) -> Iterator[Failure]:
    """Yield what may be explained of ``error``: itself, members of a group, explicit causes.

    Args:
        error: what stopped the program.
        traceback: of ``error``, where it is not on the exception yet.
    """
    for one, note in _related(error):
        failure = _failure(one, traceback if one is error else None)
        if failure is not None:
            if note:
                failure.notes.append(note)
            yield failure


def text_of(error: BaseException) -> str:
    """Return the message of a built-in or of PyTorch's own exception; others' are their code."""
    try:
        return str(error)
    except Exception:  # __str__ is the user's own
        return ""


def _related(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    waiting: list[tuple[BaseException, str]] = [(error, "")]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_ERRORS:
        one, note = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one, note
        name = type(one).__name__
        if _GROUP and issubclass(type(one), _GROUP):
            members = _GROUP.exceptions.__get__(one)
            waiting += [
                (member, f"It is one of the {len(members)} in {name}.") for member in members
            ]
        cause = BaseException.__dict__["__cause__"].__get__(one)
        if cause is not None:
            waiting.append((cause, f"{name} was raised from it."))


def _failure(error: BaseException, traceback: Optional[types.TracebackType]) -> Optional[Failure]:
    if not _is_frameworks_type(type(error)):
        return None
    traceback = traceback or error.__traceback__
    if traceback is None:
        return None
    spots = _spots(traceback)
    user = next((spot for spot in spots if spot.is_users), None)
    if user is None or _raised_by_user(spots[0]):
        return None
    failure = Failure(error, text_of(error), spots, user)
    return _remote(failure) if _REMOTE.search(failure.message) else failure


def _is_frameworks_type(kind: type) -> bool:
    """Tell whether PyTorch raises exceptions of this type: some built in, and its own."""
    return kind in _BUILT_IN or str(kind.__module__).partition(".")[0] == torch.__name__


def _raised_by_user(spot: Spot) -> bool:
    """Tell whether a ``raise`` that is not PyTorch's own made the exception."""
    if spot.is_torch or spot.is_ours:
        return False
    code = spot.code.co_code
    return spot.lasti < len(code) and code[spot.lasti] == _RAISE


def _spots(traceback: types.TracebackType) -> tuple[Spot, ...]:
    found: list[Spot] = []
    outermost = traceback.tb_frame
    entry: Optional[types.TracebackType] = traceback
    while entry is not None:
        found.append(Spot(entry.tb_frame, entry.tb_lasti, entry.tb_lineno))
        entry = entry.tb_next
    found = found[-_MOST_SPOTS:]
    found.reverse()
    caller = outermost.f_back
    while caller is not None and len(found) < _MOST_SPOTS:
        found.append(Spot(caller, caller.f_lasti, caller.f_lineno))
        caller = caller.f_back
    return tuple(found)


def _remote(failure: Failure) -> Optional[Failure]:
    """Read what a worker process reported: its traceback is part of the message."""
    match = _REMOTE.search(failure.message)
    last = list(_LAST.finditer(failure.message))
    files = list(_FILE.finditer(failure.message))
    if match is None or not last or not files or _is_users_raise(files[-1], last[-1]):
        return None
    users = [found for found in files if _is_users_file(found["path"])]
    failure.message = last[-1]["message"]
    failure.notes.append(
        f"It was raised in {match['where'] or match['process']}, so its tensors are gone."
    )
    failure.remote = failure.source
    if users:
        at = users[-1]
        failure.remote = Place(location(at["path"], int(at["line"]), at["function"]), None, None)
    return failure


def _is_users_raise(innermost: re.Match[str], last: re.Match[str]) -> bool:
    """Tell whether the text of a traceback ends in a ``raise`` that is not PyTorch's own."""
    known = {kind.__name__ for kind in _BUILT_IN}
    if last["kind"] not in known and not last["kind"].startswith(f"{torch.__name__}."):
        return True
    code = innermost.string[innermost.end() :].lstrip("\n").partition("\n")[0]
    return not innermost["path"].startswith(_TORCH) and code.strip().startswith("raise")


def _is_users_file(path: str) -> bool:
    code = compile("", path, "exec")
    return is_user_code(code) and not path.startswith(own_folders())


def plain_locals(spot: Spot) -> dict[str, Any]:
    """Return the arguments of the function that runs in ``spot``, by name."""
    code = spot.code
    count = code.co_argcount + code.co_kwonlyargcount
    held = spot.frame.f_locals
    return {name: held[name] for name in code.co_varnames[:count] if name in held}
