"""What users read of an evaluation that takes long."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from zentracer.control.pydevd import slow
from zentracer.wire.codec import json_text
from zentracer.wire.data_info import DataInfoCall
from zentracer.wire.editor import TensorQuery
from zentracer.wire.tensor_answer import TensorCall
from zentracer_dap.features import data_breakpoints, explanations, scopes, tensor_view

EXPRESSION = "model(x)[0]"


def encoded(call: Any) -> str:
    return base64.b64encode(json_text(call).encode()).decode("ascii")


TENSOR = TensorCall(id=1, query=TensorQuery(view="stats", expression=EXPRESSION, frame_id=2))
DATA = DataInfoCall(id=1, name=EXPRESSION, variables_reference=None, frame_id=2)


@pytest.mark.parametrize(
    ("expression", "quoted"),
    [
        (EXPRESSION, f"`{EXPRESSION}`"),
        (tensor_view._CALL.format(encoded(TENSOR)), f"`{EXPRESSION}`"),
        (data_breakpoints._CALL.format(encoded(DATA)), f"`{EXPRESSION}`"),
        (scopes._CALL.format("Module", 3), "a question of the editor"),
        (explanations._CALL.format(3), "a question of the editor"),
        ("'many\n lines' " + "x" * 99, f"`'many lines' {'x' * 66}…`"),
    ],
)
def test_the_user_s_expression_is_quoted(expression: str, quoted: str) -> None:
    what = slow.quoted(expression)
    assert what == quoted
    assert slow.cancelled(what) == f"{what[:1].upper()}{what[1:]} was cancelled."
    assert f"computing {quoted} for" in slow.busy(what, 1.0)
