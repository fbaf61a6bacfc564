"""The dataflow slice by itself: what cuts, and what does not."""

from __future__ import annotations

import ast
import linecache
import types

import pytest

from zentracer.control.flow import Cut, Point, follow


def cut_of(body: str) -> Cut | None:
    """Follow ``start()`` to ``sink.backward()`` in a function with this body."""
    lines = ["def run(a, b, flag):", *(f"    {line}" for line in body.splitlines())]
    text = "\n".join(lines) + "\n"
    path = f"<flow {hash(text)}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    space: dict[str, types.FunctionType] = {}
    exec(compile(text, path, "exec"), space)
    from zentracer.control.source import parsed

    module = parsed(path)
    assert module is not None
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    start = next(c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "start")
    sink = next(c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "backward")
    code = space["run"].__code__
    return follow(Point(code, start), [], {code: sink})


@pytest.mark.parametrize(
    ("body", "op", "last"),
    [
        ("x = start(a)\ny = x.detach()\nloss = y + b\nloss.backward()", "detach", "x"),
        ("x, z = start(a), b\ny = x.argmax(1)\n(y + z).backward()", "argmax", "x"),
        ("x = start(a)\nys = [float(v) for v in x]\nsum(ys).backward()", "float", "v"),
        ("x = start(a)\nout = {}\nout['y'] = x.data\nout['y'].backward()", "data", "x"),
        ("x = start(a)\nys = []\nys.append(x.item())\nsum(ys).backward()", "item", "x"),
        ("x = start(a)\nm = x > 0\n(m * b).backward()", ">", "x"),
        ("with torch.no_grad():\n    x = start(a)\n(x * b).backward()", "no_grad", None),
        ("x = start(a)\nif flag:\n    x = x.round()\nx.backward()", "round", "x"),
        ("x = start(a)\nwhile b:\n    x = x.to(torch.long)\nx.backward()", "long", "x"),
        ("loss = b\nloss += start(a).item()\nloss.backward()", "item", None),
    ],
)
def test_a_cut_is_found(body: str, op: str, last: str | None) -> None:
    cut = cut_of(body)
    assert cut is not None
    assert (cut.op, cut.last) == (op, last)


@pytest.mark.parametrize(
    "body",
    [
        "x = start(a)\nloss = x + x.detach()\nloss.backward()",
        "x = start(a)\nn = x.shape[0]\n(b / n).backward()",
        "x = start(a)\nacc = x.argmax(1)\nb.backward()",
        "x = start(a)\nprint(x.item())\nx.backward()",
        "x = start(a)\nx = x.float()\nx.backward()",
        "x = start(a)\nif x is not None:\n    b = b + x\nb.backward()",
    ],
)
def test_no_cut_is_seen_where_a_path_is_left_or_none_is_wanted(body: str) -> None:
    assert cut_of(body) is None
