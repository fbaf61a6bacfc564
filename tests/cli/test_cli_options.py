from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from zentracer_dap import cli
from zentracer_dap.headless.options import Options, read_options
from zentracer_dap.headless.problem import UsageProblem


@pytest.fixture(autouse=True)
def in_a_folder_with_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)


def read(*argv: str) -> Options:
    return read_options(list(argv))


def problem(*argv: str) -> str:
    with pytest.raises(UsageProblem) as caught:
        read(*argv)
    return str(caught.value)


@pytest.mark.parametrize("before", [(), ("--first",), ("--break", "nonfinite"), ("--",)])
def test_what_follows_the_script_is_the_programs(before: tuple[str, ...]):
    options = read(*before, "train.py", "--first", "--json", "-m", "x", "--", "y")
    assert options.target.kind == "program"
    assert options.target.name == str(Path("train.py").absolute())
    assert options.target.arguments == ["--first", "--json", "-m", "x", "--", "y"]
    assert options.stop_at_first is (before == ("--first",))
    assert not options.json


@pytest.mark.parametrize("dash_m", [("-m", "json.tool"), ("-mjson.tool",)])
def test_what_follows_the_module_is_the_programs(dash_m: tuple[str, ...]):
    options = read("--json", *dash_m, "--first", "-m", "x")
    assert (options.target.kind, options.target.name) == ("module", "json.tool")
    assert options.target.arguments == ["--first", "-m", "x"]
    assert options.json
    assert not options.stop_at_first


def test_the_module_may_lie_in_the_current_folder():
    assert read("-m", "train").target.name == "train"


def test_options_with_equals_sign():
    options = read("--report=out.html", "--break=nonfinite:step > 2", "train.py")
    assert options.report == Path("out.html").absolute()
    assert options.breaks.filters[0]["condition"] == "step > 2"


def test_no_program():
    assert "no program given" in problem("--first")


def test_a_missing_script():
    assert "there is no file 'tran.py'" in problem("tran.py")


def test_a_script_without_its_suffix():
    assert "Did you mean train.py?" in problem("train")


def test_a_folder_without_main(tmp_path: Path):
    (tmp_path / "package").mkdir()
    assert "__main__.py" in problem("package")


def test_a_missing_module():
    assert "no module named 'no_such_module'" in problem("-m", "no_such_module.sub")


def test_a_missing_interpreter():
    assert "--python no-such-python" in problem("--python", "no-such-python", "train.py")


def test_an_interpreter_that_is_none():
    assert "does not run Python code" in problem("--python", "true", "train.py")


def test_an_interpreter_that_is_too_old(tmp_path: Path):
    old = tmp_path / "python2"
    old.write_text("#!/bin/sh\necho '[[3, 7], true]'\n")
    old.chmod(0o755)
    assert "Python 3.7; ZenTracer needs 3.9" in problem("--python", str(old), "train.py")


def test_the_interpreter_is_ours_unless_given():
    assert read("train.py").target.python == sys.executable


def test_a_report_in_a_folder_that_is_not_there():
    assert "the folder must exist" in problem("--report", "none/out.html", "train.py")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_report_where_nobody_may_write(tmp_path: Path):
    (tmp_path / "locked").mkdir(mode=0o500)
    assert "no permission" in problem("--report", "locked/out.html", "train.py")


def test_the_exit_code_of_a_usage_problem(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["debug", "missing.py"]) == 2
    assert "zentracer debug: there is no file 'missing.py'" in capsys.readouterr().err


def test_an_unknown_command(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["debgu"]) == 2
    assert "Did you mean 'debug'?" in capsys.readouterr().err


def test_a_program_in_place_of_a_command(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["train.py"]) == 2
    assert "zentracer debug train.py" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--help"], ["debug", "--help"], ["doctor", "--help"]])
def test_help_names_the_exit_codes_and_filters(argv: list[str], capsys: pytest.CaptureFixture[str]):
    try:
        code = cli.run(argv)
    except SystemExit as done:
        code = done.code
    out = capsys.readouterr().out
    assert code == 0
    assert {"--help": "debug", "debug": "nonfinite", "doctor": "exit code"}[argv[0]] in out
