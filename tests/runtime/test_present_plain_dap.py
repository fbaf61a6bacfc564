"""Plain values as an editor sees them, on every interpreter; no framework is needed."""

from __future__ import annotations

import pytest
from dap_client import line_of

PROGRAM = """
    import collections
    import threading

    class Loader:
        def __init__(self):
            self.reply = threading.Event()

        @property
        def next_batch(self):
            return self.reply.wait()

        @property
        def size(self):
            return 12

        def __repr__(self):
            return "a loader"

    class Broken:
        def __repr__(self):
            raise ValueError("two\\nlines")

        def __getattr__(self, name):
            raise RuntimeError(name)

    def main():
        loader = Loader()
        broken = Broken()
        numbers = list(range(1_000_000))
        pair = tuple(range(120))
        queue = collections.deque(range(150))
        ordered = collections.OrderedDict((i, i * i) for i in range(130))
        ordered.move_to_end(0)
        unique = set(range(110))
        few = [1, {"a": loader}]
        print(few)  # @here

    main()
"""


@pytest.fixture
def opened(start_client, write_program, interpreter):
    program = write_program(PROGRAM)
    client = start_client()
    client.launch(
        program=str(program),
        python=[interpreter],
        breakpoints={program: [line_of(program, "here")]},
        exceptions=[],
    )
    stop = client.until_stopped()
    return client, client.locals(stop.frame_id), stop


def by_name(client, row, **paging):
    rows = client.variables(row["variablesReference"], **paging)
    return {item["name"]: item for item in rows}


def test_plain_values(opened):
    client, rows, stop = opened
    assert rows["loader"]["value"] == "a loader"
    assert rows["broken"]["value"] == "<Broken object; its __repr__ raised ValueError: two>"
    assert rows["few"]["value"] == "[1, {'a': a loader}]"
    assert client.evaluate("few", stop.frame_id, "repl")["result"] == "[1, {'a': a loader}]"

    loader = by_name(client, rows["loader"])
    assert loader["size"]["value"] == "not evaluated (property)"
    assert loader["size"]["presentationHint"]["lazy"] is True
    assert loader["size"]["evaluateName"] == "loader.size"
    assert by_name(client, loader["size"])["size"]["value"] == "12"
    lazy = "__import__('zentracer.present.lazy', fromlist=['BUDGET'])"
    client.evaluate(f"{lazy}.__dict__.update(BUDGET=0.1)", stop.frame_id)
    blocked = by_name(client, loader["next_batch"])["next_batch"]
    assert blocked["value"].startswith("given up after")
    assert blocked["variablesReference"] == 0

    page = by_name(client, rows["numbers"], filter="indexed", start=999_999, count=5)
    assert [(name, row["value"]) for name, row in page.items()] == [("999999", "999999")]
    top = list(by_name(client, rows["numbers"]))
    assert "[100..10099]" in top
    assert len(top) < 220

    for name, count in (("pair", 120), ("queue", 150), ("ordered", 130), ("unique", 110)):
        assert rows[name]["indexedVariables"] == count
        items = by_name(client, rows[name], filter="indexed", start=0, count=count)
        assert len(items) == count
    last = list(by_name(client, rows["ordered"], filter="indexed", start=129, count=1))
    assert last == ["0"]

    client.resume()
    assert client.until_exit() == 0
