"""Data breakpoints: what is written past torch is found in time, and nobody else is blamed."""

from __future__ import annotations

import ctypes
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from watching import data_breaking, watchable

from zentracer.frameworks.pytorch.data import registry
from zentracer.frameworks.pytorch.data.pace import Pace
from zentracer.frameworks.pytorch.data.watched import Watched


def by_numpy(x: torch.Tensor) -> np.ndarray[Any, Any]:
    return x.numpy()


def by_address(x: torch.Tensor) -> np.ndarray[Any, Any]:
    memory = (ctypes.c_float * x.numel()).from_address(x.data_ptr())
    return np.ctypeslib.as_array(memory).reshape(x.shape)


class World:
    """A model with an optimiser, and an array in the memory of its weight."""

    def __init__(self, size: int = 4, array_of: Any = by_numpy) -> None:
        torch.manual_seed(0)
        self.fc = nn.Linear(size, 4)
        self.array = array_of(self.fc.weight.detach())
        self.opt = torch.optim.SGD([self.fc.bias], lr=0.1)
        self.x = torch.randn(5, size)

    def loss(self) -> torch.Tensor:
        return self.fc(self.x).square().sum()


def line() -> int:
    return sys._getframe(1).f_lineno


@pytest.mark.parametrize("array_of", [by_numpy, by_address])
@pytest.mark.parametrize("size", [2, 4, 20_000])
def test_array_that_was_taken_before(size: int, array_of: Any) -> None:
    world = World(size, array_of)
    with data_breaking(sys._getframe(), "world.fc.weight") as host:
        loss = world.loss()
        loss.backward(retain_graph=True); since = line()  # fmt: skip  # noqa: E702
        world.array[1] = 5
        world.opt.step(); here = line()  # fmt: skip  # noqa: E702
        world.array[2] = 6
        torch.ones(1); next_call = line()  # fmt: skip  # noqa: E702
    first, second = host.hits
    assert [at for _, at in host.frames] == [here, next_call]
    assert first.text.startswith("world.fc.weight changed, found at SGD.step")
    assert (first.details.note or "").startswith(
        f"found at the next safe point; it was written between test_data_unseen.py:{since} and here"
    )
    assert "nothing in torch wrote it" in first.details.note
    assert second.details.note is not None and host.notices == []


@pytest.mark.parametrize("array_of", [by_numpy, by_address])
def test_array_that_is_only_read(array_of: Any) -> None:
    world = World(array_of=array_of)
    with data_breaking(sys._getframe(), "world.fc.weight", "world.fc.weight.grad") as host:
        for _ in range(2):
            world.loss().backward()
            assert world.array.sum() == world.array.copy().sum()
            world.opt.step()
            world.opt.zero_grad()
    assert {hit.breakpoint_ids for hit in host.hits} == {(2,)}
    assert all(hit.details.note is None for hit in host.hits) and host.notices == []


@pytest.mark.parametrize("array_of", [by_numpy, by_address])
def test_write_in_a_hook_is_not_blamed_on_the_backward_pass(array_of: Any) -> None:
    world = World(array_of=array_of)
    with data_breaking(sys._getframe(), "world.fc.weight") as host:
        world.fc.bias.register_hook(lambda _: world.array.fill(3))
        world.loss().backward()
    (hit,) = host.hits
    assert hit.details.note is not None and "nothing in torch wrote it" in hit.details.note


class InNumPy(torch.optim.Optimizer):
    """Does as some do that are written in C."""

    def __init__(self, parameters: Any, arrays: list[np.ndarray[Any, Any]]) -> None:
        super().__init__(parameters, {})
        self.arrays = arrays

    def step(self, closure: Any = None) -> None:
        for array in self.arrays:
            array -= 1


@pytest.mark.parametrize("array_of", [by_numpy, by_address])
def test_update_that_torch_does_not_count_is_the_optimisers(array_of: Any) -> None:
    world = World(array_of=array_of)
    optimizer = InNumPy([world.fc.weight], [world.array])
    with data_breaking(sys._getframe(), "world.fc.weight") as host:
        optimizer.step()
    (hit,) = host.hits
    assert hit.details.writer == "InNumPy.step" and hit.details.note is None


class Budget:
    """Lets so many comparisons through."""

    def __init__(self, count: int) -> None:
        self.left = count

    def may(self) -> bool:
        self.left -= 1
        return self.left >= 0


def watched_of(frame: Any, *expressions: str) -> Watched:
    targets = []
    for expression in expressions:
        data_id, _ = watchable(expression, frame)
        assert data_id is not None
        targets.append(registry.find(data_id))
    watched = Watched()
    watched.set([target for target in targets if target is not None], precise=False)
    return watched


def test_what_there_is_no_time_for_keeps_its_turn() -> None:
    arrays = [np.zeros(4) for _ in range(3)]
    names = ("arrays[0]", "arrays[1]", "arrays[2][0]", "arrays[2][1]", "arrays[2][2]")
    watched = watched_of(sys._getframe(), *names)
    for array in arrays:
        array[:] = 1
    found = []
    for count in (1, 2, 0, 1, 5):
        now = watched.moved(None, Budget(count).may, glances=True)
        found.append([one.target.label for one in now])
    assert found == [[names[0]], [*names[1:3]], [], [names[3]], [names[4]]]
    assert [arrays[0].sum(), watched.targets == {}] == [4, False]


