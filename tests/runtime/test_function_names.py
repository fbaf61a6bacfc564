"""Names of functions, where what they are read from is the user's own code."""

from __future__ import annotations

import types
from typing import Any

import pytest

from zentracer.armed import Armed
from zentracer.control import function_names as names
from zentracer.control.pydevd import function_gate
from zentracer.frameworks.base import Framework
from zentracer.wire.messages import BreakpointStatus, FunctionBreakpoint, SetFunctionBreakpoints


class Meta(type):
    """Tells nobody anything, and equals nothing."""

    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("eq")

    __hash__ = None  # type: ignore[assignment]


class Secret(metaclass=Meta):
    def method(self) -> None: ...


class Outer:
    Secret = Secret

    def method(self) -> None: ...


def test_a_metaclass_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "_HAS_QUALNAME", False)  # as before Python 3.11
    code = Outer.method.__code__
    assert names.qualified_name(code, globals()) == "Outer.method"
    hidden = type.__dict__["__dict__"].__get__(Secret)["method"].__code__
    assert names.qualified_name(hidden, globals()) == "Secret.method"
    module = types.ModuleType(__name__)
    vars(module).update(globals())
    modules = {__name__: module}
    assert names.resolved("Secret.method", modules) == [hidden]
    assert names.at_path(f"{__name__}.Outer.Secret.method", modules) == [hidden]


class Spec:
    """What a program may leave in its ``__spec__``."""

    @property
    def name(self) -> str:
        raise ValueError("no name")


def test_the_gate_raises_nothing_into_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(function_gate, "_notify", said.append)
    wanted = types.SimpleNamespace(
        func_name="work",
        breakpoint_id=7,
        condition=None,
        hit_condition=None,
        expression=None,
        suspend_policy="NONE",
    )
    (combined,) = function_gate.combined([wanted])
    space: dict[str, Any] = {"__name__": "__main__", "__spec__": Spec()}
    exec("import sys\ndef work(): return sys._getframe()", space)
    assert combined._gate(space["work"]()) is False
    assert "'work'" in said[0] and "ValueError: no name" in said[0]
    space["__spec__"] = None
    assert combined._gate(space["work"]()) is True
    assert combined.breakpoint_id == (7,)


class Owner:
    """A runtime without frameworks."""

    def __init__(self) -> None:
        self.told: list[BreakpointStatus] = []

    def frameworks(self) -> list[Framework]:
        return []

    def step_aside(self, framework: Framework, error: Exception) -> None:
        raise error

    def settled(self, status: BreakpointStatus) -> None:
        self.told.append(status)


def test_what_waits_is_forgotten_when_nobody_listens_any_more() -> None:
    owner = Owner()
    armed = Armed(owner, precise=False)
    wanted = FunctionBreakpoint(id=7, kind="python", name="not_there_yet")
    for ends in (False, True):
        (status,) = armed.set_functions(SetFunctionBreakpoints(breakpoints=(wanted,))).breakpoints
        assert status.pending
        if ends:
            armed.nothing()
        function_gate._reached(7)
        assert [one.verified for one in owner.told] == [True]
