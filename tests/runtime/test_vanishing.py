"""``zentracer.vanishing``: gradients lost on the way to the first layers, and healthy ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.runtime.watching import Host, watching_for
from zentracer.frameworks.pytorch.watch import Watch


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Stack(nn.Module):
    """``depth`` layers of one width, each followed by ``between``."""

    def __init__(self, depth: int, *between: Callable[[], nn.Module], width: int = 16) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(depth):
            layers += [nn.Linear(width, width), *(make() for make in between)]
        self.net = nn.Sequential(*layers)
        self.out = nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.net(x))


def passes(
    net: nn.Module, count: int = 1, *, rate: float = 0.1, filters: tuple[str, ...] = ("vanishing",),
    shape: tuple[int, ...] = (32, 16),
) -> Host:  # fmt: skip
    x = torch.randn(*shape)
    y = (x.flatten(1)[:, 0] > 0).long()
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    with watching_for(*filters) as host:
        for _ in range(count):
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return host


# -- faults ----------------------------------------------------------------------------------------


def test_a_deep_stack_of_sigmoids_is_told_in_the_first_pass() -> None:
    (hit,) = passes(Stack(12, nn.Sigmoid)).hits
    assert "self.out(self.net(x))" in (hit.details.origin.text or "")
    assert "loss.backward()" in (hit.details.source.text or "")
    assert hit.details.module == "net.0" and hit.where == "Linear in net.0"
    assert "each of 13 layers leaves about" in hit.text
    assert "net.0.weight" in hit.details.evidence[0] and "out.weight" in hit.details.evidence[-1]
    titles = " ".join(s.title for s in hit.details.suggestions)
    for word in ("Sigmoid", "Normalise", "He's (Kaiming)", "Glorot's (Xavier)", "orthogonal"):
        assert word in titles
    code = " ".join(s.why for s in hit.details.suggestions)
    assert "kaiming_normal_" in code and "xavier_uniform_" in code and "orthogonal_" in code


def test_a_shallower_one_takes_several_passes() -> None:
    net = Stack(7, nn.Sigmoid)
    assert not passes(net, 4).hits
    (hit,) = passes(net, 8).hits
    assert "5 passes in a row" in hit.text
    assert hit.details.step == 4


def test_it_is_told_once_while_it_lasts() -> None:
    assert len(passes(Stack(12, nn.Sigmoid), 20).hits) == 1


def test_tanh_with_small_weights() -> None:
    net = Stack(10, nn.Tanh)
    for p in net.net.parameters():
        nn.init.normal_(p, std=0.02)
    (hit,) = passes(net, 6).hits
    assert "Tanh" in hit.description
    assert "times He's initialisation" in hit.description


def test_relu_with_the_default_initialisation_at_great_depth() -> None:
    (hit,) = passes(Stack(40, nn.ReLU), 6).hits
    assert "so each layer shrinks what passes through it" in hit.description


class Functional(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(depth))
        self.out = nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.sigmoid(layer(x))
        return self.out(x)


def test_activations_that_are_no_modules_are_seen_in_the_graph() -> None:
    (hit,) = passes(Functional(12)).hits
    assert "torch.sigmoid(layer(x))" in (hit.details.origin.text or "")
    assert "passes 12 of them" in hit.description


def test_convolutions_whose_initialisation_lets_nothing_through() -> None:
    layers: list[nn.Module] = []
    for index in range(8):
        conv = nn.Conv2d(3 if index == 0 else 8, 8, 3, padding=1)
        nn.init.normal_(conv.weight, std=1e-3)
        nn.init.zeros_(conv.bias)  # type: ignore[arg-type]
        layers += [conv, nn.ReLU()]
    head = nn.Linear(8, 2)
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)
    (hit,) = passes(net, 6, rate=0.0, shape=(16, 3, 8, 8)).hits
    assert "next to nothing arrives at the last layer" in hit.text
    assert "kaiming_normal_" in hit.description
    first = hit.details.suggestions[0]  # what makes the gradient vanish comes first
    assert first.title.startswith("Initialise with He's") and first.edit is not None
    assert "nn.init.normal_(conv.weight, std=1e-3)" in first.edit.old_text
    assert first.edit.new_text.strip() == (
        'nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")'
    )


class Drawn(nn.Module):
    """Draws its weights with a method, next to a layer that is drawn otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(10))
        self.out = nn.Linear(16, 2)
        for layer in self.layers:
            layer.weight.data.uniform_(-0.02, 0.02)  # type: ignore[union-attr]
        self.out.weight.data.normal_(0, 0.3)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.out(x)


def test_a_method_that_draws_weights_gets_an_edit_for_the_activation_in_use() -> None:
    (hit,) = passes(Drawn(), 6).hits
    first, second = hit.details.suggestions[:2]
    assert first.title.startswith("Initialise with Glorot's") and first.edit is not None
    assert first.edit.new_text.split("  #")[0].strip() == (
        "nn.init.xavier_normal_(layer.weight, gain=5 / 3)"
    )
    assert "Tanh" in second.title


def test_weights_that_are_as_they_should_be_are_not_to_blame() -> None:
    net = Stack(12, nn.Sigmoid)
    for layer in net.net[::2]:
        nn.init.normal_(layer.weight, std=0.25)  # type: ignore[arg-type]
    (hit,) = passes(net).hits
    assert "Sigmoid" in hit.details.suggestions[0].title
    assert all(s.edit is None for s in hit.details.suggestions if "nitialise" in s.title)


def test_evidence_stands_in_columns() -> None:
    (hit,) = passes(Stack(12, nn.Sigmoid)).hits
    assert len({line.index(" of the last layer's") for line in hit.details.evidence}) == 1


