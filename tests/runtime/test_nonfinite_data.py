"""Values that were non-finite before any operation made them: the line that brought them in."""

from __future__ import annotations

import inspect
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from watching import watching

from zentracer.wire.messages import HitDetails


def finding(function: Any) -> HitDetails:
    with watching() as host:
        function()
    assert host.notices == []
    assert "came in with the data" in host.hits[0].text or "parameter" in host.hits[0].text
    (hit,) = host.hits
    return hit.details


def marked(function: Any, marker: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return next(first + i for i, text in enumerate(lines) if text.endswith(f"# @{marker}\n"))


def bad_rows() -> torch.Tensor:
    rows = torch.ones(4, 3)
    rows[2, 1] = float("nan")
    return rows


def loop_over_a_loader() -> None:
    loader = DataLoader(TensorDataset(bad_rows(), torch.ones(4, 1)), batch_size=2)
    net = nn.Linear(3, 1)
    for x, y in loader:  # @origin
        prediction = net(x)  # @source
        nn.functional.mse_loss(prediction, y).backward()


def step_in_a_function() -> None:
    def train_step(net: nn.Module, batch: dict[str, torch.Tensor]) -> None:
        x = batch["x"]
        net(x).sum().backward()  # @source

    net = nn.Linear(3, 1)
    for batch in [{"x": torch.ones(2, 3)}, {"x": bad_rows()}]:  # @origin
        train_step(net, batch)


def from_an_array() -> None:
    table = numpy.array([[1.0, numpy.nan]], dtype=numpy.float32)
    x = torch.from_numpy(table)  # @origin
    net = nn.Linear(2, 1)
    net(x)  # @source


def target_from_a_file() -> None:
    prediction = nn.Linear(3, 3)(torch.ones(4, 3))
    target = bad_rows()  # @origin
    nn.functional.mse_loss(prediction, target)  # @source


@pytest.mark.parametrize(
    "function", [loop_over_a_loader, step_in_a_function, from_an_array, target_from_a_file]
)
def test_data_is_blamed_on_the_line_that_brought_it(function: Any) -> None:
    details = finding(function)
    assert details.origin.line == marked(function, "origin")
    assert details.source.line == marked(function, "source")
    assert details.suggestions[0].title.startswith("Clean the data")


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.scale = nn.Parameter(torch.full((2,), float("nan")))  # @scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x) * self.scale  # @use


def test_parameter_is_blamed_on_the_line_that_made_it() -> None:
    details = finding(lambda: Scaled()(torch.ones(1, 2)))
    assert details.origin.line == marked(Scaled, "scale")
    assert details.source.line == marked(Scaled, "use")
    assert details.module == "Scaled"


def test_checkpoint_with_nan_is_named() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    state = {key: value * float("nan") for key, value in net.state_dict().items()}

    def resume() -> None:
        net.load_state_dict(state)
        net(torch.ones(1, 2))

    details = finding(resume)
    assert details.module == "0"
    assert "checkpoint" in details.suggestions[0].why


def test_what_follows_a_finding_is_no_new_finding() -> None:
    def run() -> None:
        w = nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([w], lr=1.0)
        for _ in range(3):
            loss = torch.log(w - 1).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    with watching() as host:
        run()
    assert [hit.details.op for hit in host.hits] == ["log"]
