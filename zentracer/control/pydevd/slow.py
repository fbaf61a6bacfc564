"""What the user is told of an evaluation that waits or takes long.

RUNS IN the training process.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Optional, Sequence

_CALL = re.compile(r"__import__\('zentracer\.\w+', fromlist=\['\w+'\]\)\.\w+\((.*)\)$", re.S)
"""What our adapter has evaluated for a panel, a scope or a data breakpoint."""
_ENCODED = re.compile(r"'([A-Za-z0-9+/=]+)'$")
_UNNAMED = "a question of the editor"
_LONGEST = 80
"""Characters of an expression that are quoted."""


def quoted(expression: str) -> str:
    """The expression as the user wrote it, in backquotes and on one line.

    What the editor asks through us is evaluated as a call of ours, which holds the expression in an
    encoding that no user should have to read, or holds none.
    """
    asked = _as_asked(expression)
    if asked is None:
        return _UNNAMED
    text = " ".join(asked.split())
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[: _LONGEST - 1]}…`"


def let_run(what: str, took: float, ran: float) -> str:
    """It has answered, with the help of the other threads."""
    return (
        f"{_first(what)} took {took:.1f} s. All threads were stopped and it may have waited for "
        f"one of them, so the other threads ran for {ran:.1f} s until it had its value; they are "
        "stopped again."
    )


def still_running(what: str, seconds: float) -> str:
    """The debug console may take as long as it likes."""
    return (
        f"{_first(what)} has been running for {seconds:g} s in the debug console, and the other "
        "threads with it. It may take as long as it needs; cancel, continue or a step end it."
    )


def interrupted(what: str, seconds: float, ran: float, met: Sequence[str]) -> str:
    """It had its time; ``met`` are the threads that met a stop of their own meanwhile."""
    others = f" although the other threads ran for {ran:.1f} s" if ran else ""
    if met:
        hint = (
            f"Meanwhile {' and '.join(met)} met a breakpoint or an exception and stands there, "
            "which is reported when you continue."
        )
    else:
        hint = "What takes longer can be evaluated in the debug console."
    return f"{_first(what)} had no value after {seconds:g} s{others} and was interrupted. {hint}"


def cancelled(what: str) -> str:
    """The editor does not want it any more."""
    return f"{_first(what)} was cancelled."


def overtaken(what: str) -> str:
    """The user has resumed the program."""
    return f"{_first(what)} was interrupted, because the program goes on."


def stuck(what: str) -> str:
    """Nothing can be done but to wait."""
    return (
        f"{_first(what)} could not be interrupted: its thread waits inside of C code, or its code "
        "catches every interruption. Until it ends the thread answers no questions and does not "
        "go on; other threads can be looked at, and continue lets them run."
    )


def busy(what: str, seconds: float) -> str:
    """Another evaluation has the thread."""
    return f"The thread has been computing {what} for {seconds:g} s and cannot answer yet."


def behind(what: str) -> str:
    """Another evaluation is stuck on the same thread."""
    return f"The thread cannot answer: it still waits in {what}, which could not be interrupted."


def _first(what: str) -> str:
    """``what`` at the beginning of a sentence."""
    return what[:1].upper() + what[1:]


def _as_asked(expression: str) -> Optional[str]:
    """Return what the user wrote; None for a question of ours that names nothing of his."""
    call = _CALL.match(expression)
    if call is None:
        return expression
    encoded = _ENCODED.match(call[1])
    try:
        question: Any = json.loads(base64.b64decode(encoded[1])) if encoded is not None else {}
        asked = question.get("query", question)  # the tensor panel's, and that of a data breakpoint
        name = asked.get("expression", asked.get("name"))
    except (ValueError, AttributeError):  # not what our adapter writes
        return None
    return name if isinstance(name, str) else None
