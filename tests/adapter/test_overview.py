"""What graphical clients show of the whole run: findings, processes, names of children."""

from __future__ import annotations

import sys
from importlib import metadata

import pytest
from conftest import PROGRAMS
from dap_client import line_of

from zentracer.wire.codec import decode
from zentracer.wire.editor import EDITOR_EVENTS
from zentracer_dap.features.findings import KEPT

NAN = PROGRAMS / "nan_log.py"
RANKS = PROGRAMS / "ranks.py"
CHILDREN = PROGRAMS / "children.py"
NONFINITE = "zentracer.nonfinite"


def findings_when(client, predicate):
    body = client.wait_event("zentracer/findings", lambda body: predicate(body["findings"]))
    decode(EDITOR_EVENTS["findings"], body)
    return body["findings"]


def processes_when(client, predicate):
    body = client.wait_event("zentracer/processes", lambda body: predicate(body["processes"]))
    decode(EDITOR_EVENTS["processes"], body)
    return body["processes"]


# Findings


def test_a_finding_is_told_before_the_stop_and_counted(client, write_program):
    program = write_program(
        """
        import torch

        for n in range(3):
            x = torch.full((3,), -1.0)
            y = torch.log(x)  # @log
            z = torch.sqrt(x)  # @sqrt
        """
    )
    client.launch(program=program, exceptions=[NONFINITE])
    for _ in range(6):
        stop = client.until_stopped()
        client.resume(stop.thread_id)
    found = findings_when(client, lambda items: sum(item["count"] for item in items) == 6)
    assert client.until_exit() == 0
    names = [message.get("event") for message in client.connection.log]
    assert names.index("zentracer/findings") < names.index("stopped")
    assert [(item["count"], item["source"]["line"]) for item in found] == [
        (3, line_of(program, "log")),
        (3, line_of(program, "sqrt")),
    ]
    first = found[0]
    pid = client.wait_event("process")["systemProcessId"]
    assert (first["rule"], first["label"], first["severity"]) == (NONFINITE, "NaN or Inf", "error")
    assert (first["pid"], first["rank"]) == (pid, None)
    assert "NaN" in first["message"]
    assert first["details"]["tensor"]["nan"] == 3
    assert first["stack"][0]["line"] == line_of(program, "log")


def test_only_so_many_findings_are_kept(client, write_program):
    lines = ["import torch", "x = torch.full((3,), -1.0)", "for _ in range(2):"]
    lines += ["    torch.log(x)"] + ["torch.log(x)"] * KEPT
    program = write_program("\n".join(lines))
    client.launch(program=program, exceptions=[NONFINITE])
    for _ in range(KEPT + 2):
        client.resume(client.wait_event("stopped")["threadId"])
    last = len(lines)
    found = findings_when(client, lambda items: items and items[-1]["source"]["line"] == last)
    assert client.until_exit() == 0
    assert len(found) == KEPT
    kept = [item["source"]["line"] for item in found]
    assert kept == [4, *range(6, last + 1)], "the oldest of those that were seen once had to go"
    assert found[0]["count"] == 2


def test_findings_of_ranks_that_no_editor_looks_at(start_client):
    client = start_client(start_debugging=False)
    client.launch(program=RANKS, exceptions=[NONFINITE])
    (found,) = findings_when(client, lambda items: sum(item["count"] for item in items) == 2)
    assert client.until_exit() == 0
    assert found["rank"] in (0, 1)
    assert found["source"]["line"] == line_of(NAN, "nan")


def test_a_restart_forgets_the_findings(client):
    client.launch(program=NAN, exceptions=[NONFINITE])
    client.until_stopped()
    findings_when(client, lambda items: len(items) == 1)
    client.request("restart")
    findings_when(client, lambda items: not items)
    client.until_stopped()
    findings_when(client, lambda items: items and items[0]["count"] == 1)


# Processes


def test_the_main_process_and_its_framework(client):
    client.launch(program=NAN, exceptions=[NONFINITE])
    client.until_stopped()
    (process,) = processes_when(client, lambda items: items and items[0]["frameworks"])
    assert process["name"] == "nan_log.py"
    assert process["version"] == metadata.version("zentracer")
    assert process["python"] == sys.version.split()[0]
    assert process["frameworks"][0].startswith("torch ")
    assert process["pid"] == client.wait_event("process")["systemProcessId"]
    client.resume()
    processes_when(client, lambda items: not items)
    assert client.until_exit() == 0


def test_ranks_under_torchrun(client):
    client.launch(
        module="torch.distributed.run",
        args=["--nproc-per-node=2", "--standalone", str(NAN)],
        exceptions=[NONFINITE],
        zentracer={"holdRanks": False},
    )
    children = [client.attach_child() for _ in range(2)]
    for child in children:
        child.until_stopped()
    names = {child.child.configuration["name"] for child in children}
    assert names == {"rank 0", "rank 1"}
    main, *ranks = processes_when(
        client, lambda items: [item["rank"] for item in items] == [None, 0, 1]
    )
    assert [item["name"] for item in ranks] == ["rank 0", "rank 1"]
    by_name = {child.child.configuration["name"]: child for child in children}
    for rank in ranks:
        assert rank["parent_pid"] == main["pid"]
        assert rank["pid"] == by_name[rank["name"]].child.configuration["subProcessId"]
    for child in children:
        child.resume()
    assert client.until_exit() == 0


@pytest.mark.parametrize("kind", ["fork", "spawn", "subprocess"])
def test_other_children_are_called_by_their_pid(client, kind):
    client.launch(program=CHILDREN, args=[kind])
    for _ in range(2 if kind == "spawn" else 1):
        child = client.wait_child()
        pid = child.configuration["subProcessId"]
        assert child.configuration["name"] == f"child {pid}"
        client.attach_child(child)
        processes_when(client, lambda items, pid=pid: (pid, f"child {pid}") in name_and_pid(items))
    assert client.until_exit() == 0


def name_and_pid(processes):
    return [(item["pid"], item["name"]) for item in processes]


def test_a_worker_of_a_rank_is_no_rank(client):
    client.launch(program=NAN, args=["workers"], env={"RANK": "3"})
    child = client.wait_child()
    pid = child.configuration["subProcessId"]
    assert child.configuration["name"] == f"child {pid}"
    client.attach_child(child)
    main, worker = processes_when(client, lambda items: len(items) == 2)
    assert (main["rank"], main["name"]) == (3, "nan_log.py")
    assert (worker["rank"], worker["name"]) == (None, f"child {pid}")
    assert client.until_exit() == 0
