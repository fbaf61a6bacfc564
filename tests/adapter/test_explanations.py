"""What exceptionInfo says of exceptions that are not ours: debugpy's answer, and ours beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from dap_client import Client, line_of

Write = Callable[..., Path]


def stop_at_exception(client: Client, program: Path, *filters: str) -> tuple[Any, Any]:
    client.initialize()
    client.launch(program=str(program), exceptions=filters or ("uncaught",))
    stop = client.until_stopped()
    return stop, client.exception_info(stop.thread_id)


def found(client: Client) -> list[tuple[str, int]]:
    events = client.events("zentracer/findings")
    return [(f["rule"], f["count"]) for f in events[-1]["findings"]] if events else []


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nraise ValueError('index out of range in self')\n",
        "[][1]\n",
        # A runtime that has nothing to say, and one that breaks.
        "import torch, zentracer.explain\n"
        "zentracer.explain.answer = lambda number: None\n"
        "torch.ones(2, 3) @ torch.ones(2, 3)\n",
        "import torch, zentracer.explain\n"
        "del zentracer.explain.answer\n"
        "torch.ones(2, 3) @ torch.ones(2, 3)\n",
    ],
)
def test_what_is_not_explained_is_debugpys_own(
    client: Client, write_program: Write, source: str
) -> None:
    stop, info = stop_at_exception(client, write_program(source))
    assert info["description"] == info["details"]["message"]
    assert set(info["details"]) == {"message", "typeName", "stackTrace", "source"}
    client.resume(stop.thread_id)
    assert client.until_exit() == 1
    assert found(client) == []


def test_a_failure_of_ours_is_said_once_and_the_answer_is_debugpys(
    client: Client, write_program: Write
) -> None:
    program = write_program(
        """
        import torch
        from zentracer.frameworks.pytorch import errors

        def explain(*arguments):
            raise LookupError("broken")

        errors.explain = explain
        torch.ones(2, 3) @ torch.ones(2, 3)
        """
    )
    stop, info = stop_at_exception(client, program)
    assert "zentracer" not in info["details"]
    assert "ZenTracer failed to explain an exception: LookupError: broken" in client.output()
    client.resume(stop.thread_id)
    assert client.until_exit() == 1


def test_an_exception_that_the_program_handles(client: Client, write_program: Write) -> None:
    program = write_program(
        """
        import torch

        def attempt(rows):
            return rows @ torch.ones(2, 3)  # @raises

        for number in range(2):
            try:
                attempt(torch.ones(2, 3))
            except RuntimeError:
                pass
        """
    )
    stop, info = stop_at_exception(client, program, "raised")
    assert stop.line == line_of(program, "raises")
    assert "rows [2, 3]" in info["description"]
    assert client.exception_info(stop.thread_id) == info  # asked again, it is counted once
    client.resume(stop.thread_id)
    again = client.until_stopped()
    assert client.exception_info(again.thread_id)["details"]["zentracer"]["inputs"]
    client.set_exceptions([])
    client.resume(again.thread_id)
    assert client.until_exit() == 0
    assert found(client) == [("zentracer.error", 2)]


def test_an_exception_in_a_thread(client: Client, write_program: Write) -> None:
    program = write_program(
        """
        import threading
        import torch

        def work():
            rows = torch.ones(2, 3)
            rows @ torch.ones(2, 3)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        """
    )
    stop, info = stop_at_exception(client, program)
    assert "rows [2, 3]" in info["details"]["zentracer"]["text"]
    assert info["details"]["typeName"] == "RuntimeError"
    client.resume(stop.thread_id)
    assert client.until_exit() == 0
