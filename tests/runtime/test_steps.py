"""Steps as the user sees them: their number, their loss, what ZenTracer takes of their time."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Iterator

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))

from tests.runtime.watching import Host, watching
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch import PyTorch
from zentracer.frameworks.pytorch.overhead import Overhead

ARMED = (ArmedFilter(1, "zentracer.nonfinite"),)


def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Linear(3, 1)


def sgd(net: Any) -> Any:
    return torch.optim.SGD(net.parameters(), lr=0.1)


def loss_of(net: Any, factor: float = 1.0) -> Any:
    return net(torch.ones(2, 3)).pow(2).mean() * factor


@pytest.fixture
def deferred() -> Iterator[tuple[PyTorch, Host]]:
    """Armed, with tensors of the CPU treated as those of an accelerator."""
    host = Host()
    framework = PyTorch(host)
    framework.arm(ARMED, precise=False)
    assert framework._watch is not None
    framework._watch.defer_cpu = True
    yield framework, host
    framework.disarm()


def test_step_and_loss() -> None:
    net = model()
    optimizer = sgd(net)
    losses = []
    with watching() as host:
        for _ in range(3):
            loss = loss_of(net)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
    assert [(s.step, s.loss) for s in host.steps] == list(zip([1, 2, 3], losses))


def test_nothing_armed_nothing_told() -> None:
    net = model()
    optimizer = sgd(net)
    with watching() as host:
        pass
    loss_of(net).backward()
    optimizer.step()
    assert host.steps == []


def test_the_step_is_that_of_a_hit() -> None:
    net = model()
    optimizer = sgd(net)
    with watching() as host:
        for _ in range(2):
            loss_of(net).backward()
            optimizer.step()
        torch.zeros(2) / torch.zeros(2)
    assert [hit.details.step for hit in host.hits] == [host.steps[-1].step] == [2]


def test_a_stop_in_backward_tells_the_loss_of_its_step() -> None:
    net = model()
    optimizer = sgd(net)
    with watching() as host:
        loss_of(net).backward()
        optimizer.step()
        root = (
            net(torch.zeros(2, 3)).sub(net.bias).sqrt().sum()
        )  # 0, whose derivative is not finite
        root.backward()
    assert len(host.hits) == 1
    assert (host.steps[-1].step, host.steps[-1].loss) == (1, 0.0)
    assert host.steps[-1].step == host.hits[0].details.step


def test_two_optimizers_share_a_step() -> None:
    one, two = model(), model()
    first, second = sgd(one), sgd(two)
    losses = []
    with watching() as host:
        for _ in range(2):
            for net, optimizer in ((one, first), (two, second)):
                optimizer.zero_grad()
                loss = loss_of(net)
                losses.append(loss.item())
                loss.backward()
                optimizer.step()
    assert [s.step for s in host.steps] == [1, 1, 2, 2]
    assert [s.loss for s in host.steps] == losses


def test_one_loss_for_two_optimizers_and_none_without_backward() -> None:
    one, two = model(), model()
    first, second = sgd(one), sgd(two)
    with watching() as host:
        loss = loss_of(one) + loss_of(two)
        loss.backward()
        first.step()
        second.step()
        first.step()
    assert [(s.step, s.loss) for s in host.steps] == [
        (1, loss.item()),
        (1, loss.item()),
        (2, None),
    ]


def test_the_last_micro_batch() -> None:
    net = model()
    optimizer = sgd(net)
    with watching() as host:
        loss_of(net, 0.5).backward()
        last = loss_of(net, 0.25)
        last.backward()
        optimizer.step()
    assert [s.loss for s in host.steps] == [last.item()]


def test_what_has_no_value_as_a_loss() -> None:
    net = model()
    optimizer = sgd(net)
    with watching() as host:
        net(torch.ones(2, 3)).backward(torch.ones(2, 1))
        optimizer.step()
        torch.autograd.backward([loss_of(net), loss_of(net)])
        optimizer.step()
    assert [s.loss for s in host.steps] == [None, None]
    assert host.notices == []


def test_gradients_asked_for_are_no_loss() -> None:
    """A penalty's inner ``autograd.grad`` is not what the program minimises."""
    net = model()
    optimizer = sgd(net)
    x = torch.ones(2, 3, requires_grad=True)
    with watching() as host:
        loss = loss_of(net)
        loss.backward()
        torch.autograd.grad(net(x).sum() * 100, x)
        optimizer.step()
    assert [s.loss for s in host.steps] == [loss.item()]


def test_backward_inside_backward_is_no_loss() -> None:
    from torch.utils.checkpoint import checkpoint

    net = model()
    optimizer = sgd(net)
    x = torch.ones(1, 3, requires_grad=True)
    with watching() as host:
        loss = checkpoint(net, x, use_reentrant=True).sum() * 3
        loss.backward()
        optimizer.step()
    assert [s.loss for s in host.steps] == [loss.item()]


@pytest.mark.parametrize("deferring", [False, True], ids=["read", "deferred"])
def test_a_scaled_loss_is_told_unscaled_or_not_at_all(deferring: bool, deferred: Any) -> None:
    framework, host = deferred
    framework._watch.defer_cpu = deferring
    net = model()
    optimizer = sgd(net)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    losses = []
    for derived in (False, True):
        loss = loss_of(net)
        losses.append(None if derived else pytest.approx(loss.item()))
        scaled = scaler.scale(loss)
        (scaled / 2 if derived else scaled).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    losses.append(pytest.approx(loss_of(net).item()))
    loss_of(net).backward()
    optimizer.step()
    assert [s.loss for s in host.steps] == losses


