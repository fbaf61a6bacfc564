"""What the adapter hears of steps, frameworks and modules from a real process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))

from dap_client import line_of
from fake_adapter import Connection, FakeAdapter
from support import ROOT, environment

from zentracer.link import Handlers, Link
from zentracer.wire.codec import ANSWER, EVENT, decode
from zentracer.wire.messages import (
    ExceptionFilter,
    FrameworkLoaded,
    Modules,
    ModulesQuery,
    SetExceptionFilters,
    Step,
)

ARMED = SetExceptionFilters(filters=(ExceptionFilter(id=7, filter="zentracer.nonfinite"),))
NOTHING = SetExceptionFilters(filters=())

TRAINS = """
    import torch
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    def train():
        loss = net(torch.ones(2, 3)).pow(2).mean() * 0 + 0.5
        loss.backward()
        optimizer.step()
"""


@pytest.fixture
def adapter() -> Iterator[FakeAdapter]:
    fake = FakeAdapter()
    yield fake
    fake.close()


@pytest.fixture
def run(
    start_client: Callable[..., Any], write_program: Any, adapter: FakeAdapter
) -> Callable[..., tuple[Any, Connection]]:
    """Start a program and arm what is asked for; returns the client and the link."""

    def start(source: str, filters: SetExceptionFilters = ARMED) -> tuple[Any, Connection]:
        client = start_client("debugpy")
        client.initialize()
        client.start_request = client.send(
            "launch",
            program=str(write_program(source)),
            python=[sys.executable],
            console="internalConsole",
            env=environment(adapter),
        )
        link = adapter.accept()
        assert link.hello().name == "program.py"
        assert link.request("set_exception_filters", filters).kind == ANSWER
        client.wait_event("initialized")
        return client, link

    return start


def events(frames: list[Any], name: str, body: Any) -> list[Any]:
    return [decode(body, f.body) for f in frames if (f.kind, f.name) == (EVENT, name)]


def test_framework_and_steps_until_the_end(run: Any) -> None:
    client, link = run(TRAINS + "    for _ in range(40): train()\n")
    client.request("configurationDone")
    frames = link.rest()
    client.until_exit()
    (loaded,) = events(frames, "framework", FrameworkLoaded)
    assert loaded == FrameworkLoaded(name="torch", version=loaded.version)
    assert loaded.version.partition("+")[0] == metadata.version("torch").partition("+")[0]
    steps = events(frames, "step", Step)
    assert (steps[-1].step, steps[-1].loss) == (40, 0.5)
    assert [s.step for s in steps] == sorted({s.step for s in steps})


def test_nothing_armed_no_steps(run: Any) -> None:
    client, link = run(TRAINS + "    train()\n", NOTHING)
    client.request("configurationDone")
    frames = link.rest()
    client.until_exit()
    assert events(frames, "step", Step) == []


def test_at_a_breakpoint_the_last_step_is_there_and_the_modules_are_told(
    run: Any, tmp_path: Path
) -> None:
    source = TRAINS + "    for _ in range(7): train()\n    print('done')  # @here\n"
    client, link = run(source)
    program = tmp_path / "program.py"
    client.set_breakpoints(program, [line_of(program, "here")])
    client.request("configurationDone")
    client.until_stopped()
    while (frame := link.next()).name != "step" or frame.body["step"] != 7:
        assert frame.name in ("step", "framework")
    answer = link.request("modules", ModulesQuery())
    assert decode(Modules, answer.body).modules[0].class_name == "Linear"


def test_modules_while_training_runs(run: Any) -> None:
    client, link = run(
        TRAINS
        + """
    from zentracer import bootstrap
    while bootstrap._runtime._armed.filters: train()
    """
    )
    client.request("configurationDone")
    while link.next().name != "step":
        pass
    link.send_request("modules", ModulesQuery(query="Lin*"), id=3)
    while (frame := link.next()).name != "modules":
        pass
    found = decode(Modules, frame.body)
    assert (found.matching, found.modules[0].parameters) == (1, 4)
    link.send_request("set_exception_filters", NOTHING, id=4)
    client.until_exit()


def test_another_adapter_hears_of_the_framework_again(adapter: FakeAdapter) -> None:
    code = """if True:
        import sys, torch
        from zentracer.runtime import Runtime
        runtime = Runtime({})
        runtime.watch_imports()
        for _ in range(2):
            runtime.connect(("127.0.0.1", int(sys.argv[1])), "token")
            sys.stdin.readline()
    """
    command = [sys.executable, "-c", code, str(adapter.port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, cwd=ROOT) as process:
        for _ in range(2):
            link = adapter.accept()
            assert link.hello().name == "-c"
            assert decode(FrameworkLoaded, link.next().body).name == "torch"
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()


def test_only_the_newest_counts(adapter: FakeAdapter) -> None:
    link = Link(("127.0.0.1", adapter.port), Handlers(dict, lambda *_: None, lambda: None))
    link.open()
    connection = adapter.accept()
    connection.next()
    for step in range(20_000):
        link.send_latest("step", {"step": step})
    seen = []
    while not seen or seen[-1] != 19_999:
        seen.append(connection.next().body["step"])
    link.send_latest("step", {"step": 20_000})
    link.flush()
    link.close()
    seen += [frame.body["step"] for frame in connection.rest()]
    assert seen[-1] == 20_000
    assert seen == sorted(set(seen)) and len(seen) < 2000
