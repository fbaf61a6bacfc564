"""Watches: what changed since the last stop, and the history over stops and steps."""

from __future__ import annotations

import gc
import math
import sys
import threading
import weakref
from typing import Any, Iterator

import pytest

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from tests.runtime.watching import watching
from zentracer.watches import paths
from zentracer.watches.clock import Moment, clock
from zentracer.watches.history import MOST, History, Point
from zentracer.watches.table import MOST as MOST_WATCHES
from zentracer.watches.table import PER_STEP, Watches, watches

NAN, INF = math.nan, math.inf


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    """No stops and no watches but those of the test."""
    step = clock.step
    watches.forget()
    clock.forget()
    yield
    watches.forget()
    clock.forget()
    clock.step = step


def watch(expression: str, value: Any, depth: int = 1) -> str:
    frame = sys._getframe(depth)
    return watches.see(expression, frame, threading.get_ident(), value)


def known(expression: str, depth: int = 1) -> Any:
    return watches.find(expression, sys._getframe(depth), threading.get_ident())


def told(before: Any, now: Any) -> str:
    """What a watch says of ``now`` at the stop after one with ``before``."""
    clock.step = lambda: clock.stops + 161
    clock.stopped()
    assert watch("x", before, 2) == ""
    clock.stopped()
    return watch("x", now, 2)


