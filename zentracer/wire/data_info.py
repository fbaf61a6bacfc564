"""Between the adapter and the runtime: whether something can have a data breakpoint.

The question travels inside an expression that debugpy evaluates on the stopped thread, the answer
as the event ``zentracer/data_info`` on debugpy's own channel, ahead of debugpy's response.
Neither reaches an editor.
"""

from __future__ import annotations

from typing import Optional

from zentracer.wire._body import body


@body
class DataInfoCall:
    """One question."""

    id: int
    name: str
    """A row's name below ``variables_reference``, else an expression."""
    variables_reference: Optional[int] = None
    """debugpy's own number of what has the row; None for an expression."""
    frame_id: Optional[int] = None
    """Where an expression is evaluated: debugpy's own number of a frame of the stopped thread."""


@body
class DataInfoAnswer:
    """What became of it."""

    id: int
    data_id: Optional[str] = None
    """What ``setDataBreakpoints`` takes; None if there can be no breakpoint."""
    description: str = ""
    """What is watched, or a sentence why it cannot be."""
