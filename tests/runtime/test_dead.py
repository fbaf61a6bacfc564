"""``zentracer.dead``: units that are zero for every sample, and zeros that are healthy."""

from __future__ import annotations

import copy
import gc
import threading
from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.runtime.watching import watching_for

STEPS = 7


@pytest.fixture(autouse=True)
def only_one_model() -> None:
    """Names begin with the variable of their model where several models are alive."""
    gc.collect()


class Net(nn.Module):
    """Two layers with an activation of choice between them."""

    def __init__(self, act: Callable[[Tensor], Tensor], first: nn.Module | None = None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = first if first is not None else nn.Linear(8, 16)
        self.act = act
        self.last = nn.LazyLinear(1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.act(self.first(x))  # <- culprit
        return self.last(h.flatten(1))


def sunk(layer: Any) -> Any:
    """Return ``layer`` with biases that hold every unit down."""
    nn.init.constant_(layer.bias, -1e4)
    return layer


def train(
    net: Callable[[Tensor], Tensor], x: Tensor, steps: int = STEPS, *, lr: float = 0.01,
    between: Callable[[int], None] = lambda step: None,
) -> list[float]:  # fmt: skip
    net(x)
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)  # type: ignore[attr-defined]
    losses = []
    for step in range(steps):
        between(step)
        loss = (net(x).mean() - 1).square()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


ROWS = torch.randn(16, 8, generator=torch.Generator().manual_seed(1))
IMAGES = torch.randn(4, 3, 6, 6, generator=torch.Generator().manual_seed(1))
TOKENS = torch.randn(4, 5, 8, generator=torch.Generator().manual_seed(1))

# -- faults ---------------------------------------------------------------------------------------

WHOLE: dict[str, tuple[Callable[[], Net], Tensor]] = {
    "module": (lambda: Net(nn.ReLU(), sunk(nn.Linear(8, 16))), ROWS),
    "functional": (lambda: Net(F.relu, sunk(nn.Linear(8, 16))), ROWS),
    "torch": (lambda: Net(torch.relu, sunk(nn.Linear(8, 16))), ROWS),
    "method": (lambda: Net(lambda h: h.relu(), sunk(nn.Linear(8, 16))), ROWS),
    "in place": (lambda: Net(nn.ReLU(inplace=True), sunk(nn.Linear(8, 16))), ROWS),
    "in-place function": (lambda: Net(torch.relu_, sunk(nn.Linear(8, 16))), ROWS),
    "clamp": (lambda: Net(lambda h: h.clamp(min=0), sunk(nn.Linear(8, 16))), ROWS),
    "clamp_min": (lambda: Net(lambda h: torch.clamp_min(h, 0), sunk(nn.Linear(8, 16))), ROWS),
    "relu6": (lambda: Net(nn.ReLU6(), sunk(nn.Linear(8, 16))), ROWS),
    "gelu far below": (lambda: Net(nn.GELU(), sunk(nn.Linear(8, 16))), ROWS),
    "conv": (lambda: Net(nn.ReLU(), sunk(nn.Conv2d(3, 8, 3))), IMAGES),
    "batch norm": (
        lambda: Net(nn.ReLU(True), nn.Sequential(nn.Conv2d(3, 8, 3), sunk(nn.BatchNorm2d(8)))),
        IMAGES,
    ),
    "tokens": (lambda: Net(nn.ReLU(), sunk(nn.Linear(8, 16))), TOKENS),
    "pooled": (
        lambda: Net(nn.ReLU(), nn.Sequential(sunk(nn.Conv2d(3, 8, 3)), nn.MaxPool2d(2))), IMAGES,
    ),
    "dropout": (
        lambda: Net(nn.ReLU(), nn.Sequential(sunk(nn.Linear(8, 16)), nn.Dropout(0.5))), ROWS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", WHOLE)
def test_a_dead_layer_stops(kind: str) -> None:
    make, x = WHOLE[kind]
    net = make()
    with watching_for("dead") as host:
        train(net, x)
    (hit,) = host.hits
    units = net.first(x).shape[1 if x.dim() == 4 else -1]
    assert f"all {units} units are zero" in hit.text
    assert "3 steps in a row" in hit.text
    assert hit.details.origin.text is not None
    assert "# <- culprit" in hit.details.origin.text or kind in ("method", "clamp", "clamp_min")
    assert hit.details.module in ("act", "Net")
    assert any("gradient of first" in line and "exactly 0" in line for line in hit.details.evidence)
    assert any("back to 0" in suggestion.title for suggestion in hit.details.suggestions)
    assert host.notices == []


def test_weights_of_zero() -> None:
    first = nn.Linear(8, 16)
    for parameter in first.parameters():
        nn.init.zeros_(parameter)
    with watching_for("dead") as host:
        train(Net(nn.ReLU(), first), ROWS)
    (hit,) = host.hits
    assert hit.details.suggestions[0].title == "Initialise first with numbers that differ"


def test_inputs_and_rate_are_named() -> None:
    torch.manual_seed(1)
    net = Net(nn.ReLU())
    with watching_for("dead") as host:
        train(net, torch.rand(64, 8) * 255, 12, lr=3.0)
    titles = [suggestion.title for suggestion in host.hits[0].details.suggestions]
    assert titles[0] == "Scale what first is given to mean 0 and std 1"
    assert titles[1].startswith("Lower the learning rate from 3 to 0.3")


def test_units_that_die_in_the_run() -> None:
    net = Net(nn.ReLU(), nn.Linear(8, 20))

    def between(step: int) -> None:
        if step == 5:
            nn.init.constant_(net.first.bias[:13].detach(), -1e4)  # type: ignore[index]

    with watching_for("dead") as host:
        train(net, torch.randn(100, 8), 60, between=between)
    (hit,) = host.hits
    assert "13 of 20 units (65%) were zero" in hit.text
    assert "Dead units in act" in hit.text


def test_nearly_all_units_from_the_beginning() -> None:
    net = Net(nn.ReLU(), nn.Linear(8, 20))
    nn.init.constant_(net.first.bias[:19].detach(), -1e4)  # type: ignore[index]
    with watching_for("dead") as host:
        train(net, torch.randn(100, 8), 40)
    assert ["19 of 20 units" in hit.text for hit in host.hits] == [True]


def test_without_an_optimiser() -> None:
    net = Net(F.relu, sunk(nn.Linear(8, 16)))
    net(ROWS)
    with watching_for("dead") as host:
        for _ in range(STEPS):
            net(ROWS).mean().backward()
            with torch.no_grad():
                for p in net.parameters():
                    p -= 0.01 * p.grad
                    p.grad = None
    assert len(host.hits) == 1


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_count_once(reentrant: bool) -> None:
    net = Net(nn.ReLU(), sunk(nn.Linear(8, 16)))
    net(ROWS)
    x = ROWS.clone().requires_grad_()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    steps = 0
    with watching_for("dead") as host:
        while not host.hits and steps < 10:
            steps += 1
            checkpoint(net, x, use_reentrant=reentrant).mean().backward()
            optimizer.step()
    assert steps == 4


def test_late_numbers_stop_at_the_next_call() -> None:
    net = Net(nn.ReLU(), sunk(nn.Linear(8, 16)))
    with watching_for("dead", defer=True) as host:
        train(net, ROWS)
    (hit,) = host.hits
    assert hit.details.note is not None and "a step late" in hit.details.note


def test_a_found_layer_is_told_once() -> None:
    with watching_for("dead") as host:
        train(Net(nn.ReLU(), sunk(nn.Linear(8, 16))), ROWS, 30)
    assert len(host.hits) == 1


def test_condition_of_the_adaptive_rule() -> None:
    with watching_for("dead:match('other*')", "dead:match('ac*') and step > 4") as host:
        train(Net(nn.ReLU(), sunk(nn.Linear(8, 16))), ROWS, 12)
    assert [hit.breakpoint_ids for hit in host.hits] == [(2,)]
    assert host.hits[0].details.step == 5


# -- healthy --------------------------------------------------------------------------------------


def alive() -> None:
    train(Net(nn.ReLU()), ROWS, 30)


def hinge_loss() -> None:
    net = nn.Linear(8, 6)
    loop(net, lambda: F.relu(1.0 - 0 * net(ROWS) - 5).mean() + net(ROWS).mean())


def hinge_of_a_judge() -> None:
    judge = nn.Linear(8, 6)
    nn.init.constant_(judge.bias, -9.0)
    loop(judge, lambda: F.relu(1.0 + judge(ROWS)).mean() + judge(ROWS).mean())


def triplet_margin() -> None:
    net = nn.Linear(8, 6)

    def loss() -> Tensor:
        a = net(ROWS)
        near, far = (a - a.detach()).square(), (a - 100).square()
        return F.relu(near - far + 1).mean() + a.mean()

    loop(net, loss)


def boxes_apart() -> None:
    net = nn.Linear(8, 8)

    def loss() -> Tensor:
        boxes = net(ROWS).view(-1, 2, 4)
        overlap = (boxes[:, 0] - boxes[:, 1].abs() - 100).clamp(min=0)
        return overlap.sum() + boxes.square().mean()

    loop(net, loss)


def without_gradients() -> None:
    net = Net(nn.ReLU(), sunk(nn.Linear(8, 16)))
    head = nn.Linear(1, 1)

    def loss() -> Tensor:
        with torch.no_grad():
            features = net(ROWS)
        return head(features).mean()

    loop(head, loss)


def frozen() -> None:
    first = sunk(nn.Linear(8, 16)).requires_grad_(False)
    train(Net(nn.ReLU(), first), ROWS, 12)


def empty_expert() -> None:
    class Expert(Net):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(torch.zeros_like(x)) + super().forward(x) * 0

    first = nn.Linear(8, 16, bias=False)
    net = Net(nn.ReLU(), first)
    train(net, torch.zeros(16, 8), 12)


def no_tokens() -> None:
    train(Net(nn.ReLU()), torch.zeros(0, 8).requires_grad_(), 6)


def not_a_number() -> None:
    train(Net(nn.ReLU(), nn.Conv2d(3, 8, 3)), IMAGES * torch.nan, 12)


def half_of_the_units_never_worked() -> None:
    net = Net(nn.ReLU(), nn.Linear(8, 20))
    nn.init.constant_(net.first.bias[:12].detach(), -1e4)  # type: ignore[index]
    train(net, torch.randn(100, 8), 60)


def pruned() -> None:
    net = Net(nn.ReLU(), nn.Linear(8, 20))

    def between(step: int) -> None:
        if step >= 5:
            for parameter in net.first.parameters():
                nn.init.zeros_(parameter[:15].detach())

    train(net, torch.randn(100, 8), 60, between=between)


def few_units() -> None:
    train(Net(nn.ReLU(), sunk(nn.Linear(8, 2))), ROWS, 12)


def single_samples() -> None:
    torch.manual_seed(0)
    net = Net(nn.ReLU(), nn.Linear(8, 4))
    net(ROWS[:1])
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for step in range(60):
        net(ROWS[step % 16 : step % 16 + 1] * 3).mean().backward()
        optimizer.step()


def dead_for_two_steps() -> None:
    net = Net(nn.ReLU())
    whole = copy.deepcopy(net.first.state_dict())

    def between(step: int) -> None:
        if step == 4:
            sunk(net.first)
        if step == 6:
            net.first.load_state_dict(whole)

    train(net, ROWS, 20, between=between)


def one_of_two_uses() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU()
            self.a, self.b = nn.Linear(8, 16), nn.Linear(8, 16)

        def forward(self, x: Tensor) -> Tensor:
            return sum(self.act(layer(x)) for layer in (self.a, self.b))  # type: ignore[return-value]

    train(Twice(), ROWS, 12)


def leaky() -> None:
    train(Net(nn.LeakyReLU(), sunk(nn.Linear(8, 16))), ROWS, 12)


def spatial() -> None:
    train(Net(nn.ReLU(), nn.Conv2d(3, 8, 3)), IMAGES, 12)


def vmapped() -> None:
    net = Net(F.relu, sunk(nn.Linear(8, 16)))
    net(ROWS)
    parameters = dict(net.named_parameters())

    def loss(values: Any, x: Tensor) -> Tensor:
        return torch.func.functional_call(net, values, (x[None],)).mean()

    for _ in range(6):
        torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, ROWS)


def loop(module: nn.Module, loss: Callable[[], Tensor], steps: int = 12) -> None:
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-4)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


HEALTHY = [
    alive, hinge_loss, hinge_of_a_judge, triplet_margin, boxes_apart, without_gradients, frozen,
    empty_expert, no_tokens, not_a_number, half_of_the_units_never_worked, pruned, few_units,
    single_samples,
    dead_for_two_steps, one_of_two_uses, leaky, spatial, vmapped,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY, ids=lambda healthy: healthy.__name__)
def test_stays_silent(healthy: Callable[[], None]) -> None:
    torch.manual_seed(0)
    with watching_for("dead") as host:
        healthy()
    assert [hit.text for hit in host.hits] == []
    assert host.notices == []


# -- hygiene --------------------------------------------------------------------------------------


def test_losses_are_bit_identical_and_hooks_undisturbed() -> None:
    def run() -> tuple[list[float], list[str]]:
        torch.manual_seed(0)
        net = Net(nn.ReLU(inplace=True), nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.3)))
        net(ROWS)
        seen: list[str] = []
        net.first.register_forward_hook(lambda m, i, o: seen.append(f"{o.min():.3f}"))
        net.last.register_full_backward_hook(lambda m, gi, go: seen.append(f"{gi[0].sum():.3f}"))
        torch.manual_seed(3)
        return train(net, ROWS, 25), seen

    plain = run()
    with watching_for("dead", "saturated", "precision", "shape"):
        armed = run()
    assert plain == armed


