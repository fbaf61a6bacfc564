"""A mistake in a line breakpoint's condition reaches the user through our adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dap_client import Client, line_of


def test_on_the_breakpoint_and_in_the_output_once(client: Client, write_program: Any) -> None:
    program: Path = write_program(
        """
        for i in range(5):
            print(i)  # @loop
        """
    )
    loop = {"line": line_of(program, "loop"), "condition": "missing > 1"}
    answers = client.launch(program=program, breakpoints={program: [loop]})
    (set_,) = answers["breakpoints"][program]
    assert client.until_exit() == 0
    changed = [body["breakpoint"] for body in client.events("breakpoint")]
    (told,) = [b for b in changed if b.get("message")]
    assert (told["id"], told["verified"]) == (set_["id"], False)
    assert "NameError: name 'missing' is not defined" in told["message"]
    text = "".join(body["output"] for body in client.events("output"))
    assert text.count("NameError: name 'missing' is not defined") == 1
