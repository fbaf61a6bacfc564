"""``zentracer.precision``: half precision near the ends of its range, and zeros that are right."""

from __future__ import annotations

import gc
import sys
from typing import Callable

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn

from tests.runtime.watching import watching_for

HALF = torch.float16
X = torch.randn(16, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def only_one_model() -> None:
    """Names begin with the variable of their model where several models are alive."""
    gc.collect()
    torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, size: float = 1.0) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 16), nn.Linear(16, 4)
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x * self.size)  # <- culprit
        return self.last(h)


def train(
    net: nn.Module, x: Tensor, steps: int = 8, *, before: Callable[[int], None] = lambda step: None,
    scale: float = 1.0, lr: float = 1e-4,
) -> list[float]:  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    losses = []
    for step in range(steps):
        before(step)
        optimizer.zero_grad()
        loss = net(x).float().mean() * scale
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def growing(net: Net, *sizes: float) -> Callable[[int], None]:
    """Return what sets the size of a model's values at each step."""
    start = net.first.weight.detach().clone()

    def before(step: int) -> None:
        with torch.no_grad():
            net.first.weight.copy_(start * sizes[min(step, len(sizes) - 1)])

    return before


def test_growth_towards_the_limit() -> None:
    net = Net().half()
    nn.init.constant_(net.last.weight, 1e-3)
    with watching_for("precision") as host:
        train(net, X.half(), before=growing(net, 100, 300, 1000, 3000, 9000, 25000))
    hit = host.hits[0]
    assert "float16 can hold (6.55e+04)" in hit.text
    assert "in the steps before" in hit.text
    assert "of first" in hit.text
    assert hit.details.tensor.inf == 0
    assert hit.details.origin.text is not None and "culprit" in hit.details.origin.text


def test_growth_under_autocast() -> None:
    net = Net()
    net.forward = torch.autocast("cpu", dtype=HALF)(net.forward)  # type: ignore[method-assign]
    with watching_for("precision") as host:
        train(net, X, before=growing(net, 100, 300, 1000, 3000, 9000, 25000))
    assert "Low-precision overflow ahead in linear of first" in host.hits[0].text


def test_the_first_value_is_nearly_the_limit() -> None:
    q = torch.full((2, 4, 64), 31.0, dtype=HALF)
    with watching_for("precision") as host:
        q @ q.mT
    (hit,) = host.hits
    assert "94% of what float16 can hold" in hit.text
    assert hit.details.suggestions[0].title == "Compute this step in bfloat16 or float32"


def test_bfloat16_has_the_limit_of_float32() -> None:
    x = torch.full((4, 4), 3e19, dtype=torch.bfloat16)
    with watching_for("precision") as host:
        x * 2e18
        x * 1.1e19
    (hit,) = host.hits
    assert "bfloat16 can hold (3.39e+38)" in hit.text


def test_a_cast_that_loses_small_values() -> None:
    with watching_for("precision") as host:
        for _ in range(4):
            (X * 1e-9).half()
            torch.zeros(1, requires_grad=True).sum().backward()
    (hit,) = host.hits
    assert "128 of 128 elements that are not zero before become zero (100%)" in hit.text


def test_squares_that_underflow() -> None:
    x = (X * 1e-5).half()
    with watching_for("precision") as host:
        for _ in range(4):
            x.square()
            torch.zeros(1, requires_grad=True).sum().backward()
    assert len(host.hits) == 1


@pytest.mark.parametrize("scale", [4e-6, 1e-7])
def test_gradients_that_underflow(scale: float) -> None:
    net = Net().half()
    with watching_for("precision") as host:
        train(net, X.half(), scale=scale)
    (hit,) = host.hits
    assert hit.details.phase == "backward"
    assert "gradients are zero" in hit.text
    assert hit.details.suggestions[0].title == "Scale the loss"
    assert hit.details.source.text is not None and "backward()" in hit.details.source.text


def test_own_threshold() -> None:
    net = Net().half()
    with watching_for("precision:absmax > 20") as host:
        train(net, X.half(), before=growing(net, 1, 1, 100))
    assert host.hits
    assert all("'absmax > 20' holds" in hit.text for hit in host.hits)


# -- healthy --------------------------------------------------------------------------------------


def float32() -> None:
    train(Net(1e4), X)


def half_of_ordinary_size() -> None:
    train(Net().half(), X.half(), 20)


def bfloat16() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        train(Net(1e4), X, 20)


def relu_zeros() -> None:
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    nn.init.constant_(net[0].bias, -1.0)
    train(net.half(), X.half(), 20)


def masked_scores() -> None:
    q = torch.randn(2, 4, 8).half().requires_grad_()
    mask = torch.zeros(4, 4, dtype=HALF).masked_fill(torch.ones(4, 4).triu(1).bool(), -65504)
    for _ in range(6):
        scores = q @ q.mT + mask
        torch.softmax(scores, -1).float().sum().backward()


def steadily_large() -> None:
    x = torch.full((4, 4), 200.0, dtype=HALF)
    for _ in range(10):
        x * 200
        torch.zeros(1, requires_grad=True).sum().backward()


def dropout_and_sparse() -> None:
    keep = (torch.rand(16, 8) > 0.8).half()
    for _ in range(6):
        X.half() * keep
        torch.zeros(1, requires_grad=True).sum().backward()


def scaled_loss() -> None:
    net = Net().half()
    train(net, X.half(), 12, scale=1024.0, lr=1e-7)


def few_tiny_values() -> None:
    x = X.clone()
    x[:4] *= 1e-9
    for _ in range(6):
        x.half()
        torch.zeros(1, requires_grad=True).sum().backward()


def embeddings() -> None:
    table = nn.Embedding(100, 8)
    net = nn.Sequential(table, nn.Linear(8, 4)).half()
    train(net, torch.randint(0, 5, (16,)), 8)


def integers_to_half() -> None:
    for _ in range(6):
        torch.zeros(100).long().to(HALF)
        torch.zeros(1, requires_grad=True).sum().backward()


def satisfied_hinge() -> None:
    net = Net().half()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    for _ in range(8):
        optimizer.zero_grad()
        torch.relu(net(X.half()).float().mean() - 100).backward()
        optimizer.step()


def already_infinite() -> None:
    x = torch.full((4, 4), 60000.0, dtype=HALF)
    (x.clone() - x) * 2 + torch.inf


HEALTHY = [
    float32, half_of_ordinary_size, bfloat16, relu_zeros, masked_scores, steadily_large,
    dropout_and_sparse, scaled_loss, few_tiny_values, embeddings, integers_to_half,
    already_infinite, satisfied_hinge,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY, ids=lambda healthy: healthy.__name__)
def test_stays_silent(healthy: Callable[[], None]) -> None:
    with watching_for("precision") as host:
        healthy()
    assert [hit.text for hit in host.hits] == []
    assert host.notices == []


def test_looks_at_a_share_of_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from zentracer.frameworks.pytorch.training.precision import Precision

    steps: set[int] = set()
    look = Precision._watch_growth

    def counted(self: Precision, *args: object) -> None:
        steps.add(self.step)
        look(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Precision, "_watch_growth", counted)
    with watching_for("precision"):
        train(Net().half(), X.half(), 40)
    assert sorted(steps) == [*range(11), 20, 30]
    assert sys.getrefcount(X) < 10