def test_a_scaler_of_another_class_hides_the_loss() -> None:
    class Own(torch.amp.GradScaler):
        def scale(self, outputs: Any) -> Any:
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale

    net = model()
    optimizer = sgd(net)
    scaler = Own("cpu", init_scale=1024.0)
    with watching() as host:
        scaler.scale(loss_of(net)).backward()
        scaler.step(optimizer)
    assert [s.loss for s in host.steps] == [None]


def test_on_an_accelerator_the_loss_comes_with_the_checks(deferred: Any) -> None:
    _, host = deferred
    net = model()
    optimizer = sgd(net)
    loss = loss_of(net)
    before = loss.item()
    loss.backward()
    with torch.no_grad():
        loss.mul_(1000)  # the program's own business
    optimizer.step()
    assert [s.loss for s in host.steps] == [before]


def test_the_graph_is_not_kept_alive() -> None:
    import weakref

    net = model()
    optimizer = sgd(net)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    with watching() as host:
        for _ in range(2):
            activation = net(torch.ones(2, 3))
            gone = weakref.ref(activation)
            scaler.scale(activation.mean()).backward()
            del activation
            assert gone() is None
            scaler.step(optimizer)
            scaler.update()
    assert len(host.steps) == 2


def test_in_another_thread() -> None:
    with watching() as host:

        def train() -> None:
            net = model()
            optimizer = sgd(net)
            loss_of(net).backward()
            optimizer.step()

        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
    assert [s.step for s in host.steps] == [1]


def graphs_of_a_compiled_step() -> int:
    """Compile a whole step, optimiser included; return into how many graphs."""
    made: list[Any] = []

    def backend(graph: Any, _: Any) -> Any:
        made.append(graph)
        return graph.forward

    net = model()
    optimizer = sgd(net)

    @torch.compile(backend=backend)
    def step() -> None:
        loss_of(net).backward()
        optimizer.step()

    torch._dynamo.reset()
    for _ in range(5):
        step()
    return len(made)


def test_our_hooks_are_no_part_of_compiled_graphs() -> None:
    """In a process of its own: what others have compiled before changes how graphs are counted."""
    run = "from tests.runtime.test_steps import compare_graphs; compare_graphs()"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", run], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def compare_graphs() -> None:
    Overhead.seconds_between, Overhead.steps_between = 0.0, 1
    plain = graphs_of_a_compiled_step()
    with watching() as host:
        assert graphs_of_a_compiled_step() == plain
    assert [s.step for s in host.steps] == [1, 2, 3, 4, 5]
    assert host.steps[0].loss is not None
    assert host.notices == []


@pytest.fixture
def each_step_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Overhead, "seconds_between", 0.0)
    monkeypatch.setattr(Overhead, "steps_between", 1)


def modes() -> list[str]:
    return [type(mode).__name__ for mode in torch.overrides._get_current_function_mode_stack()]


def test_the_overhead_is_a_share_once_three_steps_were_timed(each_step_is_timed: None) -> None:
    net = model()
    optimizer = sgd(net)
    with watching() as host:
        for _ in range(12):
            loss_of(net).backward()
            optimizer.step()
    shares = [s.overhead for s in host.steps]
    assert shares[:5] == [None] * 5
    assert all(share is not None and 0 < share < 1 for share in shares[-4:])


def test_most_steps_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Overhead, "seconds_between", 1e6)
    net = model()
    optimizer = sgd(net)
    seen = []
    with watching():
        for _ in range(12):
            loss_of(net).backward()
            optimizer.step()
            seen += modes()
    # Between the second and the fourth: one to warm up, one that counts.
    assert seen == ["Watcher", "TimedWatcher", "TimedWatcher", *["Watcher"] * 9]


def test_an_accelerator_does_not_tell_its_overhead(each_step_is_timed: None, deferred: Any) -> None:
    _, host = deferred
    net = model()
    optimizer = sgd(net)
    for _ in range(8):
        loss_of(net).backward()
        optimizer.step()
    assert [s.overhead for s in host.steps] == [None] * 8


def test_disarmed_while_a_step_is_timed(each_step_is_timed: None) -> None:
    net = model()
    optimizer = sgd(net)
    host = Host()
    framework = PyTorch(host)
    framework.arm(ARMED, precise=False)
    for _ in range(3):
        loss_of(net).backward()
        optimizer.step()
    assert modes() == ["TimedWatcher"]
    loss = loss_of(net)
    framework.disarm()
    loss.backward()
    optimizer.step()
    assert modes() == []
    assert len(host.steps) == 3


def test_a_finding_in_a_timed_step_is_the_same(each_step_is_timed: None) -> None:
    net = model()
    optimizer = sgd(net)
    with watching() as host:
        for _ in range(4):
            loss_of(net).backward()
            optimizer.step()
        assert modes() == ["TimedWatcher"]
        torch.log(torch.zeros(2)); line = sys._getframe().f_lineno  # fmt: skip  # noqa: E702
        loss_of(net).backward()
        optimizer.step()
        x = torch.zeros(2, requires_grad=True)
        x.sqrt().sum().backward()
    first, second = host.hits
    assert (first.details.op, first.details.source.line) == ("log", line)
    assert second.details.phase == "backward"
    assert host.notices == []
