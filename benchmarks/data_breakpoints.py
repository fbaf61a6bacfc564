"""Time of a training step with data breakpoints whose condition is false.

Usage: python benchmarks/data_breakpoints.py [--rounds N] [--steps N]

One process trains the transformer and takes turns with itself: some steps with nothing armed, some
with a breakpoint on one parameter, which the optimiser changes in each step, some with 2,000 (all
parameters, and elements of them). Bar: one parameter 1.02x.

Peers, by hand: the naive way, a copy of the parameter that is compared after each step, which knows
the step and not the line; and for the line a ``TorchDispatchMode`` that compares versions after
each operation. Processor time of one thread, medians of interleaved rounds.
"""

from __future__ import annotations

import contextlib
import re
import statistics
import sys
import time
from typing import Any, Callable, Iterator

from measuring import ROOT, arguments, bar, interleaved, machine, ratio, steady, table

sys.path.insert(0, str(ROOT / "tests" / "runtime"))

import torch
from models import transformer
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import TorchDispatchMode
from watching import Host, watchable

from zentracer.control.condition import compile_condition
from zentracer.frameworks.base import ArmedData
from zentracer.frameworks.pytorch import PyTorch
from zentracer.frameworks.pytorch.modules import root_modules

FALSE = "changed > 1e9"
MANY = 2000
PARAMETER = "net[0].layers[0].linear1.weight"
WARM = 5
"""ZenTracer times its own overhead in the third and the fourth step, and then in one of many."""
Step = Callable[[], Any]


def main() -> None:
    steady()
    options = arguments(__doc__, rounds=15, steps=4)
    machine()
    torch.set_num_threads(1)
    step = transformer()
    net = max(root_modules(), key=lambda module: sum(p.numel() for p in module.parameters()))
    parameter = net[0].layers[0].linear1.weight
    one, many = [PARAMETER], expressions(net)
    frame = sys._getframe()
    armed = {len(names): identified(names, frame) for names in (one, many)}
    sides = {
        "nothing armed": contextlib.nullcontext,
        "one parameter": lambda: breaking(armed[1]),
        f"{len(many):,} breakpoints": lambda: breaking(armed[len(many)]),
        "a copy compared after each step": lambda: compared(parameter),
        "versions compared after each operation": lambda: Versions(parameter),
    }
    found = interleaved(
        options.rounds,
        {name: lambda make=make: timed(make, step, options.steps) for name, make in sides.items()},
        seconds=300,
    )
    plain = found["nothing armed"]
    rows = []
    for name, figures in found.items():
        value = ratio(figures, plain)
        cell = bar(value, 1.02, "{:.3f}x") if name == "one parameter" else f"{value:.3f}x"
        rows.append((name, f"{statistics.median(figures) * 1000:.4g}", cell))
    table(("armed", "step, ms", "ratio"), rows)


def expressions(net: torch.nn.Module) -> list[str]:
    """Return all parameters, and elements of one of them for the rest."""
    names = ["net" + re.sub(r"\.(\d+)", r"[\1]", f".{name}") for name, _ in net.named_parameters()]
    return names + [f"{PARAMETER}[{at // 256}, {at % 256}]" for at in range(MANY - len(names))]


def identified(names: list[str], frame: Any) -> tuple[ArmedData, ...]:
    """Ask for the data ids, as an editor does."""
    found = []
    for number, name in enumerate(names, 1):
        data_id, said = watchable(name, frame)
        assert data_id is not None, said
        found.append(ArmedData(number, data_id, compile_condition(FALSE)))
    return tuple(found)


@contextlib.contextmanager
def breaking(armed: tuple[ArmedData, ...]) -> Iterator[None]:
    host = Host()
    framework = PyTorch(host)
    statuses = framework.break_on(armed)
    assert all(status.verified for status in statuses)
    try:
        yield
    finally:
        framework.disarm()
        assert host.hits == [] and host.notices == [], (host.hits, host.notices)


def timed(make: Callable[[], Any], step: Step, steps: int) -> list[float]:
    seconds = []
    with make():
        for _ in range(WARM):
            step()
        for _ in range(steps):
            start = time.thread_time()
            step()
            seconds.append(time.thread_time() - start)
    return seconds


@contextlib.contextmanager
def compared(parameter: torch.Tensor) -> Iterator[None]:
    """Compare the parameter with a copy of it after each step of an optimiser."""
    kept = [parameter.detach().clone()]

    def look(optimizer: Any, args: Any, kwargs: Any) -> None:
        if not torch.equal(kept[0], parameter):
            changed = (parameter.detach() - kept[0]).norm() / kept[0].norm()
            assert changed < 1e9
        kept[0] = parameter.detach().clone()

    handle = register_optimizer_step_post_hook(look)
    try:
        yield
    finally:
        handle.remove()


class Versions(TorchDispatchMode):
    """Looks after each operation whether the parameter has another version."""

    def __init__(self, parameter: torch.Tensor) -> None:
        super().__init__()
        self.parameter = parameter
        self.version = parameter._version
        self.kept = parameter.detach().clone()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if self.parameter._version != self.version:
            self.version = self.parameter._version
            changed = (self.parameter.detach() - self.kept).norm() / self.kept.norm()
            assert changed < 1e9
            self.kept = self.parameter.detach().clone()
        return out


if __name__ == "__main__":
    main()
