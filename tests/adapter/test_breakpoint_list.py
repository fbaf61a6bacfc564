"""Tensor breakpoints of the view, and the list of all of them as they stand."""

from __future__ import annotations

import pytest
from conftest import PROGRAMS
from dap_client import RequestFailed, line_of

NAN = PROGRAMS / "nan_log.py"
RANKS = PROGRAMS / "ranks.py"
NONFINITE = "zentracer.nonfinite"

MODULES = """
    import torch

    class Log(torch.nn.Module):
        def forward(self, x):
            return torch.log(x)  # @log

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Log()
            self.second = Log()

        def forward(self, x):
            for _ in range(2):
                self.first(x), self.second(x)

    Model()(torch.full((3,), -1.0))
    """


def wanted(condition=None, module=None, enabled=True, filter=NONFINITE):
    return {"filter": filter, "condition": condition, "module": module, "enabled": enabled}


def set_in_view(client, *breakpoints):
    body = client.request("zentracer/set_tensor_breakpoints", breakpoints=list(breakpoints))
    return body["breakpoints"]


def wait_state(client, matches, source="view"):
    """Wait for a list whose only breakpoint of ``source`` is as wanted; returns it."""

    def only(body):
        found = [item for item in body["breakpoints"] if item["source"] == source]
        return len(found) == 1 and matches(found[0])

    body = client.wait_event("zentracer/breakpoints", only)
    return next(item for item in body["breakpoints"] if item["source"] == source)


def test_set_before_the_launch_and_corrected_when_the_process_comes(client):
    client.initialize()
    (before,) = set_in_view(client, wanted())
    assert before["verified"] is False and "not connected" in before["message"]
    assert (before["label"], before["source"], before["hits"]) == ("NaN or Inf", "view", 0)
    client.launch(program=NAN)
    now = wait_state(client, lambda item: item["verified"])
    assert (now["id"], now["message"]) == (before["id"], None)
    stop = client.until_stopped()
    assert stop.line == line_of(NAN, "nan")
    assert stop.body["hitBreakpointIds"] == [before["id"]]


def test_hits_and_the_last_hit(client, write_program):
    program = write_program(MODULES)
    client.initialize()
    set_in_view(client, wanted(module="second"))
    client.launch(program=program)
    for count in (1, 2):
        stop = client.until_stopped()
        state = wait_state(client, lambda item, count=count: item["hits"] == count)
        assert state["last"]["text"] == stop.body["text"]
        assert state["last"]["origin"]["line"] == line_of(program, "log")
        assert state["last"]["tensor"]["nan"] == 3
        assert "second" in stop.body["description"]
        client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_a_hit_counts_for_each_that_it_names(client):
    client.initialize()
    set_in_view(client, wanted(), wanted(), wanted("nan > 100"))
    client.launch(program=NAN, exceptions=[NONFINITE], zentracer={"breakOn": [NONFINITE]})
    stop = client.until_stopped()
    assert len(stop.body["hitBreakpointIds"]) == 4
    hits = lambda body: [(i["source"], i["hits"]) for i in body["breakpoints"]]  # noqa: E731
    found = client.wait_event("zentracer/breakpoints", lambda body: any(h for _, h in hits(body)))
    assert sorted(hits(found)) == [
        ("editor", 1),
        ("launch", 1),
        ("view", 0),
        ("view", 1),
        ("view", 1),
    ]
    assert len({item["id"] for item in found["breakpoints"]}) == 5


