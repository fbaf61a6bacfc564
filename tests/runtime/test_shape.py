"""``zentracer.shape``: what broadcasts by accident, and what is meant to."""

from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Normal

from tests.runtime.watching import watching_for

pytestmark = pytest.mark.filterwarnings("ignore:Using a target size")

N = 6


def pair() -> tuple[Tensor, Tensor]:
    """Return a prediction ``[N, 1]`` and a target ``[N]``."""
    return torch.randn(N, 3, requires_grad=True) @ torch.randn(3, 1), torch.randn(N)


# -- faults: each function has one line that is to blame ------------------------------------------


def mse_loss() -> None:
    p, y = pair()
    F.mse_loss(p, y)  # <- culprit


def mse_module() -> None:
    p, y = pair()
    nn.MSELoss()(p, y)  # <- culprit


def mse_keywords() -> None:
    p, y = pair()
    F.mse_loss(input=p, target=y)  # <- culprit


def l1_target_wide() -> None:
    p, y = pair()
    F.l1_loss(p.squeeze(1), y.unsqueeze(1).clone())  # <- culprit


def smooth_l1() -> None:
    p, y = pair()
    F.smooth_l1_loss(p, y)  # <- culprit


def huber() -> None:
    p, y = pair()
    nn.HuberLoss()(p, y)  # <- culprit


def poisson() -> None:
    p, y = pair()
    F.poisson_nll_loss(p, y.abs())  # <- culprit


def other_batch() -> None:
    p, y = pair()
    F.mse_loss(p, y[:4])  # <- culprit


def target_made_wide_before() -> None:
    p, y = pair()
    y = y.view(-1, 1)
    F.mse_loss(p.squeeze(), y)  # <- culprit


def by_hand() -> None:
    p, y = pair()
    (p - y).square().mean()  # <- culprit


def by_hand_reversed() -> None:
    p, y = pair()
    ((y - p) ** 2).mean()  # <- culprit


def by_hand_wide_target() -> None:
    p, y = pair()
    y = y.view(-1, 1)
    torch.mean((p.squeeze(1) - y) ** 2)  # <- culprit


def by_method() -> None:
    p, y = pair()
    p.sub(y).abs().mean()  # <- culprit


def by_function() -> None:
    p, y = pair()
    torch.sub(p, y).pow(2).sum()  # <- culprit


def weighted() -> None:
    p, y = pair()
    each = F.mse_loss(p, y.unsqueeze(1), reduction="none")
    (each * torch.rand(N)).mean()  # <- culprit


def advantage() -> None:
    values, returns = pair()
    returns - values.detach()  # <- culprit


def bootstrap() -> None:
    q, reward = pair()
    with torch.no_grad():
        reward + 0.9 * q  # <- culprit


def residual() -> None:
    x = torch.randn(N, 1, 4, requires_grad=True)
    x + nn.Linear(4, 4)(x.squeeze(1))  # <- culprit


def sequence() -> None:
    p, y = torch.randn(5, 5, 1, requires_grad=True), torch.randn(5, 5)
    (p - y).abs().mean()  # <- culprit


def log_prob() -> None:
    mean, action = torch.randn(N, 1, requires_grad=True) * 2, torch.randn(N)
    Normal(mean, 1.0).log_prob(action)  # <- culprit


def ratio() -> None:
    new, old = pair()
    (new / old.abs()).mean()  # <- culprit


