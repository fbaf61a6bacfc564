"""Requests that an editor sends together are served one after the other, without a pause."""

from __future__ import annotations

PROGRAM = """
    import sys

    comm = sys.modules["_pydevd_bundle.pydevd_comm"]
    debugger = sys.modules["pydevd"].get_global_debugger()
    served = []
    for number in range(2):
        command = comm.InternalThreadCommand("somebody", lambda dbg, n=number: served.append(n))
        debugger.post_internal_command(command, "somebody")
    queue, event = debugger.get_internal_queue_and_event("somebody")
    for _ in range(2):
        event.clear()  # as the thread does when it wakes
        queue.get_nowait().do_it(debugger)
        print(served, "wake again:", event.is_set())
    """


def test_a_stopped_thread_wakes_for_all_its_commands(client, write_program):
    client.launch(program=write_program(PROGRAM))
    assert client.until_exit() == 0
    assert client.output("stdout").splitlines() == [
        "[0] wake again: True",
        "[0, 1] wake again: False",
    ]
