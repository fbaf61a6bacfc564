"""``zentracer/tensor`` as an editor asks it, through the real adapter and the real debugger."""

from __future__ import annotations

import base64
import math
import subprocess
import sys

import pytest
from conftest import PROGRAMS, find_interpreter
from dap_client import Client, RequestFailed, line_of
from test_ending import wait_for

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

TENSORS = """
    import threading

    import numpy
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.__scale = torch.tensor([2.0, 4.0])

        def forward(self, x):
            return x * self.__scale.mean()  # @forward

    def main():
        generator = torch.Generator().manual_seed(7)
        x = torch.randn(300, 400, generator=generator)
        x[123, 321] = float("nan")
        eight = torch.arange(2**8, dtype=torch.float64).reshape((2,) * 8)
        empty = torch.zeros(0, 3)
        array = numpy.arange(12).reshape(3, 4)
        weight = nn.Parameter(torch.ones(2, 3))
        model = Encoder()
        gone = torch.ones(4)
        calls = []
        def counted():
            calls.append(1)
            return weight
        first = torch.get_rng_state()
        ready = 1  # @ready
        del gone
        freed = torch.ones(4)
        freed.untyped_storage().resize_(0)
        assert torch.equal(first, torch.get_rng_state())
        assert weight._version == 0 and weight.grad is None
        later = 1  # @later
        model(x)
        worker = threading.Thread(target=work, args=(x + 1,))
        worker.start()
        worker.join()
        print("done")

    def work(mine):
        mine = mine.half()
        inside = 1  # @thread

    main()
    """


class Stopped:
    """A stopped frame to ask in."""

    def __init__(self, client: Client, frame_id: int) -> None:
        self.client = client
        self.frame_id = frame_id

    def ask(self, expression, view="page", **query):
        return self.client.request(
            "zentracer/tensor", expression=expression, view=view, frame_id=self.frame_id, **query
        )

    def problem(self, expression, view="page", **query):
        with pytest.raises(RequestFailed) as failed:
            self.ask(expression, view, **query)
        assert failed.value.response["body"]["error"]["showUser"] is False
        return failed.value.message


@pytest.fixture
def program(write_program):
    return write_program(TENSORS)


@pytest.fixture
def stopped(client, program):
    def until(*markers):
        lines = [line_of(program, marker) for marker in markers]
        client.launch(program=program, breakpoints={program: lines}, exceptions=[])
        return Stopped(client, client.until_stopped().frame_id)

    return until


def floats(text):
    return numpy.frombuffer(base64.b64decode(text), "<f4")


def test_every_view_has_torchs_own_numbers(stopped):
    frame = stopped("ready")
    x = torch.randn(300, 400, generator=torch.Generator().manual_seed(7))
    x[123, 321] = math.nan
    finite = x[x.isfinite()]
    stats = frame.ask("x", "stats")
    assert stats["stats"]["mean"] == pytest.approx(finite.double().mean().item())
    assert (stats["stats"]["nan"], stats["stats"]["min"]) == (1, finite.min().item())
    assert stats["summary"].startswith("float32[300, 400] cpu · x∈[")
    assert stats["type_name"] == "Tensor"
    histogram = frame.ask("x", "histogram", width=10)["histogram"]
    assert sum(histogram["counts"]) == finite.numel()
    image = frame.ask("x", "image", height=100, width=100)["image"]
    assert (image["row_step"], image["column_step"]) == (3, 4)
    blocks = x.reshape(100, 3, 100, 4).nanmean((1, 3))
    numpy.testing.assert_allclose(floats(image["data"]), blocks.reshape(-1), rtol=1e-4, atol=1e-6)
    marked = numpy.frombuffer(base64.b64decode(image["marks"]), "u1").reshape(100, 100)
    assert marked[41, 80] == 1
    assert marked.sum() == 1
    page = frame.ask("x", "page", row=123, column=320, height=1, width=2)["page"]
    assert page["cells"][0][1] == "nan"
    assert numpy.float32(page["cells"][0][0]) == x[123, 320].numpy()


def test_views_are_no_events_for_the_editor(stopped):
    frame = stopped("ready")
    frame.ask("x")
    names = {message.get("event") for message in frame.client.connection.log}
    assert "zentracer/tensor_answer" not in names


def test_eight_dimensions_by_dap(stopped):
    frame = stopped("ready")
    assert frame.ask("eight")["slice"] == "0, 0, 0, 0, 0, 0, :, :"
    made = frame.ask("eight", slice="1, 0, 1, 0, 1, ..., 0", axes=[6, 5])
    assert (made["slice"], made["axes"]) == ("1, 0, 1, 0, 1, :, :, 0", [6, 5])
    eight = torch.arange(2**8, dtype=torch.float64).reshape((2,) * 8)
    assert [[float(cell) for cell in row] for row in made["page"]["cells"]] == (
        eight[1, 0, 1, 0, 1, :, :, 0].t().tolist()
    )


