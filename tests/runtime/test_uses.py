"""The line that applies a parameter, found in the source."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.runtime.watching import Host, watching_for
from zentracer.control.source import parsed
from zentracer.control.uses import uses_of

CASES: dict[str, tuple[dict[str, tuple[Any, ...]], str]] = {
    "h = x @ w": ({"w": ()}, "x @ w"),
    "h = F.linear(x, self.w.t(), b)": ({"self.w": ()}, "F.linear(x, self.w.t(), b)"),
    "for w, b in zip(ws, bs):\n    h = act(h @ w + b)": ({"ws": (3,)}, "h @ w"),
    "for i, (w, b) in enumerate(layers):\n    h = h @ w + b": ({"layers": (0, 0)}, "h @ w"),
    "for name, w in table.items():\n    h = h.matmul(w)": ({"table": ("a",)}, "h.matmul(w)"),
    "h = x @ table['b'] @ table['a']": ({"table": ("a",)}, "x @ table['b'] @ table['a']"),
    "w = ws[i]\nh = x @ w": ({"ws": (1,)}, "x @ w"),
    "def net(x):\n    return x @ w": ({"w": ()}, "x @ w"),
    "h = [x @ w for w in reversed(ws)]": ({"ws": (0,)}, "x @ w"),
}


@pytest.mark.parametrize("source", CASES)
def test_a_use_is_found(source: str, tmp_path: Path) -> None:
    names, wanted = CASES[source]
    path = tmp_path / "program.py"
    path.write_text(source)
    module = parsed(str(path))
    assert module is not None
    assert [module.text(u.node) for u in uses_of(module, module.tree, names) if u.is_product] == [
        wanted
    ]


@pytest.mark.parametrize(
    "source",
    [
        "SGD([*ws, b])",
        "h = x @ ws[0]",
        "def net(x, ws):\n    return x @ ws[1]",
        "w = ws[1]\nw = other\nh = x @ w",
        "for a, w in zip(xs, ys):\n    h = x @ w",
    ],
)
def test_what_is_no_use(source: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(source))
    module = parsed(str(path))
    assert module is not None
    assert uses_of(module, module.tree, {"ws": (1,)}) == []


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(16, 16) / 4 for _ in range(12))
        self.out = nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        for weight in self.weights:
            x = torch.sigmoid(x @ weight)
        return self.out(x)


def backward(net: Any) -> Host:
    with watching_for("vanishing") as host:
        F.cross_entropy(net(torch.randn(8, 16)), torch.arange(8) % 2).backward()
    return host


def test_a_list_of_parameters() -> None:
    torch.manual_seed(0)
    (hit,) = backward(Listed()).hits
    assert (hit.details.origin.text or "").strip() == "x = torch.sigmoid(x @ weight)"


def test_a_function_over_global_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layers = [(nn.Parameter(torch.randn(16, 16) / 4), torch.zeros(16)) for _ in range(12)]
    monkeypatch.setitem(globals(), "LAYERS", layers)
    (hit,) = backward(over_globals).hits
    assert (hit.details.origin.text or "").strip() == "x = torch.sigmoid(x @ w + b)"


LAYERS: list[tuple[Tensor, Tensor]] = []


def over_globals(x: Tensor) -> Tensor:
    for w, b in LAYERS:
        x = torch.sigmoid(x @ w + b)
    return x
