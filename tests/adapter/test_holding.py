"""While one rank is stopped the others are held, and they go on with it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from conftest import PROGRAMS
from dap_client import Client, RequestFailed, Stop, line_of
from visits import Visits

PROGRAM = PROGRAMS / "ranks_exchange.py"
FIRST, EXCHANGE, AFTER, SPIN = (
    line_of(PROGRAM, mark) for mark in ("first", "exchange", "after", "spin")
)


def ranks_of(client: Client, *lines: int, **launch: Any) -> list[Client]:
    """Launch; return the sessions of the two ranks, with breakpoints on ``lines``."""
    breakpoints = {PROGRAM: list(lines)}
    client.launch(program=PROGRAM, **launch)
    children = [client.wait_child() for _ in range(2)]
    children.sort(key=lambda child: child.configuration["name"])
    assert [child.configuration["name"] for child in children] == ["rank 0", "rank 1"]
    # The one that is to be held first, or the other would stop before it is there.
    sessions = [client.attach_child(child, breakpoints=breakpoints) for child in children[::-1]]
    return sessions[::-1]


def count(rank: Client, thread: int) -> str:
    frames = rank.request("stackTrace", threadId=thread)["stackFrames"]
    frame = next(frame for frame in frames if frame["name"] == "rank_1")
    return rank.evaluate("n", frame["id"], "hover")["result"]


@pytest.mark.parametrize("interpreter", ["3.11", "3.12", "3.13"], indirect=True)
def test_a_stop_holds_the_other_rank_until_it_goes_on(client: Client, interpreter: str) -> None:
    zero, one = ranks_of(client, FIRST, python=interpreter)
    stop = zero.until_stopped()
    assert stop.body["reason"] == "breakpoint"
    held = one.wait_event("stopped")
    assert held["reason"] == "pause"
    assert held["description"] == f"Held: rank 0 stopped at {PROGRAM.name}:{FIRST}"
    assert held["preserveFocusHint"] is True
    assert count(one, held["threadId"]) == count(one, held["threadId"])
    zero.resume(stop.thread_id)
    one.wait_event("continued")
    assert client.until_exit() == 0
    assert len(one.events("stopped")) == 1


def test_a_step_that_waits_for_the_others_lets_them_run_until_it_ends(client: Client) -> None:
    zero, one = ranks_of(client, FIRST)
    stop = zero.until_stopped()
    one.wait_event("stopped")
    stop = zero.step("next", zero.step("next", stop))
    assert stop.line == EXCHANGE
    assert one.events("continued") == []
    stop = zero.step("next", stop)
    assert stop.line == AFTER
    one.wait_event("continued")
    held = one.wait_event("stopped")
    assert held["description"] == f"Held: rank 0 stopped at {PROGRAM.name}:{AFTER}"
    zero.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_a_held_rank_goes_on_alone(client: Client) -> None:
    zero, one = ranks_of(client, FIRST)
    stop = zero.until_stopped()
    held = one.wait_event("stopped")
    one.resume(held["threadId"])
    one.wait_event("continued")
    one.request("pause", threadId=held["threadId"])
    again = one.wait_event("stopped")
    assert "Held" not in (again.get("description") or "")
    one.resume(again["threadId"])
    zero.resume(stop.thread_id)
    assert client.until_exit() == 0


@pytest.mark.parametrize("interpreter", ["3.11", "3.12", "3.13"], indirect=True)
def test_every_breakpoint_is_shown_once(client: Client, interpreter: str) -> None:
    """Both ranks stop all the time, and each is let go on as soon as it stands."""

    def at(rank: Client, stop: Stop) -> Any:
        return (stop.line, stop.body["reason"])

    visits = Visits(client, {PROGRAM: [FIRST, SPIN, AFTER]}, at)
    assert visits.run(program=PROGRAM, python=interpreter) == 0
    (spins,) = re.findall(r"spins (\d+)", client.output("stdout"))
    own = Counter(line for line, reason in visits.found if reason == "breakpoint")
    assert own == Counter({FIRST: 1, AFTER: 1, SPIN: int(spins)}), visits.found


def test_a_rank_that_is_left_lets_the_others_go(client: Client) -> None:
    zero, one = ranks_of(client, FIRST)
    zero.until_stopped()
    one.wait_event("stopped")
    zero.request("disconnect", terminateDebuggee=False)
    one.wait_event("continued")
    assert client.until_exit() == 0


def test_a_rank_that_the_user_pauses_holds_the_others(client: Client) -> None:
    zero, one = ranks_of(client, FIRST)
    first = zero.until_stopped()
    held = one.wait_event("stopped")
    one.resume(held["threadId"])
    one.wait_event("continued")
    one.request("pause", threadId=held["threadId"])
    paused = one.wait_event("stopped")
    zero.resume(first.thread_id)
    # Rank 1 stands by the user's wish, so rank 0 does not take it along.
    one.resume(paused["threadId"])
    assert client.until_exit() == 0
    assert len(one.events("stopped")) == 2


def test_it_can_be_switched_off(client: Client) -> None:
    zero, one = ranks_of(client, FIRST, zentracer={"holdRanks": False})
    stop = zero.until_stopped()
    for _ in range(2):
        zero.evaluate("os.write(to_other, b'x')", stop.frame_id, "repl")
    one.wait_event("terminated")
    assert one.events("stopped") == []
    zero.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_a_wrong_value_is_refused(client: Client) -> None:
    client.initialize()
    with pytest.raises(RequestFailed, match="holdRanks"):
        client.launch(program=PROGRAM, zentracer={"holdRanks": "yes"})
