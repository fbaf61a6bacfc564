"""Answers whether something that is shown can have a data breakpoint.

RUNS IN the user's training process, on the stopped thread, inside debugpy's ``evaluate`` of an
expression that calls ``answer``.
"""

from __future__ import annotations

import base64
import importlib
import json
import sys
from types import FrameType

from zentracer.control import pointed
from zentracer.control.pydevd import channel
from zentracer.control.stop import own_work
from zentracer.observe.stats import error_text
from zentracer.tensor_view.evaluate import Refused
from zentracer.wire.codec import decode
from zentracer.wire.data_info import DataInfoAnswer, DataInfoCall

WATCHERS = {"torch": "zentracer.frameworks.pytorch.data.info"}
"""Module the user has imported -> our module with ``info(pointed) -> (data id, description)``."""
_NO_FRAMEWORK = (
    "Data breakpoints need PyTorch, which has not been imported in this process yet; they watch "
    "tensors and NumPy arrays."
)


def answer(call: str) -> None:
    """Send the answer to one question; expressions are evaluated in the caller's frame.

    Args:
        call: A ``DataInfoCall`` as JSON in base64, which no rewriting of expressions touches.
    """
    question = decode(DataInfoCall, json.loads(base64.b64decode(call)))
    try:
        reply = _reply(question, sys._getframe(1))
    except Refused as refused:
        reply = DataInfoAnswer(id=question.id, description=str(refused))
    except Exception as error:
        text = f"ZenTracer failed to look at `{question.name}`: {error_text(error)}"
        reply = DataInfoAnswer(id=question.id, description=f"{text}. Please report this.")
    channel.send_event("data_info", reply)


def _reply(question: DataInfoCall, frame: FrameType) -> DataInfoAnswer:
    if question.variables_reference:
        what = pointed.by_row(question.variables_reference, question.name)
    else:
        what = pointed.by_expression(question.name, frame.f_locals, frame.f_globals)
    for framework, watcher in WATCHERS.items():
        if framework in sys.modules:
            with own_work():
                data_id, description = importlib.import_module(watcher).info(what)
            return DataInfoAnswer(id=question.id, data_id=data_id, description=description)
    return DataInfoAnswer(id=question.id, description=_NO_FRAMEWORK)
