"""``zentracer.loss_spike``: losses that leave their range, and those that only look like it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.runtime.watching import Host, watching_for
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch import PyTorch
from zentracer.frameworks.pytorch.training.loss_history import LossHistory, Verdict
from zentracer.frameworks.pytorch.watch import Watch


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    torch.manual_seed(0)
    random.seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def model() -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    return net, torch.optim.Adam(net.parameters(), lr=1e-2)


def batch() -> tuple[Tensor, Tensor]:
    x = torch.randn(32, 8)
    return x, x[:, :3].sum(1, keepdim=True)


# -- faults ----------------------------------------------------------------------------------------


def with_a_wrong_row(steps: int = 60, at: int = 45, *filters: str) -> Host:
    net, optimizer = model()
    with watching_for(*(filters or ("loss_spike",))) as host:
        for step in range(steps):
            x, y = batch()
            if step == at:
                y[7] = 300.0
            loss = F.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return host


def test_an_outlier_is_told_with_its_row() -> None:
    (hit,) = with_a_wrong_row().hits
    assert hit.details.step == 45 and hit.details.phase == "loss"
    assert "loss.backward()" in (hit.details.source.text or "")
    assert "loss = F.mse_loss(net(x), y)" in (hit.details.origin.text or "")
    assert "times its median of" in hit.text and "over the last 16 steps" in hit.text
    assert hit.details.evidence[0].startswith("row 7 ")
    assert hit.details.suggestions[0].title.startswith("Look at rows 7,")
    assert any("from 0.01 to 0.001" in s.title for s in hit.details.suggestions)


def test_the_program_stands_before_backward() -> None:
    net, optimizer = model()
    seen: list[bool] = []
    with watching_for("loss_spike:x > 0") as host:
        host.stop = lambda hit, frame, lasti=None, tensors=None: seen.append(  # type: ignore[method-assign]
            next(net.parameters()).grad is None
        )
        x, y = batch()
        F.mse_loss(net(x), y).backward()
    assert seen == [True]
    assert optimizer is not None


def test_with_a_trail_the_line_is_the_operations_own() -> None:
    net, optimizer = model()
    with watching_for("nonfinite", "loss_spike:step == 1 and x > 0") as host:
        for _ in range(2):
            x, y = batch()
            loss = F.mse_loss(net(x), y)
            total = loss
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
    (hit,) = host.hits
    assert hit.details.op == "mse_loss"
    assert "F.mse_loss(net(x), y)" in (hit.details.origin.text or "")


def test_a_learning_rate_that_is_raised_too_far() -> None:
    net, _ = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    with watching_for("loss_spike") as host:
        for step in range(80):
            x, y = batch()
            optimizer.param_groups[0]["lr"] = 0.05 if step < 50 else 1.0
            loss = F.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    (hit,) = host.hits
    assert 50 <= (hit.details.step or 0) <= 56
    assert hit.details.suggestions[0].title == "Look at this batch as a whole"
    assert "it is the weights" in hit.description


def test_a_helper_that_is_given_the_loss_is_not_to_blame() -> None:
    net, optimizer = model()

    def step(value: Tensor) -> None:
        optimizer.zero_grad()
        value.backward()
        optimizer.step()

    with watching_for("loss_spike") as host:
        for index in range(40):
            x, y = batch()
            loss = F.l1_loss(net(x), y * (1000 if index == 30 else 1))
            step(loss)
    (hit,) = host.hits
    assert "loss = F.l1_loss" in (hit.details.origin.text or "")


@pytest.mark.parametrize(("name", "wanted"), [("loss", 1), ("train/loss", 1), ("val_loss", 0)])
def test_a_loss_that_the_program_says_itself(name: str, wanted: int) -> None:
    host = Host()
    framework = PyTorch(host)
    framework.arm((ArmedFilter(1, "zentracer.loss_spike"),), precise=False)
    try:
        for step in range(40):
            framework.logged(name, 1.0 + 0.1 * random.random() + 100 * (step == 30))
    finally:
        framework.disarm()
    assert len(host.hits) == wanted
    assert all("framework.logged" in (hit.details.source.text or "") for hit in host.hits)


def test_a_scaled_loss_is_told_unscaled() -> None:
    net, optimizer = model()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with watching_for("loss_spike") as host:
        for step in range(40):
            x, y = batch()
            loss = F.mse_loss(net(x), y * (1000 if step == 30 else 1))
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    (hit,) = host.hits
    value = float(hit.text.split("): ")[1].split(" ")[0])
    assert 1e6 < value < 1e7
    assert "loss = F.mse_loss" in (hit.details.origin.text or "")


def test_on_an_accelerator_it_is_told_a_step_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watch, "defers", lambda self, x: True)
    (hit,) = with_a_wrong_row().hits
    assert "step after" in (hit.details.note or "")


# -- thresholds of the user's own ------------------------------------------------------------------


@pytest.mark.parametrize("condition", ["x > 1000", "norm > 1000", "max > 1000 and mean > 1000"])
def test_a_threshold(condition: str) -> None:
    host = with_a_wrong_row(60, 5, f"loss_spike:{condition}")
    assert [hit.details.step for hit in host.hits] == [5]


def test_a_filter_on_what_is_found_by_itself() -> None:
    assert with_a_wrong_row(60, 45, "loss_spike:step > 40 and phase == 'loss'").hits
    assert not with_a_wrong_row(60, 45, "loss_spike:step > 50").hits


# -- the history of a loss -------------------------------------------------------------------------


def verdicts(losses: list[float], rivals: int = 1) -> list[tuple[int, str]]:
    history = LossHistory()
    found: list[tuple[int, Verdict]] = []
    for index, loss in enumerate(losses):
        verdict = history.take(loss, rivals=rivals)
        if verdict is not None:
            found.append((index, verdict))
    return [(index, verdict.kind) for index, verdict in found]


def noise(scale: float) -> float:
    return math.exp(random.gauss(0, scale))


def falling(steps: int = 200) -> list[float]:
    return [2.3 * math.exp(-step / 60) * noise(0.1) + 0.02 for step in range(steps)]


def test_spikes() -> None:
    late = falling()
    late[150] = 5.0
    assert verdicts(late) == [(150, "spike")]
    below_untrained = falling()
    below_untrained[190] = 2.0
    assert verdicts(below_untrained) == [(190, "spike")]
    density = [-1.0 - step / 100 + random.gauss(0, 0.1) for step in range(150)]
    density[120] = 40.0
    assert verdicts(density) == [(120, "spike")]


def test_a_slow_divergence() -> None:
    losses = [*falling(100), *(0.4 * 1.05**step * noise(0.02) for step in range(100))]
    found = verdicts(losses)
    assert found and found[0][1] in {"rise", "spike"}
    smooth = [1.0 / (1 + step) + 0.05 for step in range(60)]
    smooth += [smooth[-1] * 1.06**step for step in range(90)]
    assert verdicts(smooth)[0][1] == "rise"


def test_a_runaway_from_the_beginning() -> None:
    assert verdicts([2.75, 9.1, 68.3, 209.2, 41238.6])[-1][1] == "runaway"
    assert verdicts([2.75, 236.7, 6.2e7, 1.0e25, math.inf, math.nan]) == [(3, "runaway")]


HEALTHY: dict[str, Callable[[], list[float]]] = {
    "falls": falling,
    "very noisy": lambda: [noise(1.0) for _ in range(400)],
    "policy gradients": lambda: [random.gauss(0, 1) * (1 + step / 200) for step in range(400)],
    "policy gradients with rare large rewards": lambda: [
        random.gauss(0, 0.3) + (3 if random.random() < 0.05 else 0) for _ in range(400)
    ],
    "a harder curriculum": lambda: [
        (1 + step // 100 / 3) * (0.3 + math.exp(-(step % 100) / 20)) * noise(0.1)
        for step in range(400)
    ],
    "noisy, then data from another domain": lambda: [
        0.1 * noise(0.45) + (4 * math.exp(-(step - 100) / 5) if step >= 100 else 0)
        for step in range(200)
    ],
    "warm restarts": lambda: [
        (0.05 + (0.3 if step % 50 < 8 and step > 50 else 0) + math.exp(-step / 30)) * noise(0.1)
        for step in range(300)
    ],
    "converged, with small instabilities": lambda: [
        2.0 * math.exp(-step / 10) + 1e-6 * noise(1) + (1e-2 if step % 90 == 89 else 0)
        for step in range(300)
    ],
    "a likelihood that turns negative": lambda: [
        3 - step / 40 + random.gauss(0, 0.2) for step in range(300)
    ],
    "a weight that is annealed": lambda: [
        (0.5 + math.exp(-step / 20) + 0.8 * min(1, step / 200)) * noise(0.05) for step in range(400)
    ],
    "a plateau": lambda: [0.693 * noise(0.01) for _ in range(300)],
    "constant, then learning": lambda: [
        0.693 if step < 100 else 0.693 * math.exp(-(step - 100) / 20) for step in range(200)
    ],
    "batches of one": lambda: [abs(random.gauss(0, 1)) ** 3 for _ in range(400)],
    "exactly zero at times": lambda: [max(0.0, random.gauss(0, 1)) for _ in range(400)],
    "a value loss that grows with rewards": lambda: [
        (0.1 + step / 100) * noise(0.4) for step in range(400)
    ],
    "sparse rewards": lambda: [1e-6 * noise(1) if step < 15 else noise(1) for step in range(300)],
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_loss_has_no_verdict(name: str) -> None:
    assert verdicts(HEALTHY[name]()) == []


def test_networks_that_compete() -> None:
    def discriminator(step: int) -> float:
        return (1.38 if step < 30 else 0.2) * noise(0.3) + (1.5 if step % 70 == 69 else 0)

    assert verdicts([discriminator(step) for step in range(300)], rivals=2) == []
    generator = [0.7 + 4.0 * min(1, step / 150) * noise(0.02) for step in range(300)]
    assert verdicts(generator, rivals=2) == []


def test_losses_that_take_turns_on_one_line_do_not_mix() -> None:
    net, optimizer = model()
    with watching_for("loss_spike") as host:
        for step in range(120):
            x, y = batch()
            losses = [F.mse_loss(net(x), y), 1e4 * F.l1_loss(net(x), y)]
            loss = losses[step % 7 == 6]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert [hit.text for hit in host.hits] == []
