"""Axes that are taken for others, without an error."""

from __future__ import annotations

import warnings

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.faults.record import confirm, fault, regression


def small() -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    return net, torch.optim.Adam(net.parameters(), lr=5e-3)


@fault("zentracer.shape")
def absolute_error_by_hand(fault: bool) -> None:
    """Predictions (N, 1), targets (N,): all are compared with all."""
    net, optimizer = small()
    elements = 0
    for _ in range(20):
        x, y = regression(32, 6)
        prediction = net(x) if fault else net(x).squeeze(1)
        error = (prediction - y).abs()  # <- culprit
        elements = error.numel()
        optimizer.zero_grad()
        error.mean().backward()
        optimizer.step()
    confirm(fault, elements == 32 * 32)


@fault("zentracer.shape")
def huber_module(fault: bool) -> None:
    """Targets (N, 1) from a table, predictions flattened."""
    net, optimizer = small()
    criterion = nn.HuberLoss()
    shapes: list[bool] = []
    for _ in range(20):
        x, y = regression(24, 6)
        target = y[:, None] if fault else y
        out = net(x).flatten()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss = criterion(out, target)  # <- culprit
        shapes.append(out.shape != target.shape)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, all(shapes))


@fault("zentracer.shape", "data_across_batch")
def gate_with_an_axis_too_many(fault: bool) -> None:
    """A squeeze-and-excite gate keeps an axis; the residual becomes (N, N, D)."""

    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.gate, self.out = nn.Linear(6, 12), nn.Linear(12, 12), nn.Linear(12, 1)

        def forward(self, x: Tensor) -> Tensor:
            h = torch.tanh(self.fc(x))
            gate = self.gate(h[:, None]) if fault else self.gate(h)  # <- origin
            h = h + torch.sigmoid(gate)  # <- culprit
            self.shape = h.shape
            return self.out(h).reshape(len(x), -1).mean(1)

    net = Gated()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(20):
        x, y = regression(16, 6)
        loss = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, net.shape == (16, 16, 12))


@fault("zentracer.shape")
def advantages_of_all_pairs(fault: bool) -> None:
    """Policy gradient: returns (N,) minus values (N, 1)."""
    policy, value = nn.Linear(4, 2), nn.Linear(4, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=5e-3)
    elements = 0
    for _ in range(20):
        state = torch.randn(20, 4)
        chosen = torch.distributions.Categorical(logits=policy(state))
        action = chosen.sample()
        returns = state[:, 0] * (2 * action - 1) + 0.1 * torch.randn(20)
        baseline = value(state) if fault else value(state).squeeze(-1)
        advantage = returns - baseline  # <- culprit
        elements = advantage.numel()
        actor = -(chosen.log_prob(action) * advantage.detach()).mean()
        loss = actor + 0.5 * advantage.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, elements == 400)


@fault("zentracer.shape")
def weights_of_the_samples(fault: bool) -> None:
    """Losses of samples (N,) times weights (N, 1)."""
    net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    elements = 0
    for _ in range(20):
        x = torch.randn(30, 6)
        y = x[:, :3].argmax(1)
        weight = torch.rand(30, 1) if fault else torch.rand(30)
        each = F.cross_entropy(net(x), y, reduction="none")
        weighted = each * weight  # <- culprit
        elements = weighted.numel()
        optimizer.zero_grad()
        weighted.mean().backward()
        optimizer.step()
    confirm(fault, elements == 900)


def depends_on_others(net: nn.Module, *shape: int) -> bool:
    """Tell whether the result for a sample changes with the other samples."""
    net.eval()
    x = torch.randn(*shape)
    other = torch.cat([x[:1], torch.randn(*shape)[1:]])
    with torch.no_grad():
        return not torch.allclose(net(x)[0], net(other)[0], atol=1e-5)


def train_on_sequences(net: nn.Module) -> None:
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(20):
        x = torch.randn(12, 7, 5)
        loss = F.mse_loss(net(x), x[:, -1, 0].tanh())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault("batch_axis_as_time", "data_across_batch", "loss_not_decreasing")
def gru_reads_the_batch(fault: bool) -> None:

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if fault:
                self.gru = nn.GRU(5, 16)  # <- culprit
            else:
                self.gru = nn.GRU(5, 16, batch_first=True)
            self.head = nn.Linear(16, 1)

        def forward(self, x: Tensor) -> Tensor:
            states, _ = self.gru(x)
            return self.head(states[:, -1, :]).squeeze(-1)

    net = Reader()
    train_on_sequences(net)
    # The last sample reads all others before it, so the first is compared from the other end.
    confirm(fault, depends_on_others(nn.Sequential(Flip(), net, Flip()), 12, 7, 5))


