"""Fixtures for every test that drives a real adapter."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from dap_client import Client

PROGRAMS = Path(__file__).parent / "programs"
INTERPRETERS = ("3.9", "3.10", "3.11", "3.12", "3.13")


@pytest.fixture
def start_client() -> Iterator[Callable[..., Client]]:
    """Factory of clients (arguments of ``Client``); all are closed when the test ends."""
    clients: list[Client] = []

    def start(*args: Any, **kwargs: Any) -> Client:
        clients.append(Client(*args, **kwargs))
        return clients[-1]

    yield start
    for client in reversed(clients):
        client.close()


@pytest.fixture
def client(start_client: Callable[..., Client]) -> Client:
    """A client of a fresh ``python -m zentracer_dap``."""
    return start_client()


@pytest.fixture
def programs() -> Path:
    """Folder of the small programs that tests debug."""
    return PROGRAMS


@pytest.fixture
def write_program(tmp_path: Path) -> Callable[..., Path]:
    """Write a program (dedented) into a folder of the test's own and return its path."""

    def write(source: str, name: str = "program.py") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return path

    return write


def find_interpreter(version: str) -> str | None:
    """Path of ``pythonX.Y``, from PATH or from pyenv, None where there is none."""
    if version == "{}.{}".format(*sys.version_info):
        return sys.executable
    for pyenv in sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python")):
        return str(pyenv)
    return shutil.which(f"python{version}")


@pytest.fixture(params=INTERPRETERS)
def interpreter(request: pytest.FixtureRequest) -> str:
    """Interpreters for the debuggee; a test that uses it runs once on each that is found."""
    path = find_interpreter(request.param)
    if path is None:
        pytest.skip(f"no Python {request.param} here")
    return path
