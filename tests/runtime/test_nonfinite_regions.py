"""Places where torch runs differently: compiled code, accelerators, threads, user conditions."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from watching import Host, watching

from zentracer.control.condition import compile_condition
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch.hooks import Hooks
from zentracer.frameworks.pytorch.mode import installed
from zentracer.frameworks.pytorch.watch import Watch

ARMED = (ArmedFilter(1, "zentracer.nonfinite"),)


def here() -> int:
    return sys._getframe(1).f_lineno


def logarithm(x: torch.Tensor) -> torch.Tensor:
    return torch.log(x) * 2


def test_compiled_region_stops_at_the_call() -> None:
    with watching() as host:
        compiled = torch.compile(logarithm, backend="eager")
        compiled(torch.ones(3))
        compiled(torch.tensor([0.0, 1.0, 2.0])); line = here()  # fmt: skip  # noqa: E702
    (hit,) = host.hits
    assert (hit.details.source.line, hit.details.op) == (line, "logarithm")
    assert "compiled" in (hit.details.note or "")


def test_compiled_module_is_compiled_once_and_without_our_mode() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.relu(x) / x.sum()

    graphs: list[Any] = []

    def backend(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    with watching() as host:
        net = torch.compile(Net(), backend=backend)
        net(torch.ones(3))
        net(torch.ones(3))
        assert installed() is not None
        net(torch.zeros(3)); line = here()  # fmt: skip  # noqa: E702
    assert len(graphs) == 1
    assert [hit.details.source.line for hit in host.hits] == [line]


def test_gradient_of_a_compiled_region_names_the_call() -> None:
    with watching() as host:
        compiled = torch.compile(lambda x: torch.sqrt(x * x), backend="eager")
        w = torch.tensor([0.0, 1.0], requires_grad=True)
        y = compiled(w); line = here()  # fmt: skip  # noqa: E702
        y.sum().backward()
    (hit,) = host.hits
    assert (hit.details.origin.line, hit.details.op) == (line, "SqrtBackward0")
    assert "compiled" in (hit.details.note or "")


def test_scripted_function_stops_at_the_call() -> None:
    scripted = torch.jit.script(logarithm)
    with watching() as host:
        scripted(torch.ones(3))
        scripted(torch.tensor([0.0, 1.0, 2.0])); line = here()  # fmt: skip  # noqa: E702
    (hit,) = host.hits
    assert (hit.details.source.line, hit.details.op) == (line, "logarithm")
    assert "compiled" in (hit.details.note or "")


def test_evaluation_keeps_the_fused_attention() -> None:
    """The fused path is one operation; the unfused path would show many."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = torch.randn(2, 3, 8)

    def operations() -> list[str]:
        with torch.profiler.profile() as profile, torch.no_grad():
            layer(x)
        return [event.name for event in profile.events()]

    fused = "aten::_transformer_encoder_layer_fwd"
    assert fused in operations()
    with watching():
        assert fused in operations()


def deferred(function: Any) -> Host:
    """Run ``function`` with CPU tensors treated as if they were on an accelerator."""
    host = Host()
    watch = Watch(host, ARMED, precise=False, defer_cpu=True)
    hooks = Hooks(watch)
    hooks.add()
    watch.enter_thread()
    try:
        function()
    finally:
        watch.close(hooks.remove)
    return host


def train(make_bad: bool) -> None:
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 2)
    mask = torch.tensor([0.0, float("-inf")])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        x = torch.zeros(3, 4) if make_bad and step == 1 else torch.ones(3, 4)
        x = x / x.norm(dim=1, keepdim=True)  # @bad
        attention = torch.softmax(net(x) + mask, -1)
        optimizer.zero_grad()
        attention.square().sum().backward()
        optimizer.step()  # @step


def line_with(marker: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# @{marker}"))


def test_deferred_checks_stop_at_the_end_of_the_same_step() -> None:
    host = deferred(lambda: train(make_bad=True))
    details = host.hits[0].details
    assert (details.origin.line, details.op) == (line_with("bad"), "div")
    assert (details.source.line, details.step) == (line_with("step"), 1)
    assert "once a step" in (details.note or "")


def test_line_that_went_bad_on_an_accelerator_is_checked_while_it_executes() -> None:
    def train_past_bad_batches() -> None:
        net = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(6):
            x = torch.zeros(3, 4) if step in (1, 4) else torch.ones(3, 4)
            x = x / x.norm(dim=1, keepdim=True)  # @twice
            loss = net(x).square().sum()
            if loss.isfinite():
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()  # @later

    late, precise = deferred(train_past_bad_batches).hits
    assert late.details.origin.line == precise.details.origin.line == line_with("twice")
    assert late.details.source.line == line_with("later")
    assert precise.details.source.line == line_with("twice")


def test_deferred_checks_leave_a_healthy_run_alone() -> None:
    assert deferred(lambda: train(make_bad=False)).hits == []


@pytest.mark.parametrize(
    ("condition", "hits"),
    [
        ("nan > 1", 1),
        ("nan > 4", 0),
        ("op == 'div' and phase == 'forward' and step == 0", 1),
        ("match('encoder.*')", 0),
        ("size == 4 and shape == (2, 2) and dtype == 'float32'", 1),
        ("x != x", 1),
    ],
)
def test_condition_decides(condition: str, hits: int) -> None:
    with watching(condition=compile_condition(condition)) as host:
        x = torch.zeros(2, 2)
        x / x
    assert (len(host.hits), host.notices) == (hits, [])


def test_condition_that_raises_is_said_and_training_goes_on() -> None:
    with watching(condition=compile_condition("x[7] > 0")) as host:
        x = torch.zeros(2, 2)
        x / x
    assert host.hits == []
    assert len(host.notices) == 1


def test_arming_from_another_thread_reaches_the_main_thread() -> None:
    from zentracer.frameworks.pytorch import PyTorch

    host = Host()
    framework = PyTorch(host)
    for armed in (True, False):
        thread = threading.Thread(
            target=framework.arm, args=(ARMED if armed else (),), kwargs={"precise": False}
        )
        thread.start()
        thread.join()
        for _ in range(1000):  # pending calls run between two bytecodes
            pass
        assert (installed() is not None) is armed
    torch.log(torch.zeros(1))
    assert host.hits == []


def test_disarming_leaves_no_trace() -> None:
    from torch.autograd.variable import Variable

    optimizers = importlib.import_module("torch.optim.optimizer")

    def state() -> list[Any]:
        return [
            Variable.__dict__["_execution_engine"],
            threading.Thread.__dict__["_bootstrap_inner"],
            torch.overrides.has_torch_function,
            torch.amp.grad_scaler.GradScaler.__dict__["scale"],
            torch.compile,
            torch._C._len_torch_function_stack(),
            dict(optimizers._global_optimizer_pre_hooks),
            dict(optimizers._global_optimizer_post_hooks),
            "__call__" in torch._C.ScriptFunction.__dict__,
        ]

    before = state()
    with watching():
        assert state() != before
    assert state() == before