def test_what_cannot_be_shown(stopped):
    frame = stopped("ready")
    assert frame.ask("empty")["note"] == "This tensor is empty: it has no elements."
    assert frame.problem("model") == "`model` is an Encoder, not a tensor or an array."
    assert frame.problem("missing") == (
        "`missing` cannot be evaluated here: NameError: name 'missing' is not defined."
    )
    assert "SyntaxError" in frame.problem("x[")
    assert frame.problem("x", slice="300") == (
        "Index 300 is out of range for dimension 0, of size 300."
    )
    assert "'view' must be one of" in frame.problem("x", "movie")
    assert "Name the tensor" in frame.problem("  ")


@pytest.mark.parametrize(
    "query", [{"slice": 3}, {"axes": "ab"}, {"row": True}, {"view": None}, {"width": 1.5}], ids=str
)
def test_a_query_of_wrong_types(stopped, query):
    frame = stopped("ready")
    with pytest.raises(RequestFailed, match="must be"):
        frame.client.request(
            "zentracer/tensor", **{"expression": "x", "view": "page", "frame_id": 1, **query}
        )


def test_without_a_frame(client, program):
    client.launch(program=program, breakpoints={program: [line_of(program, "ready")]})
    client.until_stopped()
    with pytest.raises(RequestFailed, match="while the program stands still: pause it, or wait"):
        client.request("zentracer/tensor", expression="x", view="page")


def test_before_there_is_a_program(client):
    client.initialize()
    with pytest.raises(RequestFailed, match="while the program stands still"):
        client.request("zentracer/tensor", expression="x", view="page", frame_id=1)


def test_arrays_and_parameters(stopped):
    frame = stopped("ready")
    array = frame.ask("array")
    assert (array["type_name"], array["page"]["cells"][2]) == ("ndarray", ["8", "9", "10", "11"])
    assert frame.ask("weight * 2")["page"]["cells"] == [["2.0"] * 3] * 2


def test_an_expression_is_evaluated_in_the_frame_and_once(stopped):
    frame = stopped("ready")
    frame.ask("counted()")
    assert frame.client.evaluate("len(calls)", frame.frame_id)["result"] == "1"
    frame.ask("torch.stack([weight[i] for i in range(len(weight))])")
    names = "[n for n in (*globals(), *locals()) if 'zen' in n or n == 'answer']"
    assert frame.client.evaluate(names, frame.frame_id)["result"] == "[]"


def test_a_tensor_deleted_between_two_requests(stopped):
    frame = stopped("ready", "later")
    assert frame.ask("gone")["page"]["cells"] == [["1.0"] * 4]
    for view in ("stats", "histogram", "image", "page"):
        frame.ask("weight", view)
    frame.client.resume()
    stop = frame.client.until_stopped()  # the program has checked that nothing was changed
    assert stop.line == line_of(stop.path, "later")
    frame.frame_id = stop.frame_id
    assert "NameError: name 'gone' is not defined" in frame.problem("gone")
    assert "has been freed" in frame.ask("freed", "image")["note"]


def test_while_the_program_runs(client, write_program, tmp_path):
    go = tmp_path / "go"
    program = write_program(
        f"""
        import os, time, torch
        x = torch.ones(3)  # @first
        while not os.path.exists({str(go)!r}):
            time.sleep(0.01)
        print("done")  # @second
        """
    )
    lines = [line_of(program, "first"), line_of(program, "second")]
    client.launch(program=program, breakpoints={program: lines})
    frame = Stopped(client, client.until_stopped().frame_id)
    assert "NameError: name 'x' is not defined" in frame.problem("x")
    client.resume()
    assert frame.problem("x").startswith("The program has gone on since this frame was shown")
    go.touch()
    frame.frame_id = client.until_stopped().frame_id
    assert frame.ask("x")["page"]["cells"] == [["1.0"] * 3]
    client.resume()
    client.until_exit()
    assert "while the program stands still" in frame.problem("x")


def test_private_attributes_and_other_threads(stopped):
    frame = stopped("forward", "thread")
    assert frame.ask("self.__scale")["page"]["cells"] == [["2.0", "4.0"]]
    frame.client.resume()
    stop = frame.client.until_stopped()
    inside = Stopped(frame.client, stop.frame_id)
    made = inside.ask("mine", "stats")
    assert (made["stats"]["dtype"], made["stats"]["nan"]) == ("float16", 1)


def test_several_questions_at_once(stopped):
    frame = stopped("ready")
    asked = [
        frame.client.send("zentracer/tensor", expression=name, view="page", frame_id=frame.frame_id)
        for name in ("weight", "nothing", "array", "empty")
    ]
    weight, array, empty = (frame.client.finish(asked[number]) for number in (0, 2, 3))
    assert [made["expression"] for made in (weight, array, empty)] == ["weight", "array", "empty"]
    with pytest.raises(RequestFailed, match="nothing"):
        frame.client.finish(asked[1])


