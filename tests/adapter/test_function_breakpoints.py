"""Breakpoints on modules, operations, steps and Python functions, as an editor sets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

from dap_client import Client

PROGRAM = """
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x):
        return self.fc(x).relu()  # the call of fc

def main():
    torch.manual_seed(0)
    net = Encoder()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        loss = net(torch.randn(5, 3)).sum()  # the call of the model
        opt.zero_grad()
        loss.backward()
        opt.step()  # the end of a step

main()
"""


def line_of(mark: str) -> int:
    return next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if mark in line)


def start(client: Client, program: Path, *names: Any) -> list[Any]:
    client.initialize()
    answers = client.launch(program=program, exceptions=[], functions=names)
    return answers["functions"]["breakpoints"]


def test_a_module_stops_at_the_line_that_calls_it(
    client: Client, write_program: Callable[..., Path]
) -> None:
    waiting, broken = start(
        client,
        write_program(PROGRAM),
        {"name": "module:fc", "condition": "step == 1"},
        {"name": "module:fc", "condition": "nrom > 1"},
    )
    assert not waiting["verified"] and "PyTorch has not been imported" in waiting["message"]
    assert not broken["verified"] and "Did you mean 'norm'?" in broken["message"]
    stop = client.until_stopped()
    assert (stop.line, stop.body["reason"]) == (line_of("the call of fc"), "function breakpoint")
    assert stop.body["hitBreakpointIds"] == [waiting["id"]]
    assert stop.body["description"].startswith("fc (Linear) is about to run (forward, step 1)")
    changed = client.wait_event("breakpoint", lambda body: body["breakpoint"]["verified"])
    assert changed["breakpoint"]["id"] == waiting["id"]
    scopes = client.scopes(stop.frame_id)
    assert scopes["Tensors"]["x"]["value"].startswith("float32[5, 3]")
    assert scopes["Tensors"]["input"]["value"].startswith("float32[5, 3]")
    assert {"weight", "bias"} <= {*scopes["Module"]} | {
        row["name"]
        for group in scopes["Module"].values()
        if group["variablesReference"]
        for row in client.variables(group["variablesReference"])
    }
    client.resume()
    assert client.until_exit() == 0


def test_the_module_of_a_frame_is_a_scope(
    client: Client, write_program: Callable[..., Path]
) -> None:
    program = write_program(PROGRAM)
    client.initialize()
    client.launch(program=program, breakpoints={program: [line_of("the call of fc")]})
    stop = client.until_stopped()
    scopes = client.scopes(stop.frame_id)
    assert "Tensors" not in scopes
    assert "fc" in {
        row["name"]
        for group in scopes["Module"].values()
        if group["variablesReference"]
        for row in client.variables(group["variablesReference"])
    } | {*scopes["Module"]}
    outer = client.scopes(stop.frames[1]["id"])
    assert "Module" not in outer
    client.set_breakpoints(program, [])
    client.resume()
    assert client.until_exit() == 0


def test_steps_by_hit_count(client: Client, write_program: Callable[..., Path]) -> None:
    every, second = start(
        client, write_program(PROGRAM), {"name": "step", "hitCondition": "% 3"}, "step:2"
    )
    for expected, step in ((second, 2), (every, 3)):
        stop = client.until_stopped()
        assert stop.line == line_of("the end of a step")
        assert stop.body["hitBreakpointIds"] == [expected["id"]]
        assert f"Step {step} is complete" in stop.body["text"]
        client.resume()
    assert client.until_exit() == 0


def test_set_while_the_program_stands_and_removed(
    client: Client, write_program: Callable[..., Path]
) -> None:
    program = write_program(PROGRAM)
    client.initialize()
    client.launch(program=program, breakpoints={program: [line_of("the call of the model")]})
    stop = client.until_stopped()
    client.set_breakpoints(program, [])
    there, missing = client.set_functions("module:fc", "module:fcc")
    assert there["verified"]
    assert not missing["verified"] and "Similar names: fc" in missing["message"]
    client.resume(stop.thread_id)
    assert client.until_stopped().line == line_of("the call of fc")
    assert client.set_functions() == []
    client.resume()
    assert client.until_exit() == 0


def test_after_a_restart_ids_and_statuses_are_those_of_the_new_start(
    client: Client, write_program: Callable[..., Path]
) -> None:
    program = write_program(PROGRAM)
    client.initialize()
    client.launch(program=program, breakpoints={program: [line_of("the call of the model")]})
    stop = client.until_stopped()
    module, missing = client.set_functions("module:fc", "module:nothing.like.it")
    assert module["verified"] and not missing["verified"]
    row = client.request("dataBreakpointInfo", name="net.fc.weight", frameId=stop.frame_id)
    (data,) = client.set_data({"dataId": row["dataId"]})
    assert data["verified"]
    client.set_breakpoints(program, [])
    client.request("restart")
    ended = client.wait_event("breakpoint", lambda b: b["breakpoint"]["id"] == data["id"])
    assert "has ended" in ended["breakpoint"]["message"]
    stop = client.until_stopped()
    assert stop.body["hitBreakpointIds"] == [module["id"]]
    told = [body["breakpoint"] for body in client.events("breakpoint")]
    assert {item["id"] for item in told} <= {module["id"], missing["id"], data["id"]}
    assert [item["verified"] for item in told if item["id"] == module["id"]][-1]
    client.set_functions()
    client.resume()
    assert client.until_exit() == 0


def test_data_of_an_earlier_run_and_reads_are_refused(
    client: Client, write_program: Callable[..., Path]
) -> None:
    program = write_program(PROGRAM)
    client.initialize()
    client.launch(program=program, breakpoints={program: [line_of("the call of the model")]})
    stop = client.until_stopped()
    row = client.request("dataBreakpointInfo", name="net.fc.weight", frameId=stop.frame_id)
    read, unknown = client.set_data(
        {"dataId": row["dataId"], "accessType": "read"}, {"dataId": "of an earlier run"}
    )
    assert not read["verified"] and "stops at writes" in read["message"]
    assert not unknown["verified"] and unknown["message"]
    client.set_breakpoints(program, [])
    client.resume()
    assert client.until_exit() == 0


def test_set_and_gone_on_without_waiting_for_the_answer(
    client: Client, write_program: Callable[..., Path]
) -> None:
    program = write_program(PROGRAM)
    client.initialize()
    client.launch(program=program, breakpoints={program: [line_of("the call of the model")]})
    stop = client.until_stopped()
    step = client.evaluate("step", stop.frame_id)["result"]
    client.set_breakpoints(program, [])
    seq = client.send("setFunctionBreakpoints", breakpoints=[{"name": "module:fc"}])
    client.resume(stop.thread_id)
    client.finish(seq)
    stop = client.until_stopped()
    assert stop.line == line_of("the call of fc")
    assert client.evaluate("step", stop.frames[1]["id"])["result"] == step
    client.set_functions()
    client.resume()
    assert client.until_exit() == 0
