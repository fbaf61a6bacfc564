"""``zentracer.exploding``: found in trainings that explode, silent in those that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.runtime.watching import Host, watching_for
from zentracer.frameworks.pytorch.training.ratios import Ratios
from zentracer.frameworks.pytorch.watch import Watch


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def mlp(*sizes: int, activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), activation()]
    return nn.Sequential(*layers[:-1])


def regression(rows: int = 32, features: int = 8) -> tuple[Tensor, Tensor]:
    x = torch.randn(rows, features)
    return x, x[:, :3].sum(1, keepdim=True)


def fit(net: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> None:
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


# -- faults ----------------------------------------------------------------------------------------


class Counter(nn.Module):
    def __init__(self, gain: float) -> None:
        super().__init__()
        self.rnn = nn.RNN(2, 16, nonlinearity="relu", batch_first=True)
        nn.init.orthogonal_(self.rnn.weight_hh_l0, gain=gain)
        self.out = nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


class Unrolled(nn.Module):
    """A recurrence written by hand."""

    def __init__(self, gain: float) -> None:
        super().__init__()
        self.mix = nn.Linear(16, 16, bias=False)
        nn.init.orthogonal_(self.mix.weight, gain=gain)
        self.out = nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_ones(len(x), 16)
        for t in range(x.shape[1]):
            h = torch.relu(self.mix(h) + x[:, t, :1])
        return self.out(h)


class Cells(nn.Module):
    def __init__(self, gain: float) -> None:
        super().__init__()
        self.cell = nn.RNNCell(2, 16, nonlinearity="relu")
        nn.init.orthogonal_(self.cell.weight_hh, gain=gain)
        self.out = nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = x.new_zeros(len(x), 16)
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
        return self.out(h)


@pytest.mark.parametrize(
    ("model", "line"),
    [(Counter, "self.rnn(x)"), (Unrolled, "self.mix(h)"), (Cells, "self.cell(x[:, t], h)")],
)
@pytest.mark.parametrize("optimiser", [torch.optim.SGD, torch.optim.Adam])
def test_a_recurrence_explodes_in_the_first_pass(
    model: Callable[[float], nn.Module], line: str, optimiser: type[torch.optim.Optimizer]
) -> None:
    net = model(2.2)
    optimizer = optimiser(net.parameters(), lr=1e-3)
    x = torch.rand(8, 60, 2)
    with watching_for("exploding") as host:
        fit(net, optimizer, x, x.sum((1, 2))[:, None])
    (hit,) = host.hits
    assert line in (hit.details.origin.text or "")
    assert hit.details.source.text is not None and "loss.backward()" in hit.details.source.text
    assert "spectral norm of 2.2" in hit.text
    assert "largest singular value is 2.2" in hit.description


def test_an_overflow_on_the_way_is_an_explosion_too() -> None:
    net, x = Counter(1.9), torch.rand(8, 90, 2)  # squares of its gradients end above 1e38
    with watching_for("exploding") as host:
        F.mse_loss(net(x), x.sum((1, 2))[:, None]).backward()
    assert [hit.details.module for hit in host.hits] == ["rnn"]


def test_weights_that_are_too_large_by_initialisation() -> None:
    net = mlp(32, 64, 64, 64, 64, 1)
    for layer in net:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight)
    x, y = regression(32, 32)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
    with watching_for("exploding") as host:
        fit(net, optimizer, x, y)
    assert len(host.hits) == 1
    assert "He's initialisation" in host.hits[0].text
    assert "kaiming_normal_" in host.hits[0].description
    edit = host.hits[0].details.suggestions[0].edit
    assert edit is not None and edit.old_text.strip() == "nn.init.normal_(layer.weight)"
    assert edit.new_text.strip() == 'nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")'


def jumping(at: int, factor: float, steps: int = 50) -> Host:
    net = mlp(8, 32, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    with watching_for("exploding") as host:
        for step in range(steps):
            x, y = regression()
            if step == at:
                x = x * factor
            fit(net, optimizer, x, y)
    return host


def test_a_batch_out_of_scale() -> None:
    (hit,) = jumping(at=40, factor=1e3).hits
    assert hit.details.step == 40
    assert "times its median of" in hit.text and "over 40 steps" in hit.text
    assert hit.details.evidence
    assert any("clip_grad_norm_" in s.why for s in hit.details.suggestions)


def test_a_jump_without_history_is_no_jump() -> None:
    assert not jumping(at=5, factor=1e3).hits


def test_clipping_is_noticed_and_not_proposed() -> None:
    net = mlp(8, 32, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    with watching_for("exploding") as host:
        for step in range(40):
            x, y = regression()
            loss = F.mse_loss(net(x * (1e3 if step == 30 else 1)), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
    (hit,) = host.hits
    assert "clips gradients at test_exploding.py" in (hit.details.note or "")
    assert not any(s.title.startswith("Clip") for s in hit.details.suggestions)


def test_gradients_of_a_learning_rate_that_grows_and_grows() -> None:
    net = mlp(8, 32, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 1.1)
    x, y = regression()
    with watching_for("exploding") as host:
        for _ in range(70):
            fit(net, optimizer, x, y)
            schedule.step()
    assert len(host.hits) == 1


@pytest.mark.parametrize("rate", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_divergence_blames_the_update(rate: float, momentum: float) -> None:
    net = mlp(20, 64, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=momentum)
    x, y = regression(128, 20)
    with watching_for("exploding") as host:
        for _ in range(30):
            fit(net, optimizer, x, y)
    (hit,) = host.hits
    assert hit.details.phase == "update" and hit.details.op == "SGD.step"
    assert "optimizer.step()" in (hit.details.origin.text or "")
    assert f"learning rate {rate:g}" in hit.text
    assert hit.details.tensor.inf == 0 and hit.details.tensor.nan == 0


def test_one_update_that_leaves_nothing_of_the_weights() -> None:
    net = mlp(8, 32, 32, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1.0)
    x, y = regression()
    with watching_for("exploding") as host:
        for _ in range(10):
            fit(net, optimizer, x, y)
    (hit,) = host.hits
    assert hit.details.step == 2 and "optimizer.step()" in (hit.details.origin.text or "")
    assert "and the loss rose from" in hit.text and "learning rate 1" in hit.text
    edit = hit.details.suggestions[0].edit
    assert edit is not None and edit.new_text.endswith("lr=0.001)")
    assert "1 step ago" in (hit.details.note or "")


def test_updates_are_measured_seldom_until_something_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []
    starts = Ratios.starts
    monkeypatch.setattr(
        Ratios, "starts", lambda self, update: (measured.append(step), starts(self, update))
    )
    net = mlp(20, 64, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x, y = regression(128, 20)
    with watching_for("exploding") as host:
        for step in range(140):
            if step == 116:
                optimizer.param_groups[0]["lr"] = 2.0
            fit(net, optimizer, x, y)
    assert [step for step in measured if 50 <= step < 116] == [63, 79, 95, 111]
    (hit,) = host.hits
    assert measured[measured.index(111) + 1] == 116
    assert (hit.details.step or 0) <= 118
    assert any("learning rate from 2 to 0.2" in s.title for s in hit.details.suggestions)


def test_the_edit_takes_a_tenth_of_the_number_where_it_is_written() -> None:
    rate = 2.0
    net = mlp(20, 64, 1)
    optim = torch.optim.RMSprop(net.parameters(), lr=rate)
    optimizer = torch.optim.SGD(net.parameters(), rate)
    x, y = regression(128, 20)
    with watching_for("exploding") as host:
        for _ in range(10):
            fit(net, optimizer, x, y)
    edit = next(s.edit for s in host.hits[0].details.suggestions if s.edit is not None)
    assert edit.old_text.strip() == "rate = 2.0"
    assert edit.new_text.strip() == "rate = 0.2"
    assert optim is not None


def test_gradients_asked_for_and_updates_by_hand() -> None:
    net = mlp(8, 32, 1)
    parameters = list(net.parameters())
    with watching_for("exploding") as host:
        for step in range(40):
            x, y = regression()
            loss = F.mse_loss(net(x * (1e3 if step == 30 else 1)), y)
            slopes = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for parameter, slope in zip(parameters, slopes):
                    parameter -= 1e-6 * slope
    assert len(host.hits) == 1
    assert "torch.autograd.grad" in (host.hits[0].details.source.text or "")


def test_one_of_two_networks_with_one_helper() -> None:
    quiet, loud = mlp(8, 16, 1), mlp(8, 24, 1)
    optimizers = {net: torch.optim.Adam(net.parameters(), lr=1e-4) for net in (quiet, loud)}
    with watching_for("exploding") as host:
        for step in range(40):
            x, y = regression()
            fit(quiet, optimizers[quiet], x * 100, y)
            fit(loud, optimizers[loud], x * (1e3 if step == 30 else 1), y)
    (hit,) = host.hits
    assert hit.details.tensor.shape in {tuple(p.shape) for p in loud.parameters()}


def test_a_scaler_of_losses_is_taken_out() -> None:
    net = mlp(8, 32, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    with watching_for("exploding") as host:
        for step in range(40):
            x, y = regression()
            loss = F.mse_loss(net(x * (1e3 if step == 30 else 1)), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    (hit,) = host.hits
    norm = float(hit.text.split("norm ")[1].split(",")[0])
    loss_scale = float(scaler.get_scale())
    assert norm < 1e8 < norm * loss_scale


def test_on_an_accelerator_it_is_told_a_step_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watch, "defers", lambda self, x: True)
    (hit,) = jumping(at=40, factor=1e3).hits
    assert "step after" in (hit.details.note or "")
    assert "times its median" in hit.text


# -- thresholds of the user's own ------------------------------------------------------------------


def steps_with(*filters: str, steps: int = 3) -> Host:
    net = nn.Sequential()
    net.add_module("encoder", mlp(8, 16, 4))
    net.add_module("head", nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = regression()
    with watching_for(*filters) as host:
        for _ in range(steps):
            fit(net, optimizer, x, y)
    return host


def test_a_threshold_on_the_norm_stops_each_time() -> None:
    host = steps_with("exploding:norm > 1e-3")
    assert [hit.details.step for hit in host.hits] == [0, 1, 2]
    assert not steps_with("exploding:norm > 1e3").hits


def test_a_threshold_with_a_module_looks_there_only() -> None:
    host = steps_with("exploding:norm > 1e-3 and match('encoder*') and step > 0")
    assert [hit.details.step for hit in host.hits] == [1, 2]
    assert all((hit.details.module or "").startswith("encoder") for hit in host.hits)


def test_a_threshold_on_an_element_of_the_gradient() -> None:
    assert steps_with("exploding:match('head') and x.dim() == 1 and x[0] != 0").hits
    assert steps_with("exploding:absmax > 1e-6 and std > 0").hits
    assert not steps_with("exploding:zeros == size").hits


def test_a_threshold_on_the_ratio_is_asked_at_the_update() -> None:
    host = steps_with("exploding:ratio > 1e-6")
    assert {hit.details.phase for hit in host.hits} == {"update"}
    assert len(host.hits) == 3
    assert not steps_with("exploding:ratio > 1e3").hits


def test_a_filter_on_what_is_found_by_itself() -> None:
    x = torch.rand(8, 60, 2)
    for condition, wanted in (("match('rnn')", 1), ("match('out')", 0), ("step > 5", 0)):
        net = Counter(2.2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0)
        with watching_for(f"exploding:{condition}") as host:
            fit(net, optimizer, x, x.sum((1, 2))[:, None])
        assert len(host.hits) == wanted


def test_a_condition_that_comes_true_later_stops_then() -> None:
    x = torch.rand(8, 60, 2)
    net = Counter(2.2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0)
    with watching_for("exploding:step > 1") as host:
        for _ in range(5):
            fit(net, optimizer, x, x.sum((1, 2))[:, None])
    assert [hit.details.step for hit in host.hits] == [2]


# -- healthy ---------------------------------------------------------------------------------------


def training(net: nn.Module, rate: float = 1e-2, **options: float) -> Iterator[None]:
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, **options)  # type: ignore[arg-type]
    for _ in range(100):
        x, y = regression()
        fit(net, optimizer, x, y)
        yield


def near_convergence() -> None:
    net, (x, y) = mlp(8, 32, 1), regression()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(300):
        fit(net, optimizer, x, y)


def unnormalised_targets_with_adam() -> None:
    net, (x, y) = mlp(8, 32, 1), regression()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(50):
        fit(net, optimizer, x, 1e6 * y)


def all_weights_begin_at_zero() -> None:
    net = nn.Linear(8, 1)
    nn.init.zeros_(net.weight)
    nn.init.zeros_(net.bias)
    for _ in training(net, 0.05):
        pass


def huge_first_updates_that_the_loss_survives() -> None:
    net, (x, y) = mlp(8, 16, 1), regression()
    for p in net.parameters():
        nn.init.normal_(p, std=1e-3)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-2)
    for _ in range(30):
        fit(net, optimizer, x, y)


def tiny_weights_with_a_high_rate() -> None:
    table, net = nn.Embedding(64, 8), mlp(8, 16, 1)
    nn.init.uniform_(table.weight, -1e-4, 1e-4)
    optimizer = torch.optim.Adam([*table.parameters(), *net.parameters()], lr=1e-2)
    rows = torch.arange(64)
    for _ in range(50):
        fit(nn.Sequential(table, net), optimizer, rows, torch.sin(rows[:, None] / 5))


def a_gradient_that_is_mostly_zero() -> None:
    net = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
    for step in range(100):
        x, _ = regression()
        loss = F.relu(net(x) - 3).mean() + (step % 30 == 0) * net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def accumulation_over_many_passes() -> None:
    net = mlp(8, 32, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    for step in range(400):
        x, y = regression()
        F.mse_loss(net(x), y).backward()
        if step % 80 == 79:
            optimizer.step()
            optimizer.zero_grad()


def a_scaler_that_searches_its_factor() -> None:
    net = mlp(8, 32, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**126, growth_interval=5)
    for _ in range(60):
        x, y = regression()
        optimizer.zero_grad()
        scaler.scale(F.mse_loss(net(x), y)).backward()
        scaler.step(optimizer)
        scaler.update()


def default_recurrent_networks() -> None:
    for kind in (nn.RNN, nn.LSTM, nn.GRU):
        net, out = kind(2, 32, batch_first=True), nn.Linear(32, 1)
        optimizer = torch.optim.SGD([*net.parameters(), *out.parameters()], lr=1e-2)
        for _ in range(5):
            x = torch.rand(4, 60, 2)
            loss = F.mse_loss(out(net(x)[0][:, -1]), 1e3 * x.sum((1, 2))[:, None])
            optimizer.zero_grad()
            (loss * 1e-5).backward()
            optimizer.step()


def a_line_search_that_goes_far() -> None:
    net, (x, y) = mlp(8, 32, 1), regression()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=1, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss

    for _ in range(10):
        optimizer.step(closure)


def sparse_and_complex_gradients() -> None:
    table = nn.Embedding(100, 4, sparse=True)
    phase = nn.Parameter(torch.randn(4, dtype=torch.complex64))
    optimizer = torch.optim.SGD([*table.parameters(), phase], lr=1e-2)
    for _ in range(50):
        loss = (table(torch.randint(100, (8,))) * phase).abs().square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def a_second_derivative() -> None:
    net = mlp(8, 16, 1, activation=nn.Tanh)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(40):
        x, y = regression()
        x.requires_grad_()
        out = net(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        optimizer.zero_grad()
        (F.mse_loss(out, y) + slope.square().mean()).backward()
        optimizer.step()


def attacks_on_the_input() -> None:
    net = mlp(8, 16, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for step in range(60):
        x, y = regression()
        x = (x * (100 if step % 20 == 19 else 1)).requires_grad_()
        F.mse_loss(net(x), y).backward(inputs=[x])
        fit(net, optimizer, (x + 0.1 * x.grad.sign()).detach() / x.detach().abs().max(), y)  # type: ignore[union-attr]


HEALTHY: list[Callable[[], None]] = [
    near_convergence, huge_first_updates_that_the_loss_survives, unnormalised_targets_with_adam,
    all_weights_begin_at_zero,
    tiny_weights_with_a_high_rate, a_gradient_that_is_mostly_zero, accumulation_over_many_passes,
    a_scaler_that_searches_its_factor, default_recurrent_networks, a_line_search_that_goes_far,
    sparse_and_complex_gradients, a_second_derivative, attacks_on_the_input,
]  # fmt: skip


@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.__name__)
def test_a_healthy_training_runs_through(program: Callable[[], None]) -> None:
    with watching_for("exploding", "vanishing", "loss_spike") as host:
        program()
    assert [hit.text for hit in host.hits] == []
    assert host.notices == []
