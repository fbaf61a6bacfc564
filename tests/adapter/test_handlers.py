"""The table of overrides, and the list of what debugpy implements."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import debugpy
import pytest
from debugpy.adapter import clients

from zentracer_dap.debugpy_main import MINIMUM, is_too_old
from zentracer_dap.features.table import all_overrides
from zentracer_dap.peers.debugpy import IMPLEMENTED
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import DuplicateHandler, Table


def test_a_second_handler_for_a_name_is_refused():
    table: Table = Table()
    table.add("evaluate", "because", print)
    with pytest.raises(DuplicateHandler, match="evaluate"):
        table.add("evaluate", "because", print)


def test_every_override_has_its_reason_in_a_sentence():
    overrides = all_overrides()
    for table in (overrides.requests, overrides.events, overrides.reverse_requests):
        assert table.reasons()
        for name, reason in table.reasons().items():
            assert reason.endswith("."), name


def test_implemented_is_what_the_installed_debugpy_implements():
    source = Path(debugpy.__file__).parent / "_vendored/pydevd/_pydevd_bundle"
    text = (source / "pydevd_process_net_command_json.py").read_text(encoding="utf-8")
    in_pydevd = set(re.findall(r"def on_([a-z]+)_request", text))
    in_pydevd.remove("pydevdauthorize")  # between debugpy's own processes
    in_adapter = {
        match[1].lower()
        for name, _ in inspect.getmembers(clients.Client)
        if (match := re.fullmatch(r"(\w+)_request", name))
    }
    assert {name.lower() for name in IMPLEMENTED} == in_pydevd | in_adapter


@pytest.mark.parametrize(
    ("version", "too_old"),
    [
        ("1.8.22", False),
        ("1.8.21", True),
        ("1.9.0", False),
        ("1.8", True),
        ("2.0.0", False),
        ("0+unknown", False),
        ("1.8.22+12.gabc", False),
        ("1.6.7", True),
    ],
)
def test_version_check(version, too_old):
    assert is_too_old(version) == too_old


def test_the_minimum_is_said_once():
    assert MINIMUM == errors.DEBUGPY_MINIMUM
