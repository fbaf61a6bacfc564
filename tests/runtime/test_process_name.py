"""How the user would call a process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from zentracer import process_name

ROOT = Path(__file__).parents[2]
PRINTS = "from zentracer.process_name import process_name; print(process_name())"


def output(python: str, *command: str, cwd: Path) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([python, *command], capture_output=True, text=True, cwd=cwd, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "trainer").mkdir()
    for name in ("__init__", "__main__", "run"):
        (tmp_path / "trainer" / f"{name}.py").write_text(PRINTS if name != "__init__" else "")
    (tmp_path / "train.py").write_text(PRINTS)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["train.py", "--file", "data"], "train.py"),
        (["-m", "trainer.run"], "-m trainer.run"),
        (["-m", "trainer"], "-m trainer"),
        (["-c", PRINTS], "-c"),
        (["-c", PRINTS, "--multiprocessing-fork"], ""),
    ],
)
def test_a_program_that_runs(
    package: Path, interpreter: str, command: list[str], name: str
) -> None:
    assert output(interpreter, *command, cwd=package) == f"{name}\n"


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["/x/pydevd.py", "--port", "1", "--file", "/p/train.py", "-v"], "train.py"),
        (["/x/pydevd.py", "--module", "--port", "1", "--file", "a.b", "--file", "c"], "-m a.b"),
        (["/x/pydevd.py", "--file"], ""),
        (["train.py", "--file", "data"], ""),
    ],
)
def test_a_child_that_pydevd_starts(argv: list[str], name: str) -> None:
    assert process_name._target_of_pydevd(argv) == name


@pytest.mark.parametrize(
    ("rest", "name"),
    [
        (["--connect", "127.0.0.1:1", "--configure-subProcess", "True", "/p/train.py"], "train.py"),
        (["--listen", "1", "--wait-for-client", "-m", "a.b", "--lr", "1"], "-m a.b"),
        (["--log-to-stderr", "-c", "print()"], "-c"),
        (["--listen"], ""),
    ],
)
@pytest.mark.parametrize("main", ["/x/debugpy", "/x/debugpy/__main__.py"])
def test_what_debugpy_starts(main: str, rest: list[str], name: str) -> None:
    assert process_name._target_of_debugpy([main, *rest]) == name
    assert process_name._target_of_debugpy(["/x/train.py", *rest]) == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_has_the_name_that_multiprocessing_gives_it(
    tmp_path: Path, interpreter: str
) -> None:
    code = """if True:
        import multiprocessing, os
        from zentracer.process_name import forked_name
        os.register_at_fork(after_in_child=lambda: print([forked_name()], flush=True))
        process = multiprocessing.get_context("fork").Process(target=int, name="loader 1")
        process.start()
        process.join()
        if os.fork() == 0:
            os._exit(0)
        os.wait()
    """
    assert output(interpreter, "-c", code, cwd=tmp_path) == "['loader 1']\n['']\n"


def test_a_program_in_a_folder_called_debugpy(tmp_path: Path, interpreter: str) -> None:
    (tmp_path / "debugpy").mkdir()
    (tmp_path / "debugpy" / "train.py").write_text(PRINTS)
    command = (os.path.join("debugpy", "train.py"), "--epochs", "3", "data.csv")
    assert output(interpreter, *command, cwd=tmp_path) == "train.py\n"
