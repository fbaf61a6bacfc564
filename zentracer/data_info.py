"""Answers whether something that is shown can have a data breakpoint.

RUNS IN the user's training process, on the stopped thread, inside debugpy's ``evaluate`` of an
expression that calls ``answer``.
"""

from __future__ import annotations

import base64
import json

from zentracer.control.pydevd import channel
from zentracer.observe.stats import error_text
from zentracer.wire.codec import decode
from zentracer.wire.data_info import DataInfoAnswer, DataInfoCall


def answer(call: str) -> None:
    """Send the answer to one question.

    Args:
        call: A ``DataInfoCall`` as JSON in base64, which no rewriting of expressions touches.
    """
    question = decode(DataInfoCall, json.loads(base64.b64decode(call)))
    try:
        reply = _reply(question)
    except Exception as error:
        text = f"ZenTracer failed to look at `{question.name}`: {error_text(error)}"
        reply = DataInfoAnswer(id=question.id, description=f"{text}. Please report this.")
    channel.send_event("data_info", reply)


def _reply(question: DataInfoCall) -> DataInfoAnswer:
    return DataInfoAnswer(id=question.id, description="Data breakpoints are not supported.")
