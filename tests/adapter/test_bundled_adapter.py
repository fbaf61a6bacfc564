"""The adapter out of an extension's folder, whatever the interpreter has installed."""

from __future__ import annotations

import sys

import pytest
from bundles import ROOT, installed, make_bundle, make_environment, poison
from conftest import PROGRAMS
from dap_client import line_of

LOOP = PROGRAMS / "debug_loop.py"
WHERE = (
    "[m.__file__ for modules in [__import__('sys').modules] for m in (modules['zentracer'], "
    "modules['zentracer.wire.codec']._msgpack, modules['debugpy'])]"
)


@pytest.fixture
def bundle(tmp_path):
    return make_bundle(tmp_path / "bundle")


def check_session(client, **configuration):
    """Debug a little; returns where the program's process has our packages from."""
    exceptions = ["zentracer.nonfinite"]
    breakpoints = {LOOP: [line_of(LOOP, "double")]}
    answers = client.launch(
        program=LOOP, breakpoints=breakpoints, exceptions=exceptions, **configuration
    )
    assert answers["exceptions"]["breakpoints"][0]["verified"] is True
    stop = client.until_stopped()
    assert stop.line == line_of(LOOP, "double")
    where = client.evaluate(WHERE, stop.frame_id, context="clipboard")["result"]
    client.set_breakpoints(LOOP, [])
    client.resume()
    assert client.until_exit() == 0
    client.request("disconnect")
    assert client.wait_adapter() == 0
    assert client.stderr == ""
    return where


def test_an_interpreter_with_nothing_installed(start_client, bundle, interpreter, tmp_path):
    python, _ = make_environment(tmp_path / "plain", interpreter)
    client = start_client(command=[python, str(bundle / "zentracer_dap")])
    where = check_session(client, python=python)
    assert where.count(str(bundle)) == 3


def test_an_environment_with_other_versions(start_client, bundle, interpreter, tmp_path):
    python, packages = make_environment(tmp_path / "poisoned", interpreter)
    poison(packages, "zentracer", "zentracer_dap", "msgpack", "debugpy")
    plain, _ = make_environment(tmp_path / "plain", interpreter)
    client = start_client(command=[python, str(bundle / "zentracer_dap")])
    where = check_session(client, python=plain)
    assert where.count(str(bundle)) == 3


def test_another_zentracer_in_the_programs_environment(start_client, bundle, tmp_path):
    python, packages = make_environment(tmp_path / "poisoned", sys.executable)
    poison(packages, "zentracer", "msgpack", "debugpy")
    client = start_client(command=[python, str(bundle / "zentracer_dap")])
    where = check_session(client, python=python)
    assert where.count(str(bundle)) == 3


def test_a_debugpy_that_is_new_enough_is_compiled_so_it_is_used(start_client, bundle, tmp_path):
    python, packages = make_environment(tmp_path / "environment", sys.executable)
    (packages / "debugpy").symlink_to(installed("debugpy"))
    client = start_client(command=[python, str(bundle / "zentracer_dap")])
    where = check_session(client, python=python)
    assert (where.count(str(bundle)), where.count(str(packages))) == (2, 1)


@pytest.mark.parametrize("as_module", [True, False], ids=["-m", "by path"])
def test_without_a_marker_zentracer_is_the_one_beside_the_adapter(
    start_client, tmp_path, as_module
):
    folder = make_bundle(tmp_path / "folder", marker=False)
    poison(tmp_path / "first", "zentracer")
    env = {"PYTHONPATH": str(tmp_path / "first")}
    command = [sys.executable, str(folder / "zentracer_dap")]
    if as_module:
        command = [sys.executable, "-m", "zentracer_dap"]
        env["PYTHONPATH"] += f":{ROOT}"
    client = start_client(command=command, env=env)
    where = check_session(client)
    assert str(ROOT if as_module else folder) in where
