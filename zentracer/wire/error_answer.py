"""Between the adapter and the runtime: what there is to say about an exception that has stopped.

The question travels inside an expression that debugpy evaluates on the stopped thread, the answer
as the event ``zentracer/error_answer`` on debugpy's own channel, ahead of debugpy's response.
Neither reaches an editor.
"""

from __future__ import annotations

from typing import Optional

from zentracer.wire._body import body
from zentracer.wire.messages import BreakpointHit


@body
class ErrorAnswer:
    """What became of one question."""

    id: int
    hit: Optional[BreakpointHit] = None
    """What is said; None if the exception is no framework's, or not of a known kind."""
    problem: Optional[str] = None
    """Why explaining it failed, if that is a fault of ours."""
