"""Arming and disarming at any time, from any thread, and what is left afterwards."""

from __future__ import annotations

import sys
import threading
from typing import Any, Iterator

import pytest

torch = pytest.importorskip("torch")

from torch.overrides import TorchFunctionMode

from tests.runtime.watching import Host, watching
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch import PyTorch

ARMED = (ArmedFilter(1, "zentracer.nonfinite"),)


def modes() -> list[str]:
    return [type(mode).__name__ for mode in torch.overrides._get_current_function_mode_stack()]


def touched() -> list[Any]:
    """Return everything of torch and Python that the armed state replaces."""
    import torch._dynamo.eval_frame as eval_frame
    from torch.amp.grad_scaler import GradScaler
    from torch.autograd.variable import Variable
    from torch.optim import optimizer

    return [
        Variable._execution_engine,
        threading.Thread._bootstrap_inner,
        GradScaler.scale,
        torch.overrides.has_torch_function,
        torch._C.ScriptFunction.__call__,
        torch._C.ScriptMethod.__dict__.get("__call__"),
        eval_frame._maybe_set_eval_frame,
        torch.compile,
        dict(optimizer._global_optimizer_pre_hooks),
        dict(optimizer._global_optimizer_post_hooks),
        modes(),
    ]


def in_another_thread(function: Any, *args: Any, **kwargs: Any) -> None:
    thread = threading.Thread(target=lambda: function(*args, **kwargs))
    thread.start()
    thread.join()


def make_nan() -> None:
    x = torch.zeros(2)
    x / x


class Calls(TorchFunctionMode):
    """Does something in the middle of the next torch call."""

    def __init__(self, action: Any) -> None:
        self.action = action

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        action, self.action = self.action, lambda: None
        action()
        return func(*args, **(kwargs or {}))


def test_disarming_leaves_no_trace() -> None:
    before = touched()
    with watching():
        assert touched() != before
        assert modes() == ["Watcher"]
        torch.ones(2, requires_grad=True).sum().backward()
    assert touched() == before


def test_armed_by_another_thread_watches_the_main_thread() -> None:
    host = Host()
    framework = PyTorch(host)
    in_another_thread(framework.arm, ARMED, precise=False)
    make_nan()
    in_another_thread(framework.disarm)
    make_nan()
    assert len(host.hits) == 1
    assert modes() == []


def until(condition: Any) -> Iterator[int]:
    """Yield until ``condition`` holds; a hang here is the test's failure."""
    count = 0
    while not condition():
        yield count
        count += 1


def test_disarmed_at_a_stop_leaves_no_trace() -> None:
    """At a stop our mode is inside a torch call, and torch puts it back afterwards."""
    before = touched()
    host = Host()
    framework = PyTorch(host)
    stopped: list[int] = []

    def stop(hit: Any, frame: Any, lasti: Any = None, tensors: Any = None) -> None:
        stopped.append(frame.f_lineno)
        in_another_thread(framework.disarm)

    host.stop = stop  # type: ignore[method-assign]
    framework.arm(ARMED, precise=False)
    make_nan()
    assert len(stopped) == 1
    for _ in until(lambda: modes() == []):
        make_nan()
    assert len(stopped) == 1
    assert touched() == before


def test_disarmed_and_armed_again_at_a_stop() -> None:
    before = touched()
    host = Host()
    framework = PyTorch(host)
    stopped: list[int] = []

    def stop(hit: Any, frame: Any, lasti: Any = None, tensors: Any = None) -> None:
        stopped.append(frame.f_lineno)
        framework.disarm()
        framework.arm(ARMED, precise=True)

    host.stop = stop  # type: ignore[method-assign]
    framework.arm(ARMED, precise=False)
    make_nan()
    make_nan()
    assert len(stopped) == 2
    assert modes() == ["Watcher"]
    framework.disarm()
    assert touched() == before


def test_disarmed_in_the_middle_of_backward() -> None:
    before = touched()
    host = Host()
    framework = PyTorch(host)
    framework.arm(ARMED, precise=False)
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: framework.disarm())
    y.sum().backward()
    for _ in until(lambda: modes() == []):
        make_nan()
    assert host.hits == []
    assert touched() == before


def test_thread_that_outlives_the_watch() -> None:
    before = touched()
    framework = PyTorch(Host())
    framework.arm(ARMED, precise=False)
    disarmed, done = threading.Event(), threading.Event()
    left: list[Any] = []

    def work() -> None:
        x = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([x], lr=0.1)
        left.append(modes())
        disarmed.wait()
        make_nan()
        optimizer.step()
        left.append(modes())
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    for _ in until(lambda: left):
        pass
    framework.disarm()
    disarmed.set()
    thread.join()
    assert left == [["Watcher"], []]
    assert touched() == before


def test_thread_that_ran_before_the_watch_joins_at_its_next_backward() -> None:
    before = touched()
    armed = threading.Event()

    def work() -> None:
        armed.wait()
        torch.ones(2, requires_grad=True).sum().backward()
        make_nan()

    thread = threading.Thread(target=work)
    thread.start()
    with watching() as host:
        armed.set()
        thread.join()
    assert len(host.hits) == 1
    framework = PyTorch(Host())
    framework.arm(ARMED, precise=False)
    framework.disarm()
    assert touched() == before


def test_modes_of_the_users_own_stay_where_they_are() -> None:
    mode = Calls(lambda: None)
    framework = PyTorch(Host())
    with mode:
        framework.arm(ARMED, precise=False)
        assert modes() == ["Watcher", "Calls"]
        framework.disarm()
        assert modes() == ["Calls"]
    framework.arm(ARMED, precise=False)
    with mode:
        framework.disarm()
        assert modes() == ["Calls"]
    assert modes() == []


@pytest.mark.parametrize("when", ["before", "inside"])
def test_default_device_may_be_set_and_unset(when: str) -> None:
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    if when == "before":
        torch.set_default_device("cpu")
    with watching() as host:
        torch.set_default_device("cpu")
        with torch.device("cpu"):
            compiled(torch.ones(2))
        make_nan()
        torch.set_default_device(None)
        make_nan()
    assert len(host.hits) == 2
    assert modes() == []


def test_function_compiled_before_arming_is_not_traced_again() -> None:
    graphs: list[Any] = []

    def backend(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(lambda x: torch.log(x), backend=backend, fullgraph=True)
    compiled(torch.ones(3))
    lines: list[int] = []
    for _ in range(2):
        with watching() as host:
            compiled(torch.ones(3))
            compiled(torch.zeros(3)); line = sys._getframe().f_lineno  # fmt: skip  # noqa: E702
        lines += [hit.details.source.line for hit in host.hits]
    assert lines == [line, line]
    assert len(graphs) == 1


def test_exception_in_compiled_code_keeps_the_watch() -> None:
    def fail(x: Any) -> Any:
        raise KeyError("mine")

    compiled = torch.compile(fail, backend="eager")
    with watching() as host:
        with pytest.raises(KeyError):
            compiled(torch.ones(2))
        with pytest.raises(RuntimeError):
            torch.jit.script(torch.nn.Linear(2, 2))(torch.ones(3))
        assert modes() == ["Watcher"]
        make_nan()
    assert len(host.hits) == 1
