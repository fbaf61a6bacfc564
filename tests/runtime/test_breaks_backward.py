"""Breakpoints on the gradients of modules."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from typing import Any, Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.runtime.watching import Host, breaking


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(3, 4)

    def forward(self, x: Tensor) -> dict[str, Any]:
        return {"p": self.a(x), "rest": (self.b(x), 3)}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.two, self.act, self.head = Two(), nn.ReLU(inplace=True), nn.Linear(4, 4)

    def forward(self, x: Tensor, reentrant: bool | None = None) -> Tensor:
        out = self.two(x)
        hidden = self.act(out["p"] + out["rest"][0])
        if reentrant is not None:
            return checkpoint(self.head, hidden, use_reentrant=reentrant)  # checkpointed
        return self.head(self.head(hidden))  # twice


def run(name: str, program: Callable[[Net, Tensor], Any]) -> Host:
    torch.manual_seed(0)
    net, x = Net(), torch.rand(5, 3)
    with breaking(name) as host:
        program(net, x)
    assert not host.notices
    assert host.statuses[1].verified
    return host


def backward(net: Net, x: Tensor) -> None:
    net(x).square().sum().backward()  # backward


def test_it_stops_at_backward_and_names_the_forward_line() -> None:
    host = run("backward:act", backward)
    (hit,) = host.hits
    assert "# backward" in (hit.details.source.text or "")
    assert "self.act(" in (hit.details.origin.text or "")
    assert hit.text.startswith("The gradient of act (ReLU) has arrived (backward, step 0)")
    assert hit.details.phase == "backward"


def test_x_is_the_gradient() -> None:
    given: list[Tensor] = []

    def program(net: Net, x: Tensor) -> None:
        loss = net(x)
        loss.register_hook(given.append)
        loss.square().sum().backward()

    host = run("backward:Net", program)
    (shown,) = host.shown
    assert torch.equal(shown["x"], given[0])
    assert torch.equal(shown["grad_output"], given[0])
    assert not shown["x"].requires_grad
    assert "head.weight.grad" not in shown  # not yet
    assert isinstance(shown["module"], Net)


def test_gradients_of_parameters_are_shown_where_they_are() -> None:
    def program(net: Net, x: Tensor) -> None:
        backward(net, x)
        backward(net, x)

    host = run("backward:head", program)
    assert {"weight.grad", "bias.grad"} <= host.shown[-1].keys()
    assert "weight.grad" not in host.shown[0]


@pytest.mark.parametrize(
    ("name", "condition", "hits"),
    [
        ("head", "", 2),  # called twice
        ("two", "", 2),  # two tensors, which come one after the other
        ("two.*", "norm > 0", 2),
        ("two.*", "norm > 1e9", 0),
        ("*", "match('head') and phase == 'backward'", 2),
        ("*", "shape == (5, 4) and nan == 0", 8),
    ],
)
def test_conditions(name: str, condition: str, hits: int) -> None:
    text = f"backward:{name}" + (f" if {condition}" if condition else "")
    assert len(run(text, backward).hits) == hits


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_stops_once_and_names_the_line(reentrant: bool) -> None:
    def program(net: Net, x: Tensor) -> None:
        net(x.requires_grad_(), reentrant).sum().backward()

    (hit,) = run("backward:head", program).hits
    assert "checkpointed" in (hit.details.origin.text or "")


def test_each_pass_through_a_graph_stops() -> None:
    def program(net: Net, x: Tensor) -> None:
        loss = net(x).sum()
        loss.backward(retain_graph=True)
        loss.backward()

    assert len(run("backward:act", program).hits) == 2


def test_a_second_derivative_passes_again() -> None:
    def program(net: Net, x: Tensor) -> None:
        x.requires_grad_()
        (grad,) = torch.autograd.grad(net(x).pow(2).sum(), x, create_graph=True)
        grad.sum().backward()

    assert len(run("backward:act", program).hits) == 2


def test_without_gradients_it_never_stops() -> None:
    def program(net: Net, x: Tensor) -> None:
        with torch.no_grad():
            net(x)

    assert not run("backward:*", program).hits


@pytest.mark.parametrize("inputs", ["output", "both"])
def test_a_gradient_that_is_asked_for_stops_once(inputs: str) -> None:
    def program(net: Net, x: Tensor) -> None:
        out = net.two(x)["p"]
        wanted = [out] if inputs == "output" else [out, net.two.a.weight]
        torch.autograd.grad(out.square().sum(), wanted)

    assert len(run("backward:two.a", program).hits) == 1


def test_on_another_thread() -> None:
    def program(net: Net, x: Tensor) -> None:
        thread = threading.Thread(target=backward, args=(net, x))
        thread.start()
        thread.join()

    assert len(run("backward:act", program).hits) == 1


NESTED = """
import torch
from torch import nn
from tests.runtime.watching import breaking

class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        with torch.enable_grad():
            out = linear(torch.ones(2, 3, requires_grad=True))
            for _ in range(5):
                out = linear(out)
            if ctx.depth:
                out = Nested.apply(out, ctx.depth - 1)
            out.sum().backward()
        return grad, None

linear = nn.Linear(3, 3)
with breaking("backward:*") as host:
    Nested.apply(torch.ones(2, 3, requires_grad=True), 70).sum().backward()
last = list(zip(host.shown, host.hits))[-6:]
print(len(host.hits) > 60, host.notices, ["x" in shown for shown, _ in last])
print({hit.details.tensor.shape for _, hit in last}, [bool(hit.details.note) for _, hit in last])
"""


def test_where_the_engine_goes_on_on_its_own_threads() -> None:
    """Beyond 60 nested passes it does: below our hook there is no frame.

    What came there stops at the end of the pass; the last four are there to be looked at.
    """
    done = subprocess.run([sys.executable, "-c", NESTED], capture_output=True, text=True)
    held = [False] * 2 + [True] * 4
    expected = [f"True [] {held}", f"{{(2, 3)}} {[not one for one in held]}"]
    assert (done.stdout.splitlines(), done.returncode) == (expected, 0), done.stderr


def trained(*names: str) -> tuple[list[Tensor], Host]:
    torch.manual_seed(1)
    net, x = Net(), torch.rand(5, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    with breaking(*names) as host:
        for _ in range(3):
            optimizer.zero_grad()
            loss = net(x).square().sum()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return [*losses, *(p.detach().clone() for p in net.parameters())], host


def test_the_same_bits() -> None:
    alone, _ = trained("step:1000")
    watched, host = trained("backward:*", "module:*", "op:*", "step", "op:linear if norm > 0")
    assert len(host.hits) > 60
    assert all(torch.equal(a, b) for a, b in zip(alone, watched))


def test_nothing_is_kept_alive_and_nothing_stays_behind() -> None:
    net, x = Net(), torch.rand(5, 3)
    with breaking("backward:*", "op:*", "module:*") as host:
        loss = net(x).sum()
        refs = [weakref.ref(loss), *map(weakref.ref, net.modules())]
        graph = net(x).sum()
        loss.backward()
        host.hits.clear()
        host.shown.clear()
        del loss
        gc.collect()
        assert refs[0]() is None
    before = len(host.hits)
    node = graph.grad_fn
    graph.backward()  # hooked while it was armed
    assert len(host.hits) == before
    assert node is not None
    assert not any("zentracer.calls" in one.metadata for one in _nodes(node))
    del net, graph, node
    gc.collect()
    assert [ref() for ref in refs] == [None] * len(refs)


def _nodes(node: Any) -> list[Any]:
    found, waiting = [], [node]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += [edge[0] for edge in node.next_functions if edge[0] is not None]
    return found