FAULTS = [
    mse_loss, mse_module, mse_keywords, l1_target_wide, smooth_l1, huber, poisson, other_batch,
    target_made_wide_before, by_hand, by_hand_reversed, by_hand_wide_target, by_method, by_function,
    weighted, advantage, bootstrap, residual, sequence, log_prob, ratio,
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_stops_at_the_line(fault: Callable[[], None]) -> None:
    with watching_for("shape") as host:
        fault()
    assert [line for _, line in host.frames] == [culprit(fault)]
    hit = host.hits[0]
    assert hit.details.origin.line == culprit(fault)
    assert "broadcast to" in hit.text
    assert hit.details.suggestions
    assert host.notices == []


def culprit(fault: Callable[[], None]) -> int:
    import inspect

    lines, first = inspect.getsourcelines(fault)
    return first + next(i for i, line in enumerate(lines) if "# <- culprit" in line)


# -- healthy twins --------------------------------------------------------------------------------


def same_shape() -> None:
    p, y = pair()
    F.mse_loss(p.squeeze(1), y)


def scalar_target() -> None:
    p, _ = pair()
    F.mse_loss(p, torch.zeros(()))
    (p - 1).square().mean()


def one_expanded() -> None:
    torch.randn(N, 4) - torch.randn(4)


def normalised() -> None:
    x = torch.randn(N, 4, 3)
    (x - x.mean(0)) / x.std(0)


def pairwise_none() -> None:
    x = torch.randn(N, requires_grad=True)
    (x[:, None] - x[None]).square().mean()
    (x[:, None] - x).square().mean()


def pairwise_unsqueezed() -> None:
    a, b = torch.randn(N, requires_grad=True), torch.randn(N)
    (a.unsqueeze(1) - b).abs().mean()


def pairwise_bound_before() -> None:
    a, b = torch.randn(N, requires_grad=True) * 2, torch.randn(N, requires_grad=True) * 2
    rows = (a * 2).unsqueeze(1) * 1.0
    rows - b


def pairwise_points() -> None:
    x, y = torch.randn(N, 3), torch.randn(4, 3)
    ((x[:, None] - y) ** 2).sum(-1)


def distances_by_hand() -> None:
    x = torch.randn(N, 3, requires_grad=True)
    squares = (x * x).sum(1, keepdim=True)
    squares + (x * x).sum(1) - 2 * x @ x.T


def outer_product() -> None:
    t, f = torch.arange(6.0), torch.rand(6)
    t.view(-1, 1) * f


def rows_and_columns() -> None:
    a, b = torch.randn(2, N, 1, requires_grad=True), torch.randn(2, 1, N, requires_grad=True)
    a + b


def given_by_a_caller() -> None:
    def difference(a: Tensor, b: Tensor) -> Tensor:
        return a - b

    x = torch.randn(N, requires_grad=True) * 2
    difference(x[:, None] * 1.0, x)


def view_of_a_batch() -> None:
    x = torch.randn(N)
    x = x.reshape(N, 1)
    x * torch.rand(N)


def attention_mask() -> None:
    scores, mask = torch.randn(2, 4, N, N, requires_grad=True), torch.zeros(N, N)
    scores + mask
    scores + torch.randn(4, 1, 1)


def positions() -> None:
    torch.randn(2, N, 8, requires_grad=True) + torch.randn(N, 8)


def channel_bias() -> None:
    torch.randn(2, 8, 4, 4, requires_grad=True) + torch.randn(8, 1, 1)


def gaussian_samples() -> None:
    mean = torch.randn(N, requires_grad=True)
    Normal(mean, 1.0).log_prob(torch.randn(10, N))


def gaussian_grid() -> None:
    mean = torch.randn(N, requires_grad=True)
    Normal(mean, 1.0).log_prob(torch.linspace(-1, 1, N).unsqueeze(1))


def costs_of_all_pairs() -> None:
    a, b = torch.randn(N), torch.randn(N)
    F.l1_loss(a[:, None], b, reduction="none")


def quantiles() -> None:
    theta, target = torch.randn(N, 5, requires_grad=True), torch.randn(N, 5)
    (target.unsqueeze(1) - theta.unsqueeze(2)).abs().mean()


def integers() -> None:
    torch.arange(N).clone() - torch.arange(N)[:, None].clone()


def one_sample() -> None:
    p, y = torch.randn(1, 1, requires_grad=True), torch.randn(1)
    F.mse_loss(p, y)
    (p - y).square().mean()


def gates_of_experts() -> None:
    weights, outputs = torch.rand(N, 4), torch.randn(N, 4, 3, requires_grad=True)
    (weights.unsqueeze(-1) * outputs).sum(1)


def per_sample_norms() -> None:
    x = torch.randn(N, 4, requires_grad=True)
    x / x.norm(dim=1, keepdim=True)


def inside_vmap() -> None:
    x = torch.randn(4, N, 1)
    torch.vmap(lambda a, b: (a - b).sum())(x, torch.randn(4, N, 1))


HEALTHY = [
    same_shape, scalar_target, one_expanded, normalised, pairwise_none, pairwise_unsqueezed,
    pairwise_bound_before, pairwise_points, distances_by_hand, outer_product, rows_and_columns,
    given_by_a_caller, view_of_a_batch, attention_mask, positions, channel_bias, gaussian_samples,
    gaussian_grid, costs_of_all_pairs, quantiles, integers, one_sample, gates_of_experts,
    per_sample_norms, inside_vmap,
]  # fmt: skip


@pytest.mark.parametrize("healthy", HEALTHY, ids=lambda healthy: healthy.__name__)
def test_stays_silent(healthy: Callable[[], None]) -> None:
    with watching_for("shape") as host:
        healthy()
    assert [hit.text for hit in host.hits] == []
    assert host.notices == []


def test_both_mends_are_offered_as_edits() -> None:
    with watching_for("shape") as host:
        by_hand()
    hit = host.hits[0]
    assert hit.label == "Silent broadcast"
    assert "(6, 1) with (6,) broadcast to (6, 6), 36 elements from 6 and 6" in hit.text
    edits = [s.edit.new_text.strip() for s in hit.details.suggestions if s.edit]
    assert edits[0].startswith("(p.squeeze(1) - y)")
    assert edits[1].startswith("(p - y.unsqueeze(1))")
    assert [x.name for x in hit.details.inputs] == ["p", "y"]


def test_a_line_is_told_once() -> None:
    p, y = pair()
    with watching_for("shape") as host:
        for _ in range(5):
            F.mse_loss(p, y)
    assert len(host.hits) == 1


def test_condition_chooses() -> None:
    with watching_for("shape:size > 1 and op == 'sub'") as host:
        mse_loss()
        advantage()
    assert [hit.details.op for hit in host.hits] == ["sub"]


# -- shapes that change ---------------------------------------------------------------------------


class Model(nn.Module):
    def __init__(self, forward: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.how = forward

    def forward(self, x: Tensor) -> Tensor:
        return self.how(self, x)


class Squeezing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x).squeeze()  # <- culprit


def test_a_batch_of_one_loses_an_axis() -> None:
    model = Squeezing()
    with watching_for("shape") as host:
        for size in (5, 5, 5, 1, 5):
            model(torch.randn(size, 4))
    (hit,) = host.hits
    assert "(3,) for (1, 4), after (5, 3) for (5, 4)" in hit.text
    assert hit.details.origin.line == culprit(Squeezing)  # type: ignore[arg-type]
    assert hit.details.suggestions[0].edit is not None
    assert (
        hit.details.suggestions[0]
        .edit.new_text.strip()
        .startswith("return self.layer(x).squeeze(-1)")
    )


def test_a_width_changes_for_the_same_input() -> None:
    calls: list[int] = []

    def forward(self: Any, x: Tensor) -> Tensor:
        calls.append(1)
        return self.layer(x) if len(calls) < 12 else torch.cat([self.layer(x), x], 1)

    model = Model(forward)
    with watching_for("shape") as host:
        for _ in range(14):
            model(torch.randn(5, 4))
    (hit,) = host.hits
    assert "Changed shape of the output of Model" in hit.text


VARYING: dict[str, tuple[Callable[[Any, Tensor], Tensor], list[tuple[int, ...]]]] = {
    "last batch": (lambda m, x: m.layer(x), [(5, 4)] * 4 + [(2, 4), (1, 4)]),
    "lengths": (lambda m, x: m.layer(x), [(2, n, 4) for n in (5, 5, 5, 5, 9, 3, 1)]),
    "scales": (lambda m, x: F.avg_pool2d(x, 2), [(2, 3, n, n) for n in (8, 8, 8, 8, 12, 16)]),
    "similarities": (lambda m, x: x @ x.T, [(6, 4)] * 12 + [(3, 4)]),
    "selection": (lambda m, x: x[x[:, 0] > 0], [(9, 4)] * 14),
    "attention": (lambda m, x: x @ x.mT, [(2, n, 4) for n in (5, 5, 5, 5, 9, 3)]),
    "dimensions": (lambda m, x: m.layer(x), [(5, 4)] * 4 + [(4,), (2, 5, 4)]),
    "supernet": (lambda m, x: m.layer(x)[:, : m.width()], [(5, 4)] * 30),
}


@pytest.mark.parametrize("kind", VARYING)
def test_sizes_that_may_vary(kind: str) -> None:
    forward, sizes = VARYING[kind]
    model = Model(forward)
    widths = iter([1, 2, 3] * 10)
    model.width = lambda: next(widths)  # type: ignore[assignment]
    with watching_for("shape") as host:
        for size in sizes:
            model(torch.randn(size))
    assert [hit.text for hit in host.hits] == []
    assert host.notices == []