class Flip(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.flip(0)


@fault("batch_axis_as_time", "data_across_batch", "loss_not_decreasing")
def attention_over_the_batch(fault: bool) -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if fault:
                self.attention = nn.MultiheadAttention(5, 1)  # <- culprit
            else:
                self.attention = nn.MultiheadAttention(5, 1, batch_first=True)
            self.head = nn.Linear(5, 1)

        def forward(self, x: Tensor) -> Tensor:
            mixed, _ = self.attention(x, x, x)
            return self.head((x + mixed).mean(dim=1)).squeeze(-1)

    net = Reader()
    train_on_sequences(net)
    confirm(fault, depends_on_others(net, 12, 7, 5))


@fault("batch_axis_as_time", "data_across_batch", "loss_not_decreasing")
def encoder_over_the_batch(fault: bool) -> None:
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if fault:
                layer = nn.TransformerEncoderLayer(5, 1, 16, 0.0)  # <- culprit
            else:
                layer = nn.TransformerEncoderLayer(5, 1, 16, 0.0, batch_first=True)
            self.encoder, self.head = nn.TransformerEncoder(layer, 1), nn.Linear(5, 1)

        def forward(self, x: Tensor) -> Tensor:
            encoded = self.encoder(x)
            return self.head(encoded[:, -1]).squeeze(-1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = Reader()
    train_on_sequences(net)
    confirm(fault, depends_on_others(net, 12, 7, 5))


@fault("softmax_over_batch", "data_across_batch")
def softmax_module_over_rows(fault: bool) -> None:
    """Attention weights of a pool are normalised over the samples."""

    class Pool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.soft = nn.Softmax(dim=0) if fault else nn.Softmax(dim=1)  # <- origin
            self.score = nn.Linear(5, 1)
            self.head = nn.Linear(5, 1)

        def forward(self, x: Tensor) -> Tensor:
            weight = self.soft(self.score(x).squeeze(-1))  # <- culprit
            return self.head((weight[..., None] * x).sum(1)).squeeze(-1)

    net = Pool()
    train_on_sequences(net)
    confirm(fault, depends_on_others(net, 12, 7, 5))


@fault("softmax_over_batch", "data_across_batch", "loss_not_decreasing")
def log_softmax_over_rows(fault: bool) -> None:
    net = nn.Linear(6, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    sums = torch.zeros(1)
    for _ in range(20):
        x = torch.randn(24, 6)
        if fault:
            log_p = F.log_softmax(net(x), dim=0)  # <- culprit
        else:
            log_p = F.log_softmax(net(x), dim=1)
        sums = log_p.detach().exp().sum(1)
        loss = F.nll_loss(log_p, x[:, :4].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    confirm(fault, not torch.allclose(sums, torch.ones(24), atol=1e-4))


@fault("data_across_batch", "zentracer.shape", "loss_not_decreasing")
def view_instead_of_transpose(fault: bool) -> None:
    """(time, batch, feature) is made (batch, time, feature) by ``view``: samples are mixed."""

    class Swapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.head = nn.Linear(5, 8), nn.Linear(8, 1)

        def forward(self, x: Tensor) -> Tensor:
            h = torch.tanh(self.fc(x.transpose(0, 1).contiguous()))
            t, n, d = h.shape
            if fault:
                h = h.view(n, t, d)  # <- culprit
            else:
                h = h.transpose(0, 1)
            return self.head(h.mean(1)).squeeze(-1)

    net = Swapped()
    train_on_sequences(net)
    confirm(fault, depends_on_others(net, 12, 7, 5))


@fault("data_across_batch")
def normalised_by_the_whole_batch(fault: bool) -> None:
    """Rows are divided by the norm of all rows."""

    class Unit(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.head = nn.Linear(5, 8), nn.Linear(8, 1)

        def forward(self, x: Tensor) -> Tensor:
            h = self.fc(x[:, -1])
            if fault:
                h = h / h.norm()  # <- culprit
            else:
                h = h / h.norm(dim=1, keepdim=True)
            return self.head(h).squeeze(-1)

    net = Unit()
    train_on_sequences(net)
    confirm(fault, depends_on_others(net, 12, 7, 5))
