"""Breakpoints on modules and steps."""

from __future__ import annotations

import _thread
import gc
import threading
from collections import OrderedDict
from typing import Any, Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.runtime.watching import Host, breaking
from zentracer.control.hit_condition import compile_hit_condition
from zentracer.frameworks.base import ArmedFunction
from zentracer.frameworks.pytorch import PyTorch
from zentracer.frameworks.pytorch.breaks.live_names import _names_in


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return self.fc(x) * scale  # fc


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, scale=2.0)  # block
        return self.head(x)  # head


def run(name: str, program: Callable[[], Any]) -> Host:
    with breaking(name) as host:
        program()
    assert not host.notices
    return host


def x() -> Tensor:
    return torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("name", "hits"),
    [
        ("head", 1),
        ("blocks.*.fc", 2),
        ("blocks.1", 1),
        ("blocks.?", 2),
        ("Net", 1),
        ("*", 6),
        ("fc", 0),
        ("* if match('blocks.*') and op == 'Block'", 2),
        ("head if phase == 'forward' and shape == (2, 3)", 1),
        ("blocks.0 if max == 5 and zeros == 1 and nan == 0 and mean == 2.5 and min == 0", 1),
        ("blocks.0 if norm > 7.4 and absmax == 5 and std < 2 and inf == 0", 1),
        ("blocks.0 if norm > 7.5", 0),
        ("blocks.0 if step < 0", 0),
        ("blocks.0 if dtype == 'float32' and device == 'cpu' and size == 6 and rank == 0", 1),
    ],
)
def test_names_and_conditions(name: str, hits: int) -> None:
    gc.collect()  # what an earlier host has shown is a block without its model until then
    net = Net()
    host = run(f"module:{name}", lambda: net(x()))
    assert len(host.hits) == hits
    assert host.statuses[1].verified == (name != "fc")


def test_a_stop_shows_what_the_module_is_called_with() -> None:
    net = Net()
    host = run("module:blocks.0", lambda: net(x()))
    (hit,), (shown,) = host.hits, host.shown
    assert (hit.details.source.text or "").endswith("# block")
    assert hit.text == "blocks.0 (Block) is about to run (forward, step 0)"
    assert torch.equal(shown["x"], x())
    assert shown["scale"] == 2.0
    assert shown["module"] is net.blocks[0]


def test_whole_numbers_have_statistics() -> None:
    table = nn.Sequential(nn.Embedding(9, 2))
    host = run("module:0 if max == 8 and min == 1", lambda: table(torch.tensor([1, 8])))
    assert len(host.hits) == 1


@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda net: torch.compile(net, backend="eager")])
def test_wrappers_do_not_change_names(wrap: Callable[[nn.Module], nn.Module]) -> None:
    model = wrap(Net())
    with breaking("module:blocks.1.fc") as host, torch.compiler.set_stance("force_eager"):
        model(x())
    assert len(host.hits) == 1
    assert host.statuses[1].verified


class Scripted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner_of_scripted = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner_of_scripted(x)


def test_inside_of_compiled_models_the_reason_is_said() -> None:
    inner = nn.Sequential(OrderedDict(inner_of_compiled=nn.Linear(3, 3)))
    compiled = torch.compile(inner, backend="eager")
    scripted = torch.jit.script(Scripted())
    reasons = [dict(_names_in(model)) for model in (compiled, scripted)]
    assert "torch.compile" in (reasons[0]["inner_of_compiled"] or "")
    assert "TorchScript" in (reasons[1]["inner_of_scripted"] or "")
    assert reasons[1]["RecursiveScriptModule"] is None  # its own calls are seen
    with breaking("module:inner_of_compiled") as host:
        assert not host.statuses[1].verified
        assert "run this session eagerly" in (host.statuses[1].message or "")
        with torch.compiler.set_stance("force_eager"):
            compiled(x())
        assert host.statuses[1].verified


def test_a_scripted_model_is_called_itself() -> None:
    scripted = torch.jit.script(Block())
    assert len(run("module:*Script*", lambda: scripted(x())).hits) == 1


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_stops_once(reentrant: bool) -> None:
    net = Net()

    def program() -> None:
        given = x().requires_grad_()
        checkpoint(net, given, use_reentrant=reentrant).sum().backward()

    assert len(run("module:head", program).hits) == 1


def in_a_thread(net: Net) -> None:
    thread = threading.Thread(target=net, args=(x(),))
    thread.start()
    thread.join()


def failing(net: Net) -> None:
    with pytest.raises(RuntimeError):
        net(torch.zeros(2, 5))
    net(x())


def with_other_parameters(net: Net) -> None:
    torch.func.functional_call(net, dict(net.named_parameters()), (x(),))


def in_a_generator(net: Net) -> None:
    list(net(one) for one in [x()])


def in_a_hook(net: Net) -> None:
    other = nn.ReLU()
    handle = other.register_forward_hook(lambda *_: (net(x()), None)[1])
    other(x())
    handle.remove()


@pytest.mark.parametrize(
    ("program", "hits"),
    [
        (in_a_thread, 1),
        (failing, 2),
        (with_other_parameters, 1),
        (in_a_generator, 1),
        (in_a_hook, 1),
        (lambda net: net.eval()(x()), 1),
        (lambda net: torch.no_grad()(net)(x()), 1),
        (lambda net: [net(x()), net(x())], 2),
    ],
)
def test_ways_to_call(program: Callable[[Net], Any], hits: int) -> None:
    net = Net()
    assert len(run("module:blocks.0", lambda: program(net)).hits) == hits