def test_at_a_tensor_exception(client):
    program = PROGRAMS / "nan_log.py"
    client.launch(program=program, exceptions=["zentracer.nonfinite"])
    stop = client.until_stopped()
    frame = Stopped(client, stop.frame_id)
    assert frame.ask("x")["page"]["cells"] == [["-1.0"] * 3]
    assert frame.ask("torch.log(x)", "stats")["stats"]["nan"] == 3, "and no stop inside the stop"
    client.resume(stop.thread_id)
    assert client.until_exit() == 0


def test_in_a_worker_of_a_data_loader(client):
    program = PROGRAMS / "cases" / "pytorch_dbg_worker_breakpoint.py"
    text = program.read_text()
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "# <- breakpoint" in row)
    client.launch(program=program)
    with client.attach_child(breakpoints={program: [line]}) as child:
        stop = child.until_stopped()
        frame = Stopped(child, stop.frame_id)
        made = frame.ask("torch.arange(1000000).view(1000, 1000)", "image", height=10, width=10)
        assert floats(made["image"]["data"])[0] == 49549.5
        assert frame.problem("i") == "`i` is an int, not a tensor or an array."
        child.set_breakpoints(program, [])
        child.resume(stop.thread_id)
        assert client.until_exit() == 0


def test_in_a_program_that_was_attached_to(client, write_program, tmp_path):
    port = tmp_path / "port"
    program = write_program(
        f"""
        import debugpy, os, torch
        x = torch.eye(2)
        with open({str(port)!r} + ".part", "w") as file:
            file.write(str(debugpy.listen(("127.0.0.1", 0))[1]))
        os.rename({str(port)!r} + ".part", {str(port)!r})
        debugpy.wait_for_client()
        print(x)  # @attached
        """
    )
    process = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.DEVNULL)
    try:
        wait_for(port.exists)
        connect = {"host": "127.0.0.1", "port": int(port.read_text())}
        client.attach(connect=connect, breakpoints={program: [line_of(program, "attached")]})
        frame = Stopped(client, client.until_stopped().frame_id)
        assert frame.ask("x")["page"]["cells"] == [["1.0", "0.0"], ["0.0", "1.0"]]
        client.request("disconnect")
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()


PLAIN = """
    values = [1.0, 2.0]
    print("here")  # @plain
    """


@pytest.mark.parametrize("version", ["3.9", "3.12", "3.13"])
def test_a_program_without_torch(client, write_program, version):
    python = find_interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    program = write_program(PLAIN)
    breakpoints = {program: [line_of(program, "plain")]}
    client.launch(program=program, python=[python], breakpoints=breakpoints)
    frame = Stopped(client, client.until_stopped().frame_id)
    assert frame.problem("values") == "`values` is a list, not a tensor or an array."
    assert "NameError" in frame.problem("torch.ones(2)")


def test_with_the_runtime_switched_off(client, write_program):
    program = write_program(PLAIN)
    breakpoints = {program: [line_of(program, "plain")]}
    client.launch(program=program, env={"ZENTRACER": "off"}, breakpoints=breakpoints)
    frame = Stopped(client, client.until_stopped().frame_id)
    assert frame.problem("values") == "ZenTracer is switched off for this program (ZENTRACER=off)."


@pytest.fixture
def waiting(client, write_program, tmp_path):
    """A stopped program with a function that returns once a file is there."""
    go = tmp_path / "go"
    program = write_program(
        f"""
        import os, time
        def wait():
            while not os.path.exists({str(go)!r}):
                time.sleep(0.01)
        print("here")  # @plain
        """
    )
    client.launch(program=program, breakpoints={program: [line_of(program, "plain")]})
    return Stopped(client, client.until_stopped().frame_id), go


def send(frame, expression):
    return frame.client.send(
        "zentracer/tensor", expression=expression, view="page", frame_id=frame.frame_id
    )


def test_a_question_can_be_cancelled(waiting):
    frame, go = waiting
    asked = send(frame, "wait()")
    frame.client.request("cancel", requestId=asked)
    with pytest.raises(RequestFailed, match="cancelled"):
        frame.client.finish(asked)
    go.touch()
    assert "NoneType" in frame.problem("wait()")
    frame.client.resume()
    assert frame.client.until_exit() == 0


def test_an_expression_that_takes_long_is_named_as_the_user_wrote_it(waiting):
    frame, go = waiting
    module = "__import__('zentracer.control.pydevd.evaluations', fromlist=['LIMIT'])"
    limits = f"{module}.__dict__.update(PATIENCE=0.1, LIMIT=0.2)"
    frame.client.evaluate(limits, frame.frame_id)
    with pytest.raises(RequestFailed, match=r"`wait\(\) or 'é'` had no value after 0.2 s"):
        frame.client.finish(send(frame, "wait() or 'é'"))
    go.touch()
    with pytest.raises(RequestFailed, match="is a str, not a tensor"):
        frame.client.finish(send(frame, "wait() or 'é'"))
