"""``zentracer debug`` on programs that end in an exception, or handle one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from dap_client import line_of
from test_cli import debug, findings, plain

Write = Callable[..., Path]

MISMATCH = """
    import torch

    def scores(queries, keys):
        return queries @ keys  # @blame

    scores(torch.ones(4, 3), torch.ones(5, 3))
"""


def test_an_error_of_the_frameworks_is_a_finding(write_program: Write, tmp_path: Path):
    program = write_program(MISMATCH)
    page = tmp_path / "report.html"
    result = debug("--report", str(page), "program.py", folder=tmp_path)
    assert result.returncode == 3
    at = next(line for line in result.stdout.splitlines() if "▶" in line)
    assert f" {line_of(program, 'blame')} │" in at
    for words in ("RuntimeError", "queries [4, 3]", "keys [5, 3]", "queries @ keys.T"):
        assert words in result.stdout
    assert "keys.T" in page.read_text(encoding="utf-8")
    # The program's own traceback is what it is without us: no frame of our hooks.
    own = plain(program).stderr
    assert _without_markers(own).strip() in _without_markers(result.stderr)
    assert "1 finding" in result.stderr


def test_json_of_an_error(write_program: Write, tmp_path: Path):
    write_program(MISMATCH)
    (finding,) = findings(debug("--json", "program.py", folder=tmp_path))
    assert finding["filter"] == "zentracer.error"
    assert finding["text"].startswith("queries [4, 3] and keys [5, 3]")
    assert [x["name"] for x in finding["inputs"]] == ["queries", "keys"]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("import torch\nraise ValueError('index out of range in self')\n", 1),
        ("import torch\nimport sys\nsys.exit(7)\n", 7),
        ("import torch\n[][1]\n", 1),
        (
            "import torch\ntry:\n    torch.ones(2) @ torch.ones(3)\n"
            "except RuntimeError as error:\n    print('handled')\n",
            0,
        ),
    ],
)
def test_other_ends_are_the_programs_own(
    write_program: Write, tmp_path: Path, source: str, code: int
):
    program = write_program(source)
    result = debug("program.py", folder=tmp_path)
    own = plain(program)
    assert (result.returncode, own.returncode) == (code, code)
    assert result.stdout == own.stdout
    assert own.stderr in result.stderr
    assert "nothing found" in result.stderr


def test_an_error_in_a_thread_and_first(write_program: Write, tmp_path: Path):
    write_program(
        """
        import threading
        import torch

        def work():
            torch.ones(2, 3) @ torch.ones(2, 3)  # @blame

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("main ends")
        """
    )
    result = debug("--first", "program.py", folder=tmp_path)
    assert result.returncode == 3
    assert result.stdout.count("▶") == 1
    assert "Exception in thread" in result.stderr


def test_errors_of_the_ranks(write_program: Write, tmp_path: Path):
    write_program(
        """
        import os
        import torch

        rows = torch.ones(2, 3 + int(os.environ["RANK"]))
        rows @ torch.ones(3, 2)  # @blame
        """
    )
    command = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "program.py")
    result = debug("--json", *command, folder=tmp_path)
    assert result.returncode == 3
    (finding,) = findings(result)
    assert finding["rank"] == 1
    assert finding["inputs"][0]["shape"] == [2, 4]


def _without_markers(traceback: str) -> str:
    """Drop the lines of ``~~^~~``, which depend on the Python that prints them."""
    return re.sub(r"^\s*[~^]+$\n", "", traceback, flags=re.M)
