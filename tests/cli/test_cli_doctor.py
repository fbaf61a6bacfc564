from __future__ import annotations

import sys

import pytest

from zentracer_dap import doctor
from zentracer_dap.environment import FRAMEWORKS, Environment, probe


def environment(python: str = "3.11.7", **versions: str) -> Environment:
    return Environment(python, "Linux", versions)


def test_the_real_installation_is_well(capsys: pytest.CaptureFixture[str]):
    assert doctor.main([]) == 0
    out = capsys.readouterr().out
    assert "All well." in out
    assert "debugpy" in out


def test_a_missing_package_comes_with_the_command_that_installs_it():
    check = doctor.check_package(environment(), "/a b/python", "debugpy", "1.8.22")
    assert check.fault
    assert check.mend == "'/a b/python' -m pip install --upgrade 'debugpy>=1.8.22'"


@pytest.mark.parametrize(
    ("version", "well"),
    [("1.8.21", False), ("1.8.9", False), ("1.8.22", True), ("1.10.0", True), ("2", True)],
)
def test_versions_are_compared_as_numbers(version: str, well: bool):
    check = doctor.check_package(environment(debugpy=version), "python", "debugpy", "1.8.22")
    assert (check.fault == "") is well


def test_an_old_python():
    check = doctor.check_python("python", environment("3.9.18"), "python", doctor.OLDEST_ADAPTER)
    assert "3.10" in check.fault
    assert doctor.check_python("program", environment("3.9.18"), "p", (3, 9)).fault == ""


def test_no_framework_is_no_fault():
    check = doctor.check_frameworks(environment(), "frameworks")
    assert check.fault == ""
    assert "none" in check.found


def test_an_interpreter_that_does_not_run(capsys: pytest.CaptureFixture[str]):
    assert doctor.main(["--python", "/no/such/python"]) == 1
    assert "1 to mend" in capsys.readouterr().out


def test_the_probe_imports_no_framework():
    found = probe(sys.executable, FRAMEWORKS)
    assert found is not None
    assert found.python.startswith("3.")
