"""Right programs run through silently, and nothing of theirs is kept alive."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any, Callable, Iterator

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import Tensor, distributions, nn

from tests.runtime.watching import Host, watching
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch import PyTorch

HEALTHY: dict[str, Callable[[], object]] = {}


def healthy(function: Callable[[], object]) -> Callable[[], object]:
    HEALTHY[function.__name__] = function
    return function


@healthy
def sums_of_minus_infinity() -> None:
    x = torch.full((2, 3), -torch.inf)
    x[0] = 0
    torch.logaddexp(x[1], x[1])
    torch.logsumexp(x, 1)
    torch.cumsum(x, 1)
    torch.logcumsumexp(x, 1)


@healthy
def top_k_filter() -> None:
    logits = torch.randn(2, 5)
    lowest = logits.topk(2)[0][:, -1:]
    logits[logits < lowest] = -float("inf")
    p = F.softmax(logits, -1)
    torch.multinomial(p, 1)
    F.cross_entropy(logits, logits.argmax(-1))
    -(p * F.log_softmax(logits, -1).masked_fill(p == 0, 0)).sum()


@healthy
def precision_without_predictions() -> None:
    hits, misses = torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0])
    precision = hits / (hits + misses)
    precision = torch.nan_to_num(precision)
    precision.mean()


@healthy
def best_so_far() -> None:
    best = torch.tensor(float("inf"))
    torch.stack([best, torch.min(best, torch.tensor(1.0))]).min()


@healthy
def norm_of_infinite_order() -> None:
    net = nn.Linear(2, 2)
    net(torch.ones(1, 2)).sum().backward()
    nn.utils.clip_grad_norm_(net.parameters(), float("inf"), norm_type=float("inf"))


@healthy
def densities() -> None:
    one = torch.tensor([1.0, 0.0])
    distributions.Categorical(probs=one).entropy()
    distributions.OneHotCategorical(probs=one).entropy()
    distributions.Bernoulli(torch.tensor(1.0)).log_prob(torch.tensor(1.0))
    distributions.Beta(1.0, 1.0).log_prob(torch.tensor(0.5))
    squashed = [distributions.TanhTransform()]
    distributions.TransformedDistribution(distributions.Normal(0.0, 1.0), squashed).rsample((3,))
    F.kl_div(torch.tensor([0.5, 0.5]).log(), one, reduction="sum")
    torch.special.entr(one)
    torch.xlogy(torch.zeros(1), torch.zeros(1))


@healthy
def gaps_in_the_data() -> None:
    table = torch.tensor([[1.0, float("nan")]])
    gaps = table.isnan()
    table[gaps] = 0
    scores = torch.tensor([1.0, float("inf")]).clamp(max=3)
    (table.sum() + scores.sum() * torch.ones((), requires_grad=True)).backward()


@healthy
def exception_in_the_middle() -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            raise KeyError("mine")

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(KeyError):
        Fails.apply(x).sum().backward()
    with pytest.raises(RuntimeError):
        torch.ones(2) @ torch.ones(3)
    (x * 2).sum().backward()


@healthy
def functions_of_the_users_own_that_torch_dispatches() -> None:
    class Secretive:
        @property
        def __class__(self) -> Any:
            raise KeyError("not yours to know")

    class Function:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, x: Tensor) -> Any:
            if torch.overrides.has_torch_function_variadic(x):
                return torch.overrides.handle_torch_function(self, (x,), x)
            return {"twice": [x * 2, Secretive()]}

    Function()(torch.ones(2))


@pytest.mark.parametrize("precise", [False, True], ids=["normal", "precise"])
@pytest.mark.parametrize("name", HEALTHY)
def test_silent(name: str, precise: bool) -> None:
    with watching(precise=precise) as host:
        HEALTHY[name]()
    assert ([hit.text for hit in host.hits], host.notices) == ([], [])


# -- nothing is kept alive -----------------------------------------------------------------------


@pytest.fixture
def framework() -> Iterator[PyTorch]:
    framework = PyTorch(Host())
    framework.arm((ArmedFilter(1, "zentracer.nonfinite"),), precise=False)
    yield framework
    framework.disarm()


def tensors() -> int:
    return sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def step(net: nn.Module, optimizer: torch.optim.Optimizer) -> list[weakref.ref[Any]]:
    """Train one step; return weak references to all that belongs to it."""
    x = torch.randn(4, 8)
    hidden = net(x)
    loss = hidden.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return [weakref.ref(thing) for thing in (x, hidden, loss, *(p.grad for p in net.parameters()))]


def test_nothing_outlives_its_step(framework: PyTorch) -> None:
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    step(net, optimizer)
    gc.collect()
    before = tensors()
    gc.disable()  # reference counts alone must free everything at once
    try:
        for _ in range(300):
            kept = step(net, optimizer)
            optimizer.zero_grad()
            assert [ref() for ref in kept if ref() is not None] == []
    finally:
        gc.enable()
    assert tensors() == before - len(list(net.parameters()))


def test_module_and_graph_are_freed(framework: PyTorch) -> None:
    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.big = Big()
            refs.append(weakref.ref(ctx.big))
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return grad

    class Big:
        pass

    refs: list[weakref.ref[Any]] = []

    def train() -> None:
        net = Net()
        refs.append(weakref.ref(net))
        Kept.apply(net(torch.randn(2, 8))).sum().backward()

    train()
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_finding_is_freed_after_its_stop(framework: PyTorch) -> None:
    refs: list[weakref.ref[Any]] = []

    def train() -> None:
        net = Net()
        x = torch.full((2, 8), torch.nan)
        y = torch.log(net(torch.zeros(2, 8)) * 0)
        (y.sum() + net(x).sum()).backward()
        refs.extend(map(weakref.ref, (net, x, y)))

    train()
    gc.collect()
    assert [ref() for ref in refs] == [None, None, None]


def test_frames_are_freed(framework: PyTorch) -> None:
    class Local:
        pass

    refs: list[weakref.ref[Any]] = []

    def train() -> None:
        local = Local()
        refs.append(weakref.ref(local))
        (torch.ones(2, requires_grad=True) / torch.zeros(2)).sum().backward()

    train()
    gc.collect()
    assert refs[0]() is None


def test_trail_is_bounded(framework: PyTorch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zentracer.frameworks.pytorch.trail._CAPACITY", 100)
    x = torch.ones(2, requires_grad=True)
    for _ in range(500):
        x = x * 1.0
    assert framework._watch is not None and framework._watch.main is not None
    assert 50 <= len(framework._watch.main.trail) <= 100
    x.sum().backward()


def test_finished_threads_leave_nothing(framework: PyTorch) -> None:
    def work() -> None:
        torch.ones(2, requires_grad=True).exp().sum().backward()

    for _ in range(5):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert framework._watch is not None
    assert list(framework._watch.watchers) == [threading.get_ident()]


def test_long_graph_is_walked_without_recursion(framework: PyTorch) -> None:
    cell = nn.Linear(2, 2)
    state = torch.zeros(1, 2)
    for _ in range(10_000):
        state = torch.tanh(cell(state))
    state.sum().backward()
    assert cell.weight.grad is not None
