"""Other versions of what is ours, in the program's environment: who uses which."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fake_adapter import Connection, FakeAdapter
from support import INJECT, environment

from zentracer import __version__
from zentracer.wire.codec import ANSWER, EVENT
from zentracer.wire.messages import SetExceptionFilters

NOTHING = SetExceptionFilters(filters=())


@pytest.fixture
def adapter() -> Iterator[FakeAdapter]:
    fake = FakeAdapter()
    yield fake
    fake.close()


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., Path]:
    """Install a package: the text of its modules, by name."""
    folder = tmp_path / "site"

    def install(package: str, **modules: str) -> Path:
        (folder / package).mkdir(parents=True)
        for name, text in modules.items():
            (folder / package / f"{name}.py").write_text(text)
        return folder

    return install


@pytest.fixture
def run(
    start_client: Callable[..., Any], write_program: Any, interpreter: str, adapter: FakeAdapter
) -> Callable[..., Any]:
    """Start a program in an environment that has what is in a folder; waits at its first line."""

    def start(source: str, site: Path) -> Any:
        client = start_client("debugpy")
        client.initialize()
        client.start_request = client.send(
            "launch",
            program=str(write_program(source)),
            python=[interpreter],
            console="internalConsole",
            env=environment(adapter, PYTHONPATH=os.pathsep.join([str(INJECT), str(site)])),
        )
        return client

    return start


def notices(client: Any, link: Connection) -> list[str]:
    """What the process tells the user before its first line; the link works besides."""
    link.hello()
    found = events_before_answer(link)
    client.wait_event("initialized")
    return [event["message"] for event in found + events_before_answer(link)]


def events_before_answer(link: Connection) -> list[Any]:
    link.send_request("set_exception_filters", NOTHING)
    found = []
    while (frame := link.next()).kind == EVENT:
        found.append(frame.body)
    assert frame.kind == ANSWER
    return found


def output(client: Any) -> str:
    client.request("configurationDone")
    client.until_exit()
    return client.output("stdout")


SAYS_WHICH = "import zentracer; print(zentracer.__version__)"


def test_another_zentracer_is_told_once_and_not_used(
    run: Any, adapter: FakeAdapter, site: Any
) -> None:
    client = run(
        """
        import subprocess, sys, zentracer
        print(zentracer.__version__)
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        """,
        site("zentracer", __init__="__version__ = '0.0.9'\nraise SystemExit('imported')\n"),
    )
    assert notices(client, adapter.accept()) == [
        "This environment has zentracer 0.0.9 installed; the debugger uses its own "
        f"{__version__} for this session."
    ]
    client.request("configurationDone")
    with client.connect_child() as child:
        child.attach(**child.child.configuration)
        link = adapter.accept()
        link.hello()
        assert events_before_answer(link) + [frame.body for frame in link.rest()] == []
        client.until_exit()
    assert client.output("stdout") == f"{__version__}\n"


def test_another_zentracer_that_only_its_metadata_tells(
    run: Any, adapter: FakeAdapter, site: Any
) -> None:
    folder = site("zentracer", __init__="from zentracer._version import __version__\n")
    info = folder / "zentracer-0.0.7.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zentracer\nVersion: 0.0.7\n")
    client = run(SAYS_WHICH, folder)
    (notice,) = notices(client, adapter.accept())
    assert "zentracer 0.0.7" in notice
    assert output(client) == f"{__version__}\n"


def test_the_same_version_elsewhere_is_nobodys_business(
    run: Any, adapter: FakeAdapter, site: Any
) -> None:
    client = run(SAYS_WHICH, site("zentracer", __init__=f"__version__ = '{__version__}'\n"))
    assert notices(client, adapter.accept()) == []
    assert output(client) == f"{__version__}\n"


def test_an_ancient_msgpack_stays_the_programs(run: Any, adapter: FakeAdapter, site: Any) -> None:
    ancient = site(
        "msgpack",
        __init__="from msgpack._version import version\nimport msgpack.fallback\n",
        _version="version = (0, 6, 2)\n",
        fallback="def packb(*args, **kwargs):\n    raise TypeError('of old')\n",
    )
    client = run("import msgpack, sys; print(msgpack.version, msgpack.__file__)", ancient)
    assert notices(client, adapter.accept()) == []
    assert output(client) == f"(0, 6, 2) {ancient / 'msgpack' / '__init__.py'}\n"


def test_a_broken_msgpack_stays_the_programs(run: Any, adapter: FakeAdapter, site: Any) -> None:
    broken = site(
        "msgpack",
        __init__="version = (1, 1, 0)\nimport msgpack.ext\nraise OSError('half installed')\n",
        ext="",
    )
    client = run(
        """
        import sys
        print([name for name in sys.modules if name.startswith("msgpack")])
        try:
            import msgpack
        except OSError as error:
            print(error)
        """,
        broken,
    )
    assert notices(client, adapter.accept()) == []
    assert output(client) == "[]\nhalf installed\n"
