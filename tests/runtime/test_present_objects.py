"""How modules, storages, optimisers, graph nodes and plain objects read."""

from __future__ import annotations

import enum
import functools
import threading
from dataclasses import dataclass

import pytest

from zentracer.present import lazy
from zentracer.present.attributes import attributes
from zentracer.present.children import children
from zentracer.present.rows import Lazy, Text, ranges
from zentracer.present.summary import summary


def rows(value):
    return {name: child for name, child, _suffix in children(value)}


def clicked(row):
    """The value that a click on a lazy row brings."""
    [(_name, value, _suffix)] = row.children()
    return value


# ---- plain objects (no framework needed) ---------------------------------------------------


class Plain:
    kept = 3

    def __init__(self):
        self.own = 1
        self._waits = threading.Event()

    @property
    def asks(self):
        raise AssertionError("a property was evaluated by looking")

    @property
    def doubled(self):
        return self.own * 2

    @property
    def fails(self):
        raise ValueError("not today")

    @property
    def waits(self):
        return self._waits.wait()

    @functools.cached_property
    def cached(self):
        raise AssertionError("a cached property was evaluated by looking")

    def method(self):
        return self

    @staticmethod
    def static():
        return 1


class Slots:
    __slots__ = ("empty", "full")

    def __init__(self):
        self.full = 5


class Dynamic:
    def __dir__(self):
        return ["made_up"]

    def __getattr__(self, name):
        raise AssertionError(f"{name} was asked for by looking")


class Refuses:
    def __init__(self):
        object.__setattr__(self, "held", 1)

    def __getattribute__(self, name):
        raise RuntimeError("go away")


def test_properties_are_rows_that_wait_for_a_click():
    found = dict(attributes(Plain()))
    assert found["own"] == 1
    assert found["kept"] == 3
    assert found["method"]() is found["method"].__self__
    assert found["static"]() == 1
    for name in ("asks", "doubled", "cached"):
        assert isinstance(found[name], Lazy)
        assert summary(found[name]) == "not evaluated (property)"
    assert clicked(found["doubled"]) == 2
    assert summary(clicked(found["fails"])) == "raised ValueError: not today"


def test_a_property_that_waits_is_given_up_and_flagged(monkeypatch):
    monkeypatch.setattr(lazy, "BUDGET", 0.1)
    plain = Plain()
    row = dict(attributes(plain))["waits"]
    assert summary(clicked(row)) == lazy.BLOCKED.format(0.1)
    plain._waits.set()
    row.outcome.done.wait()
    assert clicked(row) is True


def test_cached_properties_show_what_they_hold():
    plain = Plain()
    plain.__dict__["cached"] = 7
    assert dict(attributes(plain))["cached"] == 7


def test_empty_slots_are_left_out():
    found = dict(attributes(Slots()))
    assert found["full"] == 5
    assert "empty" not in found


def test_attributes_made_by_getattr_are_not_asked_for():
    assert summary(dict(attributes(Dynamic()))["made_up"]) == "not evaluated (made by __getattr__)"


def test_an_object_that_refuses_everything_shows_what_it_holds():
    assert dict(attributes(Refuses()))["held"] == 1


def test_enum_members_keep_name_and_value():
    class Colour(enum.Enum):
        RED = 1

    found = dict(attributes(Colour.RED))
    assert (found["name"], found["value"]) == ("RED", 1)


def test_classes_show_their_own_attributes():
    found = dict(attributes(Plain))
    assert found["kept"] == 3
    assert isinstance(found["doubled"], property)


def test_ranges_cover_everything_once():
    seen = []

    def fetch(start, stop):
        seen.extend(range(start, stop))
        return [(str(at), at, None) for at in range(start, stop)]

    def open_all(found):
        for _, row, _ in found:
            if not isinstance(row, int):
                open_all(row.children())

    open_all(ranges(100, 25_050, fetch))
    assert seen == list(range(100, 25_050))


# ---- torch ---------------------------------------------------------------------------------

torch = pytest.importorskip("torch")
from torch import nn

from zentracer.present.short_repr import short_tensor_reprs
from zentracer.present.storages import names_sharing


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.norm = nn.BatchNorm1d(3)
        self.scale = nn.Parameter(torch.ones(3))
        self.tied = self.first.weight
        self.width = 3

    @property
    def device(self):
        raise AssertionError("a property was evaluated by looking")

    def extra_repr(self):
        raise AssertionError("extra_repr was called by looking")


