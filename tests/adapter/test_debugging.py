"""What every Python debugger must do, through our adapter, on every interpreter found."""

from __future__ import annotations

import pytest
from conftest import PROGRAMS
from dap_client import RequestFailed, line_of

LOOP = PROGRAMS / "debug_loop.py"


def lines(path, *markers):
    return [line_of(path, marker) for marker in markers]


def test_breakpoint_stack_variables_and_evaluate(client, interpreter):
    loop, double = lines(LOOP, "loop", "double")
    answers = client.launch(program=LOOP, python=interpreter, breakpoints={LOOP: [double]})
    (breakpoint,) = answers["breakpoints"][LOOP]
    assert breakpoint["verified"] and breakpoint["line"] == double
    stop = client.until_stopped()
    assert stop.body["reason"] == "breakpoint"
    assert stop.body["hitBreakpointIds"] == [breakpoint["id"]]
    assert (stop.path, stop.line) == (str(LOOP), double)
    assert [frame["name"] for frame in stop.frames] == ["double", "main", "<module>"]
    assert stop.frames[1]["line"] == loop
    assert client.locals(stop.frame_id)["n"]["value"] == "0"
    assert client.evaluate("n + 40", stop.frame_id)["result"] == "40"
    with pytest.raises(RequestFailed, match="NameError"):
        client.evaluate("nonsense", stop.frame_id)
    client.set_breakpoints(LOOP, [])
    client.resume()
    assert client.until_exit() == 0
    assert client.output("stdout") == "total 20\n"


def test_steps(client, interpreter):
    loop, double, back = lines(LOOP, "loop", "double", "double-return")
    client.launch(program=LOOP, python=interpreter, breakpoints={LOOP: [loop]})
    stop = client.until_stopped()
    client.set_breakpoints(LOOP, [])
    stop = client.step("stepIn", stop)
    assert stop.line == double
    stop = client.step("next", stop)
    assert stop.line == back
    stop = client.step("stepOut", stop)
    assert (stop.line, stop.frames[0]["name"]) == (loop, "main")
    client.resume()
    assert client.until_exit() == 0


def test_step_in_targets(client):
    loop, double = lines(LOOP, "loop", "double")
    client.launch(program=LOOP, breakpoints={LOOP: [loop]})
    stop = client.until_stopped()
    targets = client.request("stepInTargets", frameId=stop.frame_id)["targets"]
    (target,) = [item for item in targets if item["label"].startswith("double")]
    client.request("stepIn", threadId=stop.thread_id, targetId=target["id"])
    assert client.until_stopped().line == double


@pytest.mark.parametrize(
    ("breakpoint", "values"),
    [
        ({"condition": "n == 3"}, ["3"]),
        ({"condition": "n % 2"}, ["1", "3"]),
        ({"hitCondition": "4"}, ["3"]),
        ({"hitCondition": ">=4"}, ["3", "4"]),
        ({"hitCondition": "%2"}, ["1", "3"]),
    ],
)
def test_conditional_breakpoints(client, breakpoint, values):
    double = line_of(LOOP, "double")
    client.launch(program=LOOP, breakpoints={LOOP: [{"line": double, **breakpoint}]})
    for value in values:
        stop = client.until_stopped()
        assert client.evaluate("n", stop.frame_id)["result"] == value
        client.resume()
    assert client.until_exit() == 0


def test_log_point(client):
    double = line_of(LOOP, "double")
    point = {"line": double, "logMessage": "n is {n}"}
    client.launch(program=LOOP, breakpoints={LOOP: [point]})
    assert client.until_exit() == 0
    assert [f"n is {n}" in client.output() for n in range(5)] == [True] * 5
    assert not client.events("stopped")


def test_function_breakpoint(client):
    client.launch(program=LOOP, functions=["fail"], args=["raise"])
    stop = client.until_stopped()
    assert stop.body["reason"] == "function breakpoint"
    assert stop.frames[0]["name"] == "fail"


def test_set_variable_and_expression(client):
    back = line_of(LOOP, "double-return")
    client.launch(program=LOOP, breakpoints={LOOP: [{"line": back, "condition": "n == 4"}]})
    stop = client.until_stopped()
    scope = client.request("scopes", frameId=stop.frame_id)["scopes"][0]
    client.request(
        "setVariable", variablesReference=scope["variablesReference"], name="result", value="1000"
    )
    client.resume()
    client.until_exit()
    assert client.output("stdout") == "total 1012\n"


def test_pause(client, tmp_path):
    waits = PROGRAMS / "waits.py"
    files = [str(tmp_path / name) for name in ("ready", "go", "done")]
    client.launch(program=waits, args=files, breakpoints={waits: [line_of(waits, "wait")]})
    client.until_stopped()
    client.set_breakpoints(waits, [])
    client.resume()
    client.request("pause", threadId=1)
    stop = client.until_stopped()
    assert stop.body["reason"] == "pause"


