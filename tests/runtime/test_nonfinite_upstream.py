"""Large results that are not looked at when they are made: the maker is found all the same."""

from __future__ import annotations

import inspect
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from watching import watching

CASES: dict[str, tuple[Callable[[], object], str]] = {}
WIDE = 300


def case(op: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def register(function: Callable[[], object]) -> Callable[[], object]:
        CASES[function.__name__] = (function, op)
        return function

    return register


def large(value: float = 1.0) -> Any:
    return torch.full((WIDE, WIDE), value, requires_grad=True)


@case("linear")
def first_of_two_layers() -> None:
    first, second = nn.Linear(WIDE, WIDE), nn.Linear(WIDE, WIDE)
    nn.init.constant_(first.weight, 1e20)
    h = torch.relu(first(large(1e19)))  # @bad
    nn.functional.mse_loss(second(h), torch.zeros(WIDE, WIDE)).backward()


@case("linear")
def second_of_two_layers() -> None:
    first, second = nn.Linear(WIDE, WIDE), nn.Linear(WIDE, WIDE)
    nn.init.constant_(second.weight, 1e38)
    h = torch.relu(first(large())) + 10
    y = second(h)  # @bad
    nn.functional.mse_loss(y, torch.zeros(WIDE, WIDE))


@case("linear")
def before_a_layer_norm() -> None:
    layer, norm = nn.Linear(WIDE, WIDE), nn.LayerNorm(WIDE)
    nn.init.constant_(layer.weight, 1e38)
    x = large()
    y = x + layer(x * 2)  # @bad
    norm(nn.functional.dropout(y, 0.1)).sum().backward()


@case("conv2d")
def convolution_before_batch_norm() -> None:
    net = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU())
    nn.init.constant_(net[0].weight, 1e38)
    net(torch.ones(4, 3, 32, 32) * 10).sum().backward()  # @bad


@case("mul")
def product_up_to_backward() -> None:
    x = large(1e30)
    y = x * x  # @bad
    (y - y).transpose(0, 1).reshape(-1)[:70_000].clone().backward(torch.ones(70_000))


@case("matmul")
def attention_scores() -> None:
    q = large(1e25)
    scores = q @ q.transpose(0, 1)  # @bad
    torch.softmax(scores, -1).sum()


@case("softmax")
def masked_row_of_large_scores() -> None:
    mask = torch.zeros(WIDE, WIDE)
    mask[7] = -torch.inf
    scores = large() @ large() + mask
    torch.softmax(scores, -1).sum()  # @bad


@pytest.mark.parametrize("name", CASES)
def test_maker_is_blamed(name: str) -> None:
    function, op = CASES[name]
    with watching() as host:
        function()
    lines, first = inspect.getsourcelines(function)
    (line,) = [first + i for i, text in enumerate(lines) if "# @bad" in text]
    assert host.notices == []
    details = host.hits[0].details
    assert (details.origin.line, details.op) == (line, op)


@pytest.mark.parametrize("name", CASES)
def test_precise_stands_on_the_line(name: str) -> None:
    function, op = CASES[name]
    with watching(precise=True) as host:
        function()
    details = host.hits[0].details
    assert (details.source.line, details.op) == (details.origin.line, op)


def test_large_healthy_masks_are_left_alone() -> None:
    mask = torch.triu(torch.full((WIDE, WIDE), -torch.inf), diagonal=1)
    with watching() as host:
        scores = large() @ large() + mask
        torch.softmax(scores, -1).sum().backward()
    assert [hit.text for hit in host.hits] == []
