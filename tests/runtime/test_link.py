"""The link: arrives before the program's first line, survives forks and the adapter's death."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fake_adapter import FakeAdapter
from support import environment

from zentracer.wire import PROTOCOL_VERSION
from zentracer.wire.codec import ANSWER, ERROR, decode, to_plain
from zentracer.wire.messages import BreakpointStatuses, ExceptionFilter, SetExceptionFilters

NONFINITE = SetExceptionFilters(filters=(ExceptionFilter(id=7, filter="zentracer.nonfinite"),))


@pytest.fixture
def adapter() -> Iterator[FakeAdapter]:
    fake = FakeAdapter()
    yield fake
    fake.close()


@pytest.fixture
def run(
    start_client: Callable[..., Any], write_program: Any, interpreter: str, adapter: FakeAdapter
) -> Callable[..., Any]:
    """Start a program under debugpy with our runtime; returns the client before it runs."""

    def start(source: str, **env: str) -> Any:
        client = start_client("debugpy")
        client.initialize()
        client.start_request = client.send(
            "launch",
            program=str(write_program(source)),
            python=[interpreter],
            console="internalConsole",
            env=environment(adapter, **env),
        )
        return client

    return start


def go(client: Any) -> str:
    """Let the program run to its end; returns what it printed."""
    client.wait_event("initialized")
    client.request("configurationDone")
    client.until_exit()
    return client.output("stdout")


def test_hello_and_filters_before_the_first_line(run: Any, adapter: FakeAdapter) -> None:
    client = run(
        """
        from zentracer import bootstrap
        print([armed.id for armed in bootstrap._runtime._armed.filters])
        """,
        RANK="3",
    )
    link = adapter.accept()
    hello = link.hello()
    assert (hello.token, hello.protocol_version, hello.rank) == (adapter.token, PROTOCOL_VERSION, 3)
    answer = link.request("set_exception_filters", NONFINITE)
    assert answer.kind == ANSWER
    statuses = decode(BreakpointStatuses, answer.body).breakpoints
    assert [(s.id, s.verified) for s in statuses] == [(7, True)]
    assert go(client) == "[7]\n"


def test_conditions_and_unknown_filters_are_answered(run: Any, adapter: FakeAdapter) -> None:
    client = run("")
    link = adapter.accept()
    link.hello()
    wanted = SetExceptionFilters(
        filters=(
            ExceptionFilter(id=1, filter="zentracer.nonfinite", condition="nomr > 1"),
            ExceptionFilter(id=2, filter="zentracer.unheard_of"),
            ExceptionFilter(id=3, filter="zentracer.nonfinite", condition="norm > 1"),
        )
    )
    answer = link.request("set_exception_filters", wanted)
    one, two, three = decode(BreakpointStatuses, answer.body).breakpoints
    assert not one.verified and "'norm'" in (one.message or "")
    assert not two.verified and "zentracer.unheard_of" in (two.message or "")
    assert three.verified
    go(client)


def test_a_bad_request_is_an_error_and_the_link_lives(run: Any, adapter: FakeAdapter) -> None:
    client = run("")
    link = adapter.accept()
    link.hello()
    assert link.request("unheard_of", {}).kind == ERROR
    bad = link.request("set_exception_filters", {"filters": 3})
    assert (bad.kind, bad.body["message"]) == (
        ERROR,
        "set_exception_filters.filters must be a list, not int.",
    )
    assert link.request("set_exception_filters", to_plain(NONFINITE)).kind == ANSWER
    go(client)


def test_garbage_closes_the_link_and_not_the_program(run: Any, adapter: FakeAdapter) -> None:
    client = run("print('ran')")
    link = adapter.accept()
    link.hello()
    link.send(b"\xff" * 16)
    link.wait_closed()
    assert go(client) == "ran\n"


def test_nobody_listens(run: Any, adapter: FakeAdapter) -> None:
    adapter.close()
    assert go(run("print('ran')")) == "ran\n"


def test_the_adapter_dies_and_nothing_stays_armed(run: Any, adapter: FakeAdapter) -> None:
    client = run(
        """
        import time
        from zentracer import bootstrap
        while bootstrap._runtime._armed.filters:
            time.sleep(0.01)
        print("disarmed")
        """
    )
    link = adapter.accept()
    link.hello()
    link.request("set_exception_filters", NONFINITE)
    client.wait_event("initialized")
    client.request("configurationDone")
    link.close()
    client.until_exit()
    assert client.output("stdout") == "disarmed\n"


def test_a_fork_has_a_link_of_its_own_and_leaves_the_parents(
    run: Any, adapter: FakeAdapter
) -> None:
    client = run(
        """
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        from zentracer import bootstrap
        child = os.fork()
        if child == 0:
            bootstrap._runtime._link.ready.wait()
            os._exit(0)
        os.waitpid(child, 0)
        print("parent", bootstrap._runtime._link._closed)
        """,
        PYDEVD_USE_FRAME_EVAL="NO",
    )
    parent = adapter.accept()
    first = parent.hello()
    parent.request("set_exception_filters", NONFINITE)
    client.wait_event("initialized")
    client.request("configurationDone")
    forked = adapter.accept()
    second = forked.hello()
    assert (second.parent_pid, second.token) == (first.pid, adapter.token)
    forked.request("set_exception_filters", NONFINITE)
    with client.connect_child() as child:
        child.attach(**child.child.configuration)
        client.until_exit()
    assert client.output("stdout") == "parent False\n"


def test_a_spawned_child_has_a_link_of_its_own(run: Any, adapter: FakeAdapter) -> None:
    client = run(
        """
        import subprocess, sys
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        """
    )
    first = adapter.accept().hello()
    client.wait_event("initialized")
    client.request("configurationDone")
    with client.connect_child() as child:
        child.attach(**child.child.configuration)
        assert adapter.accept().hello().pid not in (first.pid, os.getpid())
        client.until_exit()


def test_switched_off(run: Any, adapter: FakeAdapter) -> None:
    client = run("import sys; print('zentracer' in sys.modules)", ZENTRACER="off")
    assert go(client) == "False\n"


def test_the_program_does_not_see_our_folders(
    run: Any, adapter: FakeAdapter, interpreter: str
) -> None:
    client = run(
        """
        import sys
        print([path for path in sys.path if "inject" in path])
        import zentracer
        print("msgpack" in sys.modules, zentracer.__version__)
        """
    )
    link = adapter.accept()
    link.hello()
    link.request("set_exception_filters", NONFINITE)
    first, second = go(client).splitlines()
    assert first == "[]"
    assert second == f"{has_msgpack(interpreter)} 0.1.0"


def has_msgpack(interpreter: str) -> bool:
    """Whether the program can import msgpack without us."""
    return (
        subprocess.run([interpreter, "-c", "import msgpack"], stderr=subprocess.DEVNULL).returncode
        == 0
    )


def test_a_full_queue_drops_and_counts() -> None:
    from zentracer.link import QUEUE_LENGTH, Handlers, Link

    link = Link(("127.0.0.1", 1), Handlers(dict, lambda name, body: None, lambda: None))
    for _ in range(QUEUE_LENGTH + 5):
        link.send_event("step", {"step": 1})
    assert link.dropped == 5
