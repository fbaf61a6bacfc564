"""Advice on softmaxes and axes."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import Tensor, nn

from tests.runtime.advising import Programs

PROGRAMS = Programs()
X = torch.randn(12, 6, generator=torch.Generator().manual_seed(1))
Y = torch.arange(12) % 3


def losses(model: Any, criterion: Any, y: Tensor = Y) -> list[float]:
    optimizer, out = torch.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = criterion(model(X), y)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


# -- softmax twice -----------------------------------------------------------------------------


@PROGRAMS.gives("double_softmax")
def softmax_in_a_module() -> list[float]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.softmax = nn.Linear(6, 3), nn.Softmax(dim=-1)

        def forward(self, x: Tensor) -> Tensor:
            x = self.fc(x)
            return self.softmax(x)  # <- here

    return losses(Model(), nn.CrossEntropyLoss())


@PROGRAMS.gives("double_softmax")
def softmax_of_tokens() -> list[float]:
    fc = nn.Linear(6, 3)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = fc

        def forward(self, x: Tensor) -> Tensor:
            p = F.softmax(self.fc(x.view(4, 3, 6)), dim=-1)  # <- here
            return p.reshape(-1, 3)

    return losses(Model(), F.cross_entropy)


@PROGRAMS.gives("double_softmax")
def sigmoid_before_with_logits() -> list[float]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(6, 1)

        def forward(self, x: Tensor) -> Tensor:
            return torch.sigmoid(self.fc(x)).squeeze(1)  # <- here

    return losses(Model(), nn.BCEWithLogitsLoss(), (Y > 0).float())


@PROGRAMS.silent
def logits() -> list[float]:
    return losses(nn.Linear(6, 3), nn.CrossEntropyLoss())


@PROGRAMS.silent
def log_softmax_is_harmless() -> list[float]:
    model = nn.Sequential(nn.Linear(6, 3), nn.LogSoftmax(1))
    return [*losses(model, F.cross_entropy), *losses(model, F.nll_loss)]


@PROGRAMS.silent
def softmax_inside_the_model() -> list[float]:
    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.fc = nn.Linear(6, 6), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(self.gate(x).softmax(-1) * x)

    return losses(Gate(), F.cross_entropy)


@PROGRAMS.silent
def scaled_probabilities() -> list[float]:
    model = nn.Sequential(nn.Linear(6, 3), nn.Softmax(1))
    return losses(model, lambda p, y: F.cross_entropy(p / 0.1, y))


@PROGRAMS.silent
def logarithm_of_probabilities() -> list[float]:
    model = nn.Sequential(nn.Linear(6, 3), nn.Softmax(1))
    return losses(model, lambda p, y: F.cross_entropy(p.log(), y))


@PROGRAMS.silent
def sigmoid_and_its_own_loss() -> list[float]:
    model = nn.Sequential(nn.Linear(6, 1), nn.Sigmoid())
    return losses(model, nn.BCELoss(), (Y > 0).float()[:, None])


@PROGRAMS.silent
def soft_targets_from_a_teacher() -> list[float]:
    teacher = nn.Linear(6, 3)
    return losses(nn.Linear(6, 3), lambda x, _: F.cross_entropy(x, teacher(X).softmax(1)))


# -- softmax over the batch --------------------------------------------------------------------


class Weigh(nn.Module):
    """A score for each entry of ``x[B, T, D]``."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Linear(6, 1)


SEQUENCES = torch.randn(5, 7, 6, generator=torch.Generator().manual_seed(2))


@PROGRAMS.gives("softmax_over_batch")
def weights_over_the_batch_by_method() -> Tensor:
    class Pool(Weigh):
        def forward(self, x: Tensor) -> Tensor:
            w = self.score(x).squeeze(-1).softmax(0)  # <- here
            context = w.unsqueeze(-1) * x
            return context.sum(dim=1)

    return Pool()(SEQUENCES)


@PROGRAMS.gives("softmax_over_batch")
def weights_over_the_batch_in_one_line() -> Tensor:
    class Pool(Weigh):
        def forward(self, x: Tensor) -> Tensor:
            scores = self.score(x).squeeze(-1)
            return torch.sum(x * F.softmax(scores, dim=0)[:, :, None], -2)  # <- here

    return Pool()(SEQUENCES)


@PROGRAMS.gives("softmax_over_batch")
def classes_of_a_module_over_the_batch() -> Tensor:
    model = nn.Sequential(nn.Linear(6, 4), nn.LogSoftmax(dim=0))
    log_p = model(SEQUENCES[0])  # <- here
    return F.nll_loss(log_p, torch.arange(7) % 4)


