"""setVariable and setExpression on parts of tensors: the contract of assignment.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from dap_client import Client, RequestFailed, Stop, line_of
from support import environment

pytest.importorskip("torch")

PROGRAM = """
import torch

weight = torch.nn.Parameter(torch.ones(2, 3))
pair = [1, 2]
name = "before"
y = weight * 2
pass  # @here
print("weight", weight.tolist(), weight.requires_grad, weight.is_leaf)
print("rest", pair, name)
z = y
z.sum().backward()
print("grad", weight.grad.tolist())
"""


@pytest.fixture
def here(start_client: Callable[..., Client], write_program: Any) -> tuple[Client, Stop]:
    program = write_program(PROGRAM)
    client = start_client("debugpy")
    client.launch(
        program=program,
        env=environment(),
        breakpoints={program: [line_of(program, "here")]},
    )
    return client, client.until_stopped()


def output(client: Client, stop: Stop) -> str:
    client.resume(stop.thread_id)
    assert client.until_exit() == 0
    return client.output("stdout")


def test_an_element_of_a_parameter(here: tuple[Client, Stop]) -> None:
    client, stop = here
    client.request("setExpression", expression="weight[0, 1]", value="5", frameId=stop.frame_id)
    assert "weight [[1.0, 5.0, 1.0], [1.0, 1.0, 1.0]] True True" in output(client, stop)


def test_a_slice_of_a_parameter(here: tuple[Client, Stop]) -> None:
    client, stop = here
    client.request("setExpression", expression="weight[1]", value="0", frameId=stop.frame_id)
    assert "weight [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]] True True" in output(client, stop)


def test_a_name_keeps_its_gradient(here: tuple[Client, Stop]) -> None:
    client, stop = here
    client.request("setExpression", expression="y", value="weight * 3", frameId=stop.frame_id)
    assert "grad [[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]" in output(client, stop)


def test_other_containers(here: tuple[Client, Stop]) -> None:
    client, stop = here
    client.request("setExpression", expression="pair[0]", value="7", frameId=stop.frame_id)
    scope = client.request("scopes", frameId=stop.frame_id)["scopes"][0]["variablesReference"]
    client.request("setVariable", variablesReference=scope, name="name", value="'after'")
    assert "rest [7, 2] after" in output(client, stop)


@pytest.mark.parametrize(
    ("expression", "value", "message"),
    [
        (
            "weight[0, 9]",
            "1",
            "`weight[0, 9]` cannot be evaluated here: IndexError: index 9",
        ),
        ("weight[0]", "torch.ones(7)", "`weight[0]` is float32[3], and float32[7] does not broad"),
        ("nothing[0]", "1", "Cannot set nothing[0]: NameError: name 'nothing' is not defined"),
        ("pair[0]", "1 +", "Cannot set pair[0]: SyntaxError"),
    ],
)
def test_errors_of_set_expression(
    here: tuple[Client, Stop], expression: str, value: str, message: str
) -> None:
    client, stop = here
    with pytest.raises(RequestFailed) as failed:
        client.request("setExpression", expression=expression, value=value, frameId=stop.frame_id)
    assert failed.value.message.startswith(message)


def test_errors_of_set_variable(here: tuple[Client, Stop]) -> None:
    client, stop = here
    scope = client.request("scopes", frameId=stop.frame_id)["scopes"][0]["variablesReference"]
    with pytest.raises(RequestFailed, match="Cannot set name: NameError"):
        client.request("setVariable", variablesReference=scope, name="name", value="nothing")
    row = client.locals(stop.frame_id)["pair"]["variablesReference"]
    with pytest.raises(RequestFailed, match=r"Cannot set pair\[0\]: ZeroDivisionError"):
        client.request("setVariable", variablesReference=row, name="0", value="1 / 0")
