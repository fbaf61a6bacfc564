"""Advice on data, initial weights and losses."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import Tensor, nn

from tests.runtime.advising import Programs
from tests.runtime.watching import Host, watching_for
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch import PyTorch

PROGRAMS = Programs()


def trained(
    model: nn.Module, x: Tensor, y: Tensor, steps: int = 8, lr: float = 1e-3
) -> list[float]:
    optimizer, out = torch.optim.SGD(model.parameters(), lr=lr), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


def labels(n: int, classes: int = 4) -> Tensor:
    return torch.arange(n) % classes


# -- inputs ------------------------------------------------------------------------------------


@PROGRAMS.gives("unnormalised_inputs")
def images_of_bytes() -> list[float]:
    images = torch.randint(0, 256, (8, 1, 8, 8)).float()
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4))
    optimizer, out = torch.optim.SGD(model.parameters(), lr=1e-6), []
    for _ in range(8):
        loss = F.cross_entropy(model(images), labels(8))  # <- here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


@PROGRAMS.gives("unnormalised_inputs")
def prices_and_areas() -> list[float]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x)

    model, out = Model(), []
    x = torch.rand(16, 3) * torch.tensor([2000.0, 5.0, 1e4])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-10)
    for _ in range(8):
        optimizer.zero_grad()
        loss = model(x).square().mean()  # <- here
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


@PROGRAMS.gives("all_zero")
def buffer_that_is_never_filled() -> list[float]:
    x = torch.zeros(8, 6)  # <- here
    model, out = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4)), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), labels(8))
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


@PROGRAMS.silent
def images_divided_in_forward() -> list[float]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(64, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(x.flatten(1) / 255)

    return trained(Model(), torch.randint(0, 256, (8, 8, 8)).float(), labels(8))


@PROGRAMS.silent
def a_norm_comes_first() -> list[float]:
    model = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 4))
    return trained(model, 1e4 * torch.rand(8, 6), labels(8))


@PROGRAMS.silent
def token_ids() -> list[float]:
    model = nn.Sequential(nn.Embedding(5000, 8), nn.Flatten(), nn.Linear(48, 4))
    return trained(model, torch.randint(0, 5000, (8, 6)), labels(8))


@PROGRAMS.silent
def zeros_now_and_then() -> list[float]:
    model, out = nn.Linear(6, 4), []
    for index in range(8):
        out += trained(model, torch.full((8, 6), float(index % 2)), labels(8), steps=1)
    return out


@PROGRAMS.silent
def boundary_of_an_equation() -> list[float]:
    model, out = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)), []
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(8):
        optimizer.zero_grad()
        t = torch.rand(16, 1, requires_grad=True)
        [slope] = torch.autograd.grad(model(t).sum(), [t], create_graph=True)
        loss = slope.square().mean() + (model(torch.zeros(32, 1)) - 1).square().mean()
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


@PROGRAMS.silent
def gradients_of_each_sample() -> list[float]:
    model, y = nn.Linear(6, 4), labels(8)
    weights = {name: p.detach() for name, p in model.named_parameters()}

    def loss(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(torch.func.functional_call(model, weights, (x[None],)), y[None])

    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return [each(weights, torch.randn(8, 6), y)["bias"].sum().item() for _ in range(8)]


@PROGRAMS.silent
def hidden_states_are_large() -> list[float]:
    model = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 4))
    with torch.no_grad():
        model[0].bias.fill_(100.0)
    return trained(model, torch.randn(8, 6), labels(8))


# -- targets -----------------------------------------------------------------------------------


def _counted(y: Tensor, steps: int = 110, **options: Any) -> list[float]:
    model = nn.Linear(6, 4)
    optimizer, out = torch.optim.SGD(model.parameters(), lr=1e-3), []
    x = torch.randn(len(y), 6)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y, **options)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


@PROGRAMS.gives("class_imbalance")
def one_class_nearly_always() -> list[float]:
    model, out = nn.Linear(6, 2), []
    optimizer, criterion = torch.optim.SGD(model.parameters(), lr=1e-3), nn.CrossEntropyLoss()
    for index in range(110):
        x, y = torch.randn(16, 6), torch.zeros(16, dtype=torch.long)
        y[0] = index % 3 == 0
        optimizer.zero_grad()
        loss = criterion(model(x), y)  # <- here
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


@PROGRAMS.silent
def even_classes() -> list[float]:
    return _counted(labels(16))


@PROGRAMS.silent
def three_to_one() -> list[float]:
    return _counted((torch.arange(16) > 11).long())


@PROGRAMS.silent
def weighed_classes() -> list[float]:
    return _counted((torch.arange(16) > 14).long(), weight=torch.tensor([0.1, 0.9, 1.0, 1.0]))


@PROGRAMS.silent
def letters_of_a_text() -> list[float]:
    class Letters(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.fc = nn.Embedding(10, 8), nn.Linear(8, 10)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(self.embed(x)).view(-1, 10)

    text = (torch.rand(4, 16).pow(6) * 10).long()
    return trained(Letters(), text, text.flatten(), steps=110)


# -- initial weights ---------------------------------------------------------------------------


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(32, 32), nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.hidden(x).relu())


@PROGRAMS.gives("poor_initialisation")
def constant_weights() -> list[float]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(32, 16)
            self.out = nn.Linear(16, 1)
            for layer in (self.hidden, self.out):
                nn.init.constant_(layer.weight, 0.1)  # <- here
                nn.init.zeros_(layer.bias)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.hidden(x).tanh())

    model, out = Model(), []
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(16, 32)
    for _ in range(6):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x[:, :1])
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


def fitted(model: nn.Module) -> list[float]:
    return trained(model, torch.randn(8, 32), labels(8))


@PROGRAMS.gives("poor_initialisation")
def parameters_filled_in_a_loop() -> list[float]:
    model = nn.Sequential(nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 4))
    mask = torch.empty(4)
    mask.fill_(0.1)
    for p in model.parameters():
        p.data.fill_(0.1)  # <- here
    return fitted(model)


@PROGRAMS.gives("poor_initialisation")
def a_method_of_the_model_fills_one_layer() -> list[float]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.out = nn.Linear(32, 16), nn.Linear(16, 4)
            self.reset()

        def reset(self) -> None:
            nn.init.constant_(self.hidden.weight.data, 0.1)  # <- here
            nn.init.constant_(self.out.weight, 0.1)
            nn.init.zeros_(self.hidden.bias)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.hidden(x).tanh())

    return fitted(Model())


@PROGRAMS.gives("poor_initialisation")
def a_weight_of_its_own_class() -> list[float]:
    class Dense(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.full((16, 32), 0.1))  # <- here

        def forward(self, x: Tensor) -> Tensor:
            return F.linear(x, self.weight)

    last = nn.Linear(16, 4)
    last.weight.data[:] = 0.1
    return fitted(nn.Sequential(Dense(), nn.Tanh(), last))


@PROGRAMS.gives("poor_initialisation")
def weights_of_unit_variance() -> list[float]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(256, 256)  # <- here
            self.out = nn.Linear(256, 4)
            nn.init.normal_(self.hidden.weight)
            nn.init.normal_(self.out.weight)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.hidden(x).tanh())

    return trained(Model(), torch.randn(8, 256), labels(8))


@PROGRAMS.gives("poor_initialisation")
def weights_that_are_tiny() -> list[float]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(  # <- here
                nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4)
            )
            for p in self.parameters():
                nn.init.normal_(p, std=1e-4)

        def forward(self, x: Tensor) -> Tensor:
            return self.layers(x)

    return trained(Model(), torch.randn(8, 64), labels(8))


@PROGRAMS.silent
def a_last_layer_of_zeros() -> list[float]:
    model = Two()
    nn.init.zeros_(model.out.weight)
    return trained(model, torch.randn(8, 32), labels(8))


@PROGRAMS.silent
def regression_from_zero() -> list[float]:
    model = nn.Linear(32, 4)
    nn.init.zeros_(model.weight)
    return trained(model, torch.randn(8, 32), labels(8))


@PROGRAMS.silent
def low_rank_adapter() -> list[float]:
    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = nn.Linear(32, 4).requires_grad_(False)
            self.a = nn.Parameter(torch.randn(32, 2) / 6)
            self.b = nn.Parameter(torch.zeros(2, 4))

        def forward(self, x: Tensor) -> Tensor:
            return self.base(x) + x @ self.a @ self.b

    return trained(Adapted(), torch.randn(8, 32), labels(8))


@PROGRAMS.silent
def large_weights_before_a_norm() -> list[float]:
    model = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.Linear(64, 64), nn.Linear(64, 4))
    with torch.no_grad():
        for layer in (model[0], model[2]):
            layer.weight.normal_()
    return trained(model, torch.randn(8, 64), labels(8))


# -- losses ------------------------------------------------------------------------------------


@PROGRAMS.gives("loss_not_decreasing")
def labels_that_belong_to_nothing() -> list[float]:
    model, out = nn.Linear(6, 4), []
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    for _ in range(510):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.randn(16, 6)), torch.randint(4, (16,)))
        loss.backward()  # <- here
        optimizer.step()
        out.append(loss.item())
    return out


@PROGRAMS.silent
def a_loss_that_falls_slowly() -> list[float]:
    x = torch.randn(16, 6)
    return trained(nn.Linear(6, 4), x, x[:, :4].argmax(1), steps=510)


def logged(train: list[float], validation: list[float]) -> Host:
    """Log losses as ``zentracer.log`` does."""
    host = Host(advice=True)
    framework = PyTorch(host)
    framework.arm((ArmedFilter(1, "zentracer.nonfinite"),), precise=False)
    try:
        for a, b in zip(train, validation):
            framework.logged("train_loss", a)
            framework.logged("val_loss", b)
    finally:
        framework.disarm()
    assert host.notices == []
    return host


FALLING = [1 / (1 + n) for n in range(12)]


def test_validation_that_rises_while_training_falls() -> None:
    [advice] = logged(
        FALLING, [1.0, 0.7, 0.6, 0.63, 0.65, 0.67, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2]
    ).advice
    assert advice.rule == "overfit"
    assert "val_loss was lowest" in advice.text and "0.6 and is 0.7 now" in advice.text


@pytest.mark.parametrize(
    ("train", "validation"),
    [
        (FALLING, FALLING),
        (FALLING, [1.0, 0.7, 0.6, 0.61, 0.6, 0.62, 0.6, 0.61, 0.6, 0.61, 0.6, 0.61]),
        (FALLING, [1.0, 0.5, 0.9, 0.7, 0.9, 0.5, 0.8, 0.5, 0.9, 0.6, 0.5, 0.49]),
        (FALLING[::-1], FALLING[::-1]),
    ],
    ids=["both fall", "level", "noisy", "both rise"],
)
def test_validation_without_overfitting(train: list[float], validation: list[float]) -> None:
    assert logged(train, validation).advice == []


@pytest.mark.parametrize("name", PROGRAMS.faulty)
def test_fault_is_told(name: str) -> None:
    PROGRAMS.check_faulty(name)


@pytest.mark.parametrize("name", PROGRAMS.healthy)
def test_healthy_is_silent(name: str) -> None:
    PROGRAMS.check_healthy(name)


@pytest.mark.parametrize("name", PROGRAMS.faulty)
def test_fault_is_told_without_waiting_for_the_device(name: str) -> None:
    PROGRAMS.check_deferred(name)


def test_a_constant_is_not_told_as_weights_that_start_too_small() -> None:
    net = nn.Sequential(
        nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)
    )
    for layer in net:
        if isinstance(layer, nn.Linear):
            nn.init.constant_(layer.weight, 0.1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with watching_for("nonfinite", advice=True) as host:
        for _ in range(6):
            loss = net(torch.randn(32, 64)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert [advice.text for advice in host.advice if "too small" in advice.text] == []
