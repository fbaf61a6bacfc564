"""``zt``: what it answers, what it says when it cannot, and that it only looks."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from torch import nn

from zentracer import zt as offered
from zentracer.zt.errors import ZtError

Z: Any = offered.at(None, "test")
X = [[1.0, -3.0], [math.nan, math.inf]]
KINDS = {
    "tensor": torch.tensor(X),
    "parameter": nn.Parameter(torch.tensor(X)),
    "half": torch.tensor(X, dtype=torch.float16),
    "view": torch.tensor(X).t(),
    "array": numpy.array(X),
    "list": [torch.tensor(X[0]), numpy.array(X[1])],
    "dict": {"a": torch.tensor(X[0]), "b": [math.nan, math.inf, None]},
    "generator": None,
}


def value_of(kind: str) -> Any:
    return (torch.tensor(row) for row in X) if kind == "generator" else KINDS[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_are_over_the_finite_elements(kind: str) -> None:
    expected = {
        "norm": math.sqrt(10), "absmax": 3, "min": -3, "max": 1, "mean": -1, "std": math.sqrt(8),
        "nan": 1, "inf": 1, "zeros": 0, "has_nan": True, "has_inf": True,
    }  # fmt: skip
    found = {name: getattr(Z, name)(value_of(kind)) for name in expected}
    assert found == pytest.approx(expected)


def test_modules_stand_for_their_parameters() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 1))
    parameters = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    assert Z.norm(model) == pytest.approx(float(parameters.norm()))
    assert not Z.has_nan(model)
    model[1].running_mean[0] = math.nan
    assert Z.has_nan(model) and Z.nan(model) == 1


def test_a_module_s_length_is_not_asked_for() -> None:
    class Empty(nn.Linear):
        def __len__(self) -> int:
            raise AssertionError("the program's own")

    model = nn.Sequential(nn.Linear(1, 1), Empty(1, 1))
    nn.init.constant_(model[1].weight, 7.0)
    assert Z.max(model) == 7.0


def test_grad_norm_is_that_of_clip_grad_norm() -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert Z.grad_norm(model) == 0
    model(torch.ones(4, 3)).square().sum().backward()
    expected = float(nn.utils.clip_grad_norm_(model.parameters(), 1e9))
    for x in (model, optimizer, model.parameters(), list(model.parameters())):
        assert Z.grad_norm(x) == pytest.approx(expected)
    assert Z.grad_norm(model.weight) < expected
    model.bias.grad[0] = math.nan
    assert math.isnan(Z.grad_norm(model))
    with pytest.raises(ZtError, match=r"grad_norm takes a module, an optimiser"):
        Z.grad_norm(numpy.ones(3))


def test_stats_and_hist_read_in_one_line() -> None:
    x = torch.tensor([0.0, 1.0, 2.0, math.nan])
    stats = Z.stats(x)
    assert repr(stats) == "float32[4] cpu · x∈[0, 2] · μ=1 σ=1 norm=2.24 · NaN 1 · zeros 1"
    assert (stats.shape, stats.max, stats.nan, stats.zeros) == ((4,), 2.0, 1, 1)
    assert repr(Z.stats([x, 1])) == "list of 5 · x∈[0, 2] · μ=1 σ=0.816 norm=2.45 · NaN 1 · zeros 1"
    hist = Z.hist(x, 2)
    assert (hist.counts, hist.edges) == ([1, 2], [0, 1, 2])
    assert repr(hist) == "0 ▄█ 2 · 3 elements"
    assert repr(Z.hist(torch.full((2,), math.nan))) == "no finite element"


@pytest.mark.parametrize("kind", ["torch", "numpy"])
def test_changed_compares_with_the_last_evaluation_on_the_line(kind: str) -> None:
    x = torch.full((100,), 1.0) if kind == "torch" else numpy.ones(100, dtype="float32")
    frame = sys._getframe()

    def evaluated(expression: str) -> float:
        # One line, as in a loop: the place is the line of the frame and the expression.
        changes = [offered.at(frame, f"{kind} {expression}").changed(x) for _ in range(1)]
        return float(changes[0])

    found = []
    for change in (0.0, 0.0, 0.5, 0.0, math.nan, 0.0):
        if change:
            x[3] += change
        found.append(evaluated("zt.changed(x)"))
    assert found == [0.0, 0.0, pytest.approx(0.05), 0.0, math.inf, 0.0]
    assert evaluated("zt.changed(x) > 0") == 0.0, "another expression has a memory of its own"


def test_changed_with_a_threshold() -> None:
    x = torch.ones(10)
    helpers = [offered.at(None, "threshold") for _ in range(3)]
    found = []
    for helper in helpers:
        found.append(helper.changed(x, 0.02))
        x *= 1.05
    assert found == [False, True, True]


def test_equal_and_close() -> None:
    x = torch.tensor([1.0, math.nan])
    assert Z.equal(x, x.clone()) and Z.equal(x, x.numpy()) and Z.equal(2, 2.0)
    assert not Z.equal(x, torch.tensor([1.0, 2.0])) and not Z.equal(x, torch.ones(3))
    assert Z.close(x, x + 1e-7) and not Z.close(x, x + 1e-2) and Z.close(x.half(), x)
    assert not Z.close(1.0, math.inf)
    with pytest.raises(ZtError, match="compares two tensors, arrays or numbers, not a str"):
        Z.equal(x, "x")


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ("text", "zt.norm takes a tensor, an array or a list of them, not a str."),
        (None, "zt.norm takes a tensor or an array; this is None."),
        (torch.ones(2, device="meta"), r"cannot look into float32\[2\] meta \(meta: no data\)"),
        (nn.LazyLinear(2).weight, r"cannot look into float32 cpu \(uninitialised \(lazy\)\)"),
        (nn.LazyLinear(2), "uninitialised"),
        (numpy.array(["a"]), "not numbers"),
    ],
)
def test_what_has_no_answer_is_a_sentence(x: Any, message: str) -> None:
    with pytest.raises(ZtError, match=message):
        Z.norm(x)


def test_stats_of_what_has_no_data_say_why() -> None:
    assert repr(Z.stats(torch.ones(2, device="meta"))) == "float32[2] meta · meta: no data"
    assert repr(Z.stats(nn.LazyLinear(2).weight)) == "float32 cpu · uninitialised (lazy)"


def test_statistics_without_finite_elements() -> None:
    empty = torch.ones(0)
    assert math.isnan(Z.max(empty)) and math.isnan(Z.mean(torch.tensor(math.nan)))
    assert Z.norm(empty) == 0 and math.isnan(Z.std(1.0)) and not Z.has_nan(empty)


def test_it_only_looks() -> None:
    torch.manual_seed(0)
    x = torch.randn(300, requires_grad=True)
    y = (x * 2).sum()
    state, version = torch.get_rng_state(), x._version
    for name in ("norm", "max", "has_nan", "stats", "hist", "changed", "zeros"):
        getattr(Z, name)(x)
        getattr(Z, name)(y)
    Z.equal(x, x)
    assert torch.equal(torch.get_rng_state(), state) and x._version == version
    assert x.grad is None and x.grad_fn is None
    y.backward()
    assert torch.equal(x.grad, torch.full_like(x, 2))


def test_a_user_variable_of_the_name_wins() -> None:
    from zentracer.control.line_condition import compile_test

    test = compile_test("zt > 3")
    zt = 4  # noqa: F841  read through the frame
    assert test(sys._getframe())


def test_conditions_see_locals_in_comprehensions_and_bind_nothing() -> None:
    from zentracer.control.line_condition import compile_test

    limit, xs = 2, [1, 5]
    frame = sys._getframe()
    assert compile_test("any(x > limit for x in xs)")(frame)
    assert compile_test("(fresh := limit) == 2 and fresh")(frame)
    assert compile_test("zt.max(xs) == 5")(frame)
    assert "fresh" not in frame.f_locals and "zt" not in frame.f_locals
    del limit, xs
