"""``zentracer.saturated``: hidden activations at their limits, and outputs that may be there."""

from __future__ import annotations

import gc
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.runtime.watching import watching_for

X = torch.randn(16, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def only_one_model() -> None:
    """Names begin with the variable of their model where several models are alive."""
    gc.collect()
    torch.manual_seed(0)


class Net(nn.Module):
    """Two layers with an activation of choice between them."""

    def __init__(self, act: Callable[[Tensor], Tensor], first: nn.Module) -> None:
        super().__init__()
        self.first, self.act, self.last = first, act, nn.LazyLinear(4)

    def forward(self, x: Tensor) -> Tensor:
        h = self.act(self.first(x))  # <- culprit
        return self.last(h.flatten(1))


def linear(scale: float = 300.0) -> nn.Linear:
    """Return a layer with weights so many times too large."""
    layer = nn.Linear(8, 16)
    with torch.no_grad():
        layer.weight *= scale
        layer.bias *= scale
    return layer


def train(
    net: Callable[..., Tensor], x: Tensor = X, steps: int = 7,
    loss_of: Callable[[Tensor], Tensor] = lambda out: out.square().mean(),
) -> list[float]:  # fmt: skip
    net(x)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)  # type: ignore[attr-defined]
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(net(x))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# -- faults ---------------------------------------------------------------------------------------

FAULTS: dict[str, tuple[Callable[[], Net], Tensor]] = {
    "tanh module": (lambda: Net(nn.Tanh(), linear()), X),
    "sigmoid module": (lambda: Net(nn.Sigmoid(), linear()), X),
    "torch.tanh": (lambda: Net(torch.tanh, linear()), X),
    "F.tanh": (lambda: Net(F.tanh, linear()), X),
    "in place": (lambda: Net(torch.tanh_, linear()), X),
    "hardtanh": (lambda: Net(nn.Hardtanh(), linear()), X),
    "hardsigmoid": (lambda: Net(nn.Hardsigmoid(), linear(1e4)), X),
    "unscaled inputs": (lambda: Net(nn.Tanh(), nn.Linear(8, 16)), X * 1000),
    "conv": (lambda: Net(nn.Tanh(), nn.Conv2d(3, 8, 3)), torch.randn(4, 3, 6, 6) * 1000),
    "tokens": (lambda: Net(nn.Sigmoid(), nn.Linear(8, 16)), torch.randn(4, 5, 8) * 1e4),
    "softmax over features": (lambda: Net(nn.Softmax(1), linear(3000.0)), X),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_saturated_layer_stops(kind: str) -> None:
    make, x = FAULTS[kind]
    net = make()
    with watching_for("saturated") as host:
        train(net, x)
    (hit,) = host.hits
    assert "3 steps in a row" in hit.text
    assert hit.details.origin.text is not None
    assert "# <- culprit" in hit.details.origin.text
    assert hit.details.suggestions
    assert host.notices == []


def test_causes_are_named() -> None:
    with watching_for("saturated") as host:
        train(Net(nn.Tanh(), nn.Linear(8, 16)), X * 1000)
    assert (
        host.hits[0].details.suggestions[0].title == "Scale what first is given to mean 0 and std 1"
    )
    gc.collect()
    with watching_for("saturated") as host:
        train(Net(nn.Tanh(), linear()))
    titles = [suggestion.title for suggestion in host.hits[0].details.suggestions]
    assert "Initialise first with smaller weights" in titles
    assert "mean slope" in host.hits[0].text


class Attention(nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
        self.out = nn.Linear(8, 4)
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        weights = torch.softmax(self.q(x) @ self.k(x).mT * self.scale, -1)  # <- culprit
        return self.out(weights @ self.v(x))


def test_attention_without_scaling() -> None:
    with watching_for("saturated") as host:
        train(Attention(1e4), torch.randn(6, 8, 8))
    (hit,) = host.hits
    assert "rows are one-hot" in hit.text
    assert any("softmax" in s.title for s in hit.details.suggestions)


def test_late_numbers_stop_at_a_later_call() -> None:
    with watching_for("saturated", defer=True) as host:
        train(Net(nn.Tanh(), linear()), steps=12)
    (hit,) = host.hits
    assert hit.details.note is not None and "a step late" in hit.details.note


def test_a_checkpoint_is_looked_at() -> None:
    net = Net(nn.Tanh(), linear())
    with watching_for("saturated") as host:
        train(net)  # makes the lazy layer
        hits = len(host.hits)
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
        for _ in range(4):
            checkpoint(net, X, use_reentrant=False).sum().backward()  # type: ignore[union-attr]
            optimizer.step()
    assert hits == len(host.hits) == 1


# -- healthy --------------------------------------------------------------------------------------


def ordinary() -> None:
    train(Net(nn.Tanh(), nn.Linear(8, 16)), steps=20)


def confident_classifier() -> None:
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), linear_out(1e4), nn.Sigmoid())
    target = net(X).detach().round()
    train(net, loss_of=lambda out: F.binary_cross_entropy(out, target))


