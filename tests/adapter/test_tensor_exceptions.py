"""Tensor exceptions through the adapter: the tick box, the condition, the stop, the children."""

from __future__ import annotations

import pytest
from conftest import PROGRAMS
from dap_client import line_of

NAN = PROGRAMS / "nan_log.py"
RANKS = PROGRAMS / "ranks.py"
NONFINITE = "zentracer.nonfinite"


def check_stop(client, stop):
    assert (stop.path, stop.line) == (str(NAN), line_of(NAN, "nan"))
    assert stop.body["reason"] == "exception"
    assert stop.body["description"].startswith("NaN or Inf in ")
    assert stop.body["description"].count("NaN or Inf") == 1
    assert "NaN" in stop.body["text"]
    info = client.exception_info(stop.thread_id)
    assert info["exceptionId"] == "NaN or Inf"
    assert info["details"]["message"] == stop.body["text"]
    details = info["details"]["zentracer"]
    assert details["filter"] == NONFINITE
    assert details["origin"]["line"] == line_of(NAN, "nan")
    assert details["tensor"]["nan"] == 3


def test_a_ticked_filter_stops_on_the_line(client):
    answers = client.launch(program=NAN, exceptions=[NONFINITE])
    (breakpoint,) = answers["exceptions"]["breakpoints"]
    assert breakpoint["verified"] is True
    stop = client.until_stopped()
    check_stop(client, stop)
    assert stop.body["hitBreakpointIds"] == [breakpoint["id"]]
    assert client.evaluate("x.shape", stop.frame_id)["result"] == "torch.Size([3])"
    stop = client.step("next", stop)
    assert stop.line == line_of(NAN, "after-nan")
    assert stop.body["reason"] == "step"
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_answers_come_in_the_order_of_the_request(client):
    answers = client.launch(
        program=NAN,
        exceptions=["uncaught", NONFINITE],
        exception_options=[
            {"filterId": "raised", "condition": "x"},
            {"filterId": NONFINITE, "condition": "phase == 'backward'"},
            {"filterId": "zentracer.unheard_of"},
        ],
    )
    breakpoints = answers["exceptions"]["breakpoints"]
    assert [item["verified"] for item in breakpoints] == [True, True, True, True, False]
    assert "no conditions" in breakpoints[2]["message"]
    assert breakpoints[1]["id"] != breakpoints[3]["id"]
    assert "zentracer.unheard_of" in breakpoints[4]["message"]
    client.until_stopped()


def test_a_condition_decides(client):
    option = {"filterId": NONFINITE, "condition": "nan > 100"}
    client.launch(program=NAN, exception_options=[option])
    assert client.until_exit() == 0
    assert not client.events("stopped")


@pytest.mark.parametrize("condition", ["nan >", "nann > 0", "__import__('os')"])
def test_a_mistake_in_a_condition_is_said_once(client, condition):
    option = {"filterId": NONFINITE, "condition": condition}
    answers = client.launch(program=NAN, exception_options=[option, {"filterId": NONFINITE}])
    bad, good = answers["exceptions"]["breakpoints"]
    assert bad["verified"] is False and bad["message"]
    assert good["verified"] is True
    assert client.output("important").count(bad["message"]) == 1
    client.until_stopped()
    client.set_exceptions([], [option])
    assert client.output("important").count(bad["message"]) == 1


def test_unticked_while_running(client):
    client.launch(program=NAN, exceptions=[NONFINITE], breakpoints={NAN: [line_of(NAN, "nan") - 1]})
    client.until_stopped()
    assert client.set_exceptions([]) in ({}, {"breakpoints": []})
    client.resume()
    assert client.until_exit() == 0


def test_nothing_is_armed_by_itself(client):
    client.launch(program=NAN)
    assert client.until_exit() == 0