def test_the_line_that_makes_the_activation_gets_an_edit() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(16, 16) for _ in range(12))
            self.squash = nn.LogSigmoid()
            self.out = nn.Linear(16, 2)

        def forward(self, x: Tensor) -> Tensor:
            for block in self.blocks:
                x = torch.sigmoid(block(x))
            return self.out(self.squash(x))

    (hit,) = passes(Net()).hits
    assert all(s.edit is None for s in hit.details.suggestions)  # none of the file's lines is its


def test_on_an_accelerator_it_is_told_a_step_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watch, "defers", lambda self, x: True)
    (hit,) = passes(Stack(12, nn.Sigmoid), 3).hits
    assert "step after" in (hit.details.note or "")


def test_normalisation_that_is_there_is_not_proposed() -> None:
    net = Stack(12, nn.Sigmoid)
    net.out = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 2))  # type: ignore[assignment]
    (hit,) = passes(net).hits
    assert not any(s.title.startswith("Normalise") for s in hit.details.suggestions)


# -- thresholds of the user's own ------------------------------------------------------------------


def test_a_threshold_on_the_norm() -> None:
    host = passes(Stack(6, nn.Sigmoid), 3, filters=("vanishing:norm < 1e-3",))
    assert [hit.details.step for hit in host.hits] == [0, 1, 2]
    assert not passes(Stack(2, nn.ReLU), 3, filters=("vanishing:norm < 1e-9",)).hits


def test_a_threshold_within_a_module() -> None:
    host = passes(Stack(6, nn.Sigmoid), 2, filters=("vanishing:norm < 10 and match('out')",))
    assert {hit.details.module for hit in host.hits} == {"out"}


def test_a_filter_on_what_is_found_by_itself() -> None:
    assert not passes(Stack(12, nn.Sigmoid), 3, filters=("vanishing:match('out')",)).hits
    late = passes(Stack(12, nn.Sigmoid), 4, filters=("vanishing:step >= 2",))
    assert [hit.details.step for hit in late.hits] == [2]


# -- healthy ---------------------------------------------------------------------------------------


class Residual(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.Tanh()) for _ in range(depth)
        )
        self.out = nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = x + block(x)
        return self.out(x)


def a_deep_residual_network() -> Host:
    return passes(Residual(40), 20)


def a_deep_normalised_network() -> Host:
    return passes(Stack(20, lambda: nn.BatchNorm1d(16), nn.ReLU), 20)


def a_deep_transformer() -> Host:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.encoder = nn.Embedding(50, 16), encoder
            self.out = nn.Linear(16, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.encoder(self.words(x.abs().mul(10).long() % 50)).mean(1))

    return passes(Net(), 10, shape=(8, 12))


def a_short_stack_of_sigmoids() -> Host:
    return passes(Stack(3, nn.Sigmoid), 30)


def ten_layers_of_relu() -> Host:
    return passes(Stack(10, nn.ReLU), 30)


def a_stack_initialised_for_its_activation() -> Host:
    net = Stack(12, nn.Tanh)
    for p in net.net.parameters():
        if p.dim() > 1:
            nn.init.xavier_uniform_(p, gain=5 / 3)
    return passes(net, 20)


def a_last_layer_with_huge_gradients() -> Host:
    net = Stack(4, nn.ReLU)
    with torch.no_grad():
        net.out.weight.mul_(1e-6)
        net.out.bias.zero_()
    return passes(net, 20, rate=1e-3)


def a_last_layer_that_begins_at_zero() -> Host:
    net = Stack(6, lambda: nn.LayerNorm(16), nn.GELU)
    nn.init.zeros_(net.out.weight)
    return passes(net, 20)


def all_but_converged() -> Host:
    net = Stack(4, lambda: nn.BatchNorm1d(16), nn.ReLU)
    return passes(net, 150, rate=1.0)


def frozen_layers() -> Host:
    net = Stack(12, nn.ReLU)
    net.net.requires_grad_(False)
    return passes(net, 20)


def units_that_are_all_dead() -> Host:
    net = Stack(6, nn.ReLU)
    with torch.no_grad():
        net.net[4].bias.fill_(-100)  # type: ignore[operator,union-attr]
    return passes(net, 20)  # exactly zero: another filter's


def adapters_that_begin_at_zero() -> Host:
    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = nn.Linear(16, 16).requires_grad_(False)
            self.down, self.up = nn.Linear(16, 4, bias=False), nn.Linear(4, 16, bias=False)
            nn.init.zeros_(self.up.weight)

        def forward(self, x: Tensor) -> Tensor:
            return self.base(x) + self.up(self.down(x))

    layers = [module for _ in range(6) for module in (Adapted(), nn.LayerNorm(16), nn.ReLU())]
    return passes(nn.Sequential(*layers, nn.Linear(16, 2)), 30)


def a_long_recurrence() -> Host:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.out = nn.LSTM(1, 16, num_layers=3, batch_first=True), nn.Linear(16, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.rnn(x[..., None])[0][:, -1])

    return passes(Last(), 8, shape=(16, 80))


HEALTHY: list[Callable[[], Host]] = [
    a_deep_residual_network, a_deep_normalised_network, a_deep_transformer,
    a_short_stack_of_sigmoids, ten_layers_of_relu, a_stack_initialised_for_its_activation,
    a_last_layer_with_huge_gradients, a_last_layer_that_begins_at_zero, all_but_converged,
    frozen_layers, units_that_are_all_dead, adapters_that_begin_at_zero, a_long_recurrence,
]  # fmt: skip


@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.__name__)
def test_a_healthy_training_runs_through(program: Callable[[], Host]) -> None:
    host = program()
    assert [hit.text for hit in host.hits] == []
    assert host.notices == []