@PROGRAMS.silent
def pairs_compared_along_both_axes() -> Tensor:
    a = nn.Linear(6, 4)(SEQUENCES[0])
    similar, same = a @ a.T, torch.arange(7)
    return F.nll_loss(similar.log_softmax(0), same) + F.nll_loss(similar.log_softmax(1), same)


@PROGRAMS.silent
def weights_over_time() -> Tensor:
    class Pool(Weigh):
        def forward(self, x: Tensor) -> Tensor:
            w = torch.softmax(self.score(x).squeeze(-1), dim=1)
            return (w[..., None] * x).sum(1)

    return Pool()(SEQUENCES)


@PROGRAMS.silent
def time_first() -> Tensor:
    class Pool(Weigh):
        def forward(self, x: Tensor) -> Tensor:
            w = torch.softmax(self.score(x).squeeze(-1), dim=0)
            return (w[..., None] * x).sum(0)

    return Pool()(SEQUENCES)


@PROGRAMS.silent
def slots_compete() -> Tensor:
    class Slots(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.slots, self.key = nn.Parameter(torch.randn(4, 6)), nn.Linear(6, 6)

        def forward(self, x: Tensor) -> Tensor:
            values = self.key(x)
            w = torch.softmax(self.slots @ values.T, dim=0)
            w = w / w.sum(1, keepdim=True)
            return (w[..., None] * values).sum(1)

    return Slots()(X)


@PROGRAMS.silent
def both_directions() -> Tensor:
    class Match(nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            similar = a @ b.T
            both = similar.softmax(0) * similar.softmax(1)
            return both.max(1).values

    return Match()(X, X.flip(0))


@PROGRAMS.silent
def a_mixture_of_stacked_results() -> Tensor:
    class Mixture(Weigh):
        def forward(self, x: Tensor) -> Tensor:
            stacked = torch.stack([x, 2 * x])
            w = torch.softmax(self.score(stacked), dim=0)
            return (w * stacked).sum(0).sum(1)

    return Mixture()(SEQUENCES)


# -- recurrent layers --------------------------------------------------------------------------


@PROGRAMS.gives("batch_axis_as_time")
def last_step_of_a_gru() -> Tensor:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.GRU(6, 4, num_layers=2)  # <- here
            self.fc = nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            h, _ = self.rnn(x)
            return self.fc(h[:, -1, :])

    return Model()(SEQUENCES)


@PROGRAMS.gives("batch_axis_as_time")
def mean_over_time() -> Tensor:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.RNN(6, 4)  # <- here

        def forward(self, x: Tensor) -> Tensor:
            out, _hidden = self.rnn(x)
            return out.mean(dim=1)

    return Model()(SEQUENCES)


class Recurrent(nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.rnn = nn.LSTM(6, 4, **options)


@PROGRAMS.silent
def batch_first() -> Tensor:
    class Model(Recurrent):
        def forward(self, x: Tensor) -> Tensor:
            out, _ = self.rnn(x)
            return out[:, -1]

    return Model(batch_first=True)(SEQUENCES)


@PROGRAMS.silent
def turned_back() -> Tensor:
    class Model(Recurrent):
        def forward(self, x: Tensor) -> Tensor:
            out, _ = self.rnn(x.transpose(0, 1))
            out = out.transpose(0, 1)
            return out[:, -1]

    return Model()(SEQUENCES)


@PROGRAMS.silent
def last_step_of_time_first() -> Tensor:
    class Model(Recurrent):
        def forward(self, x: Tensor) -> Tensor:
            out, _ = self.rnn(x)
            return out[-1] + out.mean(0)

    return Model()(SEQUENCES)


@PROGRAMS.silent
def one_sequence() -> Tensor:
    class Model(Recurrent):
        def forward(self, x: Tensor) -> Tensor:
            out, _ = self.rnn(x.unsqueeze(1))
            return out[:, -1]

    return Model()(X)


@PROGRAMS.silent
def last_features_of_each_step() -> Tensor:
    class Model(Recurrent):
        def forward(self, x: Tensor) -> Tensor:
            out, _ = self.rnn(x)
            return out[..., -1] + out[:, :, -1]

    return Model()(SEQUENCES)


@pytest.mark.parametrize("name", PROGRAMS.faulty)
def test_fault_is_told(name: str) -> None:
    PROGRAMS.check_faulty(name)


@pytest.mark.parametrize("name", PROGRAMS.healthy)
def test_healthy_is_silent(name: str) -> None:
    PROGRAMS.check_healthy(name)
