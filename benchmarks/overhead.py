"""The overhead that is shown in the status bar, and the difference that arming really makes.

Usage: python benchmarks/overhead.py [--rounds N]

In one process and on one thread, blocks of steps take turns: with nothing armed, armed, and armed
with every step timed (usually one in two seconds is). The real share is that of the first two in
processor time; the shown one is what the third reports.
"""

from __future__ import annotations

import statistics
import sys
import time
from contextlib import contextmanager
from typing import Callable, Iterator

import torch
from measuring import ROOT, arguments, interleaved, machine, table
from models import MODELS
from torch import nn

sys.path.insert(0, str(ROOT / "tests" / "runtime"))

from watching import Host, watching

from zentracer.frameworks.pytorch.overhead import Overhead

SECONDS_OF_A_BLOCK = 0.5


def main() -> None:
    options = arguments(__doc__, rounds=9)
    machine()
    torch.set_num_threads(1)
    rows = []
    for name, make in {"small": small, "many operations": many, **MODELS}.items():
        rows.append((name, *measure(make(), options.rounds)))
    table(("model", "plain step, ms", "real share", "shown share", "a timed step / armed"), rows)


def measure(step: Callable[[], object], rounds: int) -> tuple[str, str, str, str]:
    count = max(4, int(SECONDS_OF_A_BLOCK / seconds(step)))
    shown: list[float] = []

    def plain() -> list[float]:
        return [seconds(step) for _ in range(count)]

    def armed() -> list[float]:
        with timing(never=True), watching():
            return warm_and_plain()

    def timed() -> list[float]:
        with timing(never=False), watching() as host:
            found = warm_and_plain()
        shown.append(share_of(host))
        return found

    def warm_and_plain() -> list[float]:
        for _ in range(4):
            step()
        return plain()

    found = interleaved(rounds, {"plain": plain, "armed": armed, "timed": timed}, seconds=90)
    pairs = list(zip(found["plain"], found["armed"]))
    real = statistics.median((armed - plain) / armed for plain, armed in pairs)
    slower = statistics.median(t / a for t, a in zip(found["timed"], found["armed"]))
    return (
        f"{statistics.median(found['plain']) * 1000:.3g}",
        f"{real:.1%}",
        f"{statistics.median(shown):.1%}",
        f"{slower:.2f}x",
    )


def seconds(step: Callable[[], object]) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def share_of(host: Host) -> float:
    share = host.steps[-1].overhead
    assert share is not None
    return share


@contextmanager
def timing(*, never: bool) -> Iterator[None]:
    """Time no step, or each."""
    before = Overhead.steps_between, Overhead.seconds_between
    Overhead.seconds_between, Overhead.steps_between = (1e9 if never else 0.0), 1
    yield
    Overhead.steps_between, Overhead.seconds_between = before


def small() -> Callable[[], object]:
    """Return a step of a network so small that calling torch is most of its time."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.randn(32, 32), torch.randint(0, 10, (32,))

    def step() -> None:
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def many() -> Callable[[], object]:
    """Return a step of hundreds of small operations."""
    torch.manual_seed(0)
    weights = [torch.randn(16, 16, requires_grad=True) for _ in range(8)]
    optimizer = torch.optim.Adam(weights, lr=1e-4)
    x = torch.randn(16, 16)

    def step() -> None:
        h = x
        for _ in range(5):
            for weight in weights:
                h = torch.tanh(h @ weight) + h * 0.5
        loss = h.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    main()