def test_a_lazy_module() -> None:
    net = nn.Sequential(nn.LazyLinear(2))
    host = run("module:0 if size == 6", lambda: net(x()))
    assert len(host.hits) == 1
    assert net[0].weight.shape == (2, 3)


def test_a_module_that_calls_itself() -> None:
    class Again(nn.Module):
        def forward(self, x: Tensor, depth: int) -> Tensor:
            return self(x, depth - 1) if depth else x

    again = Again()
    assert len(run("module:Again", lambda: again(x(), 3)).hits) == 4


def test_a_model_that_is_built_later() -> None:
    with breaking("module:built_later", "module:nothing") as host:
        assert host.statuses[1].pending
        for _ in range(2):
            net = nn.Sequential(OrderedDict(built_later=nn.Linear(3, 3)))
            net(x())
            del net
    assert host.statuses[1].verified
    assert not host.statuses[2].verified
    assert len(host.hits) == 2


def test_similar_names_are_told() -> None:
    net = Net()
    host = run("module:block.0", lambda: None)
    assert "blocks.0" in (host.statuses[1].message or "")
    del net


def test_thousands_are_matched_once_a_module() -> None:
    net = Net()
    with breaking(*(f"module:layer{n}.*" for n in range(3000)), "module:head") as host:
        for _ in range(3):
            net(x())
    assert [hit.breakpoint_ids for hit in host.hits] == [(3001,)] * 3


def test_hit_conditions_count_true_conditions() -> None:
    host, net = Host(), Net()
    framework = PyTorch(host)
    from zentracer.control.condition import compile_condition

    condition, hits = compile_condition("max > 5"), compile_hit_condition("% 2")
    framework.break_at((ArmedFunction(1, "module", "blocks.0", condition, hits),))
    try:
        for factor in (1, 2, 2, 1, 2, 2):
            net(factor * x())
    finally:
        framework.disarm()
    assert len(host.hits) == 2


class Count(nn.Module):
    def forward(self, x: Any) -> Any:
        return x


@pytest.mark.parametrize(
    ("condition", "given", "hits"),
    [
        ("norm > 3", 3, 0),
        ("shape[0] == 8", 3, 0),
        ("size > 3", 3, 0),
        ("not nan", 3, 0),
        ("x is None", 3, 1),
        ("step >= 0 or norm > 3", 3, 1),
        ("max > 3", torch.ones(0), 0),
        ("size == 0", torch.ones(0), 1),
        ("std > 0.1", torch.ones(1), 0),
        ("mean > 0.1", torch.full((2,), float("nan")), 0),
        ("any(std < side for side in shape)", torch.ones(1), 0),
    ],
)
def test_a_condition_is_false_where_a_value_does_not_exist(
    condition: str, given: Any, hits: int
) -> None:
    count = Count()
    with breaking(f"module:Count if {condition}") as host:
        count(given)
    assert (len(host.hits), host.notices) == (hits, [])


@pytest.mark.parametrize("trains", [False, True])
def test_every_n_steps_counts_hits_where_no_step_is_known(trains: bool) -> None:
    host, net = Host(), Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    framework = PyTorch(host)
    hits = compile_hit_condition("every 4 steps")
    framework.break_at((ArmedFunction(1, "module", "head", None, hits),))
    stops = []
    try:
        for number in range(10):
            out = net(x())
            stops += [number] * (len(host.hits) - len(stops))
            if trains:
                out.sum().backward()
                optimizer.step()
    finally:
        framework.disarm()
    assert stops == [0, 4, 8]
    assert len(host.notices) == (not trains)
    assert all("counts hits: no training step is known" in notice for notice in host.notices)


def test_a_module_that_is_all_of_a_thread_is_called() -> None:
    net, called = Net(), threading.Event()
    net.register_forward_hook(lambda *_: called.set())
    with breaking("module:head") as host:
        _thread.start_new_thread(net, (x(),))
        assert called.wait(60)
    assert host.notices == []


def test_steps() -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with breaking("step", "step:2") as host:
        for _ in range(3):
            net(x()).sum().backward()
            optimizer.step()
    assert [hit.breakpoint_ids for hit in host.hits] == [(1,), (1, 2), (1,)]


def test_nothing_stays_behind() -> None:
    surface = (nn.Module.__call__, torch._C._len_torch_function_stack())
    net = Net()
    before = {name: dict(vars(module)) for name, module in net.named_modules()}
    run("module:*", lambda: net(x()))
    run("op:*", lambda: net(x()))
    assert (nn.Module.__call__, torch._C._len_torch_function_stack()) == surface
    assert {name: dict(vars(module)) for name, module in net.named_modules()} == before


def test_a_name_that_no_module_has_is_looked_for_again_after_some_steps() -> None:
    with breaking("module:quokkas") as host:
        assert host.statuses[1].pending
        net = nn.Sequential(OrderedDict(quokka=nn.Linear(3, 2)))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            net(torch.ones(1, 3)).sum().backward()
            optimizer.step()
        for thread in threading.enumerate():
            if thread.name == "zentracer-names":
                thread.join()
    assert "Similar names: quokka" in str(host.statuses[1].message)
    assert host.hits == []