@pytest.mark.parametrize(("argument", "filters"), [("raise", ["raised"]), ("crash", ["uncaught"])])
def test_exceptions(client, interpreter, argument, filters):
    client.launch(program=LOOP, python=interpreter, args=[argument], exceptions=filters)
    stop = client.until_stopped()
    assert stop.body["reason"] == "exception"
    assert stop.line == line_of(LOOP, "raise")
    info = client.exception_info(stop.thread_id)
    assert info["exceptionId"].endswith("ValueError")
    assert info["description"] == "broken on purpose"
    client.resume()
    while (code := client.until_exit_or_stop()) is None:
        client.resume()
    assert code == (1 if argument == "crash" else 0)


def test_just_my_code(client, write_program, tmp_path):
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "library.py").write_text("def call(f):\n    return f()\n")
    program = write_program(
        """
        import sys
        sys.path.insert(0, "site-packages")
        import library

        def mine():
            return 1  # @mine

        library.call(mine)  # @call
        print("after")  # @after
        """
    )
    rules = [{"path": str(library), "include": False}]
    client.launch(
        program=program,
        cwd=tmp_path,
        rules=rules,
        breakpoints={program: [line_of(program, "call")]},
    )
    stop = client.until_stopped()
    stop = client.step("stepIn", stop)
    assert stop.line == line_of(program, "mine")
    assert [frame["name"] for frame in stop.frames] == ["mine", "<module>"]


def test_output_is_redirected(client):
    client.launch(program=LOOP, args=["exit3"], redirectOutput=True)
    assert client.until_exit() == 3
    assert client.output("stdout") == "total 20\n"
    assert client.output("stderr") == "to stderr\n"


def test_module_and_code(start_client, tmp_path):
    (tmp_path / "some_module.py").write_text("import sys\nprint('module', sys.argv[1:])\n")
    client = start_client()
    client.launch(module="some_module", args=["a", "b"], cwd=tmp_path)
    assert client.until_exit() == 0
    assert client.output("stdout") == "module ['a', 'b']\n"
    client = start_client()
    client.launch(code=["x = 6", "print('code', x * 7)"])
    assert client.until_exit() == 0
    assert client.output("stdout") == "code 42\n"


def test_environment_of_the_user_is_kept(client, write_program, tmp_path):
    program = write_program(
        """
        import os, sys
        print(os.environ["MINE"], "GONE" in os.environ)
        print([p for p in os.environ["PYTHONPATH"].split(os.pathsep)].index(sys.argv[1]) > 0)
        """
    )
    env = {"MINE": "yes", "GONE": None, "PYTHONPATH": str(tmp_path)}
    client.launch(program=program, env=env, args=[str(tmp_path)])
    assert client.until_exit() == 0
    assert client.output("stdout") == "yes False\nTrue\n"


@pytest.mark.parametrize("console", ["integratedTerminal", "externalTerminal"])
def test_terminal(start_client, write_program, tmp_path, console):
    seen = tmp_path / "seen"
    program = write_program(
        f"""
        import os
        open({str(seen)!r}, "w").write(os.environ["PYTHONPATH"])  # @line
        """
    )
    # The adapter has another PYTHONPATH than the terminal; the terminal's must win.
    client = start_client(env={"PYTHONPATH": "/of-the-adapter"})
    client.terminal_env = {"PYTHONPATH": "/of-the-terminal"}
    line = line_of(program, "line")
    client.launch(program=program, console=console, breakpoints={program: [line]})
    stop = client.until_stopped()
    assert stop.line == line
    client.resume()
    assert client.until_exit() == 0
    ours, _, theirs = seen.read_text().partition(":")
    assert ours.endswith("inject")
    assert theirs == "/of-the-terminal"


def test_no_debug(client):
    client.launch(program=LOOP, noDebug=True)
    assert client.until_exit() == 0
    assert client.output("stdout") == "total 20\n"


def test_goto_and_completions(client):
    client.launch(program=LOOP, breakpoints={LOOP: [line_of(LOOP, "first")]})
    stop = client.until_stopped()
    items = client.request("completions", frameId=stop.frame_id, text="doub", column=5)["targets"]
    assert "double" in [item["label"] for item in items]
    target_line = line_of(LOOP, "print")
    source = {"path": str(LOOP)}
    (target,) = client.request("gotoTargets", source=source, line=target_line)["targets"]
    client.request("goto", threadId=stop.thread_id, targetId=target["id"])
    stop = client.until_stopped()
    assert stop.line == target_line
