"""Disarmed at any line of a step that is timed: the program does not notice.

The link's thread disarms, when the user unticks a breakpoint and when the adapter dies.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import Any, Callable, Optional

import pytest

torch = pytest.importorskip("torch")

from tests.runtime.watching import Host
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch import PyTorch, compiled, overhead, timed, update
from zentracer.frameworks.pytorch.overhead import Overhead

NAN, SHAPE = ArmedFilter(1, "zentracer.nonfinite"), ArmedFilter(2, "zentracer.shape")
FILES = frozenset(module.__file__ for module in (compiled, overhead, timed, update))


@torch.jit.script
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def train() -> list[float]:
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = doubled(net(torch.ones(2, 3))).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class AtLine:
    """Calls ``action`` on another thread just before the ``number``-th line of ours."""

    def __init__(self, number: int, action: Callable[[], None]) -> None:
        self.last: dict[tuple[str, int], int] = {}
        """When each line was run last."""
        self._seen = 0
        self._number = number
        self._action = action

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> Optional[Any]:
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            self._seen += 1
            self.last[frame.f_code.co_filename, frame.f_lineno] = self._seen
            if self._seen == self._number:
                thread = threading.Thread(target=self._action)
                thread.start()
                thread.join()
        return self


def disarmed_at(
    number: int, armed: tuple[ArmedFilter, ...], *, advice: bool
) -> tuple[list[int], list[float], list[str]]:
    host = Host(advice=advice)
    framework = PyTorch(host)
    framework.arm(armed, precise=False)
    tracer = AtLine(number, framework.disarm)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        losses = train()
    finally:
        sys.settrace(before)
        framework.disarm()
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):  # asks the main thread to clean up
                thread.join()
    return sorted(tracer.last.values()), losses, host.notices


@pytest.mark.parametrize(
    ("armed", "advice"),
    [((NAN,), False), ((NAN,), True), ((SHAPE,), False)],
    ids=["looks", "looks and tells", "tells"],
)
def test_disarmed_at_any_line(
    monkeypatch: pytest.MonkeyPatch, armed: tuple[ArmedFilter, ...], advice: bool
) -> None:
    monkeypatch.setattr(overhead, "_FIRST", 1)
    monkeypatch.setattr(Overhead, "seconds_between", 0.0)
    monkeypatch.setattr(Overhead, "steps_between", 1)
    expected = train()
    lines, losses, _ = disarmed_at(sys.maxsize, armed, advice=advice)
    assert len(lines) > 60 and losses == expected
    for number in lines:
        _, losses, notices = disarmed_at(number, armed, advice=advice)
        others = [notice for notice in notices if "compiled code" not in notice]
        assert (losses, others) == (expected, []), f"disarmed at line {number}"


def named(armed: tuple[ArmedFilter, ...]) -> str:
    return "+".join(item.filter[len("zentracer.") :] for item in armed) or "nothing"


@pytest.mark.parametrize("then", [(), (NAN,), (SHAPE,), (NAN, SHAPE)], ids=named)
@pytest.mark.parametrize("first", [(NAN,), (SHAPE,), (NAN, SHAPE)], ids=named)
@pytest.mark.parametrize("advice", [False, True])
def test_armed_otherwise_while_the_program_stands(
    first: tuple[ArmedFilter, ...], then: tuple[ArmedFilter, ...], advice: bool
) -> None:
    """The user ticks and unticks at a stop, which is inside a torch call."""
    host = Host(advice=advice)
    framework = PyTorch(host)

    def stop(*_: Any, **__: Any) -> None:
        thread = threading.Thread(target=framework.arm, args=(then,), kwargs={"precise": False})
        thread.start()
        thread.join()
        stops.append(None)

    stops: list[None] = []
    host.stop = stop  # type: ignore[method-assign]
    framework.arm(first, precise=False)
    try:
        prediction, target = torch.ones(4, 1, requires_grad=True), torch.zeros(4)
        torch.log(target)
        loss = torch.nn.functional.mse_loss(prediction, target)
        loss.backward()
        prediction.exp().sum()
    finally:
        framework.disarm()
    assert stops and host.notices == []
