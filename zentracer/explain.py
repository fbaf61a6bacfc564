"""Answers the adapter's question what a framework's exception means.

RUNS IN the user's training process, on the stopped thread, inside debugpy's ``evaluate`` of an
expression that calls ``answer``.
"""

from __future__ import annotations

import importlib
import sys
from typing import Optional

from zentracer import bootstrap
from zentracer.control.pydevd import channel
from zentracer.control.pydevd.exceptions import stopped_exception
from zentracer.control.stop import own_work, trace_switch
from zentracer.observe.stats import error_text
from zentracer.wire.error_answer import ErrorAnswer
from zentracer.wire.messages import BreakpointHit

EXPLAINERS = {"torch": "zentracer.frameworks.pytorch.errors"}
"""Module the user has imported -> our module with ``explain(error, traceback, rank)``."""


def answer(number: int) -> None:
    """Send the answer to one question about the exception at which this thread stands."""
    trace, switch = sys.gettrace(), trace_switch()
    if trace is not None:
        switch(None)  # up to Python 3.11 it would take most of the time
    try:
        with own_work():
            reply = ErrorAnswer(id=number, hit=_explained())
    except Exception as error:  # ours to report, never the program's to die from
        reply = ErrorAnswer(id=number, problem=error_text(error))
    finally:
        if trace is not None:
            switch(trace)
    channel.send_event("error_answer", reply)


def _explained() -> Optional[BreakpointHit]:
    error, traceback = stopped_exception()
    if error is None:
        return None
    for framework, explainer in EXPLAINERS.items():
        if framework in sys.modules:
            said = importlib.import_module(explainer).explain(error, traceback, bootstrap.rank())
            if said is not None:
                return said
    return None