@pytest.mark.parametrize("item", [NONFINITE, {"filter": NONFINITE, "condition": "nan == 3"}])
def test_armed_by_the_launch_configuration(client, item):
    client.launch(program=NAN, zentracer={"breakOn": [item]})
    check_stop(client, client.until_stopped())
    client.set_exceptions([])
    client.resume()
    assert client.until_exit() == 0


def test_a_mistake_in_the_launch_configuration_is_said(client):
    client.launch(program=NAN, zentracer={"breakOn": [{"filter": NONFINITE, "condition": "("}]})
    client.wait_event("output", lambda body: body.get("category") == "important")
    assert client.until_exit() == 0


@pytest.mark.parametrize("where", ["adapter", "program"])
def test_switched_off(start_client, where):
    off = {"ZENTRACER": "off"}
    client = start_client(env=off if where == "adapter" else {})
    env = off if where == "program" else {}
    answers = client.launch(program=NAN, exceptions=[NONFINITE], env=env)
    (breakpoint,) = answers["exceptions"]["breakpoints"]
    assert breakpoint["verified"] is False
    assert "ZENTRACER=off" in breakpoint["message"]
    assert client.until_exit() == 0


def test_restart_keeps_the_filters(client):
    client.launch(program=NAN, exceptions=[NONFINITE])
    first = client.until_stopped()
    client.request("restart")
    again = client.until_stopped()
    check_stop(client, again)
    assert again.body["hitBreakpointIds"] == first.body["hitBreakpointIds"]


OURS = "type(__import__('pydevd').get_global_debugger())._internal_get_file_type"


def test_ranks_stop_in_their_own_sessions(client):
    client.launch(program=RANKS, exceptions=[NONFINITE], zentracer={"holdRanks": False})
    children = [client.attach_child() for _ in range(2)]
    for child in children:
        stop = child.until_stopped()
        check_stop(child, stop)
    numbers = [child.evaluate("__import__('os').environ['RANK']")["result"] for child in children]
    assert sorted(numbers) == ["0", "1"]
    for child in children:  # a child runs pydevd as a script, beside a second copy of it
        assert (
            child.evaluate(f"{OURS}.__module__")["result"].strip("'")
            == "zentracer.control.pydevd.hidden"
        )
    for child in children:
        child.resume()
        child.wait_event("terminated")
    assert client.until_exit() == 0


def test_a_child_session_sets_the_same_filters(client):
    client.launch(program=RANKS, exceptions=[NONFINITE], zentracer={"holdRanks": False})
    children = [client.attach_child(exceptions=[NONFINITE]) for _ in range(2)]
    for child in children:
        check_stop(child, child.until_stopped())
        child.resume()


def test_ranks_of_an_editor_without_child_sessions(start_client):
    client = start_client(start_debugging=False)
    client.launch(program=RANKS, exceptions=[NONFINITE])
    assert client.until_exit() == 0
    found = client.output("important")
    assert found.count("NaN in ") == 2
    assert f"{NAN}:{line_of(NAN, 'nan')}" in found
    assert "all ranks done" in client.output("stdout")


@pytest.mark.parametrize(("children", "stops"), [("ranks", False), ("all", True), ("none", False)])
def test_workers_are_armed_on_request(client, children, stops):
    options = {"children": children, "breakOn": [NONFINITE]}
    client.launch(program=NAN, args=["workers"], zentracer=options)
    child = client.attach_child()
    if stops:
        check_stop(child, child.until_stopped())
        child.resume()
    child.wait_event("terminated")
    assert client.until_exit() == 0
    assert bool(child.events("stopped")) is stops


def test_a_child_that_is_not_armed_says_so(client):
    client.launch(program=NAN, args=["workers"], exceptions=[NONFINITE])
    child = client.connect_child()
    child.initialize()
    answers = child.attach(exceptions=[NONFINITE], **child.child.configuration)
    (breakpoint,) = answers["exceptions"]["breakpoints"]
    assert breakpoint["verified"] is False and '"children"' in breakpoint["message"]
    child.wait_event("terminated")
    assert client.until_exit() == 0
