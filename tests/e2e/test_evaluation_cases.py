"""A property that needs a thread which is stopped: watched, clicked, typed and drawn."""

from __future__ import annotations

from cases import cases
from dap_client import Client


def test_a_property_that_waits_for_a_thread(client: Client) -> None:
    (program,) = cases("pytorch_dbg_property_waits_for_thread.py")
    (line,) = program.lines("breakpoint")
    client.launch(program=str(program.path), breakpoints={program.path: [line]}, exceptions=[])
    stop = client.until_stopped()
    module = "__import__('zentracer.control.pydevd.evaluations', fromlist=['LIMIT'])"
    client.evaluate(f"{module}.__dict__.update(PATIENCE=0.1)", stop.frame_id)

    loader = client.locals(stop.frame_id)["loader"]
    rows = {row["name"]: row for row in client.variables(loader["variablesReference"])}
    assert rows["next_batch"]["value"] == "not evaluated (property)"
    (clicked,) = client.variables(rows["next_batch"]["variablesReference"])
    assert clicked["value"].startswith("float32[4] cpu")
    for context in ("watch", "hover", "repl"):
        shown = client.evaluate("loader.next_batch", stop.frame_id, context)["result"]
        assert shown.startswith("float32[4] cpu")
    view = client.request(
        "zentracer/tensor", expression="loader.next_batch", view="page", frame_id=stop.frame_id
    )
    assert view["stats"]["shape"] == [4]
    assert [body["reason"] for body in client.events("stopped")] == ["breakpoint"]
    assert client.events("continued") == []
    assert "`loader.next_batch` took" in client.output()
    client.resume(stop.thread_id)
    assert client.until_exit() == 0
