"""Tensors without data, in conditions and watches: said as what they are."""

from __future__ import annotations

import pytest
from cases import cases
from dap_client import Client, RequestFailed


@pytest.mark.parametrize(
    ("name", "watch", "said"),
    [
        ("meta_tensor", "net.weight.isnan().any().item()", "float32[8, 8] meta: no data"),
        ("lazy_parameter", "net.weight.numel()", "float32 cpu: uninitialised (lazy)"),
    ],
)
def test_what_has_no_data_is_named(client: Client, name: str, watch: str, said: str) -> None:
    (program,) = cases(f"pytorch_dbg_{name}.py")
    (line,) = program.lines("breakpoint")
    client.initialize()
    client.launch(program=str(program.path), breakpoints={program.path: [line]}, exceptions=[])
    stop = client.until_stopped()
    with pytest.raises(RequestFailed) as failed:
        client.evaluate(watch, stop.frame_id)
    assert f"NoData: net.weight is {said} (" in failed.value.message
    assert (
        said.rpartition(" ")[2] in client.evaluate("zt.stats(net.weight)", stop.frame_id)["result"]
    )
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_a_condition_on_what_has_no_data_says_so(client: Client) -> None:
    (program,) = cases("pytorch_dbg_meta_tensor.py")
    (line,) = program.lines("breakpoint")
    client.initialize()
    condition = {"line": line, "condition": "net.weight.isnan().any()"}
    client.launch(program=str(program.path), breakpoints={program.path: [condition]}, exceptions=[])
    changed = client.wait_event("breakpoint", lambda body: body["breakpoint"].get("message"))
    assert "net.weight is float32[8, 8] meta: no data (" in changed["breakpoint"]["message"]
    assert changed["breakpoint"]["verified"] is False
    assert client.until_exit() == 0