@pytest.mark.parametrize(
    ("condition", "module", "said"),
    [
        ("nan >", "*", "syntax error"),
        ("True) or (True", "nothing", "syntax error"),
        ("nann > 0", None, "'nann' is not a name"),
        ("nann > 0", "*", "'nann' is not a name"),
        ("nan > 0 #", "*", None),
        ("nan > 0 or True", '") or True or ("', None),
        (None, 'it\'s \\ "here"\n', None),
    ],
)
def test_conditions_and_globs_of_every_kind(client, condition, module, said):
    client.initialize()
    set_in_view(client, wanted(condition, module))
    client.launch(program=NAN, breakpoints={NAN: [line_of(NAN, "nan") - 1]})
    client.until_stopped()
    (state,) = set_in_view(client, wanted(condition, module))
    assert (state["condition"], state["module"]) == (condition, module)
    if said is None:
        assert state["verified"] is True and state["message"] is None
    else:
        assert state["verified"] is False and said in state["message"]
        assert client.output("important").count(state["message"]) == 1


def test_an_unknown_filter_and_a_disabled_one_are_kept_but_not_armed(client):
    client.initialize()
    set_in_view(client, wanted(filter="zentracer.telepathy"), wanted(enabled=False))
    client.launch(program=NAN, breakpoints={NAN: [line_of(NAN, "nan") - 1]})
    client.until_stopped()
    unknown, disabled = set_in_view(
        client, wanted(filter="zentracer.telepathy"), wanted(enabled=False)
    )
    assert unknown["verified"] is False and "does not know" in unknown["message"]
    assert (disabled["enabled"], disabled["verified"], disabled["message"]) == (False, False, None)
    client.resume()
    assert client.until_exit() == 0


def test_enabled_while_running_it_keeps_its_id(client):
    client.initialize()
    (off,) = set_in_view(client, wanted(enabled=False))
    client.launch(program=NAN, breakpoints={NAN: [line_of(NAN, "nan") - 1]})
    client.until_stopped()
    (on,) = set_in_view(client, wanted())
    assert (on["id"], on["verified"]) == (off["id"], True)
    client.resume()
    assert client.until_stopped().body["hitBreakpointIds"] == [on["id"]]


def test_a_restart_keeps_them_and_counts_anew(client):
    client.initialize()
    set_in_view(client, wanted())
    client.launch(program=NAN)
    client.until_stopped()
    first = wait_state(client, lambda item: item["hits"] == 1)
    client.request("restart")
    wait_state(client, lambda item: item["hits"] == 0)
    client.until_stopped()
    again = wait_state(client, lambda item: item["hits"] == 1)
    assert again["id"] == first["id"]


def test_the_editors_own_list_is_in_it(client):
    option = {"filterId": NONFINITE, "condition": "nan == 3"}
    answers = client.launch(program=NAN, exception_options=[option])
    client.until_stopped()
    state = wait_state(client, lambda item: item["hits"] == 1, source="editor")
    assert state["id"] == answers["exceptions"]["breakpoints"][0]["id"]
    assert (state["condition"], state["verified"]) == ("nan == 3", True)
    client.set_exceptions([])
    client.wait_event("zentracer/breakpoints", lambda body: body["breakpoints"] == [])


def test_where_nothing_can_be_armed_the_reason_is_told(client):
    client.initialize()
    set_in_view(client, wanted())
    client.launch(program=NAN, env={"ZENTRACER": "off"})
    state = wait_state(client, lambda item: "ZENTRACER=off" in (item["message"] or ""))
    assert state["verified"] is False
    assert client.until_exit() == 0


def test_hits_of_children_count(client):
    client.initialize()
    set_in_view(client, wanted())
    client.launch(program=RANKS, zentracer={"holdRanks": False})
    children = [client.attach_child() for _ in range(2)]
    for child in children:
        child.until_stopped()
    wait_state(client, lambda item: item["hits"] == 2)
    for child in children:
        child.resume()
    assert client.until_exit() == 0


@pytest.mark.parametrize("breakpoints", [None, "x", [{"condition": "x"}], [{"filter": 1}]])
def test_arguments_that_are_no_list_of_breakpoints(client, breakpoints):
    client.initialize()
    with pytest.raises(RequestFailed, match="set_tensor_breakpoints"):
        client.request("zentracer/set_tensor_breakpoints", breakpoints=breakpoints)
