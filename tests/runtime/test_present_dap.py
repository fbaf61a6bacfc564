"""Values as an editor sees them, through the real adapter and the real debugger."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from dap_client import RequestFailed, line_of

CASES = Path(__file__).parents[1] / "programs" / "cases"


class Frame:
    """A stopped frame."""

    def __init__(self, client, program, line):
        client.launch(program=str(program), breakpoints={program: [line]}, exceptions=[])
        self.client = client
        self.id = client.until_stopped().frame_id
        scopes = client.request("scopes", frameId=self.id)["scopes"]
        self.scope = scopes[0]["variablesReference"]

    def rows(self, reference=None, **paging):
        return self.client.variables(reference or self.scope, **paging)

    def row(self, *path):
        """The row reached by opening the names of ``path`` one after the other."""
        reference = self.scope
        for name in path:
            found = {row["name"]: row for row in self.rows(reference)}
            assert name in found, f"{name} not in {list(found)}"
            reference = found[name]["variablesReference"]
        return found[name]

    def open(self, *path):
        return {row["name"]: row for row in self.rows(self.row(*path)["variablesReference"])}

    def result(self, expression, context="watch"):
        return self.client.evaluate(expression, self.id, context)["result"]

    def set(self, path, name, value):
        reference = self.row(*path)["variablesReference"] if path else self.scope
        return self.client.request(
            "setVariable", variablesReference=reference, name=name, value=value
        )


def case(client, name):
    program = CASES / f"pytorch_dbg_{name}.py"
    lines = program.read_text().splitlines()
    line = next(at for at, text in enumerate(lines, 1) if "# <- breakpoint" in text)
    return Frame(client, program, line)


@pytest.fixture
def frame(start_client, programs):
    program = programs / "values.py"
    client = start_client(
        capabilities={"supportsInvalidatedEvent": True, "supportsVariablePaging": True}
    )
    return Frame(client, program, line_of(program, "here"))


def test_variables_watch_hover_console_and_clipboard(frame):
    expected = "float32[2, 2] cpu · x∈[-2, 4] μ=1.5 σ=2.65"
    assert frame.row("x")["value"] == expected
    assert frame.row("x")["type"] == "Tensor"
    for context in ("watch", "hover", "repl"):
        assert frame.result("x", context) == expected
    assert frame.result("x", "clipboard") == "tensor([[ 1., -2.],\n        [ 3.,  4.]])"
    assert frame.row("y")["value"].endswith("· NaN 1 · grad LogBackward0")
    assert frame.row("part")["value"].endswith("· view of float32[2, 2]")
    assert frame.row("array")["value"].startswith("float64[2, 3] cpu · x∈[0, 5] μ=2.5 σ=1.87")
    assert frame.row("net")["value"] == "Sequential · 6 parameters, 24 B · training"
    assert frame.row("optimizer")["value"] == ("SGD · 1 group · 2 parameters · lr 0.1 · state of 0")
    assert frame.row("storage")["value"] == "cpu · 16 B · shared by x, part"
    assert frame.row("few")["value"] == "(float32[2, 2], float64[2, 3])"
    assert frame.row("output")["value"] == "Output(loss=float32[], name='out')"


def test_children_and_values_of_a_tensor(frame):
    assert list(frame.open("x")) == [
        "shape",
        "dtype",
        "device",
        "strides",
        "stats",
        "histogram",
        "grad",
        "values",
        "grad_fn",
        "storage",
        "attributes",
    ]
    element = frame.row("x", "values", "[1]", "[0]")
    assert (element["value"], element["type"]) == ("3", "float32")
    assert element["evaluateName"] == "x[1][0]"
    assert frame.row("x", "shape")["variablesReference"] == 0
    assert frame.row("x", "storage")["value"] == "cpu · 16 B · shared by part"


def test_elements_can_be_set(frame):
    assert frame.set(("x", "values", "[0]"), "[0]", "7")["value"] == "7"
    assert frame.result("x[0, 0].item()") == "7.0"
    frame.client.wait_event("invalidated", lambda body: body["areas"] == ["variables"])
    assert "x∈[-2, 7]" in frame.row("part")["value"]


def test_elements_of_a_parameter_can_be_set(frame):
    frame.set(("net", "0", "weight", "values", "[0]"), "[0]", "0.5")
    assert frame.result("net[0].weight[0, 0].item()") == "0.5"
    assert frame.result("net[0].weight.is_leaf") == "True"


def test_elements_beyond_the_first_page_can_be_set(frame):
    page = frame.row("line", "values", "[500..599]")
    body = frame.client.request(
        "setVariable", variablesReference=page["variablesReference"], name="[500]", value="-1"
    )
    assert body["value"] == "-1"
    values = frame.row("line", "values")
    body = frame.client.request(
        "setVariable", variablesReference=values["variablesReference"], name="[501]", value="-2"
    )
    assert body["value"] == "-2"
    assert frame.result("line[500:502].tolist()") == "[-1, -2]"


def test_a_failed_change_says_why(frame):
    with pytest.raises(RequestFailed, match="no_such_name"):
        frame.set(("x", "values", "[0]"), "[0]", "no_such_name")


def test_items_beyond_the_first_page_can_be_set(frame):
    assert frame.set(("many",), "200", "torch.zeros(1)")["value"] == "float32[1] cpu · 0"
    assert frame.result("many[200].shape") == "torch.Size([1])"
    assert frame.set(("table",), "'key149'", "-5")["value"] == "-5"


def test_lists_are_paged(frame):
    row = frame.row("many")
    assert row["indexedVariables"] == 250
    reference = row["variablesReference"]
    page = frame.rows(reference, filter="indexed", start=198, count=3)
    assert [item["name"] for item in page] == ["198", "199", "200"]
    assert page[0]["value"] == "float32[3] cpu · x∈[198, 198] μ=198 σ=0"
    assert page[0]["evaluateName"] == "many[198]"
    named = frame.rows(reference, filter="named")
    assert [item["name"] for item in named][-1] == "len()"
    assert len(named) == row["namedVariables"]
    whole = [item["name"] for item in frame.rows(reference)]
    assert whole[-2:] == ["[100..199]", "[200..249]"]
    assert list(frame.open("many", "[200..249]"))[-1] == "249"


def test_dicts_are_paged(frame):
    row = frame.row("table")
    assert row["indexedVariables"] == 150
    page = frame.rows(row["variablesReference"], filter="indexed", start=149, count=10)
    assert [(item["name"], item["value"]) for item in page] == [("'key149'", "149")]
    assert page[0]["evaluateName"] == "table['key149']"


def test_pages_of_values(frame):
    row = frame.row("line", "values")
    assert row["indexedVariables"] == 1000
    page = frame.rows(row["variablesReference"], filter="indexed", start=998, count=100)
    assert [(item["name"], item["value"]) for item in page] == [("[998]", "998"), ("[999]", "999")]
    assert frame.rows(row["variablesReference"], filter="named") == []


def test_pages_of_what_has_none(frame):
    assert frame.rows(filter="indexed") == []
    names = [row["name"] for row in frame.rows()]
    assert [row["name"] for row in frame.rows(filter="named")] == names
    assert [row["name"] for row in frame.rows(start=1, count=2)] == names[1:3]


def test_tensors_as_keys_are_brief(frame):
    names = [name for name in frame.open("by_tensor") if "float32" in name]
    assert len(names) == 2
    assert names[0].startswith("float32[2, 2] (id: ")


def test_objects_that_raise(frame):
    assert frame.row("broken")["value"] == (
        "<Broken object; its __repr__ raised RuntimeError: no repr today>"
    )
    assert frame.row("broken", "held")["value"] == "1"


def test_the_program_goes_on_unchanged(frame):
    frame.open("x")
    frame.open("net")
    frame.client.resume()
    assert frame.client.until_exit() == 0
    assert "seen 1.0" in frame.client.output("stdout")


def test_case_lazy_parameter(client):
    frame = case(client, "lazy_parameter")
    assert frame.row("net", "weight")["value"] == "float32 cpu · uninitialised (lazy) · leaf"
    assert "2 uninitialised (lazy)" in frame.row("net")["value"]
    assert next(iter(frame.open("net", "weight"))) == "shape"
    client.resume()
    assert client.until_exit() == 0


def test_case_meta_tensor(client):
    frame = case(client, "meta_tensor")
    assert frame.row("net", "weight")["value"] == "float32[8, 8] meta · meta: no data · leaf"
    assert frame.result("net.weight") == "float32[8, 8] meta · meta: no data · leaf"
    with pytest.raises(RequestFailed, match="meta"):
        frame.result("net.weight.isnan().any().item()")


def test_case_property_waits_for_thread(client):
    frame = case(client, "property_waits_for_thread")
    found = frame.open("loader")
    assert found["next_batch"]["value"] == "not evaluated (property)"
    assert found["next_batch"]["presentationHint"]["lazy"] is True
    assert "asks" in found
    value = frame.row("loader", "next_batch", "next_batch")["value"]
    assert value.startswith("float32[4] cpu")  # the thread that it waits for runs meanwhile
    client.resume()
    assert client.until_exit() == 0


def test_case_storage_expansion(client):
    frame = case(client, "storage_expansion")
    assert frame.row("raw")["value"] == "cpu · 120 MB · shared by big"
    assert list(frame.open("raw")) == ["device", "nbytes", "data_ptr", "resizable"]
    assert frame.result("raw") == "cpu · 120 MB · shared by big"
