"""Programs that stock debuggers mishandle: breakpoints in backward, compiled code and workers."""

from __future__ import annotations

from cases import Case, cases
from dap_client import Client

FILTER = "zentracer.nonfinite"


def case(name: str) -> Case:
    (found,) = cases(f"pytorch_dbg_{name}.py")
    return found


def test_breakpoint_in_backward_shows_the_forward_call(client: Client) -> None:
    program = case("backward_breakpoint")
    (line,), (forward,) = program.lines("breakpoint"), program.lines("culprit")
    client.initialize()
    client.launch(
        program=str(program.path), breakpoints={program.path: [line]}, exceptions=[FILTER]
    )
    for step in range(2):
        stop = client.until_stopped()
        assert stop.line == line
        names = [frame["name"] for frame in stop.frames]
        lines = [frame["line"] for frame in stop.frames]
        assert names[:2] == ["backward", "[forward of backward] <module>"]
        assert lines[:2] == [line, forward]
        assert "y.sum().backward()" in program.text.splitlines()[lines[-1] - 1]
        assert client.evaluate("step", stop.frames[-1]["id"], "hover")["result"] == str(step)
        client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_breakpoint_in_compiled_code_says_so_and_offers_eager(client: Client) -> None:
    program = case("compile_breakpoint")
    (line,), (compiled,) = program.lines("breakpoint"), program.lines("culprit")
    client.initialize()
    client.launch(program=str(program.path), breakpoints={program.path: [line]}, exceptions=[])
    changed = client.wait_event("breakpoint")["breakpoint"]
    assert changed["verified"] is False
    assert f":{compiled})" in changed["message"]
    assert '"eager": true' in changed["message"]
    assert client.until_exit() == 0


def test_breakpoint_in_compiled_code_is_hit_when_run_eagerly(client: Client) -> None:
    program = case("compile_breakpoint")
    (line,) = program.lines("breakpoint")
    client.initialize()
    client.launch(
        program=str(program.path),
        breakpoints={program.path: [line]},
        zentracer={"eager": True},
    )
    for _ in range(3):
        stop = client.until_stopped()
        assert stop.line == line
        client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_breakpoint_in_a_forked_loader_worker(client: Client) -> None:
    program = case("worker_breakpoint")
    (line,) = program.lines("breakpoint")
    client.initialize()
    client.launch(program=str(program.path), breakpoints={program.path: [line]})
    worker = client.attach_child(breakpoints={program.path: [line]})
    stop = worker.until_stopped()
    assert stop.line == line
    assert worker.evaluate("i", stop.frame_id, "hover")["result"] == "0"
    worker.set_breakpoints(program.path, [])
    worker.resume(stop.thread_id)
    assert client.until_exit() == 0


def is_worker(child: Client) -> bool:
    answer = child.evaluate("'--multiprocessing-fork' in __import__('sys').argv")
    return answer["result"] == "True"


def test_breakpoint_in_the_collate_function_of_a_spawned_worker(client: Client) -> None:
    program = case("collate_spawn_breakpoint")
    (line,) = program.lines("breakpoint")
    client.initialize()
    client.launch(program=str(program.path), breakpoints={program.path: [line]})
    # One is spawn's resource tracker; which of the two announces itself first is open.
    children = [client.attach_child(breakpoints={program.path: [line]}) for _ in range(2)]
    (worker,) = (child for child in children if is_worker(child))
    stop = worker.until_stopped()
    assert stop.line == line
    assert worker.evaluate("len(items)", stop.frame_id, "hover")["result"] == "2"
    worker.set_breakpoints(program.path, [])
    worker.resume(stop.thread_id)
    assert client.until_exit() == 0
