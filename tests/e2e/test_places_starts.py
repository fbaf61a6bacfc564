"""Line breakpoints however the code comes to run: ``-m``, ``-c``, zip files, cells, launchers."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import Case
from conftest import PROGRAMS
from dap_client import Client, Stop
from visits import Visits, lines_at

GENERATOR = Case(PROGRAMS / "places" / "generator.py")
RANKS = Case(PROGRAMS / "places" / "torch_ranks.py")


def check(client: Client, case: Case, path: Path, **launch: Any) -> None:
    visits = Visits(client, {path: case.lines("breakpoint")}, lines_at)
    assert visits.run(**launch) == 0
    assert len(visits.found) == int(case.fields["stops"])


def test_a_module(client: Client) -> None:
    check(
        client, GENERATOR, GENERATOR.path,
        module="places.generator", env={"PYTHONPATH": str(PROGRAMS)},
    )  # fmt: skip


def test_code_of_the_configuration_that_runs_a_file(client: Client) -> None:
    check(
        client, GENERATOR, GENERATOR.path,
        code=["import places.generator"], env={"PYTHONPATH": str(PROGRAMS)},
    )  # fmt: skip


def test_code_of_the_configuration_stops_at_its_own_breakpoint(client: Client) -> None:
    client.launch(code=["for n in range(2):", "    breakpoint()", "    print(n)"])
    for n in range(2):
        stop = client.until_stopped()
        assert client.evaluate("n", stop.frame_id, "hover")["result"] == str(n)
        client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_a_zip_file(client: Client, tmp_path: Path) -> None:
    """Editors show such a file as ``app.pyz/places.py``, which is also what Python calls it."""
    archive = tmp_path / "app.pyz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("__main__.py", "import inside")
        file.write(GENERATOR.path, "inside.py")
    check(client, GENERATOR, archive / "inside.py", program=str(archive))


def test_a_folder(client: Client, tmp_path: Path) -> None:
    main = tmp_path / "__main__.py"
    main.write_text(GENERATOR.text, encoding="utf-8")
    check(client, GENERATOR, main, program=str(tmp_path))


@pytest.mark.parametrize("name", ["ipykernel_4711/3141592.py", "tmp9b1d.py"])
def test_a_cell_that_a_kernel_has_written(
    client: Client, tmp_path: Path, write_program: Callable[..., Path], name: str
) -> None:
    """A kernel compiles each cell under the name of a temporary file of its own."""
    cell = tmp_path / name
    cell.parent.mkdir(exist_ok=True)
    cell.write_text(GENERATOR.text, encoding="utf-8")
    kernel = write_program(
        """
        import sys
        from pathlib import Path

        path = sys.argv[1]
        exec(compile(Path(path).read_text(), path, "exec"), {"__name__": "__main__"})
        """,
        "kernel.py",
    )
    check(client, GENERATOR, cell, program=kernel, args=[str(cell)])


def rank_at(client: Client, stop: Stop) -> Any:
    return int(client.evaluate("rank", stop.frame_id, "hover")["result"])


def torchrun(module: str = "torch.distributed.run") -> dict[str, Any]:
    return {
        "module": module,
        "args": ["--standalone", "--nproc-per-node=2", str(RANKS.path)],
        "env": {"OMP_NUM_THREADS": "1"},
    }


def test_ranks_of_torchrun(client: Client) -> None:
    pytest.importorskip("torch")
    (line,) = RANKS.lines("breakpoint")
    visits = Visits(client, {RANKS.path: [line]}, rank_at)
    assert visits.run(**torchrun()) == 0
    assert sorted(visits.found) == [0, 0, 1, 1]


def test_a_condition_on_the_rank(client: Client) -> None:
    pytest.importorskip("torch")
    (line,) = RANKS.lines("breakpoint")
    visits = Visits(client, {RANKS.path: [{"line": line, "condition": "rank == 1"}]}, rank_at)
    assert visits.run(**torchrun()) == 0
    assert visits.found == [1, 1]


def test_a_step_over_a_collective_ends(client: Client) -> None:
    """Rank 1 waits in the native collective, or is held before it and released for the step."""
    pytest.importorskip("torch")
    (line,) = RANKS.lines("breakpoint")
    breakpoints = {RANKS.path: [{"line": line, "condition": "rank == 0 and step == 0"}]}
    client.launch(**torchrun(), breakpoints=breakpoints)
    children = [client.wait_child() for _ in range(2)]
    ranks = {
        child.configuration["name"]: client.attach_child(child, breakpoints=breakpoints)
        for child in children
    }
    zero, one = ranks["rank 0"], ranks["rank 1"]
    stop = zero.until_stopped()
    assert zero.evaluate("x.item()", stop.frame_id, "hover")["result"] == "0.0"
    stop = zero.step("next", stop)
    assert stop.line == line - 2
    held = one.wait_event("stopped")
    assert held["description"].startswith("Held: rank 0 stopped at torch_ranks.py:")
    zero.resume(stop.thread_id)
    assert client.until_exit() == 0


ACCELERATE = ["--mixed_precision=no", "--num_machines=1", "--dynamo_backend=no"]


def accelerate(*args: str) -> dict[str, Any]:
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("accelerate is not installed")
    return {"module": "accelerate.commands.launch", "args": [*args[:-1], *ACCELERATE, args[-1]]}


def test_a_program_of_accelerate_launch(client: Client) -> None:
    program = str(GENERATOR.path)
    launch = accelerate("--cpu", "--num_processes=1", program)
    check(client, GENERATOR, GENERATOR.path, **launch)


def test_ranks_of_accelerate_launch(client: Client) -> None:
    """Its ranks are torchrun's: --multi_gpu runs them without a GPU too."""
    (line,) = RANKS.lines("breakpoint")
    visits = Visits(client, {RANKS.path: [line]}, rank_at)
    launch = accelerate("--multi_gpu", "--num_processes=2", str(RANKS.path))
    assert visits.run(**launch) == 0
    assert sorted(visits.found) == [0, 0, 1, 1]
