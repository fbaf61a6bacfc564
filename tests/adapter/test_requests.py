"""Requests that debugpy does not know, cannot do, or would hang on."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest
from conftest import PROGRAMS
from dap_client import RequestFailed, line_of

from zentracer.wire import PROTOCOL_VERSION

LOOP = PROGRAMS / "debug_loop.py"


@pytest.fixture
def stopped(client):
    client.launch(program=LOOP, breakpoints={LOOP: [line_of(LOOP, "double")]})
    client.stop = client.until_stopped()
    return client


def test_capabilities(client):
    capabilities = client.initialize()
    for name in (
        "supportsExceptionFilterOptions",
        "supportsExceptionInfoRequest",
        "supportsCancelRequest",
        "supportsRestartRequest",
        "supportsConditionalBreakpoints",
    ):
        assert capabilities[name] is True
    filters = {item["filter"]: item for item in capabilities["exceptionBreakpointFilters"]}
    assert {"raised", "uncaught", "userUnhandled", "zentracer.nonfinite"} <= set(filters)
    ours = filters["zentracer.nonfinite"]
    assert ours["label"] == "NaN or Inf"
    assert ours["default"] is True and ours["supportsCondition"] is True
    assert ours["conditionDescription"]


def test_capabilities_say_who_we_are(client):
    ours = client.initialize()["zentracer"]
    assert ours == {
        "protocol_version": PROTOCOL_VERSION,
        "version": metadata.version("zentracer"),
    }


@pytest.mark.parametrize(
    "command", ["readMemory", "disassemble", "stepBack", "reverseContinue", "nonsense", "Evaluate"]
)
def test_unknown_requests_fail_and_the_session_goes_on(stopped, command):
    with pytest.raises(RequestFailed, match=command):
        stopped.request(command, threadId=1)
    assert stopped.evaluate("n", stopped.stop.frame_id)["result"] == "0"


def test_an_unserved_request_of_ours_is_named(stopped):
    with pytest.raises(RequestFailed, match="does not serve 'zentracer/telepathy'"):
        stopped.request("zentracer/telepathy")
    assert stopped.request("threads")["threads"]


def test_data_breakpoints_are_declined(stopped):
    info = stopped.request("dataBreakpointInfo", name="n", variablesReference=1)
    assert info["dataId"] is None and info["description"]
    body = stopped.request("setDataBreakpoints", breakpoints=[{"dataId": "n"}, {"dataId": "m"}])
    assert [item["verified"] for item in body["breakpoints"]] == [False, False]
    assert stopped.evaluate("n", stopped.stop.frame_id)["result"] == "0"


def test_cancel_ends_the_wait(stopped, tmp_path):
    go = tmp_path / "go"
    code = f"exec('import os, time\\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)')"
    seq = stopped.send("evaluate", expression=code, frameId=stopped.stop.frame_id, context="repl")
    assert stopped.request("cancel", requestId=seq) == {}
    with pytest.raises(RequestFailed, match="cancelled"):
        stopped.finish(seq)
    go.touch()
    assert stopped.evaluate("n + 1", stopped.stop.frame_id)["result"] == "1"


def test_cancel_of_nothing_succeeds(stopped):
    assert stopped.request("cancel", requestId=4711) == {}
    assert stopped.request("cancel", progressId="x") == {}


def test_unknown_fields_reach_debugpy_and_come_back(client):
    client.initialize()
    seq = client.connection.send(
        {
            "type": "request",
            "command": "debugpySystemInfo",
            "arguments": {"strange": [1, {"x": None}]},
            "other": True,
        }
    )
    assert client.finish(seq)["debugpy"]["version"]


def test_sequence_numbers(stopped):
    stopped.evaluate("n", stopped.stop.frame_id)
    numbers = [message["seq"] for message in stopped.connection.log]
    assert numbers == list(range(1, len(numbers) + 1))
    requests = {
        message["seq"]: message["command"]
        for message in stopped.connection.sent
        if message["type"] == "request"
    }
    for message in stopped.connection.log:
        if message["type"] == "response":
            assert requests[message["request_seq"]] == message["command"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"program": "/nowhere/train.py"}, "The program '/nowhere/train.py' does not exist"),
        ({"program": LOOP, "python": "/nowhere/python"}, "interpreter '/nowhere/python'"),
        ({"program": LOOP, "python": ["/nowhere/python", "-X", "utf8"]}, "/nowhere/python"),
        ({"program": LOOP, "cwd": "/nowhere"}, "The directory '/nowhere' does not exist"),
        ({"program": LOOP, "zentracer": 3}, "'zentracer' must be an object"),
        ({"program": LOOP, "zentracer": {"children": "some"}}, "ranks, all, none"),
        ({"program": LOOP, "zentracer": {"breakOn": ["zentracer.nan"]}}, "zentracer.nonfinite"),
        ({"program": LOOP, "zentracer": {"precise": "yes"}}, "true or false"),
        ({"program": LOOP, "zentracer": {"breakOn": "zentracer.nonfinite"}}, "a list"),
        ({"program": LOOP, "module": "x"}, "mutually exclusive"),
        ({}, "must be specified"),
    ],
)
def test_mistakes_in_the_launch_configuration(client, arguments, words):
    with pytest.raises(RequestFailed, match=words):
        client.launch(**arguments)
    client.wait_event("terminated")
    client.request("disconnect")
    assert client.wait_adapter() == 0


def test_the_users_mistakes_are_shown(client):
    with pytest.raises(RequestFailed) as failure:
        client.launch(program="/nowhere/{train}.py")
    error = failure.value.response["body"]["error"]
    assert error["showUser"] is True
    assert "{train}" in error["format"].format(**error["variables"])


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("raise ImportError", "ended unexpectedly"),
        ("__version__ = '1.8.1'", r"debugpy 1.8.1 is too old.* -m pip install"),
    ],
)
def test_a_debugpy_that_does_not_do(start_client, tmp_path, package, words):
    (tmp_path / "debugpy").mkdir()
    (tmp_path / "debugpy" / "__init__.py").write_text(package)
    client = start_client(env={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(RequestFailed, match=words):
        client.launch(program=LOOP)
    client.wait_event("terminated")
    client.request("disconnect")
    assert client.wait_adapter() == 1


def test_no_debugpy_at_all(start_client, tmp_path):
    hide = "import sys; sys.modules['debugpy'] = None"
    (tmp_path / "sitecustomize.py").write_text(hide)
    client = start_client(env={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(RequestFailed, match=r"debugpy is not installed for .*pip install"):
        client.launch(program=LOOP)
    client.wait_event("terminated")


def test_run_as_a_folder(start_client, tmp_path):
    import zentracer_dap

    folder = zentracer_dap.__path__[0]
    client = start_client(command=[sys.executable, folder, "--log-dir", str(tmp_path / "logs")])
    client.launch(program=LOOP, breakpoints={LOOP: [line_of(LOOP, "loop")]})
    client.until_stopped()
    logs = {path.name.split("-")[0] for path in (tmp_path / "logs").iterdir()}
    assert {"zentracer_dap", "debugpy.adapter"} <= logs


@pytest.mark.parametrize("argument", ["--help", "--listen=nowhere", "--nonsense"])
def test_command_line(argument):
    command = [sys.executable, "-m", "zentracer_dap", argument]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if argument == "--help" else 2)
    assert "zentracer_dap" in done.stdout + done.stderr


def test_endpoints_are_announced_and_withdrawn(start_client, tmp_path):
    endpoints = tmp_path / "endpoints"
    client = start_client(env={"DEBUGPY_ADAPTER_ENDPOINTS": str(endpoints)})
    client.launch(program=LOOP)
    assert "client" in endpoints.read_text()
    client.until_exit()
    client.request("disconnect")
    client.wait_adapter()
    assert not endpoints.exists()
