"""Which modules of the live models there are, asked for from another thread."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from zentracer.frameworks.pytorch.live import Pace, live_roots
from zentracer.frameworks.pytorch.module_index import ModuleIndex
from zentracer.frameworks.pytorch.module_list import ModuleList
from zentracer.frameworks.pytorch.modules import qualified_name
from zentracer.runtime import Runtime
from zentracer.wire.messages import ModuleInfo, Modules, ModulesQuery


@pytest.fixture(autouse=True)
def nothing_else_is_alive() -> Iterator[None]:
    gc.collect()
    left = [type(root).__name__ for root in live_roots(Pace())]
    if left:  # other tests of this process keep models in caches
        gc.freeze()
    yield
    gc.unfreeze()


def ask(query: str = "", limit: int = 200) -> Modules:
    return ModuleList().answer(ModulesQuery(query=query, limit=limit))


def names(query: str = "") -> list[str]:
    return [module.name for module in ask(query).modules]


def infos(root: nn.Module) -> list[ModuleInfo]:
    index = ModuleIndex(root, Pace())
    return [index.info(i) for i in range(len(index))]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4))
        self.head = nn.Linear(4, 2)


def test_names_are_those_of_conditions() -> None:
    net = Net()
    assert names() == [qualified_name(module, net) for module in net.modules()]
    assert names()[:2] == ["Net", "encoder"]


def test_sizes() -> None:
    net = Net()
    found = {module.name: module for module in ask().modules}
    assert {name: found[name].parameters for name in ("Net", "encoder", "encoder.1", "head")} == {
        "Net": sum(p.numel() for p in net.parameters()),
        "encoder": 36,
        "encoder.1": 0,
        "head": 10,
    }
    assert (found["Net"].children, found["encoder"].children, found["head"].children) == (2, 3, 0)
    assert found["encoder.0"].class_name == "Linear"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("encoder.*", ["encoder.0", "encoder.1", "encoder.2"]),
        ("ENCODER.?", ["encoder.0", "encoder.1", "encoder.2"]),
        ("linear", ["encoder.0", "encoder.2", "head"]),
        ("*[02]", ["encoder.0", "encoder.2"]),
        (" head ", ["head"]),
        ("re*", ["encoder.1"]),
        ("", ["Net", "encoder", "encoder.0", "encoder.1", "encoder.2", "head"]),
    ],
)
def test_queries(query: str, expected: list[str]) -> None:
    net = Net()
    assert names(query) == expected
    assert net is not None


def test_limit_and_counts() -> None:
    net = Net()
    answer = ask("encoder", limit=2)
    assert [module.name for module in answer.modules] == ["encoder", "encoder.0"]
    assert (answer.matching, answer.total, answer.note) == (4, 6, None)
    assert ask(limit=0).modules == () == ask(limit=-1).modules
    assert net is not None


def test_why_there_are_none() -> None:
    assert ask() == Modules(
        modules=(), matching=0, total=0, note="No model is alive in this process yet."
    )
    net = Net()
    assert ask("nowhere").note == "No module matches nowhere."
    assert net is not None


def test_without_a_framework() -> None:
    answer = Runtime({}).modules(ModulesQuery())
    assert answer.note == "PyTorch has not been imported in this process yet."


def test_several_models_the_biggest_first() -> None:
    criterion, net, small = nn.MSELoss(), Net(), nn.Sequential(nn.Linear(1, 1))
    assert names() == [
        "Net", "encoder", "encoder.0", "encoder.1", "encoder.2", "head",
        "Sequential", "0",
        "MSELoss",
    ]  # fmt: skip
    assert criterion and net and small


def test_shared_parts_appear_and_count_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(5, 3)
            self.again = nn.ModuleList([nn.ReLU()])
            self.out = nn.Linear(3, 5, bias=False)
            self.out.weight = self.table.weight
            self.same = self.out.weight
            self.again.append(self.out)
            self.again.append(self.again[0])
            self.alias = self.again

    net = Tied()
    assert [(i.name, i.parameters) for i in infos(net)] == [
        (name or "Tied", sum(p.numel() for p in module.parameters()))
        for name, module in net.named_modules()
    ]


def test_wrappers_are_not_in_the_names() -> None:
    net = Net()
    compiled = torch.compile(net)
    assert names("*.0") == ["encoder.0"]
    assert names()[:2] == ["OptimizedModule", "Net"]
    assert compiled is not None


def test_scripted_modules() -> None:
    scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 4), nn.ReLU()))
    found = infos(scripted)
    assert [(i.name, i.parameters) for i in found][1:] == [("0", 16), ("1", 0)]
    assert found[0].parameters == 16


def test_what_has_no_size_yet() -> None:
    lazy = nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 1))
    assert [(i.class_name, i.parameters) for i in infos(lazy)] == [
        ("Sequential", 5),
        ("LazyLinear", 0),
        ("Linear", 5),
    ]
    with torch.device("meta"):
        assert infos(nn.Linear(10**6, 10**6))[0].parameters == 10**12 + 10**6


def test_modules_with_a_mind_of_their_own() -> None:
    """Half built, holding themselves, raising on every attribute: none of their code runs."""

    class Touchy(nn.Module):
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"asked for {name}")

        def named_modules(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("asked for its modules")

    class Liar(nn.Module):
        @property
        def __class__(self) -> Any:  # type: ignore[override]
            raise AssertionError("asked for its class")

    half = Touchy.__new__(Touchy)
    touchy = Touchy()
    object.__getattribute__(touchy, "_modules").update({"inner": nn.ReLU(), "none": None})
    circle = nn.Sequential(nn.Linear(1, 1))
    circle._modules["self"] = circle[0]._modules["above"] = circle
    outer = nn.Sequential(circle)
    liar = Liar()
    found = ask()
    assert sorted((m.name, m.class_name, m.parameters) for m in found.modules) == [
        ("0", "Sequential", 2),
        ("0.0", "Linear", 2),
        ("Liar", "Liar", 0),
        ("Sequential", "Sequential", 2),
        ("Touchy", "Touchy", 0),
        ("Touchy", "Touchy", 0),
        ("inner", "ReLU", 0),
    ]
    assert half is not touchy and outer is not None and liar is not None


def test_a_model_that_is_changed_meanwhile() -> None:
    net = nn.ModuleList(nn.Linear(1, 1) for _ in range(300))
    done = threading.Event()

    def change() -> None:
        count = 0
        while not done.is_set():
            net._modules[f"extra{count % 50}"] = nn.ReLU()
            net._modules.pop(f"extra{(count + 25) % 50}", None)
            count += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            found = infos(net)
            assert len(found) >= 301 and found[0].parameters == 600
    finally:
        done.set()
        thread.join()


def test_no_module_is_kept_alive() -> None:
    net = Net()
    modules = ModuleList()
    assert modules.answer(ModulesQuery()).total == 6
    del net
    gc.collect()
    assert live_roots(Pace()) == []


def test_a_deep_model() -> None:
    """Deeper than Python's own recursion goes."""
    net: nn.Module = nn.Linear(1, 1)
    for _ in range(3000):
        outer = nn.Module()
        outer.inner = net
        net = outer
    found = infos(net)
    assert len(found) == 3001 and found[0].parameters == 2
    while isinstance(inner := net._modules.get("inner"), nn.Module):
        net._modules.clear()  # or freeing it would recurse
        net = inner