def test_large_contents_are_read_in_turn() -> None:
    arrays = [np.zeros(100_000, dtype=np.float32) for _ in range(3)]
    names = [f"arrays[{at}]" for at in range(3)]
    watched = watched_of(sys._getframe(), *names)
    for array in arrays:
        array[99_900] = 1  # no sample has it
    found = []
    for count in (1, 0, 1, 5):
        assert watched.moved(None, Budget(9).may, glances=True) == []
        found.append([one.target.label for one in watched.read(Budget(count).may)])
    assert found == [[names[0]], [], [names[1]], [names[2]]]


def test_skipped_look_is_not_the_next_updates() -> None:
    world = World()
    world.loss().backward()
    watched = watched_of(sys._getframe(), "world.fc.weight")
    world.array[0] = 7
    assert watched.moved(None, Budget(0).may, glances=True) == []
    started = watched.look.number
    (found,) = watched.moved(None, Budget(9).may, glances=True)
    assert not found.is_within(started, counts=False)


def test_comparing_takes_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    pace = Pace()
    compared = 0.0
    for _ in range(1000):
        now[0] += 0.01
        with pace:
            while pace.may():
                now[0] += 0.001
                compared += 0.001
    assert compared < 0.1 + 0.02 * now[0] + 0.002


def test_module_in_a_condition() -> None:
    net = nn.ModuleDict({"encoder": nn.Linear(2, 2), "head": nn.Linear(2, 2)})
    alone = torch.zeros(2)
    names = ("net['encoder'].weight", "net['head'].weight", "net['encoder'].bias.grad", "alone")
    texts = [f"{name} if match('encoder*')" for name in names]
    with data_breaking(sys._getframe(), *texts, "alone if module == ''") as host:
        with torch.no_grad():
            for one in (net["encoder"].weight, net["head"].weight, alone):
                one.add_(1)
        net["encoder"](torch.ones(2)).sum().backward()
    assert [hit.breakpoint_ids for hit in host.hits] == [(1,), (5,), (3,)]
    assert host.notices == []


def step_of(model: nn.Module) -> None:
    model(torch.ones(1, 2)).sum().backward()


best_of_all = {"weight": torch.zeros(2)}


@pytest.mark.parametrize("expression", ["best['weight']", "tensors[0]", "best_of_all['weight']"])
def test_entry_that_is_bound_anew(expression: str) -> None:
    best, tensors, net = {"weight": torch.zeros(2)}, [torch.zeros(2)], nn.Linear(2, 1)
    with data_breaking(sys._getframe(), expression) as host:
        step_of(net)
        other = torch.ones(2)
        best["weight"] = tensors[0] = best_of_all["weight"] = other
        step_of(net)
        other.add_(1); here = line()  # fmt: skip  # noqa: E702
        del other
        best["weight"] = tensors[0] = best_of_all["weight"] = torch.zeros(2)
        step_of(net)
    assert [hit.text.partition(" (")[0] for hit in host.hits] == [
        f"{expression} holds another tensor now, found at ones",
        f"{expression} changed by add_",
        f"{expression} holds another tensor now, found at ones",
    ]
    assert host.frames[1] == (__file__, here)
    assert "it was assigned " in (host.hits[0].details.note or "")
    assert host.notices == [] and host.statuses[1].verified


def test_entries_that_are_read_or_bound_beside_it() -> None:
    best, tensors, net = {"weight": torch.zeros(2)}, [torch.zeros(2)], nn.Linear(2, 1)
    with data_breaking(sys._getframe(), "best['weight']", "tensors[0]") as host:
        for _ in range(2):
            step_of(net)
            best["bias"] = torch.ones(2)
            tensors.append(best["weight"] + 1)
            best = {name: x.clone() for name, x in best.items()}
    assert host.hits == [] and host.notices == []


def test_list_is_not_kept_alive_for_its_entry() -> None:
    class Noted(nn.Module):
        """Tells by its end that of the list."""

    net, owner = nn.Linear(2, 1), Noted()
    tensors = [torch.zeros(2), owner]
    end = weakref.ref(owner)
    with data_breaking(sys._getframe(), "tensors[0]") as host:
        step_of(net)
        del tensors, owner
        assert end() is None
        step_of(net)
    assert host.hits == []
    assert (host.statuses[1].message or "").startswith("tensors[0] is gone")


def test_place_is_looked_at_without_steps() -> None:
    net, x = nn.Linear(2, 1), torch.ones(2)
    kept = SimpleNamespace(cache=torch.zeros(3), table={"keys": torch.zeros(3)})
    with data_breaking(sys._getframe(), "kept.cache", "kept.table['keys']") as host:
        net(x)
        other = torch.ones(3)
        kept.cache = other
        net(x)
        kept.table["keys"] = other
        net(x)
        kept.cache = kept.table["keys"] = None
        del other
        net(x)
    assert [hit.breakpoint_ids for hit in host.hits] == [(1,), (2,), (1, 2)]
    assert host.notices == []


def test_end_is_told_without_steps() -> None:
    x = torch.zeros(3)
    with data_breaking(sys._getframe(), "x") as host:
        torch.ones(1).relu_()
        assert host.statuses[1].verified
        del x
        torch.ones(1).relu_()
        assert "x is gone" in (host.statuses[1].message or "")
    assert host.hits == [] and host.notices == []