def test_a_glob_looks_at_its_modules_only() -> None:
    from zentracer.frameworks.pytorch.training.dead import Dead

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = (Net(nn.ReLU(), sunk(nn.Linear(8, 16))) for _ in range(2))

        def forward(self, x: Tensor) -> Tensor:
            return self.a(x) + self.b(x)

    looks: list[str | None] = []
    judge = Dead._judge

    def counted(self: Dead, call: Any, state: Any) -> None:
        looks.append(self.name_of(call))
        judge(self, call, state)

    with pytest.MonkeyPatch.context() as patch, watching_for("dead:match('b.*')") as host:
        patch.setattr(Dead, "_judge", counted)
        train(Two(), ROWS)
    assert set(looks) == {"b.act"}
    assert [hit.details.module for hit in host.hits] == ["b.act"]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_compiled_code_is_said_to_be_unseen() -> None:
    scripted = torch.jit.script(nn.Sequential(sunk(nn.Linear(8, 16)), nn.ReLU()))
    function = torch.jit.script(_relu)
    with watching_for("dead") as host:
        for _ in range(5):
            function(scripted[0](ROWS))
    assert host.notices == [
        "'Dead units' sees no operation inside compiled code (torch.compile, TorchScript), only "
        "those around it."
    ]


def _relu(x: Tensor) -> Tensor:
    return torch.relu(x)


def test_nothing_is_left() -> None:
    call = nn.Module.__call__
    net = Net(nn.ReLU(), sunk(nn.Linear(8, 16)))
    with watching_for("dead"):
        train(net, ROWS)
    assert nn.Module.__call__ is call
    assert not net.act._forward_hooks and "forward" not in vars(net.act)  # type: ignore[union-attr]
    assert torch._C._len_torch_function_stack() == 0


def test_replicas_in_threads() -> None:
    net = Net(nn.ReLU(), sunk(nn.Linear(8, 16)))
    net(ROWS)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def work(replica: Any, results: list[Tensor]) -> None:
        results.append(replica(ROWS))

    with watching_for("dead") as host:
        for _ in range(8):
            results: list[Tensor] = []
            replicas = [net._replicate_for_data_parallel() for _ in range(2)]
            for replica in replicas:
                for name, child in net.named_children():
                    setattr(replica, name, child)
            threads = [threading.Thread(target=work, args=(r, results)) for r in replicas]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            sum(results).mean().backward()  # type: ignore[union-attr]
            optimizer.step()
    assert len(host.hits) == 1
    assert host.notices == []
