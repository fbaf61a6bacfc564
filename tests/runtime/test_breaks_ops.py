"""Breakpoints on operations."""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.runtime.watching import Host, breaking
from zentracer.frameworks.base import ArmedFunction
from zentracer.frameworks.pytorch.breaks.op_names import names_of


@torch.library.custom_op("zentracer_tests::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    return x * 2


def run(name: str, program: Callable[[], Any]) -> Host:
    with breaking(name) as host:
        program()
    assert not host.notices
    return host


def x() -> Tensor:
    return torch.tensor([[0.5, 1.0], [2.0, 4.0]])


@pytest.mark.parametrize(
    ("name", "call", "other"),
    [
        ("aten.softmax", lambda: F.softmax(x(), -1), lambda: F.log_softmax(x(), -1)),
        ("aten.softmax", lambda: x().softmax(-1), lambda: F.softmin(x(), -1)),
        ("torch.softmax", lambda: torch.softmax(x(), -1), lambda: x().exp()),
        ("F.softmax", lambda: F.softmax(x(), -1), lambda: x().softmax(-1)),
        ("torch.log", lambda: torch.log(x()), lambda: torch.log2(x())),
        ("log", lambda: x().log(), lambda: x().log_()),
        ("torch.nn.functional.*", lambda: F.relu(x()), lambda: torch.relu(x())),
        ("Tensor.add_", lambda: x().add_(1), lambda: x() + 1),
        ("aten.add", lambda: x() + x(), lambda: x() - x()),
        ("add_", lambda: x().__iadd__(1), lambda: x() + 1),
        ("Tensor.__add__", lambda: 1 + x(), lambda: 1 - x()),
        ("sub", lambda: 1 - x(), lambda: 1 + x()),
        ("aten.addmm", lambda: F.linear(x(), x(), x()[0]), lambda: x() @ x()),
        ("aten._softmax", lambda: F.softmax(x(), -1), lambda: F.log_softmax(x(), -1)),
        ("aten::add.Tensor", lambda: torch.ops.aten.add.Tensor(x(), x()), lambda: x() * x()),
        ("zentracer_tests.twice", lambda: twice(x()), lambda: x() * 2),
        ("torch.ops.zentracer_tests.*", lambda: twice(x()), lambda: x() * 2),
        ("max_pool2d", lambda: F.max_pool2d(x()[None], 2), lambda: F.avg_pool2d(x()[None], 2)),
        ("linalg.norm", lambda: torch.linalg.norm(x()), lambda: torch.norm(x())),
        ("isnan", lambda: x().isnan(), lambda: x().isinf()),
        ("aten.*mm", lambda: x().mm(x()), lambda: x().mul(x())),
    ],
)  # fmt: skip
def test_names(name: str, call: Callable[[], Any], other: Callable[[], Any]) -> None:
    host = run(f"op:{name}", call)
    assert len(host.hits) == 1
    assert host.statuses[1].verified
    assert host.hits[0].reason == "function breakpoint"
    assert not run(f"op:{name}", other).hits


def test_a_stop_shows_result_and_inputs() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())

    def program() -> Tensor:
        left, right = x(), x()
        net(left)
        return torch.matmul(left, right)  # here

    host = run("op:matmul", program)
    (hit,) = host.hits
    assert "here" in (hit.details.source.text or "")
    assert [one.name for one in hit.details.inputs] == ["left", "right"]
    assert torch.equal(host.shown[0]["x"], x() @ x())
    assert torch.equal(host.shown[0]["left"], x())


def test_inside_a_module_the_parameters_are_named() -> None:
    net = nn.Sequential(nn.Linear(2, 3))
    host = run("op:aten.addmm", lambda: net(x()))
    (hit,) = host.hits
    assert (hit.details.module, hit.details.op, hit.details.phase) == ("0", "linear", "forward")
    assert [one.name for one in hit.details.inputs] == [None, "0.weight", "0.bias"]
    assert hit.details.note == "aten.addmm runs inside torch.nn.functional.linear."
    assert host.shown[0]["module"] is net[0]
    assert "it stops there" in (host.statuses[1].message or "")


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (saved,) = ctx.saved_tensors
        return saved.mul(2) * grad