def test_module():
    net = Net().eval()
    assert summary(net) == "Net · 18 parameters, 72 B · eval"
    assert summary(net.first) == (
        "Linear(in_features=2, out_features=3, bias=True) · 9 parameters, 36 B · eval"
    )
    assert list(rows(net)) == [
        "parameters",
        "training",
        "first",
        "norm",
        "scale",
        "tied",
        "attributes",
    ]
    assert list(rows(net.norm))[2:] == [
        "weight",
        "bias",
        "running_mean",
        "running_var",
        "num_batches_tracked",
        "attributes",
    ]
    inside = rows(rows(net)["attributes"])
    assert inside["width"] == 3
    assert summary(inside["device"]) == "not evaluated (property)"
    assert "_parameters" not in inside


def test_module_children_can_be_written_as_expressions():
    net = nn.Sequential(Net())
    by_name = {name: suffix for name, _, suffix in children(net)}
    assert eval(f"net{by_name['0']}") is net[0]
    by_name = {name: suffix for name, _, suffix in children(net[0])}
    assert eval(f"net[0]{by_name['scale']}") is net[0].scale


def test_lazy_modules_say_how_many_parameters_are_missing():
    text = "LazyLinear(in_features=0, out_features=4, bias=True) · 0 parameters, 0 B"
    assert summary(nn.LazyLinear(4)) == f"{text}, 2 uninitialised (lazy) · training"


def test_meta_modules_are_counted():
    with torch.device("meta"):
        net = nn.Linear(8, 8)
    assert "72 parameters, 288 B" in summary(net)


def test_a_module_before_its_init_has_run():
    early = nn.Linear.__new__(nn.Linear)
    assert summary(early) == "Linear · 0 parameters, 0 B · eval"
    assert list(rows(early)) == ["parameters", "training", "attributes"]


def test_storage():
    big = torch.zeros(30_000_000)
    raw = big.untyped_storage()
    assert summary(raw) == "cpu · 120 MB"
    assert list(rows(raw)) == ["device", "nbytes", "data_ptr", "resizable"]
    net = nn.Linear(2, 2)
    frame = {"big": big, "part": big[3:], "other": torch.zeros(2), "net": net}
    assert names_sharing(raw, frame) == ["big", "part"]
    assert names_sharing(net.weight.untyped_storage(), frame) == ["net.weight"]


def test_optimizer():
    net = Net()
    optimizer = torch.optim.Adam(
        [{"params": net.first.parameters()}, {"params": [net.scale], "lr": 0.1}], lr=0.001
    )
    assert summary(optimizer) == "Adam · 2 groups · 3 parameters · lr 0.001, 0.1 · state of 0"
    net.scale.sum().backward()
    optimizer.step()
    found = rows(optimizer)
    assert list(found) == ["param_groups[0]", "param_groups[1]", "state", "defaults", "attributes"]
    assert summary(found["state"]) == "1 entry"
    assert list(rows(found["state"])) == ["0: float32[3]"]


def test_nodes():
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).log()
    assert summary(y.grad_fn) == "LogBackward0 · next MulBackward0"
    found = rows(y.grad_fn)
    assert found["next_functions[0]"] is y.grad_fn.next_functions[0][0]
    assert summary(found["_saved_self"]) == "not evaluated (saved for backward)"
    assert torch.equal(clicked(found["_saved_self"]), torch.full((2,), 2.0))
    y.sum().backward()
    assert "saved" in summary(clicked(rows(y.grad_fn)["_saved_self"])).lower()


def test_nodes_of_custom_functions():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Twice.apply(torch.ones(1, requires_grad=True))
    assert summary(y.grad_fn) == "TwiceBackward · next AccumulateGrad"
    assert isinstance(rows(y.grad_fn)["saved_tensors"], Lazy)


def test_hooks_of_saved_tensors_run_only_on_a_click():
    unpacked = []

    def unpack(x):
        unpacked.append(1)
        return x

    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
        y = torch.ones(2, requires_grad=True).exp()
    found = rows(y.grad_fn)
    assert unpacked == []
    clicked(found["_saved_result"])
    assert unpacked == [1]


@dataclass
class Output:
    loss: object
    hidden: tuple


def test_tensors_are_brief_inside_the_reprs_of_other_objects():
    value = Output(torch.ones(()), (torch.ones(2, 3), nn.Parameter(torch.ones(1))))
    with short_tensor_reprs():
        text = repr(value)
        assert torch.equal(value.loss * 2, torch.tensor(2.0))
    assert text.startswith("Output(loss=float32[], hidden=(float32[2, 3], Parameter containing:\n")
    assert "tensor(1.)" in repr(value)


def test_rows_without_children():
    assert children(Text("x")) == []
    assert children(3) == []
