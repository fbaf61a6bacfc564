"""``zentracer debug`` as a user runs it: real programs, the real adapter, debugpy and PyTorch."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dap_client import line_of

ZENTRACER = [sys.executable, "-c", "from zentracer_dap.cli import main; main()"]
EXAMPLES = Path(__file__).parents[2] / "examples"
HANG_GUARD = 120
FIELDS = {
    "filter",
    "module",
    "op",
    "phase",
    "step",
    "rank",
    "source",
    "origin",
    "tensor",
    "inputs",
    "suggestions",
    "text",
}
STATS = {
    *("shape", "dtype", "device", "size", "bytes"),
    *("min", "max", "mean", "std", "absmax", "norm"),
    *("nan", "inf", "zeros", "sampled"),
}

LOG_OF_ZERO = """
    import torch

    def score(x):
        return torch.log(x).sum()  # @producer

    print("before", flush=True)
    x = torch.tensor([1.0, 0.0, 2.0])
    for _ in range(3):
        score(x)
    print("after", flush=True)
"""

HEALTHY = """
    import sys
    import torch

    print("loss", torch.log(torch.tensor([1.0, 2.0])).sum().item(), sys.argv[1:])
    print("to stderr", file=sys.stderr)
"""

Write = Callable[..., Path]


def start(*argv: str, folder: Path, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.Popen(
        [*ZENTRACER, *argv],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def debug(*argv: str, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    process = start("debug", *argv, folder=folder)
    out, err = process.communicate(stdin, HANG_GUARD)
    return subprocess.CompletedProcess(argv, process.returncode, out, err)


def findings(result: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def plain(program: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(program), *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_finding_as_text(write_program: Write, tmp_path: Path):
    program = write_program(LOG_OF_ZERO)
    result = debug("program.py", folder=tmp_path)
    assert result.returncode == 3, result.stderr
    lines = result.stdout.splitlines()
    assert lines.index("before") < lines.index("after")
    at = next(i for i, line in enumerate(lines) if "▶" in line)
    assert f" {line_of(program, 'producer')} │" in lines[at]
    column = lines[at].index("torch.log(x)")
    assert lines[at + 1][column:] == "^" * len("torch.log(x)")
    text = result.stdout
    assert f"program.py:{line_of(program, 'producer')} in score" in text
    assert "float32[3]" in text
    assert "What to try" in text
    assert "score(x)" in text


def test_the_same_line_is_shown_once_and_counted(write_program: Write, tmp_path: Path):
    write_program(LOG_OF_ZERO)
    result = debug("program.py", folder=tmp_path)
    assert result.stdout.count("▶") == 1
    assert "1 finding" in result.stderr
    assert "3 times" in result.stderr


def test_json_has_the_fields_of_the_contract(write_program: Write, tmp_path: Path):
    program = write_program(LOG_OF_ZERO)
    result = debug("--json", "program.py", folder=tmp_path)
    assert result.returncode == 3
    (finding,) = findings(result)
    assert set(finding) >= FIELDS
    assert set(finding["tensor"]) >= STATS
    assert finding["filter"] == "zentracer.nonfinite"
    assert "log" in finding["op"]
    assert finding["origin"]["path"] == str(program)
    assert finding["origin"]["line"] == finding["source"]["line"] == line_of(program, "producer")
    assert finding["tensor"]["inf"] == 1
    assert finding["inputs"][0]["zeros"] == 1
    assert "before" in result.stderr
    assert "after" in result.stderr


def test_first_ends_the_program_at_the_first_finding(write_program: Write, tmp_path: Path):
    write_program(LOG_OF_ZERO)
    result = debug("--first", "program.py", folder=tmp_path)
    assert result.returncode == 3
    assert "before" in result.stdout
    assert "after" not in result.stdout


def test_a_report(write_program: Write, tmp_path: Path):
    program = write_program(LOG_OF_ZERO)
    result = debug("--report", "out.html", "program.py", folder=tmp_path)
    assert result.returncode == 3
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "<mark>torch.log(x)</mark>" in page
    assert f"program.py:{line_of(program, 'producer')}" in page
    assert "torch 2." in page
    assert "://" not in page


def test_a_report_of_nothing(write_program: Write, tmp_path: Path):
    write_program(HEALTHY)
    result = debug("--report", "out.html", "program.py", folder=tmp_path)
    assert result.returncode == 0
    assert "Nothing found" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_a_healthy_program_is_left_alone(write_program: Write, tmp_path: Path):
    program = write_program(HEALTHY)
    result = debug("program.py", "--lr", "3", folder=tmp_path)
    expected = plain(program, "--lr", "3")
    assert result.returncode == 0
    assert result.stdout == expected.stdout
    assert result.stderr == expected.stderr + "zentracer: nothing found\n"


def test_the_programs_own_exit_code(write_program: Write, tmp_path: Path):
    write_program("import sys\nsys.exit(5)\n")
    assert debug("program.py", folder=tmp_path).returncode == 5


def test_an_uncaught_exception_reads_as_under_plain_python(write_program: Write, tmp_path: Path):
    program = write_program(
        """
        def fail():
            raise ValueError("no data")

        fail()
        """
    )
    result = debug(str(program), folder=tmp_path)
    expected = plain(program)
    assert result.returncode == 1
    assert result.stderr == expected.stderr + "zentracer: nothing found; exit code 1\n"


def test_a_syntax_error_reads_as_under_plain_python(write_program: Write, tmp_path: Path):
    program = write_program("x = = 1\n")
    result = debug(str(program), folder=tmp_path)
    assert result.returncode == 1
    assert result.stderr.startswith(plain(program).stderr)


def test_input_reaches_the_program(write_program: Write, tmp_path: Path):
    write_program("print('hello', input())\n")
    assert debug("program.py", folder=tmp_path, stdin="world\n").stdout == "hello world\n"


def test_a_module(write_program: Write, tmp_path: Path):
    write_program("import sys\nprint(__name__, sys.argv[1:])\n", "tool.py")
    result = debug("-m", "tool", "-m", "--first", folder=tmp_path)
    assert result.stdout == "__main__ ['-m', '--first']\n"
    assert result.returncode == 0


def test_the_condition_decides(write_program: Write, tmp_path: Path):
    write_program(LOG_OF_ZERO)
    never = debug("--break", "nonfinite:nan > 0", "program.py", folder=tmp_path)
    assert never.returncode == 0, never.stdout
    always = debug("--break", "nonfinite:inf == 1 and size == 3", "program.py", folder=tmp_path)
    assert always.returncode == 3, always.stderr


def test_an_unknown_name_in_a_condition_is_said_before_anything_runs(
    write_program: Write, tmp_path: Path
):
    write_program(LOG_OF_ZERO)
    result = debug("--break", "nonfinite:stepp > 3", "program.py", folder=tmp_path)
    assert result.returncode == 2
    assert "'stepp'" in result.stderr
    assert "Did you mean 'step'?" in result.stderr
    assert result.stdout == ""
    assert result.stderr.count("is not a name of conditions") == 1


def test_a_runtime_that_is_switched_off_is_not_taken_for_a_healthy_program(
    write_program: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_program(LOG_OF_ZERO)
    monkeypatch.setenv("ZENTRACER", "off")
    result = debug("program.py", folder=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("zentracer debug: ")
    assert result.stdout == ""


def test_breakpoint_in_the_program_is_passed_over(write_program: Write, tmp_path: Path):
    write_program("breakpoint()\nprint('done')\n")
    result = debug("program.py", folder=tmp_path)
    assert result.returncode == 0
    assert result.stdout == "done\n"
    assert "breakpoint()" in result.stderr


def test_worker_processes_do_not_get_in_the_way(write_program: Write, tmp_path: Path):
    write_program(
        """
        import torch
        from torch.utils.data import DataLoader

        if __name__ == "__main__":
            loader = DataLoader(list(range(8)), batch_size=2, num_workers=2)
            print(sum(int(batch.sum()) for batch in loader))
        """
    )
    result = debug("program.py", folder=tmp_path)
    assert result.stdout == "28\n"
    assert result.returncode == 0


def test_findings_of_all_ranks(write_program: Write, tmp_path: Path):
    program = write_program(
        """
        import torch
        import torch.distributed as dist

        dist.init_process_group("gloo")
        x = torch.zeros(2 + dist.get_rank())
        torch.log(x)  # @producer
        dist.barrier()
        dist.destroy_process_group()
        """
    )
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    result = debug("--json", *launcher, "program.py", folder=tmp_path)
    assert result.returncode == 3, result.stderr
    found = findings(result)
    assert {item["rank"]: item["tensor"]["shape"] for item in found} == {0: [2], 1: [3]}
    assert {item["origin"]["line"] for item in found} == {line_of(program, "producer")}


WAITING = """
    import os
    import sys
    import time

    print(os.getpid(), flush=True)
    {before}
    while True:
        time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("number", "before", "code"),
    [
        (signal.SIGINT, "", 130),
        (signal.SIGTERM, "", None),
        (signal.SIGTERM, "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)", None),
    ],
)
def test_a_signal_ends_all_that_was_started(
    write_program: Write, tmp_path: Path, number: int, before: str, code: int | None
):
    write_program(WAITING.format(before=before))
    process = start("debug", "program.py", folder=tmp_path)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.send_signal(number)
    _, err = process.communicate(timeout=HANG_GUARD)
    assert process.returncode not in (0, 2, 3)
    if code is not None:
        assert process.returncode == code
        assert "KeyboardInterrupt" in err
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_reader_that_goes_away(write_program: Write, tmp_path: Path):
    write_program(LOG_OF_ZERO)
    process = start("debug", "program.py", folder=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "before\n"
    process.stdout.close()
    assert process.stderr is not None
    assert "zentracer_dap" not in process.stderr.read()
    assert process.wait(HANG_GUARD) != 0


def test_other_interpreters(write_program: Write, tmp_path: Path, interpreter: str):
    write_program("import sys\nprint(sys.executable)\n")
    result = debug("--python", interpreter, "program.py", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert os.path.samefile(result.stdout.strip(), interpreter)


def test_the_contrastive_example(tmp_path: Path):
    program = EXAMPLES / "nan_contrastive.py"
    result = debug("--json", "--first", str(program), folder=tmp_path)
    assert result.returncode == 3, result.stderr
    (finding,) = findings(result)
    assert finding["origin"]["text"].strip() == "distance = torch.sqrt(squared)"
    assert finding["phase"] == "backward"
    assert finding["suggestions"]
    assert "epoch 0" in result.stderr


def test_the_deep_cnn_and_its_repair(tmp_path: Path):
    program = str(EXAMPLES / "deep_cnn.py")
    arguments = ("--first", "--json", "--break", "vanishing", program, "--steps", "10")
    broken = debug(*arguments, folder=tmp_path)
    assert broken.returncode == 3
    [finding] = findings(broken)
    assert finding["filter"] == "zentracer.vanishing"
    assert "self.features(images)" in finding["origin"]["text"]
    repaired = debug(*arguments, "--repaired", folder=tmp_path)
    assert (repaired.returncode, findings(repaired)) == (0, [])


def test_child_processes_say_nothing_of_the_debugger(write_program: Write, tmp_path: Path):
    write_program("print('child')\n", "child.py")
    program = write_program(
        """
        import subprocess, sys
        subprocess.run([sys.executable, "child.py"], check=True)
        subprocess.run([sys.executable, "-c", "print('inline')"], check=True)
        """
    )
    result = debug(str(program), folder=tmp_path)
    assert result.stdout == "child\ninline\n"
    assert result.stderr == "zentracer: nothing found\n"


def adapter_of(command: int) -> int:
    """The adapter that a ``zentracer debug`` has started."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parent = (folder / "stat").read_text().rsplit(") ", 1)[1].split()[1]
            if int(parent) == command and b"zentracer_dap" in (folder / "cmdline").read_bytes():
                return int(folder.name)
    raise LookupError("no adapter")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the adapter in /proc")
def test_the_program_outlives_the_adapter(write_program: Write, tmp_path: Path):
    write_program("print('ready', flush=True)\nprint('got', input(), flush=True)\n")
    process = start("debug", "program.py", folder=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.kill(adapter_of(process.pid), signal.SIGKILL)
    out, err = process.communicate("it\n", HANG_GUARD)
    assert out == "got it\n"
    assert process.returncode == 70
    assert err == "zentracer: the debug adapter has ended; the program goes on unwatched\n"