def confident_softmax() -> None:
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), linear_out(1e5), nn.Softmax(-1))
    train(net, loss_of=lambda out: (out[:, 0] + 1e-3).log().mean())


def sharp_attention() -> None:
    train(Attention(1.0), torch.randn(6, 8, 8))


def one_key() -> None:
    train(Attention(1.0), torch.randn(6, 1, 8) * 1000)


def causal_rows() -> None:
    class Causal(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.v = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            mask = torch.full((6, 6), -1e9).triu(1)
            weights = (self.q(x) @ x.mT + mask).softmax(-1)
            return self.v(weights @ x)

    train(Causal(), torch.randn(6, 6, 8))


def gates() -> None:
    class Highway(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.value, self.gate, self.out = nn.Linear(8, 16), linear(), nn.Linear(16, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.value(x) * torch.sigmoid(self.gate(x)))

    train(Highway(), steps=10)


def binary_experts() -> None:
    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.router, self.experts = linear(1e4), nn.Linear(8, 16)
            self.out = nn.Linear(16, 4)

        def forward(self, x: Tensor) -> Tensor:
            weights = torch.softmax(self.router(x), -1)
            return self.out(weights * self.experts(x))

    train(Experts(), steps=10)


def lstm() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.out = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.rnn(x)[0])

    train(Model(), torch.randn(4, 5, 8) * 1000)


def generator_and_judge() -> None:
    generator = nn.Sequential(linear(), nn.Tanh())
    judge = nn.Sequential(nn.Linear(16, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(generator.parameters(), lr=1e-3)
    for _ in range(8):
        optimizer.zero_grad()
        (-judge(generator(X))).mean().backward()
        optimizer.step()


def without_gradients() -> None:
    net, head = Net(nn.Tanh(), linear()), nn.Linear(4, 1)

    def features(x: Tensor) -> Tensor:
        with torch.no_grad():
            h = net(x)
        return head(h)

    features.parameters = head.parameters  # type: ignore[attr-defined]
    train(features)


def half_of_the_elements() -> None:
    net = Net(nn.Tanh(), nn.Linear(8, 16))
    with torch.no_grad():
        net.first.weight[:8] *= 1e4  # type: ignore[index]
    train(net, steps=12)


def two_steps_only() -> None:
    net = Net(nn.Tanh(), linear())
    net(X)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for step in range(10):
        if step == 2:
            with torch.no_grad():
                net.first.weight /= 300  # type: ignore[operator]
                net.first.bias /= 300  # type: ignore[operator]
        optimizer.zero_grad()
        net(X).square().mean().backward()
        optimizer.step()


def relu6_at_zero() -> None:
    train(Net(nn.ReLU6(), linear()), steps=10)


def mask_of_a_constant() -> None:
    scale = torch.full((16, 8), 50.0, requires_grad=True)
    out = nn.Linear(8, 4)

    def masked(x: Tensor) -> Tensor:
        return out(torch.sigmoid(scale * 2) + x)

    masked.parameters = lambda: [scale, *out.parameters()]  # type: ignore[attr-defined]
    train(masked)


def linear_out(scale: float) -> nn.Linear:
    layer = nn.Linear(16, 4)
    with torch.no_grad():
        layer.weight *= scale
    return layer


HEALTHY = [
    ordinary, confident_classifier, confident_softmax, sharp_attention, one_key, causal_rows, gates,
    binary_experts, lstm, generator_and_judge, without_gradients, half_of_the_elements,
    two_steps_only, relu6_at_zero, mask_of_a_constant,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY, ids=lambda healthy: healthy.__name__)
def test_stays_silent(healthy: Callable[[], None]) -> None:
    with watching_for("saturated") as host:
        healthy()
    assert [hit.text for hit in host.hits] == []
    assert host.notices == []


def test_own_threshold_is_asked_of_each_activation() -> None:
    net: Any = Net(nn.Tanh(), nn.Linear(8, 16))
    net(X)
    with watching_for("saturated:absmax > 0.5") as host:
        net(X)
        net(X * 0)
    (hit,) = host.hits
    assert "'absmax > 0.5' holds, absmax 0." in hit.text
    assert hit.details.module == "act"
    assert hit.details.upstream[0].name == "first"
