"""Conditions on a neuron or a module, and the neighbours that a hit carries."""

from __future__ import annotations

import copy
import gc
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.runtime.watching import Host, watching_for

X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def only_one_model() -> None:
    """Names begin with the variable of their model where several models are alive."""
    gc.collect()
    torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear, self.act = nn.LayerNorm(8), nn.Linear(8, 8), nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.act(self.linear(self.norm(x)))


class Model(nn.Module):
    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(depth))
        self.head = nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def step(model: Any, optimizer: Any = None, x: Tensor = X) -> float:
    loss = F.mse_loss(model(x), torch.zeros(len(x), 2))
    loss.backward()
    if optimizer is not None:
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def steps(model: Any, count: int) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return [step(model, optimizer) for _ in range(count)]


def names(neighbours: Any) -> list[tuple[int, str]]:
    return [(near.depth, near.name) for near in neighbours]


# -- the hit --------------------------------------------------------------------------------------


def test_a_neuron_of_one_module() -> None:
    model = Model()
    with torch.no_grad():
        model.layers[2].linear.bias[5] = 9.0  # type: ignore[index,union-attr]
    with watching_for("saturated:match('layers.2.linear') and x[0, 5] > 3") as host:
        steps(model, 2)
    assert len(host.hits) == 2
    hit = host.hits[1]
    assert hit.details.module == "layers.2.linear"
    assert "'match('layers.2.linear') and x[0, 5] > 3' holds" in hit.text
    assert hit.details.tensor.shape == (4, 8)
    assert hit.details.origin.text is not None
    assert "self.linear(self.norm(x))" in hit.details.origin.text
    assert names(hit.details.upstream)[:3] == [
        (1, "layers.2.linear.bias"), (1, "layers.2.norm"), (2, "layers.1"),
    ]  # fmt: skip
    assert (1, "layers.2.linear.weight") in names(hit.details.upstream)
    assert names(hit.details.downstream)[:3] == [
        (1, "layers.2.act"), (2, "layers.2"), (3, "head"),
    ]  # fmt: skip
    assert "Comes from:" in hit.description
    assert "Goes to:" in hit.description


def test_neighbours_have_shapes_numbers_and_lines() -> None:
    model = Model()
    with watching_for("saturated:match('layers.1') and absmax > 0") as host:
        steps(model, 3)
    hit = host.hits[-1]
    norm = next(n for n in hit.details.downstream if n.name == "layers.2.norm")
    assert norm.op == "LayerNorm" and norm.tensor is not None
    assert norm.tensor.shape == (4, 8)
    assert norm.tensor.min is not None and norm.tensor.max is not None
    assert norm.source is not None and norm.source.text is not None
    assert "self.norm(x)" in norm.source.text
    act = next(n for n in hit.details.upstream if n.name == "layers.1.act")
    assert act.tensor is not None and act.tensor.shape == (4, 8)
    weight = next(n for n in hit.details.upstream if n.op == "parameter")
    assert weight.tensor is not None and weight.tensor.size > 0


def test_the_first_pass_says_why_it_goes_nowhere() -> None:
    with watching_for("saturated:match('head') and absmax > 0") as host:
        steps(Model(), 2)
    first, second = host.hits
    assert first.details.note is not None and "once a backward pass has run" in first.details.note
    assert [n.name for n in second.details.downstream][-1] == "backward"


def test_the_glob_of_a_whole_subtree() -> None:
    with watching_for("precision:match('layers.1*') and norm > 0") as host:
        steps(Model(), 1)
    assert [hit.details.module for hit in host.hits] == [
        "layers.1.norm", "layers.1.linear", "layers.1.act", "layers.1",
    ]  # fmt: skip


def test_values_are_those_of_the_moment() -> None:
    model = Model()
    with watching_for("dead:match('layers.0.linear') and min < 0") as host:
        steps(model, 1)
    (hit,) = host.hits  # the activation in place makes zeros of them afterwards
    assert hit.details.tensor.min is not None and hit.details.tensor.min < 0


def test_modules_by_equality_and_conditions_in_one() -> None:
    with watching_for("dead:module == 'head' and (step > 1 or x.isnan().any())") as host:
        steps(Model(), 4)
    assert [hit.details.step for hit in host.hits] == [2, 3]


def test_a_recomputation_is_not_asked_twice() -> None:
    model = Model()
    for reentrant in (False, True):
        with watching_for("dead:match('head') and absmax > 0") as host:
            x = X.clone().requires_grad_()
            checkpoint(model, x, use_reentrant=reentrant).sum().backward()  # type: ignore[union-attr]
        assert len(host.hits) == 1


