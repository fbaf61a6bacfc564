"""Answers ``zentracer/tensor``: a tensor reduced to what a panel shows of it.

RUNS IN the user's training process, on the stopped thread, inside debugpy's ``evaluate`` of an
expression that calls ``answer``.
"""

from __future__ import annotations

import base64
import json
import sys

from zentracer.control.pydevd import channel
from zentracer.observe.stats import error_text
from zentracer.tensor_view.evaluate import Refused, value_of
from zentracer.tensor_view.view import view_of
from zentracer.wire.codec import decode
from zentracer.wire.editor import TensorQuery
from zentracer.wire.tensor_answer import TensorAnswer, TensorCall


def answer(call: str) -> None:
    """Send the answer to one question; what is evaluated is the caller's frame.

    Args:
        call: A ``TensorCall`` as JSON in base64, which no rewriting of expressions touches.
    """
    frame = sys._getframe(1)
    question = decode(TensorCall, json.loads(base64.b64decode(call)))
    reply = _reply(question, frame.f_globals, frame.f_locals)
    channel.send_event("tensor_answer", reply)


def _reply(question: TensorCall, scope: dict, names: dict) -> TensorAnswer:
    query: TensorQuery = question.query
    try:
        value = value_of(query.expression or "", scope, names)
        return TensorAnswer(id=question.id, view=view_of(value, query))
    except Refused as refused:
        return TensorAnswer(id=question.id, error=str(refused))
    except Exception as error:
        text = f"ZenTracer failed to show `{query.expression}`: {error_text(error)}"
        return TensorAnswer(id=question.id, error=f"{text}. Please report this.")
