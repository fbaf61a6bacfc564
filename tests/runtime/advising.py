"""Small programs, each with the advice it must give: the rule, at the line marked ``# <- here``."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Callable

import torch

from tests.runtime.watching import Host, watching_for
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch import PyTorch

Program = Callable[[], Any]
_MARK = "# <- here"


@dataclass
class Programs:
    """Those of one test file."""

    faulty: dict[str, tuple[str, Program]] = field(default_factory=lambda: {})
    healthy: dict[str, Program] = field(default_factory=lambda: {})

    def gives(self, rule: str) -> Callable[[Program], Program]:
        """Register a program that must give ``rule``."""

        def register(program: Program) -> Program:
            self.faulty[program.__name__] = (rule, program)
            return program

        return register

    def silent(self, program: Program) -> Program:
        """Register a program that must give nothing."""
        self.healthy[program.__name__] = program
        return program

    def check_faulty(self, name: str) -> None:
        """Run a faulty program: exactly its advice, and the same result as unwatched."""
        rule, program = self.faulty[name]
        host = compare(program)
        lines, first = inspect.getsourcelines(program)
        marked = [first + i for i, line in enumerate(lines) if line.rstrip().endswith(_MARK)]
        told = [(advice.rule, advice.details.origin.line) for advice in host.advice]
        assert told == [(rule, line) for line in marked]
        assert all(advice.details.suggestions for advice in host.advice)

    def check_healthy(self, name: str) -> None:
        """Run a right program: no advice, and the same result as unwatched."""
        host = compare(self.healthy[name])
        assert [f"{advice.rule}: {advice.text}" for advice in host.advice] == []

    def check_deferred(self, name: str) -> None:
        """Run a faulty program as if its tensors were on an accelerator: the same advice."""
        rule, program = self.faulty[name]
        host = Host(advice=True)
        framework = PyTorch(host)
        framework.arm((ArmedFilter(1, "zentracer.nonfinite"),), precise=False)
        watch = framework._watch
        assert watch is not None
        watch.defer_cpu = True
        try:
            seeded(program)
        finally:
            framework.disarm()
        assert [advice.rule for advice in host.advice] == [rule]
        assert host.notices == []


def compare(program: Program) -> Host:
    """Run a program watched and unwatched; it must return the same."""
    alone = seeded(program)
    with watching_for("nonfinite", advice=True) as host:
        watched = seeded(program)
    assert host.notices == []
    assert host.hits == []
    assert _plain(watched) == _plain(alone)
    return host


def seeded(program: Program) -> Any:
    """Run a program from a fixed seed."""
    torch.manual_seed(0)
    return program()


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
