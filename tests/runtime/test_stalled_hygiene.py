"""``zentracer.stalled`` changes nothing, keeps nothing alive, leaves nothing behind."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

from tests.programs.stalled import cut, small, unowned
from tests.programs.stalled.healthy import HEALTHY
from tests.programs.stalled.parts import Net, batch, descend, train
from tests.runtime.watching import Host, watching_for
from zentracer.control.condition import compile_condition
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.training.stalled.records import Records
from zentracer.frameworks.pytorch.watch import Watch


def trained() -> list[Tensor]:
    torch.manual_seed(3)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    net.head = nn.Linear(12, 3)
    net.body.weight.requires_grad_(False)
    train(net, optimizer, steps=24)
    return [p.detach().clone() for p in net.parameters()]


def test_the_same_bits() -> None:
    alone = trained()
    with watching_for("stalled", "stalled:ratio < 1e-30", advice=True) as host:
        watched = trained()
    assert host.hits
    assert all(torch.equal(a, b) for a, b in zip(alone, watched))


def surface() -> tuple[Any, ...]:
    return (
        torch.optim.Optimizer.__init__,
        Tensor.requires_grad_,
        "requires_grad_" in Tensor.__dict__,
        nn.Module.__call__,
        dict(torch_module._global_module_registration_hooks),
        dict(torch_module._global_parameter_registration_hooks),
    )


def test_nothing_is_left_behind() -> None:
    before = surface()
    with watching_for("stalled", advice=True):
        assert surface() != before
        trained()
    assert surface() == before


def test_nothing_is_kept_alive() -> None:
    def run() -> list[weakref.ref[Any]]:
        net, other = Net(), nn.Linear(6, 3)
        optimizer = torch.optim.SGD([*net.body.parameters(), *other.parameters()], lr=0.1)
        net.head = nn.Linear(12, 3)
        other.requires_grad_(False)
        train(net, optimizer)
        return [*map(weakref.ref, (net, other, optimizer, net.head.weight, other.weight))]

    with watching_for("stalled", "stalled:ratio < 0", advice=True) as host:
        refs = run()
        host.hits.clear()
        gc.collect()
        assert [ref() for ref in refs] == [None] * len(refs)


def test_an_optimizer_of_the_users_class_is_said_to_be_built_outside() -> None:
    class Mine(torch.optim.SGD):
        def __init__(self, parameters: Any) -> None:
            super().__init__(parameters, lr=0.1)

    with watching_for("stalled") as host:
        net = Net()
        train(net, Mine(net.body.parameters()))  # built here
    assert host.hits[0].details.origin.text is not None
    assert "built here" in host.hits[0].details.origin.text


def test_an_optimizer_built_before_is_found_in_the_source() -> None:
    net = Net()
    optimizer = torch.optim.RMSprop(net.body.parameters())  # built before
    with watching_for("stalled") as host:
        train(net, optimizer)
    assert "built before" in (host.hits[0].details.origin.text or "")


def test_a_module_replaced_before_is_found_in_the_source() -> None:
    net = Net()
    optimizer = torch.optim.Adagrad(net.parameters())
    net.head = nn.Linear(12, 3)  # replaced before
    with watching_for("stalled") as host:
        train(net, optimizer)
    assert "replaced before" in (host.hits[0].details.origin.text or "")


def test_it_is_told_once() -> None:
    with watching_for("stalled") as host:
        net = Net()
        train(net, torch.optim.SGD(net.body.parameters(), lr=0.1), steps=120)
    assert len(host.hits) == 1


@pytest.mark.parametrize(
    ("condition", "hits"),
    [('match("head*")', 1), ('match("body*")', 0), ("step > 100", 0), ('phase == "update"', 1)],
)
def test_a_condition_without_threshold_is_a_filter(condition: str, hits: int) -> None:
    with watching_for(f"stalled:{condition}") as host:
        net = Net()
        train(net, torch.optim.SGD(net.body.parameters(), lr=0.1))
    assert len(host.hits) == hits
    assert not host.notices


def test_a_ratio_is_asked_of_each_parameter_at_each_step() -> None:
    with watching_for('stalled:ratio < 1e-6 and match("body*")') as host:
        net = Net()
        groups = [
            {"params": net.body.parameters(), "lr": 1e-9},
            {"params": net.head.parameters(), "lr": 1e-9},
        ]
        train(net, torch.optim.SGD(groups), steps=3)
    assert len(host.hits) == 3
    assert {hit.details.module for hit in host.hits} == {"body"}
    assert "update norm" in host.hits[0].text
    assert host.hits[0].details.evidence[0].startswith("body.weight  ratio ")


def test_a_ratio_that_does_not_hold_is_silent() -> None:
    with watching_for("stalled:ratio > 0.9") as host:
        net = Net()
        train(net, torch.optim.SGD(net.parameters(), lr=1e-3), steps=3)
    assert not host.hits
    assert not host.notices


@pytest.mark.parametrize(
    "program",
    [unowned.second_network_forgotten, cut.detached_in_forward, small.bfloat16_weights],
    ids=lambda program: program.__name__,
)
def test_devices_are_read_later(monkeypatch: pytest.MonkeyPatch, program: Any) -> None:
    made = Watch.__init__

    def deferring(watch: Watch, *args: Any, **kwargs: Any) -> None:
        made(watch, *args, **{**kwargs, "defer_cpu": True})

    monkeypatch.setattr(Watch, "__init__", deferring)
    torch.manual_seed(0)
    with watching_for("stalled") as host:
        program()
    assert len(host.hits) == 1
    assert not host.notices


def test_many_modules_that_get_no_gradient() -> None:
    net = nn.ModuleDict({str(i): nn.Linear(1, 1) for i in range(10_000)})
    with watching_for("stalled", advice=True) as host:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(25):
            descend(net["0"](torch.ones(1, 1)).sum(), optimizer)
    assert not host.hits
    assert not host.notices


def test_a_module_of_an_odd_class_is_no_trouble() -> None:
    class Odd(nn.Linear):
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no comparison")

        __hash__ = nn.Module.__hash__

    torch.manual_seed(0)
    with watching_for("stalled") as host:
        body, head = nn.Linear(6, 12), Odd(12, 3)
        optimizer = torch.optim.SGD(body.parameters(), lr=0.1)
        for _ in range(6):
            x, y = batch()
            descend(F.cross_entropy(head(torch.tanh(body(x))), y), optimizer)
    assert not host.notices
    assert len(host.hits) == 1


def test_a_failing_record_is_said_and_training_goes_on() -> None:
    said: list[str] = []

    def step() -> int:
        raise RuntimeError("no step")

    records = Records(step, lambda what, error: said.append(what))
    records.add()
    try:
        assert nn.Parameter(torch.ones(1)).requires_grad_(False).requires_grad is False
    finally:
        records.remove()
    assert len(said) == 1


def test_rearming_keeps_what_was_learnt() -> None:
    from zentracer.frameworks.pytorch import PyTorch

    host = Host()
    framework = PyTorch(host)  # type: ignore[arg-type]
    framework.arm((ArmedFilter(1, "zentracer.stalled", None),), precise=False)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)  # kept
    framework.arm(
        (ArmedFilter(1, "zentracer.stalled", compile_condition("step >= 0")),), precise=False
    )
    net.head = nn.Linear(12, 3)  # replaced
    train(net, optimizer)
    framework.disarm()
    assert "# replaced" in (host.hits[0].details.origin.text or "")
    assert Tensor.requires_grad_ is torch._C.TensorBase.requires_grad_


def test_the_healthy_ones_are_many() -> None:
    assert len(HEALTHY) >= 30
