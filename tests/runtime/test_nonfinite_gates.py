"""Gradients that overflow in layers nobody looks at one by one: the layer is still named."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from watching import watching

WIDE = 300


def run(function: Any, **options: Any) -> Any:
    with watching(**options) as host:
        function()
    assert host.notices == []
    (hit,) = host.hits
    return hit.details


def line_of(function: Any) -> int:
    lines, first = inspect.getsourcelines(function)
    return next(first + i for i, text in enumerate(lines) if text.endswith("# @bad\n"))


def gradient_overflows_between_layers() -> None:
    first, second, third = (nn.Linear(WIDE, WIDE) for _ in range(3))
    nn.init.constant_(second.weight, 1e20)
    h = torch.tanh(first(torch.zeros(4, WIDE)) * 0)
    h = second(h * 1e-30)  # @bad
    (third(h * 1e20).sum() * 1e15).backward()


def gradient_overflows_before_batch_norm() -> None:
    convolution, norm = nn.Conv2d(3, 64, 3, bias=False), nn.BatchNorm2d(64)
    last = nn.Conv2d(64, 64, 3, bias=False)
    nn.init.constant_(last.weight, 1e25)
    y = torch.relu(norm(convolution(torch.randn(2, 3, 16, 16))))
    y = last(y * 1e-20)  # @bad
    (y.mean() * 1e17).backward(torch.tensor(1e5))


@pytest.mark.parametrize("thorough", [False, True], ids=["normal", "precise"])
@pytest.mark.parametrize(
    "function", [gradient_overflows_between_layers, gradient_overflows_before_batch_norm]
)
def test_layer_is_named(function: Any, thorough: bool) -> None:
    details = run(function, precise=thorough)
    assert details.phase == "backward"
    assert details.origin.line == line_of(function)


def test_weights_alone_are_found_at_the_step() -> None:
    """A gradient that overflows in a large weight only is met when the parameter is updated."""

    def train() -> None:
        layer = nn.Linear(WIDE, WIDE)
        optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
        x = torch.full((4, WIDE), 1e30)
        with torch.no_grad():
            layer.weight.zero_()
        (layer(x) * 1e10).sum().backward()
        optimizer.step()

    details = run(train)
    assert details.phase in {"backward", "update"}
    assert "gradient" in (details.note or "") or details.phase == "backward"
