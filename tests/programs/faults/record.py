"""The table of faults and what each must be called."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import torch
from torch import Tensor, nn

from tests.programs.zoo.registry import batches, clusters

__all__ = [
    "FAULTS", "Fault", "batches", "classifier", "clusters", "confirm", "fault", "regression",
]  # fmt: skip

_MARK = re.compile(r"  # <- ([a-z, ]+)$")


@dataclass(frozen=True)
class Fault:
    """A program that goes wrong, or with ``run(False)`` does not."""

    run: Callable[[bool], None]
    """Raises AssertionError if the symptom is not as it should be."""
    expected: str
    """Filter id or name of the advisory rule that must be reported for a marked line."""
    also: tuple[str, ...] = ()
    """What else may be reported, because it follows from the fault."""

    @property
    def path(self) -> Path:
        return Path(inspect.getsourcefile(inspect.unwrap(self.run)) or "")

    def lines(self, mark: str = "culprit") -> list[int]:
        """Return the lines of the program that carry ``# <- mark``."""
        source, first = inspect.getsourcelines(inspect.unwrap(self.run))
        return [
            number
            for number, line in enumerate(source, first)
            if (match := _MARK.search(line.rstrip())) and mark in match[1].split(", ")
        ]


FAULTS: dict[str, Fault] = {}


def fault(expected: str, *also: str) -> Callable[[Callable[[bool], None]], Callable[[bool], None]]:
    """Register a program, which starts from the same seed at every call."""

    def register(function: Callable[[bool], None]) -> Callable[[bool], None]:
        def seeded(fault: bool) -> None:
            torch.manual_seed(0)
            function(fault)

        seeded.__wrapped__ = function  # type: ignore[attr-defined]
        FAULTS[function.__name__] = Fault(seeded, expected, also)
        return seeded

    return register


def confirm(fault: bool, symptom: bool, *numbers: object) -> None:
    """Check that the program shows its symptom if it has the fault, and only then."""
    assert symptom == fault, numbers


def regression(rows: int, features: int) -> tuple[Tensor, Tensor]:
    """Return ``x[rows, features]`` and targets ``y[rows]`` that a small net can learn."""
    x = torch.randn(rows, features)
    return x, (x[:, 0] - 0.5 * x[:, 1]).tanh() + 0.1 * torch.randn(rows)


def classifier() -> nn.Sequential:
    """Return a net from ten features to three classes."""
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