@pytest.mark.parametrize(
    ("condition", "hits"),
    [
        ("phase == 'backward' and size == 4", 2),
        ("phase == 'forward'", 1),
        ("op == 'mul' and shape == (2, 2)", 3),
        ("max > 8 and nan == 0", 1),
        ("step < 0", 0),
        ("norm > 100", 0),
        ("(x > 3.9).any()", 3),
        ("module == '' and rank == 0", 3),
    ],
)
def test_conditions(condition: str, hits: int) -> None:
    def program() -> None:
        Square.apply(x().requires_grad_()).sum().backward()

    assert len(run(f"op:mul if {condition}", program).hits) == hits


def test_the_loss_is_a_phase() -> None:
    target = torch.tensor([0, 1])
    host = run("op:*cross_entropy if phase == 'loss'", lambda: F.cross_entropy(x(), target))
    assert len(host.hits) == 1


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_stops_once(reentrant: bool) -> None:
    def program() -> None:
        given = x().requires_grad_()
        checkpoint(torch.tanh, given, use_reentrant=reentrant).sum().backward()

    assert len(run("op:tanh", program).hits) == 1


def test_one_call_stops_once_for_all_that_name_it() -> None:
    with breaking("op:log", "op:torch.*", "op:log if step > 3") as host:
        torch.log(torch.ones(2))
    assert [hit.breakpoint_ids for hit in host.hits] == [(2,), (1, 2)]  # ones, log


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sofmax", "Similar names: softmax"),
        ("torch.lgo", "No operation matches 'torch.lgo' yet"),
        ("aten._softmax_backward_data", "below the functions that Python sees"),
        ("nothing_of*", "becomes active when one is called"),
    ],
)
def test_what_is_no_operation_is_not_verified(name: str, said: str) -> None:
    host = run(f"op:{name}", lambda: x().softmax(-1))
    assert not host.statuses[1].verified
    assert said in (host.statuses[1].message or "")
    assert not host.hits


def test_a_custom_operation_that_comes_later() -> None:
    with breaking("op:zentracer_later.half") as host:
        assert not host.statuses[1].verified
        assert host.statuses[1].pending

        @torch.library.custom_op("zentracer_later::half", mutates_args=())
        def half(x: Tensor) -> Tensor:
            return x / 2

        half(x())
    assert host.statuses[1].verified
    assert len(host.hits) == 1


def test_steps_of_library_optimizers_are_passed_over() -> None:
    weight = nn.Parameter(x())
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.grad = torch.ones(2, 2)
    assert not run("op:*add*", optimizer.step).hits


def test_every_function_of_the_modes_has_names() -> None:
    """What torch hands to a mode has a name of its own, whatever its type."""
    functions: list[Any] = []

    class Recorder(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            functions.append(func)
            return func(*args, **(kwargs or {}))

    with Recorder():
        F.max_pool2d(torch.fft.fft(x()).abs()[None], 1)
        torch.einsum("ij,ij->i", x(), x()).sum().item()
        torch.ops.aten.relu(x())
    assert all(any(name.isidentifier() for name in names_of(f)) for f in functions)


def test_armed_anew_it_keeps_its_hit_count() -> None:
    from zentracer.control.hit_condition import compile_hit_condition
    from zentracer.frameworks.pytorch import PyTorch

    host = Host()
    framework = PyTorch(host)
    try:
        for _ in range(3):
            armed = ArmedFunction(1, "op", "log", None, compile_hit_condition("3"))
            framework.break_at((armed,))
            x().log()
    finally:
        framework.disarm()
    assert len(host.hits) == 1


def test_a_mistake_in_a_condition_is_said_and_others_go_on() -> None:
    with breaking("op:relu if shape[1] == 3", "op:exp") as host:
        torch.relu(torch.ones(3))
        torch.exp(torch.ones(3))
        torch.relu(torch.ones(2, 3))
    (notice,) = host.notices
    assert notice.startswith("The condition 'shape[1] == 3' could not be evaluated: IndexError")
    assert [hit.breakpoint_ids for hit in host.hits] == [(2,), (1,)]