ONES = torch.ones(64, 32)
BIG = torch.arange(1e6).reshape(1000, 1000)
CHANGES = {
    "by a little": (ONES, ONES * 1.0031, " · Δ 0.31% since step 162"),
    "by a lot": (ONES, ONES * 32, " · Δ 31x since step 162"),
    "not": (ONES, ONES.clone(), " · unchanged"),
    "not, with NaN in it": (torch.tensor([1, NAN]), torch.tensor([1, NAN]), " · unchanged"),
    "to NaN": (
        torch.ones(4),
        torch.tensor([1, 1, NAN, INF]),
        " · 2 more elements NaN or Inf since step 162",
    ),
    "to NaN and other numbers": (
        torch.ones(4),
        torch.tensor([1, 1, NAN, 2]),
        " · Δ 57.7%, 1 more element NaN or Inf since step 162",
    ),
    "from zero": (ONES * 0, ONES, " · 2,048 of 2,048 elements changed from 0 since step 162"),
    "beyond squares": (
        torch.full((4,), 1e200, dtype=torch.float64),
        torch.full((4,), 1.5e200, dtype=torch.float64),
        " · Δ 50% since step 162",
    ),
    "a sample": (BIG, BIG * 2, " ·~ Δ 100% since step 162"),
    "a sample, not": (BIG, BIG.clone(), " ·~ unchanged"),
    "labels": (
        torch.tensor([1, 2, 3]),
        torch.tensor([1, 2, 4]),
        " · 1 of 3 elements changed since step 162",
    ),
    "a large mask": (BIG < 0, BIG >= 0, " ·~ 100% of the elements changed since step 162"),
    "the phase": (torch.tensor([1 + 0j, 1]), torch.tensor([1j, 1j]), " · Δ 141% since step 162"),
    "the shape": (torch.ones(32, 32), ONES, " · new shape, was [32, 32]"),
    "the type": (ONES.half(), ONES, " · was float16[64, 32] (step 162)"),
    "a single number": (torch.tensor(0.455), torch.tensor(0.412), " · was 0.455 (step 162)"),
    "a digit that is not shown": (
        torch.tensor(1.0),
        torch.tensor(1.0 + 2**-22),
        " · Δ 2.4e-05% since step 162",
    ),
    "a number": (0.455, 0.412, " · was 0.455 (step 162)"),
    "a number, not": (3, 3, " · unchanged"),
    "a flag": (False, True, " · was False (step 162)"),
    "a number of numpy": (numpy.float32(0.5), numpy.float32(1), " · was 0.5 (step 162)"),
    "a number to a tensor": (0.5, ONES, " · was 0.5 (step 162)"),
    "an array": (numpy.ones((2, 3)), numpy.ones((2, 3)) * 1.1, " · Δ 10% since step 162"),
    "an array, not": (numpy.ones((2, 3)), numpy.ones((2, 3)), " · unchanged"),
    "a large array": (BIG.numpy(), BIG.numpy() * 2, " ·~ Δ 100% since step 162"),
    "what has no data": (torch.ones(3, device="meta"), torch.ones(3, device="meta"), ""),
    "what is stored": (
        torch.eye(3).to_sparse(),
        torch.eye(3).to_sparse() * 2,
        " · Δ 100% since step 162",
    ),
    "no number": ("a", "b", ""),
    "a huge number": (1 << 20000, 1 << 20001, ""),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed(change: str) -> None:
    before, now, text = CHANGES[change]
    assert told(before, now) == text


def test_a_tensor_without_data_tells_that_it_was_written_to() -> None:
    x = torch.ones(3, device="meta")
    clock.stopped()
    assert watch("x", x) == ""
    x.add_(1)
    clock.stopped()
    assert watch("x", x) == " · written to since stop 1" or watch("x", x).startswith(
        " · written to since line"
    )


def test_it_is_compared_with_the_stop_before_however_often_it_is_shown() -> None:
    clock.stopped()
    x = torch.ones(3)
    assert [watch("x", x), watch("x", x)] == ["", ""]
    x += 1
    clock.stopped()
    first = watch("x", x)
    assert first.startswith(" · Δ 100% since line ")
    assert watch("x", x).partition(" since")[0] == first.partition(" since")[0]
    assert [point.value for point in known("x").history.points] == [1, 2]


def test_a_value_that_the_user_changes_at_a_stop_is_compared_with_the_stop_before() -> None:
    clock.stopped()
    watch("x", 1)
    clock.stopped()
    watch("x", 2)
    assert "was 1" in watch("x", 3)
    clock.stopped()
    assert "was 3" in watch("x", 4)
    assert [point.value for point in known("x").history.points] == [1, 3, 4]


def test_two_functions_and_two_depths_have_their_own() -> None:
    def other(x: Any, depth: int) -> list[str]:
        below = other(x + 1, depth - 1) if depth else []
        return [watch("x", x), *below]

    def another(x: Any) -> str:
        return watch("x", x)

    clock.stopped()
    assert [*other(1, 1), another(5)] == ["", "", ""]
    clock.stopped()
    assert [*other(1, 1), another(5)] == [" · unchanged"] * 3


def test_only_a_bounded_copy_is_kept_and_nothing_alive() -> None:
    weight = torch.ones(1000, 1000, requires_grad=True)
    out = weight * 2
    handle = Owner()
    out.grad_fn.metadata["handle"] = handle
    node, alive = weakref.ref(handle), weakref.ref(out)
    clock.stopped()
    watch("out", out)
    kept = known("out").now.sample.numbers
    assert kept.numel() <= 16384 and kept.grad_fn is None
    assert kept.untyped_storage().nbytes() <= 16384 * 8
    del out, handle
    gc.collect()
    assert (alive(), node()) == (None, None)


def test_a_copy_of_doubles_is_none_of_the_users_memory() -> None:
    x = torch.ones(3, dtype=torch.float64)
    clock.stopped()
    watch("x", x)
    x.mul_(3)
    clock.stopped()
    assert watch("x", x).startswith(" · Δ 200%")


def test_the_longest_unused_go() -> None:
    table = Watches()
    clock.stopped()
    frame = sys._getframe()
    for number in range(MOST_WATCHES + 10):
        table.see(f"x[{number}]", frame, 0, number)
        table.see("x", frame, 0, 1)
    assert len(table.live()) == MOST_WATCHES
    assert table.find("x", frame, 0) is not None
    assert table.find("x[0]", frame, 0) is None


# -- the ring


def points_of(history: History) -> list[tuple[Any, Any]]:
    return [(point.when.stop, point.when.step) for point in history.points]


def test_a_full_history_has_half_the_points_and_its_ends() -> None:
    history = History()
    history.at_stop(Point(Moment(1, 0, 1, 0.0), 0.0))
    for step in range(1, 5001):
        if history.is_step_due():
            history.at_step(Point(Moment(None, step, None, 0.0), float(step)))
        if step % 1000 == 0:
            history.at_stop(Point(Moment(1 + step // 1000, step, 1, 0.0), float(step)))
    found = points_of(history)
    assert len(found) <= MOST
    assert (found[0], found[-1]) == ((1, 0), (6, 5000))
    assert [stop for stop, _ in found if stop] == [1, 2, 3, 4, 5, 6]
    steps = [step for _, step in found]
    assert steps == sorted(steps)
    gaps = [after - before for before, after in zip(steps, steps[1:])]
    assert max(gaps) <= 2 * history.every == 32


def test_thousands_of_stops_are_bounded_too() -> None:
    history = History()
    for stop in range(1, 3001):
        history.at_stop(Point(Moment(stop, None, 1, 0.0), 0.0))
    found = points_of(history)
    assert MOST // 2 <= len(found) <= MOST
    assert (found[0][0], found[-1][0]) == (1, 3000)


# -- plain paths


class Owner:
    kind = "class"

    def __init__(self) -> None:
        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ModuleList([]))
        self.sizes = {"a": [1, 2, (3, 4)]}
        self.calls = 0

    @property
    def computed(self) -> int:
        self.calls += 1
        return 1


class Slotted:
    __slots__ = ("full", "open")

    def __init__(self) -> None:
        self.full = 5


class Answering:
    def __getattr__(self, name: str) -> int:
        raise AssertionError("the user's code has been called")


PATHS = {
    "owner.layers[0].weight": lambda o: o.layers[0].weight,
    "owner.layers[-2].bias": lambda o: o.layers[0].bias,
    "owner.layers[0].weight.grad": lambda o: o.layers[0].weight.grad,
    "owner.sizes['a'][2][0]": lambda o: 3,
    "owner.kind": lambda o: "class",
    " owner ": lambda o: o,
    "slotted.full": lambda o: 5,
    "math.pi": lambda o: math.pi,
}


@pytest.mark.parametrize("expression", PATHS)
def test_plain_paths_are_read(expression: str) -> None:
    owner = Owner()
    owner.layers[0](torch.ones(1, 2)).sum().backward()
    path = paths.parse(expression)
    assert path is not None
    found = paths.read(path, {"owner": owner, "slotted": Slotted()}, globals())
    assert found is PATHS[expression](owner) or found == PATHS[expression](owner)


@pytest.mark.parametrize(
    "expression",
    [
        "owner.computed", "answering.x", "owner.gone", "gone", "owner.sizes['b']", "slotted.open",
        "owner.layers[7]", "owner.layers['7']", "owner.sizes.keys", "owner.layers[0].weight.T",
    ],
)  # fmt: skip
def test_what_takes_the_users_code_or_is_not_there_is_not_read(expression: str) -> None:
    owner = Owner()
    names = {"owner": owner, "slotted": Slotted(), "answering": Answering()}
    path = paths.parse(expression)
    assert path is not None
    assert paths.read(path, names, {}) is paths.MISSING
    assert owner.calls == 0


@pytest.mark.parametrize("expression", ["f(x)", "x + 1", "x[i]", "x[0.5]", "(", "x if y else z"])
def test_what_is_no_plain_path(expression: str) -> None:
    assert paths.parse(expression) is None


def test_elements_and_slices_of_tensors() -> None:
    names = {"x": torch.arange(12).reshape(3, 4), "a": numpy.arange(4)}

    def value(expression: str) -> Any:
        path = paths.parse(expression)
        assert path is not None
        return paths.read(path, names, {}).tolist()

    assert value("x[1, -1]") == 7
    assert value("x[:2, 0]") == [0, 4]
    assert value("x[..., 1]") == [1, 5, 9]
    assert value("a[1:3]") == [1, 2]


# -- steps


class Run:
    """A little training whose weights are watched."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.net = torch.nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.losses: list[float] = []

    def steps(self, count: int) -> None:
        for _ in range(count):
            loss = self.net(torch.rand(2, 3)).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())


def test_a_watch_is_read_at_each_step_between_stops() -> None:
    run = Run()
    weight = run.net.weight
    with watching() as host:
        run.steps(2)
        clock.stopped()
        watch("weight", weight)
        watch("run.net.weight[0, 0]", run.net.weight[0, 0])
        watch("weight.sum()", weight.sum())
        watch("len(run.losses)", len(run.losses))
        values = []
        for _ in range(3):
            run.steps(1)
            values.append(weight.mean().item())
        clock.stopped()
        assert watch("weight", weight).endswith(" since step 2")
    history = known("weight").history
    assert points_of(history) == [(1, 2), (None, 3), (None, 4), (None, 5), (2, 5)]
    assert [point.value for point in history.points[1:4]] == pytest.approx(values)
    assert history.points[3].norm == pytest.approx(weight.norm().item())
    elements = known("run.net.weight[0, 0]").history.points
    assert elements[-1].value == pytest.approx(weight[0, 0].item())
    assert len(elements) == 4
    assert len(known("weight.sum()").history.points) == 1  # that sum has died
    assert len(known("len(run.losses)").history.points) == 1
    assert host.notices == []


def test_a_tensor_that_lives_on_is_read_outside_of_its_function() -> None:
    run = Run()

    def forward(module: Any) -> None:
        clock.stopped()
        watch("module.weight", module.weight)
        assert known("module.weight") is not None
        found.append(known("module.weight"))

    found: list[Any] = []
    with watching():
        forward(run.net)
        run.steps(2)
    assert points_of(found[0].history) == [(1, 0), (None, 1), (None, 2)]
    assert found[0].history.points[-1].value == pytest.approx(run.net.weight.mean().item())


def test_what_was_not_looked_at_at_the_last_stop_is_not_read() -> None:
    run = Run()
    weight = run.net.weight
    with watching():
        clock.stopped()
        watch("weight", weight)
        run.steps(1)
        clock.stopped()
        run.steps(5)
    assert points_of(known("weight").history) == [(1, 0), (None, 1)]


def test_many_watches_take_turns() -> None:
    run = Run()
    expressions = [f"run.net.weight[0, {number}]" for number in range(-3, 3)] + ["run.net.bias"]
    with watching():
        clock.stopped()
        for expression in expressions:
            watch(expression, eval(expression))
        run.steps(7)
    found = []
    for expression in expressions:
        found.append(points_of(known(expression).history))
    assert [len(points) - 1 for points in found] == [PER_STEP] * 7
    assert found[0] != found[-1]


def test_stops_have_no_step_while_none_are_seen() -> None:
    run = Run()
    weight = run.net.weight
    with watching():
        run.steps(1)
    clock.stopped()
    watch("weight", weight)
    run.steps(1)
    clock.stopped()
    assert " since line " in watch("weight", weight)
    assert points_of(known("weight").history) == [(1, None), (2, None)]


def test_watching_changes_nothing_of_the_run() -> None:
    def losses(is_watched: bool) -> tuple[list[float], Any, list[int]]:
        run = Run()
        weight = run.net.weight
        with watching() as host:
            for _ in range(4):
                run.steps(1)
                if is_watched:
                    clock.stopped()
                    for expression in ("weight", "weight.grad", "run.net.bias"):
                        watch(expression, eval(expression))
        assert host.notices == []
        return run.losses, torch.get_rng_state(), [weight._version, weight.grad._version]

    plain, state, versions = losses(is_watched=False)
    watched, state_after, versions_after = losses(is_watched=True)
    assert watched == plain
    assert torch.equal(state, state_after)
    assert versions == versions_after


def test_frames_keep_nothing_of_what_was_read() -> None:
    run = Run()
    with watching():
        batch = torch.ones(3)
        alive = weakref.ref(batch)
        clock.stopped()
        watch("batch", batch)
        run.steps(1)
        assert len(known("batch").history.points) == 2
        del batch
        gc.collect()
        assert alive() is None
        run.steps(1)
        assert len(known("batch").history.points) == 2