def test_functional_activations_without_a_glob() -> None:
    class Functional(Model):
        def forward(self, x: Tensor) -> Tensor:
            return self.head(torch.relu(self.layers[0].linear(x)))  # type: ignore[operator,union-attr]

    with watching_for("dead:zeros > 0") as host:
        steps(Functional(), 1)
    (hit,) = host.hits
    assert (hit.details.op, hit.details.module) == ("relu", "Functional")
    assert hit.details.upstream[0].name == "layers.0.linear"


# -- bad input ------------------------------------------------------------------------------------


def test_a_tensor_as_the_answer() -> None:
    with watching_for("dead:match('head') and x > 1e9", "dead:match('head') and x == x") as host:
        steps(Model(), 1)
    assert [hit.breakpoint_ids for hit in host.hits] == [(2,)]
    assert host.notices == []


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("match('head') and x[0, 99] > 3", "IndexError"),
        ("match('head') and x.nonsense > 3", "AttributeError"),
        ("match('head') and x[0] > 3 and x[1] > 3", "ambiguous"),
    ],
)
def test_a_condition_that_raises_is_said_and_training_goes_on(condition: str, said: str) -> None:
    model, twin = Model(), None
    twin = copy.deepcopy(model)
    with watching_for(f"dead:{condition}") as host:
        losses = steps(model, 3)
    assert losses == steps(twin, 3)
    assert host.hits == []
    assert host.notices and all(said in notice for notice in host.notices)


def test_a_loop_over_the_tensor() -> None:
    with watching_for("dead:match('head') and any(row.max() > -1e9 for row in x)") as host:
        steps(Model(), 1)
    assert len(host.hits) == 1


def test_a_glob_that_matches_nothing() -> None:
    with watching_for("saturated:match('layer.2.linaer') and x[0, 5] > 3") as host:
        steps(Model(), 6)
    (notice,) = host.notices
    assert notice.startswith("No module matches 'layer.2.linaer'. Similar names: layers.2.linear")


def test_a_module_that_is_never_called() -> None:
    model: Any = Model()
    model.spare = nn.Linear(8, 8)
    with watching_for("saturated:match('spare') and x[0, 5] > 3") as host:
        steps(model, 6)
    assert host.notices == ["No module that matches 'spare' was called in 3 steps."]


def test_a_module_replaced_while_armed() -> None:
    model = Model()
    with watching_for("saturated:match('head') and absmax > 0") as host:
        steps(model, 1)
        model.head = nn.Linear(8, 2)
        steps(model, 1)
    assert [hit.details.module for hit in host.hits] == ["head", "head"]
    assert host.notices == []


def test_two_models_are_told_apart() -> None:
    left, right = Model(1), Model(1)
    with watching_for(
        "saturated:match('right.head') and absmax > 0", "saturated:match('head') and absmax > 0"
    ) as host:
        for model in (left, right):
            loss = model(X).sum()
            loss.backward()
    assert [hit.breakpoint_ids for hit in host.hits] == [(2,), (1,), (2,)]


def test_a_model_of_thousands_of_modules() -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleList(nn.Identity() for _ in range(3000))
            self.hidden = [nn.Identity() for _ in range(300)]
            self.head = nn.Linear(8, 2)

        def forward(self, x: Tensor) -> Tensor:
            for part in (*self.parts, *self.hidden):
                x = part(x)
            return self.head(x)

    with watching_for("saturated:match('parts.2999') and absmax > 0") as host:
        steps(Wide(), 2)
    assert [hit.details.module for hit in host.hits] == ["parts.2999"] * 2
    assert host.notices == []


# -- hygiene --------------------------------------------------------------------------------------


def test_nothing_changes_and_nothing_is_kept() -> None:
    model = Model()
    twin = copy.deepcopy(model)
    plain = steps(twin, 5)
    seen: list[str] = []
    model.head.register_full_backward_hook(lambda m, gi, go: seen.append("backward"))
    with watching_for("saturated:match('layers.*') and x[0, 5] > 1e9") as host:
        assert steps(model, 5) == plain
        gc.collect()
        assert not any(
            isinstance(o, Tensor) and o.grad_fn is not None for o in gc.get_objects() if _is_ours(o)
        )
    assert seen == ["backward"] * 5
    assert host.hits == []
    assert not any(module._forward_hooks for module in model.modules())


def _is_ours(o: Any) -> bool:
    return type(o) is Tensor and o.shape == (4, 8)


def test_transforms_and_subclasses() -> None:
    class Own(Tensor):
        pass

    model = Model(1)
    host: Host
    with watching_for("saturated:match('head') and absmax > 0") as host:
        torch.vmap(model)(X[:, None])
        model(X.as_subclass(Own))
    assert host.notices == []
